//! One sorted list that is both of Broder's sketches, MIN_s and MOD_m (1997, section 3).
//!
//! Every shingle has a 40-bit value h, the top bits of a keyed permutation of its fingerprint. Read from its lowest bit up
//! ("bit-reversed", another injection, which the theorem allows), "divisible by 2^i" is "h < 2^(40-i)". So MIN_s and all
//! L_i = MOD_{2^i} are prefixes of one ascending list: a sample is {bound, all values below bound}. The bound is the
//! (s+1)-th smallest value, or 2^40 when the text has at most s distinct shingles and the sample is *whole*.
//!
//! Broder keeps L_i of documents of 100·2^i up to 100·2^(i+1) shingles, 100 to 200 values. With the size estimated from
//! the sample itself, L_i always lies inside the bottom s: 2^(40-i) < 200·bound/s ≤ bound for s ≥ 200 (the 100 shrinks to
//! s/2 for smaller s). Bytes: `schema/format.md`, "Sample".

use crate::bits::{BitWriter, EliasFano};
use crate::error::{Error, Result};

/// One more than the greatest value: the bound of a whole sample.
pub(crate) const WHOLE: u64 = 1 << 40;

/// The value of a shingle's 64-bit hash.
pub(crate) fn value_of(hash: u64) -> u64 {
    hash >> 24
}

/// The values of a text's shingles below a bound, ascending and distinct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    bound: u64,
    values: Vec<u64>,
}

impl Sample {
    /// The `size` smallest of `hashes` (64-bit, ascending), which must hold every value of the text that is among its
    /// `size` + 1 smallest.
    pub(crate) fn of_sorted(hashes: &[u64], size: usize) -> Self {
        let mut values: Vec<u64> = Vec::with_capacity(size + 1);
        values.extend(hashes.iter().take(size + 1).copied().map(value_of));
        // Hardly ever are two alike.
        if values.windows(2).filter(|pair| pair[0] == pair[1]).count() > 0 {
            values.clear();
            for value in hashes.iter().copied().map(value_of) {
                if values.last() != Some(&value) {
                    values.push(value);
                    if values.len() > size {
                        break;
                    }
                }
            }
        }
        let bound = if values.len() > size { values.pop().expect("size + 1 values") } else { WHOLE };
        Sample { bound, values }
    }

    /// These values, ascending and below `bound`.
    pub(crate) fn of_values(bound: u64, values: Vec<u64>) -> Self {
        Sample { bound, values }
    }

    /// All values below [`bound`](Self::bound), ascending.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// Every value of the text below this one is in the sample; at most 2^40.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// Whether the sample holds every shingle of the text.
    pub fn is_whole(&self) -> bool {
        self.bound == WHOLE
    }

    /// How many distinct shingles the text has: exact when the sample is whole, else the unbiased estimate s/U₍s₊₁₎ with a
    /// relative standard error of 1/√s (Bar-Yossef et al. 2002, k minimum values).
    pub fn shingles(&self) -> f64 {
        self.values.len() as f64 * (WHOLE as f64 / self.bound as f64)
    }

    /// MIN_s of the text's shingles, or `None` when the sample is smaller than that.
    pub fn bottom_s(&self, s: usize) -> Option<&[u64]> {
        match self.values.get(..s) {
            None if self.is_whole() => Some(&self.values),
            prefix => prefix,
        }
    }

    /// L_i = MOD_{2^i}: the values below 2^(40-i), or `None` when the sample ends before. The first s of them are
    /// MIN_s(MOD_{2^i}), which Broder proposes for very long texts.
    pub fn mod_2i(&self, i: u32) -> Option<&[u64]> {
        let end = WHOLE >> i.min(40);
        (end <= self.bound).then(|| self.below(end))
    }

    /// The level i whose L_i Broder would keep of a text of this size.
    pub fn level(&self) -> u32 {
        (self.shingles() / self.base()).max(1.0).log2() as u32
    }

    /// The least size of a text of level 0.
    fn base(&self) -> f64 {
        if self.is_whole() { 100.0 } else { (self.values.len() as f64 / 2.0).min(100.0) }
    }

    /// What the containment index holds of the text: L_{i+1}, 50 to 100 values, or all of a text of fewer than 100.
    pub(crate) fn posted(&self) -> &[u64] {
        let level = if self.shingles() < self.base() { 0 } else { self.level() + 1 };
        self.below(WHOLE >> level)
    }

    /// At least this share of the pairs with a resemblance are found by a value that one of them is posted under and the sample
    /// of the other has, when samples are of `size` values.
    ///
    /// A text of 100 shingles and more is posted under 50 of its values at least, on average, or `size`/4; of these the
    /// other text has c, not less than the resemblance r (of a text in another that is r times as long, c = r). Each of their
    /// common shingles being posted by chance, none is with a probability of e^(-50·c) at most. A shorter text is posted under
    /// all of its values, and one in another that is up to 1/r times as long meets r·`size` of them.
    pub(crate) fn meeting_probability(size: usize, resemblance: f64) -> f64 {
        let posted = (size as f64 / 4.0).min(50.0);
        1.0 - (-posted * resemblance).exp()
    }

    /// The values below `end`.
    pub(crate) fn below(&self, end: u64) -> &[u64] {
        &self.values[..self.values.partition_point(|&value| value < end)]
    }

