//! Which of many throws go into bins that are empty.

use crate::text::kernel::at_level;

/// A bit for each bin, 32 to a word.
pub(crate) type Bits = [u32; 128];

/// The throws of the upper halves of numbers into some bins, and of the lower halves, as `bin << 32 | place`: those into
/// bins whose bit is set, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Throws {
    upper: Vec<u64>,
    lower: Vec<u64>,
}

impl Throws {
    /// The throws of these numbers, of the upper halves and of the lower, into at most 4,096 bins.
    pub fn of(&mut self, numbers: &[u64], bins: u32, wanted: &Bits) -> [&[u64]; 2] {
        // A write may be of some throws too many.
        let room = self.upper.len().max(numbers.len() + 8);
        self.upper.resize(room, 0);
        self.lower.resize(room, 0);
        let (upper, lower) = (&mut self.upper[..], &mut self.lower[..]);
        let (first, second) = at_level!(
            avx512: x86::eights(numbers, bins, wanted, upper, lower),
            avx2: x86::fours(numbers, bins, wanted, upper, lower),
            portable: portable(numbers, bins, wanted, upper, lower, (0, 0)),
        );
        [&self.upper[..first], &self.lower[..second]]
    }
}

/// Writes throws behind those that are written.
fn portable(
    numbers: &[u64],
    bins: u32,
    wanted: &Bits,
    upper: &mut [u64],
    lower: &mut [u64],
    (mut first, mut second): (usize, usize),
) -> (usize, usize) {
    let is_wanted =
        |throw: u64| (wanted[(throw >> 37) as usize % wanted.len()] >> (throw >> 32 & 31) & 1) as usize;
    for number in numbers {
        upper[first] = (number >> 32) * u64::from(bins);
        first += is_wanted(upper[first]);
        lower[second] = (number & u64::from(u32::MAX)) * u64::from(bins);
        second += is_wanted(lower[second]);
    }
    (first, second)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Bits, portable};
    use std::arch::x86_64::*;

    /// Eight numbers at a time, where sixteen words hold the bits of all bins.
    #[target_feature(enable = "avx512f,popcnt")]
    pub fn eights(
        numbers: &[u64],
        bins: u32,
        wanted: &Bits,
        upper: &mut [u64],
        lower: &mut [u64],
    ) -> (usize, usize) {
        if bins > 512 {
            return portable(numbers, bins, wanted, upper, lower, (0, 0));
        }
        let (blocks, rest) = numbers.as_chunks::<8>();
        let (mut first, mut second) = (0, 0);
        let bins_of_each = _mm512_set1_epi64(bins.into());
        // Sound: there are 128 words, and an unaligned load asks for sixteen.
        let wanted_bits = unsafe { _mm512_loadu_si512(wanted.as_ptr().cast()) };
        for block in blocks {
            // Sound: a block has eight numbers, and an unaligned load asks for no more.
            let numbers = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            let throws = _mm512_mul_epu32(_mm512_srli_epi64::<32>(numbers), bins_of_each);
            first += keep_eight(throws, wanted_bits, &mut upper[first..first + 8]);
            let throws = _mm512_mul_epu32(numbers, bins_of_each);
            second += keep_eight(throws, wanted_bits, &mut lower[second..second + 8]);
        }
        portable(rest, bins, wanted, upper, lower, (first, second))
    }

    /// Writes the throws that are wanted, and what may: how many are.
    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    fn keep_eight(throws: __m512i, wanted: __m512i, into: &mut [u64]) -> usize {
        let words = _mm512_permutexvar_epi32(_mm512_srli_epi64::<37>(throws), wanted);
        let bits = _mm512_and_si512(_mm512_srli_epi64::<32>(throws), _mm512_set1_epi64(31));
        let mask = _mm512_test_epi64_mask(_mm512_srlv_epi64(words, bits), _mm512_set1_epi64(1));
        assert!(into.len() == 8);
        // Sound: there is room for eight throws, and an unaligned store writes no more.
        unsafe { _mm512_storeu_si512(into.as_mut_ptr().cast(), _mm512_maskz_compress_epi64(mask, throws)) };
        mask.count_ones() as usize
    }

    /// Four numbers at a time, where eight words hold the bits of all bins.
    #[target_feature(enable = "avx2,bmi2,popcnt")]
    pub fn fours(
        numbers: &[u64],
        bins: u32,
        wanted: &Bits,
        upper: &mut [u64],
        lower: &mut [u64],
    ) -> (usize, usize) {
        if bins > 256 {
            return portable(numbers, bins, wanted, upper, lower, (0, 0));
        }
        let (blocks, rest) = numbers.as_chunks::<4>();
        let (mut first, mut second) = (0, 0);
        let bins_of_each = _mm256_set1_epi64x(bins.into());
        // Sound: there are 128 words, and an unaligned load asks for eight.
        let wanted_bits = unsafe { _mm256_loadu_si256(wanted.as_ptr().cast()) };
        for block in blocks {
            // Sound: a block has four numbers, and an unaligned load asks for no more.
            let numbers = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
            let throws = _mm256_mul_epu32(_mm256_srli_epi64::<32>(numbers), bins_of_each);
            first += keep_four(throws, wanted_bits, &mut upper[first..first + 4]);
            let throws = _mm256_mul_epu32(numbers, bins_of_each);
            second += keep_four(throws, wanted_bits, &mut lower[second..second + 4]);
        }
        portable(rest, bins, wanted, upper, lower, (first, second))
    }

    /// Writes the throws that are wanted, and what may: how many are.
    #[inline]
    #[target_feature(enable = "avx2,bmi2,popcnt")]
    fn keep_four(throws: __m256i, wanted: __m256i, into: &mut [u64]) -> usize {
        let words = _mm256_permutevar8x32_epi32(wanted, _mm256_srli_epi64::<37>(throws));
        let bits = _mm256_and_si256(_mm256_srli_epi64::<32>(throws), _mm256_set1_epi64x(31));
        let tops = _mm256_slli_epi64::<63>(_mm256_srlv_epi64(words, bits));
        let mask = _mm256_movemask_pd(_mm256_castsi256_pd(tops)) as u32;
        // The places of the bits, two halves each, become the order in which halves are written.
        let halves = _pdep_u64(mask.into(), 0x0001_0001_0001_0001) * 0xFFFF;
        let order = _mm_cvtsi64_si128(_pext_u64(0x0706_0504_0302_0100, halves) as i64);
        let kept = _mm256_permutevar8x32_epi32(throws, _mm256_cvtepu8_epi32(order));
        assert!(into.len() == 4);
        // Sound: there is room for four throws, and an unaligned store writes no more.
        unsafe { _mm256_storeu_si256(into.as_mut_ptr().cast(), kept) };
        mask.count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn throws_equal_their_definition_at_every_length() {
        let mut throws = Throws::default();
        for bins in [1, 2, 31, 32, 33, 128, 255, 256, 257, 500, 512, 513, 4096] {
            for length in (0..100).chain([1000]) {
                let numbers: Vec<u64> = (0..length).map(|i| mix(i ^ length << 32)).collect();
                let often = mix(length) & 3;
                let wanted = std::array::from_fn(|i| mix(i as u64 ^ length) as u32 >> (8 * often));
                let defined = |half: fn(u64) -> u64| -> Vec<u64> {
                    let throws = numbers.iter().map(|number| half(*number) * u64::from(bins));
                    throws
                        .filter(|throw| wanted[(throw >> 37) as usize] >> (throw >> 32 & 31) & 1 == 1)
                        .collect()
                };
                let expected = [defined(|number| number >> 32), defined(|number| number << 32 >> 32)];
                assert_eq!(
                    throws.of(&numbers, bins, &wanted),
                    [&expected[0][..], &expected[1]],
                    "{length} into {bins}"
                );
            }
        }
    }
}
