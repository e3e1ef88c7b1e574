//! The units of ASCII words: up to sixteen bytes as one number, reduced by carry-less multiplication; where there is none, up to
//! eight bytes are themselves, and all longer ones are reduced byte by byte.
//!
//! Where words end is found for a whole block before any word is looked at, and long words are set aside: loops whose turns
//! nobody can foretell cost more than the work in them.

use super::at_level;
use crate::text::rabin::Rabin;

/// Buffers that are kept from text to text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    ends: Vec<u32>,
    long: Vec<Long>,
}

/// A word whose unit is made apart: which unit it is, and where its bytes are.
#[derive(Clone, Copy, Debug, Default)]
struct Long {
    unit: u32,
    begin: u32,
    end: u32,
}

/// Words on their way to units: how many units and how many long words are written.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    units: usize,
    long: usize,
}

/// Where ends are written a block at a time, some too many.
const BLOCK: usize = 64;

impl Words {
    /// Puts the unit of each word that ends behind `begin` within these bytes, at most 2^31, behind those that are there.
    /// `inside` has a bit for each byte of a word. The word that is still open comes back.
    pub fn push<'a>(
        &mut self,
        bytes: &'a [u8],
        begin: usize,
        inside: &[u64],
        rabin: &Rabin,
        out: &mut Vec<u64>,
    ) -> &'a [u8] {
        let count = self.find_ends(bytes.len(), begin, inside);
        let before = out.len();
        out.resize(before + count, 0);
        self.long.resize(self.long.len().max(count), Long::default());
        let (ends, into) = (&self.ends[..count], &mut out[before..]);
        let written = short(bytes, begin, ends, rabin, into, &mut self.long);
        for &Long { unit, begin, end } in &self.long[..written.long] {
            into[unit as usize] = rabin.bytes(&bytes[begin as usize..end as usize]);
        }
        out.truncate(before + written.units);
        bytes.get(ends.last().map_or(begin, |&end| end as usize + 1)..).unwrap_or_default()
    }
}

impl Words {
    /// Where words end behind `begin`, before `length`: how many ends there are.
    fn find_ends(&mut self, length: usize, begin: usize, inside: &[u64]) -> usize {
        let inside = inside.get(begin / BLOCK..).unwrap_or_default();
        self.ends.resize(self.ends.len().max((inside.len() + 1) * BLOCK), 0);
        let ends = &mut self.ends[..];
        at_level!(
            avx512: x86::ends_512(length, begin, inside, ends),
            avx2: x86::ends_256(length, begin, inside, ends),
            portable: ends_portable(length, begin, inside, ends),
        )
    }
}

/// The places behind `$begin`, before `$length`, that are not inside, block by block as `$write` writes them: their number.
macro_rules! each_block {
    ($length:ident, $begin:ident, $inside:ident, $ends:ident, $write:ident) => {{
        let (mut count, mut passed) = (0, !(u64::MAX << ($begin % BLOCK)));
        for (at, &inside) in ($begin / BLOCK * BLOCK..).step_by(BLOCK).zip($inside) {
            let there = u64::MAX >> (BLOCK - ($length - at).min(BLOCK));
            let ends = !(inside | passed) & there;
            passed = 0;
            let Some(into) = $ends[count..].first_chunk_mut() else { break };
            $write(ends, at as u32, into);
            count += ends.count_ones() as usize;
        }
        count
    }};
}

#[inline(always)]
fn ends_portable(length: usize, begin: usize, inside: &[u64], ends: &mut [u32]) -> usize {
    each_block!(length, begin, inside, ends, write)
}

/// Writes where the bits are: eight at a time, some too many.
#[inline(always)]
fn write(mut bits: u64, at: u32, into: &mut [u32; BLOCK]) {
    for eight in into.as_chunks_mut::<8>().0 {
        for place in eight {
            *place = at + bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            return;
        }
    }
}

/// The units of short words, and a list of the others.
fn short(
    bytes: &[u8],
    begin: usize,
    ends: &[u32],
    rabin: &Rabin,
    into: &mut [u64],
    long: &mut [Long],
) -> Written {
    at_level!(
        avx512: x86::four_sixteens(bytes, begin, ends, rabin, into, long),
        avx2: x86::sixteens(bytes, begin, ends, rabin, into, long, Written::default()),
        portable: eights(bytes, begin, ends, into, long, Written::default()),
    )
}

