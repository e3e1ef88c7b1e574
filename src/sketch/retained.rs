//! The smallest shingle hashes of a text: all that its sample and its signature can want.

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
}

impl Retained {
    pub fn new(sample: usize) -> Self {
        Retained { most: (sample + 1).max(4096), limit: u64::MAX, hashes: Vec::new() }
    }

    #[inline]
    pub fn push(&mut self, hash: u64) {
        if hash <= self.limit {
            self.hashes.push(hash);
            if self.hashes.len() >= 2 * self.most {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup_by_key(|hash| value_of(*hash));
        if self.hashes.len() >= self.most {
            self.hashes.truncate(self.most);
            self.limit = self.hashes[self.most - 1];
        }
    }

    /// Hashes, ascending: of all values that are retained, or of at least the `wanted` smallest of them.
    pub fn finish(&mut self, wanted: usize) -> &[u64] {
        // A slice a little larger than wanted is enough to sort, unless most of it is repetition.
        let slice = wanted.saturating_add(wanted / 4);
        if slice < self.hashes.len() {
            self.hashes.select_nth_unstable(slice);
            self.hashes[..slice].sort_unstable();
            let distinct = 1 + self.hashes[..slice]
                .windows(2)
                .filter(|pair| value_of(pair[0]) != value_of(pair[1]))
                .count();
            if distinct >= wanted {
                return &self.hashes[..slice];
            }
        }
        self.shrink();
        &self.hashes
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
            all.iter().for_each(|&hash| retained.push(hash));
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
            for i in (0..2 * values).flat_map(|i| std::iter::repeat_n(i, repeats)) {
                retained.push(((i % values) << 24) | (i / values));
            }
            let sample = Sample::of_sorted(retained.finish(size + 1), size);
            assert_eq!(
                (sample.values().len(), sample.bound()),
                (size, size as u64),
                "{size} of {values} values"
            );
        }
    }
}
