//! The mixer of 64 bits over many values, and the choice of the small among them.

use super::{at_level, for_every_level};
use crate::text::rabin::mix;

for_every_level! {
    /// Each value mixed after a key was added to it without carry, behind those that are there.
    fn keyed(values: &[u64], key: u64, out: &mut Vec<u64>) {
        out.extend(values.iter().map(|value| mix(value ^ key)));
    }
}

/// What the sums of windows are multiplied by for a token more: odd, 2^64 by the golden ratio.
const WEIGHT: u64 = 0x9E37_79B9_7F4A_7C15;

for_every_level! {
    /// The sum of every `width` tokens, keyed and mixed, behind those that are there.
    fn windows(tokens: &[u64], width: usize, key: u64, out: &mut Vec<u64>) {
        match width {
            2 => {
                let pairs = tokens.iter().zip(tokens.get(1..).unwrap_or_default());
                out.extend(pairs.map(|(a, b)| mix(a.wrapping_mul(WEIGHT).wrapping_add(*b) ^ key)));
            }
            _ => out.extend(tokens.windows(width).map(|window| {
                mix(window.iter().fold(0, |sum: u64, token| sum.wrapping_mul(WEIGHT).wrapping_add(*token)) ^ key)
            })),
        }
    }
}

/// Writes the values up to `limit`, in their order, to the front of a buffer: how many there are.
pub(crate) fn up_to(values: &[u64], limit: u64, out: &mut Vec<u64>) -> usize {
    // A write may be of some values too many.
    out.resize(out.len().max(values.len() + 8), 0);
    at_level!(avx512: x86::up_to(values, limit, out), portable: portable(values, limit, 0, out))
}

/// Writes the values that are kept from `kept` on: where they end.
fn portable(values: &[u64], limit: u64, mut kept: usize, out: &mut [u64]) -> usize {
    for &value in values {
        out[kept] = value;
        kept += usize::from(value <= limit);
    }
    kept
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f,popcnt")]
    pub fn up_to(values: &[u64], limit: u64, out: &mut [u64]) -> usize {
        let (blocks, rest) = values.as_chunks::<8>();
        let (most, mut kept) = (_mm512_set1_epi64(limit as i64), 0);
        for block in blocks {
            // Sound: a block has eight values, and an unaligned load asks for no more.
            let values = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            let mask = _mm512_cmple_epu64_mask(values, most);
            let into = &mut out[kept..kept + 8];
            // Sound: the slice has room for eight values, and an unaligned store writes no more.
            unsafe {
                _mm512_storeu_si512(into.as_mut_ptr().cast(), _mm512_maskz_compress_epi64(mask, values))
            };
            kept += mask.count_ones() as usize;
        }
        super::portable(rest, limit, kept, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_equals_its_definition_at_every_length() {
        for length in (0..200).chain([5000]) {
            let values: Vec<u64> = (0..length).map(|i| mix(i ^ length << 32)).collect();
            let one_of_them = values.iter().copied().nth(values.len() / 2).unwrap_or(0);
            for limit in [0, one_of_them, mix(length), u64::MAX >> 2, u64::MAX] {
                let mut kept = Vec::new();
                let count = up_to(&values, limit, &mut kept);
                let expected: Vec<u64> = values.iter().copied().filter(|value| *value <= limit).collect();
                assert_eq!(kept[..count], expected, "{length} up to {limit}");
            }
            let mut mixed = vec![7];
            keyed(&values, 9, &mut mixed);
            assert_eq!(mixed[1..], values.iter().map(|value| mix(value ^ 9)).collect::<Vec<u64>>());
            for width in [1, 2, 3, 64] {
                let mut hashes = vec![7];
                windows(&values, width, 9, &mut hashes);
                let next = |sum: u64, token: &u64| sum.wrapping_mul(WEIGHT).wrapping_add(*token);
                let hash = |window: &[u64]| mix(window.iter().fold(0, next) ^ 9);
                assert_eq!(hashes[1..], values.windows(width).map(hash).collect::<Vec<u64>>(), "{width}");
            }
        }
    }
}