/// The units of words of up to eight bytes.
fn eights(
    bytes: &[u8],
    mut begin: usize,
    ends: &[u32],
    into: &mut [u64],
    long: &mut [Long],
    Written { mut units, long: mut longs }: Written,
) -> Written {
    for &end in ends {
        let length = end as usize - begin;
        let number = match bytes[begin..].first_chunk() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => bytes[begin..].iter().rev().fold(0, |number, &byte| number >> 8 | u64::from(byte) << 56),
        };
        into[units] = number >> (64_usize.wrapping_sub(8 * length) % 64);
        // Written in any case, counted when the word is long: its unit is made later.
        long[longs] = Long { unit: units as u32, begin: begin as u32, end };
        longs += usize::from(length > 8);
        units += usize::from(length > 0);
        begin = end as usize + 1;
    }
    Written { units, long: longs }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, Long, Written};
    use crate::text::kernel::carryless::x86::{barrett, barrett_of_four};
    use crate::text::rabin::Rabin;
    use std::arch::x86_64::*;

    /// How the bytes of a word of n bytes are turned round, and those behind it dropped: sixteen numbers from 16 - n on.
    const TURNS: [u8; 32] = {
        let (mut turns, mut at) = ([0x80; 32], 0);
        while at < 16 {
            turns[at] = 15 - at as u8;
            at += 1;
        }
        turns
    };

    /// The units of words of up to sixteen bytes, and of up to eight at the end of the bytes.
    #[target_feature(enable = "avx2,pclmulqdq")]
    pub fn sixteens(
        bytes: &[u8],
        mut begin: usize,
        ends: &[u32],
        rabin: &Rabin,
        into: &mut [u64],
        long: &mut [Long],
        Written { mut units, long: mut longs }: Written,
    ) -> Written {
        let modulus = rabin.modulus();
        let mut rest = ends;
        while let ([end, others @ ..], Some(some)) = (rest, bytes.get(begin..begin + 16)) {
            let length = *end as usize - begin;
            let turns = &TURNS[16_usize.saturating_sub(length)..][..16];
            // Sound: there are sixteen bytes each, and an unaligned load asks for no more.
            let (some, turns) =
                unsafe { (_mm_loadu_si128(some.as_ptr().cast()), _mm_loadu_si128(turns.as_ptr().cast())) };
            into[units] = barrett(_mm_shuffle_epi8(some, turns), modulus);
            // Written in any case, counted when the word is long: its unit is made later.
            long[longs] = Long { unit: units as u32, begin: begin as u32, end: *end };
            longs += usize::from(length > 16);
            units += usize::from(length > 0);
            (begin, rest) = (*end as usize + 1, others);
        }
        super::eights(bytes, begin, rest, into, long, Written { units, long: longs })
    }

    /// In each of four lanes the number of the first byte of the number that is the lane's.
    const LANES: [u8; 64] = {
        let (mut lanes, mut at) = ([0; 64], 0);
        while at < 64 {
            lanes[at] = at as u8 / 16 * 4;
            at += 1;
        }
        lanes
    };

    /// As [`sixteens`], four words at a time.
    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq,avx2,pclmulqdq,bmi1,bmi2,popcnt"
    )]
    pub fn four_sixteens(
        bytes: &[u8],
        mut begin: usize,
        ends: &[u32],
        rabin: &Rabin,
        into: &mut [u64],
        long: &mut [Long],
    ) -> Written {
        // Sound: there are 64 bytes each, and an unaligned load asks for no more.
        let (lanes, places) = unsafe {
            (_mm512_loadu_si512(LANES.as_ptr().cast()), _mm512_loadu_si512(PLACES.as_ptr().cast()))
        };
        // Behind the first byte of a lane is the second: how many bytes a word has from there on, at most.
        let behind = _mm512_add_epi8(_mm512_and_si512(places, _mm512_set1_epi8(15)), _mm512_set1_epi8(1));
        let Written { mut units, long: mut longs } = Written::default();
        let mut rest = ends;
        while let ([first, second, third, fourth, others @ ..], Some(into)) =
            (rest, into.get_mut(units..units + 4))
        {
            let begins = [begin, *first as usize + 1, *second as usize + 1, *third as usize + 1];
            if begins[3] + 16 > bytes.len() {
                break;
            }
            let words = four(
                load(&bytes[begins[0]..][..16]),
                load(&bytes[begins[1]..][..16]),
                load(&bytes[begins[2]..][..16]),
                load(&bytes[begins[3]..][..16]),
            );
            // Sound: there are four ends, and an unaligned load asks for no more.
            let ends = unsafe { _mm_loadu_si128(rest.as_ptr().cast()) };
            let before = _mm_insert_epi32::<0>(_mm_slli_si128::<4>(ends), begin as i32 - 1);
            let lengths = _mm_sub_epi32(_mm_sub_epi32(ends, before), _mm_set1_epi32(1));
            // Byte n - 1 - i of a word of n goes to place i; what would lie before the word is none.
            let turns = _mm512_sub_epi8(_mm512_shuffle_epi8(_mm512_broadcast_i32x4(lengths), lanes), behind);
            let turned = _mm512_shuffle_epi8(words, turns);
            let there = _mm_test_epi32_mask(lengths, lengths);
            let found = barrett_of_four(turned, rabin.modulus(), there);
            // Sound: there is room for four units, and an unaligned store writes no more.
            unsafe { _mm256_storeu_si256(into.as_mut_ptr().cast(), found) };
            let mut beyond = _mm_cmpgt_epu32_mask(lengths, _mm_set1_epi32(16));
            while beyond != 0 {
                let lane = beyond.trailing_zeros() as usize;
                let before = (there & !(u8::MAX << lane)).count_ones();
                long[longs] =
                    Long { unit: units as u32 + before, begin: begins[lane] as u32, end: rest[lane] };
                longs += 1;
                beyond &= beyond - 1;
            }
            units += there.count_ones() as usize;
            (begin, rest) = (*fourth as usize + 1, others);
        }
        sixteens(bytes, begin, rest, rabin, into, long, Written { units, long: longs })
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(bytes: &[u8]) -> __m128i {
        assert!(bytes.len() == 16);
        // Sound: there are sixteen bytes, and an unaligned load asks for no more.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn four(a: __m128i, b: __m128i, c: __m128i, d: __m128i) -> __m512i {
        let low = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b);
        let high = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(c), d);
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
    }

    const PLACES: [u8; BLOCK] = {
        let (mut places, mut at) = ([0; BLOCK], 0);
        while at < BLOCK {
            places[at] = at as u8;
            at += 1;
        }
        places
    };

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub fn ends_256(length: usize, begin: usize, inside: &[u64], ends: &mut [u32]) -> usize {
        super::ends_portable(length, begin, inside, ends)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
    pub fn ends_512(length: usize, begin: usize, inside: &[u64], ends: &mut [u32]) -> usize {
        each_block!(length, begin, inside, ends, write)
    }

    /// Writes where the bits are: sixteen at a time, some too many.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    fn write(bits: u64, at: u32, into: &mut [u32; BLOCK]) {
        // Sound: there are 64 bytes, and an unaligned load asks for no more.
        let places = unsafe { _mm512_loadu_si512(PLACES.as_ptr().cast()) };
        let places = _mm512_maskz_compress_epi8(bits, places);
        let at = _mm512_set1_epi32(at as i32);
        let [first, second, third, fourth] = into.as_chunks_mut::<16>().0 else { return };
        write_sixteen(_mm512_castsi512_si128(places), at, first);
        if bits.count_ones() > 16 {
            write_sixteen(_mm512_extracti32x4_epi32::<1>(places), at, second);
            write_sixteen(_mm512_extracti32x4_epi32::<2>(places), at, third);
            write_sixteen(_mm512_extracti32x4_epi32::<3>(places), at, fourth);
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn write_sixteen(places: __m128i, at: __m512i, into: &mut [u32; 16]) {
        let places = _mm512_add_epi32(_mm512_cvtepu8_epi32(places), at);
        // Sound: there is room for sixteen numbers, and an unaligned store writes no more.
        unsafe { _mm512_storeu_si512(into.as_mut_ptr().cast(), places) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::kernel::ascii;
    use crate::text::rabin::mix;

    #[test]
    fn units_equal_their_definition_at_every_length_and_offset() {
        let (rabin, mut words, mut inside) = (Rabin::new(1), Words::default(), Vec::new());
        for length in (0..200).chain([1000, 4096]) {
            for rarely in [1, 2, 5, 12, 40] {
                let byte = |i: u64| {
                    if mix(i ^ length << 32).is_multiple_of(rarely) { b' ' } else { b'a' + (i % 26) as u8 }
                };
                let bytes: Vec<u8> = (0..length).map(byte).collect();
                ascii::above_space(&bytes, &mut inside);
                for begin in [0, 1, 63, 64, 65, 130].into_iter().filter(|begin| *begin <= bytes.len()) {
                    let mut found = vec![7];
                    let open = words.push(&bytes, begin, &inside, &rabin, &mut found);
                    let mut parts = bytes[begin..].split(|byte| *byte == b' ');
                    assert_eq!(Some(open), parts.next_back(), "{length} bytes from {begin}");
                    let expected: Vec<u64> =
                        parts.filter(|word| !word.is_empty()).map(|word| rabin.bytes(word)).collect();
                    assert_eq!(found[1..], expected, "{length} bytes from {begin}");
                }
            }
        }
    }
}
