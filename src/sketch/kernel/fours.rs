//! Which windows of four bytes have a low hash: 64 windows at a time, four loads a byte apart holding every fourth of them.

use super::windows::hash;
use crate::text::kernel::at_level;

/// Windows that are looked at together.
const BLOCK: usize = 64;
/// The bytes that they reach over.
const REACH: usize = BLOCK + 3;

/// What windows are held against: bytes below `least` count as that one; hashes are keyed, low ones are at most `most`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sieve {
    pub least: u8,
    pub key: u32,
    pub most: u32,
}

impl Sieve {
    /// The hash of a window.
    pub fn hash(self, window: [u8; 4]) -> u32 {
        hash(u32::from_le_bytes(window.map(|byte| byte.max(self.least))), self.key)
    }
}

/// A bit for each window of four bytes, 64 to a word: whether its hash is low.
pub(crate) fn low(bytes: &[u8], sieve: Sieve, out: &mut Vec<u64>) {
    let count = (bytes.len() + 1).saturating_sub(4);
    out.clear();
    out.resize(count.div_ceil(BLOCK), 0);
    at_level!(
        avx512: x86::all_512(bytes, sieve, out),
        avx2: x86::all_256(bytes, sieve, out),
        portable: all_portable(bytes, sieve, out),
    );
    // Windows that reach over the end are none.
    if let (Some(last), 1..) = (out.last_mut(), count % BLOCK) {
        *last &= !(u64::MAX << (count % BLOCK));
    }
}

/// Puts what `$of` makes of the bytes of each block into `$out`. A closure would be compiled without the instructions of
/// the function it is in.
macro_rules! each_block {
    ($bytes:ident, $sieve:ident, $out:ident, $of:ident) => {
        for (number, out) in $out.iter_mut().enumerate() {
            let rest = $bytes.get(number * BLOCK..).unwrap_or_default();
            *out = match rest.first_chunk() {
                Some(block) => $of(block, $sieve),
                None => {
                    let mut last = [0; REACH];
                    last[..rest.len()].copy_from_slice(rest);
                    $of(&last, $sieve)
                }
            };
        }
    };
}

fn all_portable(bytes: &[u8], sieve: Sieve, out: &mut [u64]) {
    each_block!(bytes, sieve, out, portable);
}

