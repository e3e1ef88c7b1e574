//! The units of ASCII words: up to eight bytes are themselves as one number, up to sixteen are reduced by carry-less
//! multiplication where there is one, longer ones byte by byte.
//!
//! Where words end is found for a whole block before any word is looked at, and long words are set aside: loops whose turns
//! nobody can foretell cost more than the work in them.

use super::{at_level, carryless};
use crate::text::rabin::Rabin;

/// Buffers that are kept from text to text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    ends: Vec<u32>,
    long: Vec<Long>,
}

/// A word of more than eight bytes: which word it is, and where it is.
#[derive(Clone, Copy, Debug, Default)]
struct Long {
    word: u32,
    begin: u32,
    length: u32,
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
        let (ends, long, into) = (&self.ends[..count], &mut self.long[..count], &mut out[before..]);
        let (mut begin, mut kept, mut longs) = (begin, 0, 0);
        for &end in ends {
            let length = end as usize - begin;
            into[kept] = short(&bytes[begin..], length);
            // Written in any case, counted when the word is long: its unit is made later.
            long[longs] = Long { word: kept as u32, begin: begin as u32, length: length as u32 };
            longs += usize::from(length > 8);
            kept += usize::from(length > 0);
            begin = end as usize + 1;
        }
        for &Long { word, begin, length } in &long[..longs] {
            into[word as usize] = unit(&bytes[begin as usize..], length as usize, rabin);
        }
        out.truncate(before + kept);
        bytes.get(begin..).unwrap_or_default()
    }
}

impl Words {
    /// Where words end behind `begin`, before `length`: how many ends there are.
    fn find_ends(&mut self, length: usize, begin: usize, inside: &[u64]) -> usize {
        let (mut count, mut passed) = (0, !(u64::MAX << (begin % BLOCK)));
        let first = begin / BLOCK;
        self.ends.resize(self.ends.len().max((inside.len() + 1) * BLOCK), 0);
        for (at, &inside) in (first..).zip(inside.get(first..).unwrap_or_default()) {
            let there = u64::MAX >> (BLOCK - (length - at * BLOCK).min(BLOCK));
            let ends = !(inside | passed) & there;
            passed = 0;
            let Some(into) = self.ends[count..].first_chunk_mut() else { break };
            write(ends, (at * BLOCK) as u32, into);
            count += ends.count_ones() as usize;
        }
        count
    }
}

/// Writes where the bits are.
#[inline]
fn write(bits: u64, at: u32, into: &mut [u32; BLOCK]) {
    at_level!(avx512: x86::write(bits, at, into), portable: portable(bits, at, into));
}

/// Eight at a time, some too many.
#[inline]
fn portable(mut bits: u64, at: u32, into: &mut [u32; BLOCK]) {
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

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::BLOCK;
    use std::arch::x86_64::*;

    const PLACES: [u8; BLOCK] = {
        let (mut places, mut at) = ([0; BLOCK], 0);
        while at < BLOCK {
            places[at] = at as u8;
            at += 1;
        }
        places
    };

    /// Sixteen at a time, some too many.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
    pub fn write(bits: u64, at: u32, into: &mut [u32; BLOCK]) {
        // Sound: there are 64 bytes, and an unaligned load asks for no more.
        let places = unsafe { _mm512_loadu_si512(PLACES.as_ptr().cast()) };
        let places = _mm512_maskz_compress_epi8(bits, places);
        let at = _mm512_set1_epi32(at as i32);
        let parts = [
            _mm512_castsi512_si128(places),
            _mm512_extracti32x4_epi32::<1>(places),
            _mm512_extracti32x4_epi32::<2>(places),
            _mm512_extracti32x4_epi32::<3>(places),
        ];
        let enough = bits.count_ones().div_ceil(16) as usize;
        for (part, into) in parts.into_iter().zip(into.as_chunks_mut::<16>().0).take(enough) {
            let part = _mm512_add_epi32(_mm512_cvtepu8_epi32(part), at);
            // Sound: there is room for sixteen numbers, and an unaligned store writes no more.
            unsafe { _mm512_storeu_si512(into.as_mut_ptr().cast(), part) };
        }
    }
}

/// The unit of a word of up to eight bytes, anything of another.
#[inline]
fn short(bytes: &[u8], length: usize) -> u64 {
    let number = match bytes.first_chunk() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => bytes.iter().rev().fold(0, |number, &byte| number >> 8 | u64::from(byte) << 56),
    };
    number >> (64_usize.wrapping_sub(8 * length) % 64)
}

fn unit(bytes: &[u8], length: usize, rabin: &Rabin) -> u64 {
    match bytes.first_chunk() {
        Some(bytes) if length <= 16 && carryless::is_there() => {
            carryless::reduced(u128::from_be_bytes(*bytes) >> (128 - 8 * length), rabin.modulus())
        }
        _ => rabin.bytes(&bytes[..length]),
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
