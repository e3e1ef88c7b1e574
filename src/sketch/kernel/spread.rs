//! Sorting of hashes that are spread evenly: each goes where the bits of those below it say, of which there are many more than
//! hashes; the few that find their bit taken are merged in at the end.

use crate::text::kernel::for_every_level;
use crate::text::kernel::mixing::up_to;

/// Buffers that are kept from text to text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spread {
    chosen: Vec<u64>,
    /// Buckets to a hash.
    words: Vec<Word>,
    /// Hashes whose bucket was taken.
    others: Vec<u64>,
    pub sorted: Vec<u64>,
}

/// 64 buckets: which of them hold a hash, and how many hashes those before do.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    bits: u64,
    before: usize,
}

impl Word {
    /// How many hashes lie below a bucket.
    #[inline(always)]
    fn below(self, bucket: usize) -> usize {
        self.before + (self.bits & !(u64::MAX << (bucket % 64))).count_ones() as usize
    }
}

/// Buckets to a hash: one hash in 64 finds its own taken.
const BUCKETS: usize = 32;

impl Spread {
    /// The hashes up to `limit`, ascending; quick when they are spread evenly.
    pub fn sort(&mut self, hashes: &[u64], limit: u64) -> &mut Vec<u64> {
        let count = up_to(hashes, limit, &mut self.chosen);
        // No bucket lies beyond the words: a hash is at most the limit.
        let words = (BUCKETS * count).div_ceil(64).max(1);
        let scale = ((words as u128 * 64) << 64) / (u128::from(limit) + 1);
        self.words.clear();
        self.words.resize(words, Word::default());
        self.others.resize(self.others.len().max(count), 0);
        self.sorted.clear();
        self.sorted.resize(count, 0);
        place(self, count, u64::try_from(scale).unwrap_or(u64::MAX));
        &mut self.sorted
    }
}

/// The bucket of a hash.
#[inline(always)]
fn bucket(hash: u64, scale: u64) -> usize {
    ((u128::from(hash) * u128::from(scale)) >> 64) as usize
}

for_every_level! {
    /// Sorts the hashes that are chosen.
    fn place(spread: &mut Spread, count: usize, scale: u64) {
        let Spread { chosen, words, others, sorted } = spread;
        let (chosen, others) = (&mut chosen[..count], &mut others[..count]);
        let (mut alone, mut taken) = (0, 0);
        for at in 0..count {
            let hash = chosen[at];
            let bucket = bucket(hash, scale);
            let word = &mut words[bucket / 64];
            let is_taken = (word.bits >> (bucket % 64) & 1) as usize;
            word.bits |= 1 << (bucket % 64);
            (chosen[alone], others[taken]) = (hash, hash);
            (alone, taken) = (alone + 1 - is_taken, taken + is_taken);
        }
        let mut before = 0;
        for word in &mut *words {
            word.before = before;
            before += word.bits.count_ones() as usize;
        }
        for &hash in &chosen[..alone] {
            let bucket = bucket(hash, scale);
            sorted[words[bucket / 64].below(bucket)] = hash;
        }
        merge(sorted, alone, &mut others[..taken], |hash| {
            let bucket = bucket(hash, scale);
            words[bucket / 64].below(bucket)
        });
    }
}

/// Merges others into so many ascending values: `place` says behind how many each can go at the earliest.
#[inline(always)]
fn merge(sorted: &mut [u64], mut end: usize, others: &mut [u64], place: impl Fn(u64) -> usize) {
    others.sort_unstable();
    for (before, &value) in others.iter().enumerate().rev() {
        let mut at = place(value);
        while at < end && sorted[at] <= value {
            at += 1;
        }
        sorted.copy_within(at..end, at + before + 1);
        sorted[at + before] = value;
        end = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn equals_sorting_whatever_the_hashes() {
        let mut spread = Spread::default();
        for count in (0..200).chain([1000, 5000]) {
            for limit in [0, 1, u64::MAX >> 2, u64::MAX - 1, u64::MAX] {
                let even: Vec<u64> = (0..count).map(|i| mix(i ^ count << 32)).collect();
                let one_bucket: Vec<u64> = (0..count).map(|i| (count - i) * 3).collect();
                let repeated: Vec<u64> = (0..count).map(|i| mix(i % 7)).collect();
                for hashes in [even, one_bucket, repeated] {
                    let mut expected: Vec<u64> =
                        hashes.iter().copied().filter(|hash| *hash <= limit).collect();
                    expected.sort_unstable();
                    assert_eq!(*spread.sort(&hashes, limit), expected, "{count} up to {limit}");
                }
            }
        }
    }
}
