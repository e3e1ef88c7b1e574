//! k aligned minhash entries by fast similarity sketching (Dahlgaard, Knudsen, Thorup 2017).
//!
//! Round 0 throws every shingle into one of k bins, which keeps its smallest value; further rounds throw all shingles again
//! and fill only bins still empty; after some k rounds each empty bin takes the minimum of a round of its own. Two texts agree
//! in an entry with probability equal to their resemblance, with less variance than k independent permutations, in
//! O(n + k log k) instead of O(n·k).
//!
//! Round 0 takes the hashes as they are, turned so that the bits that choose a sample decide last; the others mix them anew, once
//! for two rounds.
//!
//! An entry stores 16 bits mixed anew from the winning value and the bin (the top bits of a minimum are not uniform), so two
//! different winners agree with probability 2^-16. Empty texts have no signature.

use super::kernel::throws::{Bits, Throws};
use crate::text::kernel::mixing::keyed;
use crate::text::rabin::mix;

/// The k entries of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature(pub(crate) Vec<u16>);

impl Signature {
    /// The entries, aligned: entry j of one text compares with entry j of another.
    pub fn entries(&self) -> &[u16] {
        &self.0
    }

    /// The share of equal entries: an unbiased estimate of the resemblance (CS124 lecture 12). `None` when the
    /// signatures differ in length.
    pub fn agreement(&self, other: &Signature) -> Option<f64> {
        let comparable = self.0.len() == other.0.len() && !self.0.is_empty();
        comparable.then(|| {
            self.0.iter().zip(&other.0).filter(|pair| pair.0 == pair.1).count() as f64 / self.0.len() as f64
        })
    }

    /// The stored form: entries, little-endian.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|entry| entry.to_le_bytes()).collect()
    }

    /// Reads the stored form.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        Signature(bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect())
    }
}

const EMPTY: u64 = u64::MAX;

/// The bins while a text is read.
#[derive(Clone, Debug)]
pub(crate) struct Bins {
    key: u64,
    least: Vec<u64>,
    mixed: Vec<u64>,
    throws: Throws,
}

impl Bins {
    pub fn new(entries: usize, key: u64) -> Self {
        Bins { key, least: vec![EMPTY; entries], mixed: Vec::new(), throws: Throws::default() }
    }

    /// Round 0 for the hashes of more shingles; repeated ones change nothing.
    pub fn extend(&mut self, hashes: &[u64]) {
        let bins = self.least.len() as u128;
        for hash in hashes {
            // A sample is chosen by the top 40 bits: here they only break ties.
            let wide = u128::from(hash.rotate_left(40)) * bins;
            let least = &mut self.least[(wide >> 64) as usize];
            *least = (wide as u64).min(*least);
        }
    }

    /// Whether round 0 was enough.
    pub fn is_full(&self) -> bool {
        !self.least.contains(&EMPTY)
    }

    /// The further rounds over the distinct hashes, then the entries; ready for the next text.
    /// `None` when nothing was ever pushed.
    pub fn finish(&mut self, hashes: &[u64]) -> Option<Signature> {
        let any = self.least.iter().any(|&least| least != EMPTY);
        let signature = any.then(|| {
            self.fill_up(hashes);
            self.least.iter_mut().zip(1..).for_each(|(least, bin)| *least = least.wrapping_add(bin));
            self.mixed.clear();
            keyed(&self.least, 0, &mut self.mixed);
            Signature(self.mixed.iter().map(|mixed| (mixed >> 48) as u16).collect())
        });
        self.least.fill(EMPTY);
        signature
    }

    /// The further rounds, if round 0 was not enough.
    fn fill_up(&mut self, hashes: &[u64]) {
        if self.is_full() {
            return;
        }
        let bins = self.least.len();
        let mut empty = empty_bins(&self.least);
        for round in (1..bins).step_by(2) {
            if empty[..bins.div_ceil(32)].iter().all(|bits| *bits == 0) {
                break;
            }
            self.two_rounds(hashes, round as u64, &mut empty);
        }
        for bin in 0..bins {
            if self.least[bin] == EMPTY {
                let key = self.round_key((bins + bin) as u64);
                self.least[bin] = hashes.iter().map(|hash| mix(hash ^ key)).min().unwrap_or(EMPTY);
            }
        }
    }

    fn round_key(&self, round: u64) -> u64 {
        mix(self.key.wrapping_add(round))
    }

    /// Throws all shingles into the bins that are empty, then once more: a mixture is enough for both.
    fn two_rounds(&mut self, hashes: &[u64], round: u64, empty: &mut Bits) {
        let key = self.round_key(round);
        self.mixed.clear();
        keyed(hashes, key, &mut self.mixed);
        for throws in self.throws.of(&self.mixed, self.least.len() as u32, empty) {
            fill(&mut self.least, throws, empty);
        }
    }
}

/// A bit for each bin that is empty.
fn empty_bins(least: &[u64]) -> Bits {
    let mut bits = [0; 128];
    for (bin, least) in least.iter().enumerate() {
        bits[bin / 32] |= u32::from(*least == EMPTY) << (bin % 32);
    }
    bits
}