fn portable(block: &[u8; REACH], sieve: Sieve) -> u64 {
    let mut all = 0;
    let mut raised = *block;
    raised.iter_mut().for_each(|byte| *byte = sieve.least.max(*byte));
    for from in 0..4 {
        let (windows, _) = raised[from..from + BLOCK].as_chunks();
        let mut low = [0; BLOCK / 4];
        for (low, window) in low.iter_mut().zip(windows) {
            *low = u32::from(hash(u32::from_le_bytes(*window), sieve.key) <= sieve.most);
        }
        if low.iter().fold(0, |any, low| any | low) != 0 {
            let bits = low.iter().enumerate().fold(0, |bits, (at, low)| bits | u64::from(*low) << (4 * at));
            all |= bits << from;
        }
    }
    all
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::windows::FIRST;
    use super::{BLOCK, REACH, Sieve};
    use std::arch::x86_64::*;

    /// The lowest of every four bits.
    const EVERY_FOURTH: u64 = 0x1111_1111_1111_1111;

    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    pub fn all_512(bytes: &[u8], sieve: Sieve, out: &mut [u64]) {
        each_block!(bytes, sieve, out, block_512);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    fn block_512(block: &[u8; REACH], sieve: Sieve) -> u64 {
        every_fourth_512(block, 0, sieve)
            | every_fourth_512(block, 1, sieve)
            | every_fourth_512(block, 2, sieve)
            | every_fourth_512(block, 3, sieve)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    fn every_fourth_512(block: &[u8; REACH], from: usize, sieve: Sieve) -> u64 {
        let all = |of: u32| _mm512_set1_epi32(of as i32);
        // Sound: the slice has 64 bytes, and an unaligned load asks for no more.
        let windows = unsafe { _mm512_loadu_si512(block[from..from + BLOCK].as_ptr().cast()) };
        let windows = _mm512_max_epu8(windows, _mm512_set1_epi8(sieve.least as i8));
        // The key, and what is folded of it, come with what is folded of the windows.
        let key = all(sieve.key ^ sieve.key >> 16);
        let folded = _mm512_ternarylogic_epi32::<0x96>(windows, _mm512_srli_epi32::<16>(windows), key);
        let hash = _mm512_mullo_epi32(folded, all(FIRST));
        let hash = _mm512_xor_si512(hash, _mm512_slli_epi32::<11>(hash));
        let low = _mm512_cmple_epu32_mask(hash, all(sieve.most));
        _pdep_u64(low.into(), EVERY_FOURTH << from)
    }

    #[target_feature(enable = "avx2,bmi2")]
    pub fn all_256(bytes: &[u8], sieve: Sieve, out: &mut [u64]) {
        each_block!(bytes, sieve, out, block_256);
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi2")]
    fn block_256(block: &[u8; REACH], sieve: Sieve) -> u64 {
        every_fourth_256(block, 0, sieve)
            | every_fourth_256(block, 1, sieve)
            | every_fourth_256(block, 2, sieve)
            | every_fourth_256(block, 3, sieve)
    }

    #[inline]
    #[target_feature(enable = "avx2,bmi2")]
    fn every_fourth_256(block: &[u8; REACH], from: usize, sieve: Sieve) -> u64 {
        let [low, high] = [low_256(block, from, sieve), low_256(block, from + BLOCK / 2, sieve)];
        _pdep_u64((high << 8 | low).into(), EVERY_FOURTH << from)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn low_256(block: &[u8; REACH], from: usize, sieve: Sieve) -> u32 {
        let all = |of: u32| _mm256_set1_epi32(of as i32);
        // Sound: the slice has 32 bytes, and an unaligned load asks for no more.
        let windows = unsafe { _mm256_loadu_si256(block[from..from + BLOCK / 2].as_ptr().cast()) };
        let windows = _mm256_max_epu8(windows, _mm256_set1_epi8(sieve.least as i8));
        let keyed = _mm256_xor_si256(windows, all(sieve.key));
        let folded = _mm256_xor_si256(keyed, _mm256_srli_epi32::<16>(keyed));
        let hash = _mm256_mullo_epi32(folded, all(FIRST));
        let hash = _mm256_xor_si256(hash, _mm256_slli_epi32::<11>(hash));
        let low = _mm256_cmpeq_epi32(_mm256_min_epu32(hash, all(sieve.most)), hash);
        _mm256_movemask_ps(_mm256_castsi256_ps(low)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn bits_equal_their_definition_at_every_length() {
        let mut out = Vec::new();
        for length in (0..300).chain([1000, 4096]) {
            let bytes: Vec<u8> = (0..length).map(|i| mix(i ^ length << 32) as u8).collect();
            for (least, most) in [(0, 1 << 24), (b' ', 1 << 28), (b' ', u32::MAX), (0, 0)] {
                let sieve = Sieve { least, key: mix(length) as u32, most };
                let is_low = |window: &[u8; 4]| {
                    let number =
                        window.iter().rev().fold(0, |sum: u32, byte| sum << 8 | u32::from(least.max(*byte)));
                    u64::from(hash(number, sieve.key) <= most)
                };
                let bits: Vec<u64> = bytes.array_windows().map(is_low).collect();
                let words =
                    bits.chunks(64).map(|bits| bits.iter().rev().fold(0, |word, bit| word << 1 | bit));
                low(&bytes, sieve, &mut out);
                assert_eq!(out, words.collect::<Vec<u64>>(), "{length} bytes up to {most}");
            }
        }
    }
}
