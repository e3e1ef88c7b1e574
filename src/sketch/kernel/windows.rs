//! Hashes of all windows of n characters: Σ cᵢ·B^(n-1-i) modulo 2^32, then a bijective mixer of 32 bits.
//!
//! The sums of twice as long windows come from those at hand, W₂ₘ[i] = Wₘ[i]·B^m + Wₘ[i+m], so that a window takes
//! log₂ n steps, each over all windows at once.

use crate::text::kernel::{at_level, for_every_level};

/// The base of the sums, odd.
const BASE: u32 = 0x9E37_79B1;

/// Buffers that are kept from block to block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    hashes: Vec<u32>,
    doubled: Vec<u32>,
    low: Vec<u32>,
}

impl Windows {
    /// The hashes up to `most`, which few are, of all windows of `width` characters, keyed.
    pub fn low(&mut self, characters: &[u32], width: usize, key: u32, most: u32) -> &[u32] {
        // A write may be of some hashes too many.
        self.low.resize(self.low.len().max(characters.len() + 16), 0);
        let (done, found) = if width == 4 { fours(characters, key, most, &mut self.low) } else { (0, 0) };
        self.hash(&characters[done..], width, key);
        let mut end = found;
        for &hash in self.hashes.iter().filter(|hash| **hash <= most) {
            self.low[end] = hash;
            end += 1;
        }
        &self.low[..end]
    }

    /// The hash of each window; none of fewer characters.
    fn hash(&mut self, characters: &[u32], width: usize, key: u32) {
        self.hashes.clear();
        if characters.len() < width {
            return;
        }
        let count = characters.len() + 1 - width;
        // Most significant bit first: a window is doubled, then takes one character more where a bit says so.
        self.hashes.extend_from_slice(characters);
        let mut within = 1;
        for bit in (0..width.ilog2()).rev() {
            let keep = self.hashes.len() - within;
            sums(
                &self.hashes[..keep],
                &self.hashes[within..],
                BASE.wrapping_pow(within as u32),
                &mut self.doubled,
            );
            std::mem::swap(&mut self.hashes, &mut self.doubled);
            within *= 2;
            if width >> bit & 1 == 1 {
                let keep = self.hashes.len() - 1;
                sums(&self.hashes[..keep], &characters[within..], BASE, &mut self.doubled);
                std::mem::swap(&mut self.hashes, &mut self.doubled);
                within += 1;
            }
        }
        debug_assert_eq!(self.hashes.len(), count);
        mix_all(&mut self.hashes, key);
    }
}

for_every_level! {
    /// a·`weight` + b for each pair.
    fn sums(a: &[u32], b: &[u32], weight: u32, out: &mut Vec<u32>) {
        out.clear();
        out.extend(a.iter().zip(b).map(|(a, b)| a.wrapping_mul(weight).wrapping_add(*b)));
    }
}

for_every_level! {
    /// Mixes each value after a key has been added to it without carry.
    fn mix_all(values: &mut [u32], key: u32) {
        values.iter_mut().for_each(|value| *value = mix(*value ^ key));
    }
}