    /// The stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = BitWriter::default();
        out.push(self.values.len() as u64, 32);
        out.push(if self.is_whole() { 0 } else { self.bound }, 40);
        EliasFano::new(self.values.len(), self.bound - 1).encode(self.values.iter().copied(), &mut out);
        out.finish()
    }

    /// Reads the stored form: never more values than the bytes can hold, all ascending and below the bound.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let shape = Self::shape(bytes)?;
        let mut values = Vec::with_capacity(shape.count);
        shape.each(|value| {
            values.push(value);
            true
        });
        let ascending = values.windows(2).all(|pair| pair[0] < pair[1]);
        let holds = ascending && values.last().is_none_or(|&last| last < shape.bound);
        shape.check(holds, values.len())?;
        Ok(Sample { bound: shape.bound, values })
    }

    /// What the stored form says of itself.
    pub(crate) fn shape(bytes: &[u8]) -> Result<Shape<'_>> {
        let wrong = |what: &str| Error::corrupt("sample", what);
        let (head, code) = bytes.split_at_checked(9).ok_or_else(|| wrong("shorter than its header"))?;
        let count = crate::bits::field(head, 0, 32) as usize;
        let bound = match crate::bits::field(head, 32, 40) {
            0 => WHOLE,
            bound => bound,
        };
        match count <= code.len() * 8 && EliasFano::new(count, bound - 1).bytes() == code.len() {
            true => Ok(Shape { count, bound, code }),
            false => Err(wrong("its length is not that of its count")),
        }
    }
}

/// A stored sample whose values are still to be decoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape<'a> {
    count: usize,
    bound: u64,
    code: &'a [u8],
}

impl Shape<'_> {
    /// How many values there should be.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bound of the sample.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// Calls `each` with the values, no more than there should be, until it returns false.
    pub fn each(&self, mut each: impl FnMut(u64) -> bool) {
        EliasFano::new(self.count, self.bound - 1).scan_from(self.code, 0, |_, value| each(value));
    }

    /// Refuses values that do not hold, or of which there were too few.
    pub fn check(&self, holds: bool, count: usize) -> Result<()> {
        match holds && count == self.count {
            true => Ok(()),
            false => Err(Error::corrupt("sample", "its values are not ascending below its bound")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn sample(count: u64, size: usize) -> (Sample, Vec<u64>) {
        let mut hashes: Vec<u64> = (0..count).map(|i| mix(i.wrapping_mul(77) + 5)).collect();
        hashes.sort_unstable();
        (Sample::of_sorted(&hashes, size), hashes)
    }

    #[test]
    fn views_equal_the_definitions_of_broder() {
        for (count, size) in
            [(0, 256), (1, 256), (255, 256), (256, 256), (257, 256), (3000, 256), (100_000, 256), (5000, 64)]
        {
            let (sample, hashes) = sample(count, size);
            let all: BTreeSet<u64> = hashes.iter().map(|hash| hash >> 24).collect();
            for s in [0, 1, size / 2, size] {
                let min_s: Vec<u64> = all.iter().copied().take(s).collect();
                assert_eq!(sample.bottom_s(s).unwrap(), min_s, "{count} shingles, s = {s}");
            }
            let whole = all.len() <= size;
            assert_eq!(sample.bottom_s(size + 1).is_some(), whole);
            for i in sample.level()..40 {
                // Divisible by 2^i, read on the 40 bits in reverse.
                let reversed = |value: u64| value.reverse_bits() >> 24;
                let l_i: Vec<u64> =
                    all.iter().copied().filter(|&value| reversed(value).is_multiple_of(1 << i)).collect();
                assert_eq!(sample.mod_2i(i).unwrap(), l_i, "{count} shingles, i = {i}");
            }
        }
    }

    #[test]
    fn the_level_keeps_a_hundred_to_two_hundred_values() {
        for count in [300u64, 1000, 5000, 20_000, 200_000] {
            let (sample, _) = sample(count, 256);
            let kept = sample.mod_2i(sample.level()).unwrap().len();
            assert!((70..=256).contains(&kept), "{count} shingles: {kept}");
        }
    }

    #[test]
    fn sizes_are_exact_when_whole_and_close_when_not() {
        assert_eq!(sample(200, 256).0.shingles(), 200.0);
        let (sample, _) = sample(50_000, 256);
        assert!((sample.shingles() / 50_000.0 - 1.0).abs() < 4.0 / 16.0, "{}", sample.shingles());
    }

    #[test]
    fn fifty_to_a_hundred_values_are_posted() {
        for count in [120u64, 199, 250, 1000, 5000, 20_000, 200_000] {
            let posted = sample(count, 256).0.posted().len();
            assert!((30..=135).contains(&posted), "{count} shingles: {posted}");
        }
        assert_eq!(sample(99, 256).0.posted().len(), 99);
        assert_eq!(sample(0, 256).0.posted().len(), 0);
    }

    proptest! {
        #[test]
        fn the_stored_form_comes_back(count in 0u64..2000, size in 1usize..300) {
            let (sample, _) = sample(count, size);
            prop_assert_eq!(Sample::decode(&sample.encode()).unwrap(), sample);
        }

        #[test]
        fn damaged_bytes_are_an_error_or_a_valid_sample(count in 0u64..600, at in 0usize..1000, bit in 0u32..8) {
            let mut bytes = sample(count, 256).0.encode();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            if let Ok(sample) = Sample::decode(&bytes) {
                prop_assert!(sample.values.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }

    #[test]
    fn a_sample_of_a_kilobyte_document_takes_a_kilobyte() {
        let bytes = sample(1000, 256).0.encode().len();
        assert!(bytes <= 1050, "{bytes}");
    }
}
