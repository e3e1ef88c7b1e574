//! Charikar's simhash (2002) as Manku, Jain and Das Sarma use it (2007): 64 bits, bit j the sign of Σ ±weight over the
//! features, plus where bit j of the feature's hash is 1.
//!
//! P(two texts differ in a bit) = θ/π, θ the angle between their weighted feature vectors. The sums are kept as vertical
//! counters: plane p holds bit p of all 64 counts of ones, so that a feature costs a few word operations instead of 64
//! additions. A bit is 1 when more than half the weight votes for it.

use super::kernel::votes::{BLOCK, LANES, Plane, add, count};
use crate::text::rabin::mix;

/// 64 bits whose Hamming distance tells how much two texts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Simhash(pub u64);

impl Simhash {
    /// The simhash of features with weights of the caller's: any 64-bit name of a feature (its hash, its number in a vocabulary),
    /// any weight, negative ones too. `None` when no weight counts. It compares with other simhashes made here, not with those
    /// that a [`Sketcher`](crate::Sketcher) makes of a text.
    ///
    /// ```
    /// use sketchdb::Simhash;
    /// let page = |title| Simhash::of_weighted([(title, 10), (101, 1), (102, 1)]).unwrap();
    /// assert!(page(7).distance(page(8)) > page(7).distance(page(7)));
    /// ```
    pub fn of_weighted(features: impl IntoIterator<Item = (u64, i32)>) -> Option<Simhash> {
        let (mut sums, mut any) = ([0i64; 64], false);
        for (feature, weight) in features.into_iter().filter(|feature| feature.1 != 0) {
            any = true;
            let hash = mix(feature);
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += if hash >> bit & 1 == 1 { i64::from(weight) } else { -i64::from(weight) };
            }
        }
        let bits = (0..64).filter(|&bit| sums[bit] > 0).fold(0, |bits, bit| bits | 1 << bit);
        any.then_some(Simhash(bits))
    }

    /// In how many of the 64 bits two texts differ.
    pub fn distance(self, other: Simhash) -> u32 {
        (self.0 ^ other.0).count_ones()
    }
}

/// The counts of ones of 64 bit positions, as bit planes of several lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Votes {
    /// Planes 0 to 3, filled by blocks.
    low: [Plane; 4],
    /// Planes 4 and up.
    high: Vec<Plane>,
    /// Features that do not fill a block yet.
    waiting: Vec<u64>,
    features: u64,
}

impl Votes {
    /// More features, each of weight 1.
    pub fn extend(&mut self, hashes: &[u64]) {
        self.features += hashes.len() as u64;
        let mut rest = hashes;
        if !self.waiting.is_empty() {
            let (some, others) = rest.split_at(rest.len().min(BLOCK - self.waiting.len()));
            self.waiting.extend_from_slice(some);
            rest = others;
            if let Some(block) = self.waiting.first_chunk().copied() {
                self.waiting.clear();
                self.add_block(&block);
            }
        }
        let (blocks, rest) = rest.as_chunks();
        blocks.iter().for_each(|block| self.add_block(block));
        self.waiting.extend_from_slice(rest);
    }

    fn add_block(&mut self, block: &[u64; BLOCK]) {
        let mut carry = count(block, &mut self.low);
        for plane in &mut self.high {
            for (bits, carry) in plane.iter_mut().zip(&mut carry) {
                (*bits, *carry) = (*bits ^ *carry, *bits & *carry);
            }
        }
        if carry != [0; LANES] {
            self.high.push(carry);
        }
    }

