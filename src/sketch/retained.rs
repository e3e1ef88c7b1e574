//! The smallest shingle hashes of a text: all that its sample and its signature can want.

use super::kernel::spread::Spread;
use super::sample::value_of;

/// The smallest hashes of a text, in memory that does not grow with the text. Hashes with one sample value count as one
/// and the smallest of them stands for it: a sample cut off among such would take itself for whole.
///
/// As many are retained as both consumers can want: the sample its s+1 smallest, the signature all of a text so short that
/// a bin is empty after round 0 (the chance that one of 128 bins is still empty after 4,096 shingles is 1.4e-12; then the
/// further rounds run over the 4,096 smallest, which is as well defined).
#[derive(Clone, Debug)]
pub(crate) struct Retained {
    most: usize,
    limit: u64,
    hashes: Vec<u64>,
    spread: Spread,
}

impl Retained {
    pub fn new(sample: usize) -> Self {
        Retained {
            most: (sample + 1).max(4096),
            limit: u64::MAX,
            hashes: Vec::new(),
            spread: Spread::default(),
        }
    }

    /// The next hashes.
    pub fn extend(&mut self, hashes: &[u64]) {
        for some in hashes.chunks(self.most) {
            let limit = self.limit;
            match limit {
                u64::MAX => self.hashes.extend_from_slice(some),
                _ => self.hashes.extend(some.iter().filter(|&&hash| hash <= limit)),
            }
            if self.hashes.len() >= 2 * self.most {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        let sorted = self.spread.sort(&self.hashes, self.limit);
        sorted.dedup_by_key(|hash| value_of(*hash));
        std::mem::swap(&mut self.hashes, sorted);
        if self.hashes.len() >= self.most {
            self.hashes.truncate(self.most);
            self.limit = self.hashes[self.most - 1];
        }
    }

    /// Hashes, ascending: of all values that are retained, or of at least the `wanted` smallest of them.
    pub fn finish(&mut self, wanted: usize) -> &[u64] {
        if let Some(limit) = self.limit_of(wanted) {
            let some = self.spread.sort(&self.hashes, limit);
            let values = some.windows(2).filter(|pair| value_of(pair[0]) != value_of(pair[1])).count();
            if values + 1 >= wanted {
                return &self.spread.sorted;
            }
        }
        self.shrink();
        &self.hashes
    }

    /// Up to where the `wanted` smallest lie, unless hashes repeat: three standard deviations beyond.
    fn limit_of(&self, wanted: usize) -> Option<u64> {
        let more = wanted.checked_add(3 * wanted.isqrt() + 5).filter(|more| *more < self.hashes.len())?;
        Some((u128::from(self.limit) * more as u128 / self.hashes.len() as u128) as u64)
    }

    /// Hashes that there is memory for.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.hashes.capacity()
    }

    /// Ready for the next text.
    pub fn clear(&mut self) {
        self.hashes.clear();
        self.limit = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::Sample;
    use crate::text::rabin::mix;
    use std::collections::BTreeSet;

    #[test]
    fn the_retained_hashes_are_the_smallest_whatever_comes() {
        for (count, distinct) in [(10u64, 10u64), (5000, 300), (5000, 5000), (60_000, 20_000), (200_000, 50)]
        {
            let mut retained = Retained::new(256);
            let all: Vec<u64> = (0..count).map(|i| mix(i % distinct)).collect();
            retained.extend(&all);
            let smallest: Vec<u64> =
                all.iter().copied().collect::<BTreeSet<_>>().into_iter().take(257).collect();
            let mut got = retained.clone().finish(257).to_vec();
            got.dedup();
            assert!(got.len() >= smallest.len());
            assert_eq!(got[..smallest.len()], smallest, "{count} of {distinct}");
            let kept: Vec<u64> =
                all.iter().copied().collect::<BTreeSet<_>>().into_iter().take(4096).collect();
            assert_eq!(retained.finish(usize::MAX), kept);
        }
    }

    #[test]
    fn shingles_of_one_value_are_not_mistaken_for_several() {
        // Twice as many hashes as values, and more of both than are retained.
        for (size, repeats) in [(256, 1), (256, 8), (8192, 1)] {
            let mut retained = Retained::new(size);
            let values = 5 * size as u64;
            let hashes = (0..2 * values).flat_map(|i| std::iter::repeat_n(i, repeats));
            retained.extend(&hashes.map(|i| ((i % values) << 24) | (i / values)).collect::<Vec<u64>>());
            let sample = Sample::of_sorted(retained.finish(size + 1), size);
            assert_eq!(
                (sample.values().len(), sample.bound()),
                (size, size as u64),
                "{size} of {values} values"
            );
        }
    }
}
