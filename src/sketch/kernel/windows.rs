//! Hashes of all windows of n characters: Σ cᵢ·B^(i-1) modulo 2^32, then one round of a mixer, which is bijective.
//!
//! B is 256 for windows of up to four characters, so that the sum of four bytes is the number that they are. The sums of twice
//! as long windows come from those at hand, W₂ₘ[i] = Wₘ[i] + Wₘ[i+m]·B^m, so that a window takes log₂ n steps, each over all
//! windows at once.

use crate::text::kernel::for_every_level;

/// The base of the sums of more than four characters, odd.
const BASE: u32 = 0x9E37_79B1;

/// Buffers that are kept from block to block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    hashes: Vec<u32>,
    doubled: Vec<u32>,
}

impl Windows {
    /// The hash of each window of `width` characters, keyed; none of fewer characters.
    pub fn hash(&mut self, characters: &[u32], width: usize, key: u32) -> &[u32] {
        self.hashes.clear();
        if characters.len() < width {
            return &[];
        }
        let base: u32 = if width <= 4 { 1 << 8 } else { BASE };
        // Most significant bit first: a window is doubled, then takes one character more where a bit says so.
        self.hashes.extend_from_slice(characters);
        let mut within = 1;
        for bit in (0..width.ilog2()).rev() {
            self.put_behind(None, within, base);
            within *= 2;
            if width >> bit & 1 == 1 {
                self.put_behind(Some(characters), within, base);
                within += 1;
            }
        }
        debug_assert_eq!(self.hashes.len(), characters.len() + 1 - width);
        hash_all(&mut self.hashes, key);
        &self.hashes
    }

    /// Puts windows behind those of `within` characters: these `others`, or the same.
    fn put_behind(&mut self, others: Option<&[u32]>, within: usize, base: u32) {
        let next = &others.unwrap_or(&self.hashes)[within..];
        sums(&self.hashes, next, base.wrapping_pow(within as u32), &mut self.doubled);
        std::mem::swap(&mut self.hashes, &mut self.doubled);
    }
}

for_every_level! {
    /// a + b·`weight` for each pair.
    fn sums(a: &[u32], b: &[u32], weight: u32, out: &mut Vec<u32>) {
        out.clear();
        out.extend(a.iter().zip(b).map(|(a, b)| a.wrapping_add(b.wrapping_mul(weight))));
    }
}

for_every_level! {
    /// The hash of each sum.
    fn hash_all(values: &mut [u32], key: u32) {
        values.iter_mut().for_each(|value| *value = hash(*value, key));
    }
}

/// The multipliers of a mixer of 32 bits (found by search, hash-prospector).
pub(super) const FIRST: u32 = 0x21F0_AAAD;
const SECOND: u32 = 0xD35A_2D97;

/// The hash of a sum: half a mixer, enough to choose by. Bijective.
#[inline(always)]
pub(super) fn hash(sum: u32, key: u32) -> u32 {
    let keyed = sum ^ key;
    let hash = (keyed ^ keyed >> 16).wrapping_mul(FIRST);
    // The top bits decide: without those below them, some kinds of windows are low far more often than others.
    hash ^ hash << 11
}

/// What a hash is mixed to: the other half.
#[inline(always)]
pub(crate) fn mixed(hash: u32) -> u32 {
    let hash = (hash ^ hash >> 15).wrapping_mul(SECOND);
    hash ^ hash >> 15
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_equal_their_definition_at_every_width_and_length() {
        let mut windows = Windows::default();
        for width in (1..=17).chain([31, 32, 33, 63, 64]) {
            let base: u32 = if width <= 4 { 256 } else { BASE };
            for length in (0..200).chain([1000]) {
                let characters: Vec<u32> = (0..length).map(|i: u32| mixed(i ^ length << 20)).collect();
                let sum = |window: &[u32]| {
                    window.iter().rev().fold(0, |sum: u32, c| sum.wrapping_mul(base).wrapping_add(*c))
                };
                let defined: Vec<u32> = characters.windows(width).map(|w| hash(sum(w), 77)).collect();
                assert_eq!(windows.hash(&characters, width, 77), defined, "{width} of {length}");
            }
        }
    }

    #[test]
    fn windows_of_one_kind_are_low_as_often_as_any_others() {
        let (digits, letters, space) = ("0123456789", "abcdefghijklmnopqrstuvwxyz", " ");
        for kind in [
            [digits; 4],
            [digits, digits, digits, space],
            [space, digits, digits, digits],
            [letters, letters, letters, space],
            [space, letters, letters, letters],
            [letters, letters, space, letters],
            [letters; 4],
            ["x", space, digits, digits],
            [letters, space, digits, space],
        ] {
            let mut sums = vec![0u32];
            for set in kind.iter().rev() {
                sums = sums
                    .iter()
                    .flat_map(|sum| set.bytes().map(move |byte| sum << 8 | u32::from(byte)))
                    .collect();
            }
            const KEYS: u32 = 400;
            let (mut all, mut squares) = (0.0, 0.0);
            for key in (0..KEYS).map(mixed) {
                let low = sums.iter().filter(|sum| hash(**sum, key) <= u32::MAX / 100).count() as f64;
                all += low;
                squares += low * low;
            }
            let (mean, expected) = (all / f64::from(KEYS), sums.len() as f64 / 100.0);
            let ratio = (squares / f64::from(KEYS) - mean * mean) / (expected * 0.99);
            // More even than draws is well; the sample variance of 400 has a relative standard error of √(2/400) = .07.
            assert!(ratio < 1.3, "{kind:?}: variance {ratio:.2} of the binomial");
            let error = (mean - expected).abs() / (expected / f64::from(KEYS)).sqrt();
            assert!(error < 4.5, "{kind:?}: mean {mean:.2}, {error:.1} standard errors from {expected}");
        }
    }
}