/// Windows of four, the usual width, in one go where there are vectors for it: how many of them were passed,
/// and how many hashes were written.
fn fours(characters: &[u32], key: u32, most: u32, low: &mut [u32]) -> (usize, usize) {
    at_level!(
        avx512: x86::sixteens(characters, key, most, low),
        avx2: x86::eights(characters, key, most, low),
        portable: (0, 0),
    )
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BASE, FIRST, SECOND};
    use std::arch::x86_64::*;

    /// Sixteen windows at a time. Those of two characters are made once and used twice.
    #[target_feature(enable = "avx512f,popcnt")]
    pub fn sixteens(characters: &[u32], key: u32, most: u32, low: &mut [u32]) -> (usize, usize) {
        let all = |of: u32| _mm512_set1_epi32(of as i32);
        let (base, square, key, most) = (all(BASE), all(BASE.wrapping_mul(BASE)), all(key), all(most));
        let (first, second) = (all(FIRST), all(SECOND));
        // A pair is a window of two characters.
        let pairs = |at: usize| {
            _mm512_add_epi32(_mm512_mullo_epi32(load(characters, at), base), load(characters, at + 1))
        };
        let count = characters.len().saturating_sub(17) / 16 * 16;
        if count == 0 {
            return (0, 0);
        }
        let (mut these, mut found) = (pairs(0), 0);
        for at in (0..count).step_by(16) {
            let next = pairs(at + 16);
            let later = _mm512_alignr_epi32::<2>(next, these);
            let sum = _mm512_xor_si512(_mm512_add_epi32(_mm512_mullo_epi32(these, square), later), key);
            let hash = _mm512_mullo_epi32(_mm512_xor_si512(sum, _mm512_srli_epi32::<16>(sum)), first);
            let hash = _mm512_mullo_epi32(_mm512_xor_si512(hash, _mm512_srli_epi32::<15>(hash)), second);
            let hash = _mm512_xor_si512(hash, _mm512_srli_epi32::<15>(hash));
            let below = _mm512_cmple_epu32_mask(hash, most);
            let into = &mut low[found..found + 16];
            // Sound: the slice has room for sixteen hashes, and an unaligned store writes no more.
            unsafe {
                _mm512_storeu_si512(into.as_mut_ptr().cast(), _mm512_maskz_compress_epi32(below, hash))
            };
            found += below.count_ones() as usize;
            these = next;
        }
        (count, found)
    }

    /// Eight windows at a time.
    #[target_feature(enable = "avx2,bmi2,popcnt")]
    pub fn eights(characters: &[u32], key: u32, most: u32, low: &mut [u32]) -> (usize, usize) {
        let all = |of: u32| _mm256_set1_epi32(of as i32);
        let (base, square, key, most) = (all(BASE), all(BASE.wrapping_mul(BASE)), all(key), all(most));
        let (first, second) = (all(FIRST), all(SECOND));
        // A pair is a window of two characters.
        let pairs = |at: usize| {
            _mm256_add_epi32(
                _mm256_mullo_epi32(load_eight(characters, at), base),
                load_eight(characters, at + 1),
            )
        };
        let count = characters.len().saturating_sub(3) / 8 * 8;
        let mut found = 0;
        for at in (0..count).step_by(8) {
            let sum = _mm256_add_epi32(_mm256_mullo_epi32(pairs(at), square), pairs(at + 2));
            let sum = _mm256_xor_si256(sum, key);
            let hash = _mm256_mullo_epi32(_mm256_xor_si256(sum, _mm256_srli_epi32::<16>(sum)), first);
            let hash = _mm256_mullo_epi32(_mm256_xor_si256(hash, _mm256_srli_epi32::<15>(hash)), second);
            let hash = _mm256_xor_si256(hash, _mm256_srli_epi32::<15>(hash));
            let below = _mm256_cmpeq_epi32(_mm256_min_epu32(hash, most), hash);
            let below = _mm256_movemask_ps(_mm256_castsi256_ps(below)) as u32;
            // The places of the bits, a byte each, become the order in which lanes are written.
            let bytes = _pdep_u64(below.into(), 0x0101_0101_0101_0101) * 0xFF;
            let order = _mm_cvtsi64_si128(_pext_u64(0x0706_0504_0302_0100, bytes) as i64);
            let hashes = _mm256_permutevar8x32_epi32(hash, _mm256_cvtepu8_epi32(order));
            let into = &mut low[found..found + 8];
            // Sound: the slice has room for eight hashes, and an unaligned store writes no more.
            unsafe { _mm256_storeu_si256(into.as_mut_ptr().cast(), hashes) };
            found += below.count_ones() as usize;
        }
        (count, found)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load_eight(characters: &[u32], at: usize) -> __m256i {
        // Sound: the slice of eight numbers is there, and an unaligned load asks for no more.
        unsafe { _mm256_loadu_si256(characters[at..at + 8].as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(characters: &[u32], at: usize) -> __m512i {
        // Sound: the slice of sixteen numbers is there, and an unaligned load asks for no more.
        unsafe { _mm512_loadu_si512(characters[at..at + 16].as_ptr().cast()) }
    }
}

/// The multipliers of the mixer (found by search, hash-prospector).
const FIRST: u32 = 0x21F0_AAAD;
const SECOND: u32 = 0xD35A_2D97;

/// A bijective mixer of 32 bits: two multiplications between shifts.
#[inline(always)]
fn mix(value: u32) -> u32 {
    let value = (value ^ value >> 16).wrapping_mul(FIRST);
    let value = (value ^ value >> 15).wrapping_mul(SECOND);
    value ^ value >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_their_definition_at_every_width_and_length() {
        let mut windows = Windows::default();
        for width in (1..=17).chain([31, 32, 33, 63, 64]) {
            for length in (0..200).chain([1000]) {
                let characters: Vec<u32> =
                    (0..length).map(|i: u32| mix(i ^ length << 20) % 0x11_0001).collect();
                let hash =
                    |w: &[u32]| w.iter().fold(0, |sum: u32, c| sum.wrapping_mul(BASE).wrapping_add(*c));
                let defined: Vec<u32> = characters.windows(width).map(|w| mix(hash(w) ^ 77)).collect();
                for most in [0, 1 << 24, 1 << 28, u32::MAX] {
                    let low: Vec<u32> = defined.iter().copied().filter(|hash| *hash <= most).collect();
                    assert_eq!(windows.low(&characters, width, 77, most), low, "{width} of {length}");
                }
            }
        }
    }
}
