//! How many values two ascending lists share: eight of one against eight of the other at a time (Inoue, Ohara, Taura,
//! *Faster set intersection with SIMD instructions*, 2014), in steps whose direction is no branch.

use crate::text::kernel::at_level;

/// How many values two ascending lists of distinct values share.
pub(crate) fn common(a: &[u64], b: &[u64]) -> u64 {
    at_level!(avx512: x86::common(a, b), portable: one_by_one(a, b))
}

fn one_by_one(a: &[u64], b: &[u64]) -> u64 {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        both += u64::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    both
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    const EIGHT: usize = 8;

    #[target_feature(enable = "avx512f,popcnt")]
    pub fn common(mut a: &[u64], mut b: &[u64]) -> u64 {
        let mut both = 0;
        while let (Some(x), Some(y)) = (a.first_chunk::<EIGHT>(), b.first_chunk::<EIGHT>()) {
            both += u64::from(equal(x, y).count_ones());
            // What ends lower has met all that it can meet.
            a = &a[EIGHT * usize::from(x[EIGHT - 1] <= y[EIGHT - 1])..];
            b = &b[EIGHT * usize::from(y[EIGHT - 1] <= x[EIGHT - 1])..];
        }
        both + super::one_by_one(a, b)
    }

    /// Which of eight values are among eight others.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn equal(x: &[u64; EIGHT], y: &[u64; EIGHT]) -> u8 {
        // Sound: there are eight values each, and an unaligned load asks for no more.
        let (x, y) =
            unsafe { (_mm512_loadu_si512(x.as_ptr().cast()), _mm512_loadu_si512(y.as_ptr().cast())) };
        _mm512_cmpeq_epi64_mask(x, y)
            | _mm512_cmpeq_epi64_mask(x, _mm512_alignr_epi64::<1>(y, y))
            | _mm512_cmpeq_epi64_mask(x, _mm512_alignr_epi64::<2>(y, y))
            | _mm512_cmpeq_epi64_mask(x, _mm512_alignr_epi64::<3>(y, y))
            | _mm512_cmpeq_epi64_mask(x, _mm512_alignr_epi64::<4>(y, y))
            | _mm512_cmpeq_epi64_mask(x, _mm512_alignr_epi64::<5>(y, y))
            | _mm512_cmpeq_epi64_mask(x, _mm512_alignr_epi64::<6>(y, y))
            | _mm512_cmpeq_epi64_mask(x, _mm512_alignr_epi64::<7>(y, y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;
    use std::collections::BTreeSet;

    #[test]
    fn equals_its_definition_at_every_length() {
        for length in (0..200).chain([256, 1000]) {
            for range in [2, 3, 7] {
                let list = |seed: u64, length: u64| -> BTreeSet<u64> {
                    (0..length).map(|i| mix(i ^ seed << 40 ^ length << 20) % (range * length)).collect()
                };
                let (a, b) = (list(1, length), list(2, 1 + length * 5 / 7));
                let [first, second] = [&a, &b].map(|set| set.iter().copied().collect::<Vec<u64>>());
                let expected = a.intersection(&b).count() as u64;
                assert_eq!(common(&first, &second), expected, "{length} of {}", range * length);
                assert_eq!(common(&second, &first), expected, "{length} of {}", range * length);
                assert_eq!(common(&first, &first), first.len() as u64);
            }
        }
    }
}