/// Puts the smallest place of each bin that is empty into it: no longer empty afterwards.
fn fill(least: &mut [u64], throws: &[u64], empty: &mut Bits) {
    let before = *empty;
    for throw in throws {
        let (bin, place) = ((throw >> 32) as usize, throw & u64::from(u32::MAX));
        if before[bin / 32] >> (bin % 32) & 1 == 1 {
            least[bin] = place.min(least[bin]);
            empty[bin / 32] &= !(1 << (bin % 32));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn signature(set: &[u64], k: usize, key: u64) -> Signature {
        let mut bins = Bins::new(k, key);
        bins.extend(set);
        bins.finish(set).unwrap()
    }

    /// The paper's definition: every (round, value) of every element, the least of each bin.
    fn definition(set: &[u64], k: usize, key: u64) -> Vec<u16> {
        let mut least: HashMap<usize, (usize, u64)> = HashMap::new();
        let of_key = |round: usize| mix(key.wrapping_add(round as u64));
        for &x in set {
            for round in 0..=2 * k {
                let (bin, value) = if round == 0 {
                    let wide = u128::from(x.rotate_right(24)) * k as u128;
                    ((wide >> 64) as usize, wide as u64)
                } else if round <= k / 2 * 2 {
                    let [odd, even] = [mix(x ^ of_key(round)) >> 32, mix(x ^ of_key(round - 1)) << 32 >> 32];
                    let wide = if round % 2 == 1 { odd } else { even } * k as u64;
                    ((wide >> 32) as usize, wide << 32 >> 32)
                } else {
                    (round - k - 1, mix(x ^ of_key(round - 1)))
                };
                let entry = least.entry(bin).or_insert((round, value));
                *entry = (*entry).min((round, value));
            }
        }
        (0..k).map(|bin| (mix(least[&bin].1.wrapping_add(bin as u64 + 1)) >> 48) as u16).collect()
    }

    #[test]
    fn equals_the_definition_of_the_paper() {
        for n in [1u64, 2, 7, 40, 128, 700] {
            let set: Vec<u64> = (0..n).map(|i| mix(i + 1000 * n)).collect();
            assert_eq!(signature(&set, 32, 99).0, definition(&set, 32, 99), "{n} shingles");
        }
    }

    #[test]
    fn neither_order_nor_repetition_matters() {
        let set: Vec<u64> = (0..100).map(mix).collect();
        let mut mixed: Vec<u64> = set.iter().rev().copied().collect();
        mixed.extend(&set);
        let mut bins = Bins::new(128, 5);
        bins.extend(&mixed);
        assert_eq!(bins.finish(&set).unwrap(), signature(&set, 128, 5));
    }

    /// Mean and variance of the agreement of two sets of `n` elements with resemblance near `j`, over `trials` keys.
    fn moments(n: u64, j: f64, trials: u64) -> (f64, f64, f64) {
        let shared = (2.0 * n as f64 * j / (1.0 + j)).round() as u64;
        let exact = shared as f64 / (2 * n - shared) as f64;
        let (mut sum, mut squares) = (0.0, 0.0);
        for trial in 0..trials {
            let element = |i: u64| mix(mix(trial).wrapping_add(i));
            let a: Vec<u64> = (0..n).map(element).collect();
            let b: Vec<u64> = (n - shared..2 * n - shared).map(element).collect();
            let agreement =
                signature(&a, 128, mix(trial ^ 77)).agreement(&signature(&b, 128, mix(trial ^ 77))).unwrap();
            sum += agreement;
            squares += agreement * agreement;
        }
        let mean = sum / trials as f64;
        (exact, mean, squares / trials as f64 - mean * mean)
    }

    #[test]
    fn unbiased_with_at_most_the_binomial_variance() {
        const TRIALS: u64 = 4000;
        for (n, j) in [(5, 0.5), (20, 0.3), (20, 0.9), (50, 0.8), (200, 0.5), (1000, 0.8), (1000, 0.3)] {
            let (exact, mean, variance) = moments(n, j, TRIALS);
            let binomial = exact * (1.0 - exact) / 128.0;
            let error = (mean - exact) / (binomial / TRIALS as f64).sqrt();
            assert!(error.abs() < 4.5, "n = {n}, J = {exact:.3}: mean {mean:.4}, {error:.1} standard errors");
            // The sample variance of 4,000 trials has a relative standard error of √(2/4000) = .022.
            let ratio = variance / binomial;
            assert!(
                ratio < 1.05 + 4.0 * 0.0224,
                "n = {n}, J = {exact:.3}: variance {ratio:.3} of the binomial"
            );
            if n <= 50 {
                assert!(ratio < 0.7, "n = {n}: variance {ratio:.3} of the binomial");
            }
        }
    }

    #[test]
    fn unrelated_texts_agree_by_accident_only() {
        let (a, b): (Vec<u64>, Vec<u64>) = ((0..3).map(mix).collect(), (100..103).map(mix).collect());
        assert!(signature(&a, 128, 1).agreement(&signature(&b, 128, 1)).unwrap() < 0.03);
    }
}
