//! Sorting of hashes that are spread evenly: into buckets, most of one hash, then each to its place.

use crate::text::kernel::mixing::up_to;

/// Buffers that are kept from text to text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spread {
    /// How many hashes lie in a bucket, then where its next one goes.
    places: Vec<u32>,
    chosen: Vec<u64>,
    pub sorted: Vec<u64>,
}

/// Steps of insertion a hash, beyond which the hashes are not spread evenly.
const STEPS: usize = 16;

impl Spread {
    /// The hashes up to `limit`, ascending; quick when they are spread evenly.
    pub fn sort(&mut self, hashes: &[u64], limit: u64) -> &mut Vec<u64> {
        let count = up_to(hashes, limit, &mut self.chosen);
        let chosen = &self.chosen[..count];
        // More buckets than hashes: most hold one at most.
        let buckets = (2 * count).next_power_of_two();
        let scale = ((buckets as u128) << 64) / (u128::from(limit) + 1);
        let scale = u64::try_from(scale).unwrap_or(u64::MAX);
        let bucket = |hash: u64| (((u128::from(hash) * u128::from(scale)) >> 64) as usize).min(buckets - 1);
        self.places.clear();
        self.places.resize(buckets, 0);
        chosen.iter().for_each(|&hash| self.places[bucket(hash)] += 1);
        let mut before = 0;
        for place in &mut self.places {
            (*place, before) = (before, before + *place);
        }
        self.sorted.clear();
        self.sorted.resize(count, 0);
        for &hash in chosen {
            let place = &mut self.places[bucket(hash)];
            self.sorted[*place as usize] = hash;
            *place += 1;
        }
        insert(&mut self.sorted);
        &mut self.sorted
    }
}

/// Sorts what is nearly sorted.
fn insert(values: &mut [u64]) {
    let mut steps = STEPS * values.len();
    for at in 1..values.len() {
        let value = values[at];
        let mut to = at;
        while to > 0 && values[to - 1] > value {
            values[to] = values[to - 1];
            to -= 1;
        }
        values[to] = value;
        steps = steps.saturating_sub(at - to);
        if steps == 0 {
            return values.sort_unstable();
        }
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