    /// The simhash, `None` of no features; then ready for the next text.
    pub fn finish(&mut self) -> Option<Simhash> {
        if !self.waiting.is_empty() {
            // Words of zeros count nowhere.
            let mut last = [0; BLOCK];
            last[..self.waiting.len()].copy_from_slice(&self.waiting);
            self.waiting.clear();
            self.add_block(&last);
        }
        self.add_lanes();
        let half = self.features / 2;
        let planes = self.low.iter().chain(&self.high).map(|plane| plane[0]).enumerate();
        // All 64 counts at once, from the lowest plane up: more than half, so far.
        let more = planes.fold(0, |more, (plane, bits)| match half >> plane & 1 {
            0 => more | bits,
            _ => more & bits,
        });
        // A half with more bits than there are planes is more than any count.
        let simhash = if half >> (self.low.len() + self.high.len()) == 0 { more } else { 0 };
        let any = self.features > 0;
        self.low = [[0; LANES]; 4];
        self.high.clear();
        self.features = 0;
        any.then_some(Simhash(simhash))
    }

    /// Adds the counts of all lanes in the first.
    fn add_lanes(&mut self) {
        let mut width = LANES;
        while width > 1 {
            width /= 2;
            let mut carry = [0; LANES];
            for plane in self.low.iter_mut().chain(&mut self.high) {
                let (to, from) = plane.split_at_mut(width);
                for ((to, from), carry) in to.iter_mut().zip(from).zip(&mut carry) {
                    (*to, *carry) = add(*to, *from, *carry);
                }
            }
            if carry != [0; LANES] {
                self.high.push(carry);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: 64 signed sums.
    fn definition(features: &[u64]) -> Option<Simhash> {
        let mut sums = [0i64; 64];
        for feature in features {
            for (bit, sum) in sums.iter_mut().enumerate() {
                *sum += if feature >> bit & 1 == 1 { 1 } else { -1 };
            }
        }
        let bits = (0..64).filter(|&bit| sums[bit] > 0).fold(0, |bits, bit| bits | 1 << bit);
        (!features.is_empty()).then_some(Simhash(bits))
    }

    #[test]
    fn vertical_counters_equal_the_definition_at_every_length() {
        let mut votes = Votes::default();
        for n in (0..200).chain([1000, 4096, 70_000]) {
            let features: Vec<u64> = (0..n).map(|i| mix(i ^ n << 32)).collect();
            features.chunks(1 + n as usize % 37).for_each(|some| votes.extend(some));
            assert_eq!(votes.finish(), definition(&features), "{n} features");
        }
    }

    #[test]
    fn weights_count_as_repetitions_do() {
        for trial in 0..50u64 {
            let features: Vec<(u64, i32)> = (0..40).map(|i| (i, (mix(i ^ mix(trial)) % 9) as i32)).collect();
            let mut votes = Votes::default();
            for &(feature, weight) in &features {
                (0..weight).for_each(|_| votes.extend(&[mix(feature)]));
            }
            assert_eq!(Simhash::of_weighted(features), votes.finish());
        }
        assert_eq!(Simhash::of_weighted([(5, 0)]), None);
        let all = Simhash::of_weighted([(5, 1)]).unwrap().0;
        assert_eq!(Simhash::of_weighted([(5, -3)]).unwrap().0, !all);
    }

    #[test]
    fn the_distance_follows_the_angle() {
        // Two sets of unit features sharing a part c of each: cos θ = c, E[distance] = 64·acos(c)/π.
        for (features, shared) in [(500, 450), (500, 250), (1000, 900), (2000, 1900)] {
            let trials = 400;
            let mut total = 0u32;
            for trial in 0..trials {
                let element = |i: u64| mix(mix(trial).wrapping_add(i));
                let simhash = |range: std::ops::Range<u64>| {
                    let mut votes = Votes::default();
                    votes.extend(&range.map(element).collect::<Vec<_>>());
                    votes.finish().unwrap()
                };
                total += simhash(0..features).distance(simhash(features - shared..2 * features - shared));
            }
            let expected = 64.0 * (shared as f64 / features as f64).acos() / std::f64::consts::PI;
            let mean = f64::from(total) / trials as f64;
            // Bits are nearly independent: variance of the mean at most 16/trials.
            let allowed = 0.05 * expected + 4.0 * (16.0 / trials as f64).sqrt();
            assert!(
                (mean - expected).abs() < allowed,
                "{shared}/{features}: {mean:.2}, expected {expected:.2}"
            );
        }
    }
}
