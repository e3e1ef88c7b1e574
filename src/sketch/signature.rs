//! k aligned minhash entries by fast similarity sketching (Dahlgaard, Knudsen, Thorup 2017).
//!
//! Round 0 throws every shingle into one of k bins, which keeps its smallest value; further rounds throw all shingles again
//! and fill only bins still empty; after k rounds each empty bin takes the minimum of a round of its own. Two texts agree
//! in an entry with probability equal to their resemblance, with less variance than k independent permutations, in
//! O(n + k log k) instead of O(n·k).
//!
//! An entry stores 16 bits mixed anew from the winning value and the bin (the top bits of a minimum are not uniform), so two
//! different winners agree with probability 2^-16. Empty texts have no signature.

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
    /// The bins that were empty before a round.
    empty: Vec<bool>,
    mixed: Vec<u64>,
}

impl Bins {
    pub fn new(entries: usize, key: u64) -> Self {
        Bins { key, least: vec![EMPTY; entries], empty: Vec::new(), mixed: Vec::new() }
    }

    /// Round 0 for more shingles; repeated shingles change nothing.
    pub fn extend(&mut self, fingerprints: &[u64]) {
        let mut mixed = std::mem::take(&mut self.mixed);
        mixed.clear();
        keyed(fingerprints, self.key, &mut mixed);
        for &hash in &mixed {
            let (bin, value) = self.throw(hash);
            let least = &mut self.least[bin];
            *least = value.min(*least);
        }
        self.mixed = mixed;
    }

    /// A bin, and the place within the bin.
    #[inline]
    fn throw(&self, hash: u64) -> (usize, u64) {
        let wide = u128::from(hash) * self.least.len() as u128;
        ((wide >> 64) as usize, wide as u64)
    }

    /// Whether round 0 was enough.
    pub fn is_full(&self) -> bool {
        !self.least.contains(&EMPTY)
    }

    /// The further rounds over the distinct shingle hashes, then the entries; ready for the next text.
    /// `None` when nothing was ever pushed.
    pub fn finish(&mut self, hashes: &[u64]) -> Option<Signature> {
        let any = self.least.iter().any(|&least| least != EMPTY);
        let signature = any.then(|| {
            let bins = self.least.len();
            for round in 1..bins {
                if self.is_full() {
                    break;
                }
                self.round(hashes, round as u64);
            }
            for bin in 0..bins {
                if self.least[bin] == EMPTY {
                    let key = self.round_key((bins + bin) as u64);
                    self.least[bin] = hashes.iter().map(|hash| mix(hash ^ key)).min().unwrap_or(EMPTY);
                }
            }
            let mut entries = Vec::with_capacity(bins);
            entries.extend(self.least.iter().enumerate().map(|(bin, &value)| entry(bin, value)));
            Signature(entries)
        });
        self.least.fill(EMPTY);
        signature
    }

    fn round_key(&self, round: u64) -> u64 {
        mix(self.key.wrapping_add(round))
    }

    /// Throws all shingles into the bins that are empty when the round begins.
    fn round(&mut self, hashes: &[u64], round: u64) {
        let key = self.round_key(round);
        self.empty.clear();
        self.empty.extend(self.least.iter().map(|&least| least == EMPTY));
        let mut mixed = std::mem::take(&mut self.mixed);
        mixed.clear();
        keyed(hashes, key, &mut mixed);
        for &hash in &mixed {
            let (bin, value) = self.throw(hash);
            let least = &mut self.least[bin];
            *least = if self.empty[bin] { value.min(*least) } else { *least };
        }
        self.mixed = mixed;
    }
}

#[inline(always)]
fn entry(bin: usize, value: u64) -> u16 {
    (mix(value.wrapping_add(bin as u64 + 1)) >> 48) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn signature(set: &[u64], k: usize, key: u64) -> Signature {
        let mut bins = Bins::new(k, key);
        bins.extend(set);
        bins.finish(&set.iter().map(|&x| mix(x)).collect::<Vec<_>>()).unwrap()
    }

    /// The paper's definition: every (round, value) of every element, the least of each bin.
    fn definition(set: &[u64], k: usize, key: u64) -> Vec<u16> {
        let mut least: HashMap<usize, (usize, u64)> = HashMap::new();
        for &x in set {
            for round in 0..2 * k {
                let hash = match round {
                    0 => mix(x ^ key),
                    _ => mix(mix(x) ^ mix(key.wrapping_add(round as u64))),
                };
                let (bin, value) = if round < k {
                    let wide = u128::from(hash) * k as u128;
                    ((wide >> 64) as usize, wide as u64)
                } else {
                    (round - k, hash)
                };
                let entry = least.entry(bin).or_insert((round, value));
                *entry = (*entry).min((round, value));
            }
        }
        (0..k).map(|bin| entry(bin, least[&bin].1)).collect()
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
        let hashes: Vec<u64> = set.iter().map(|&x| mix(x)).collect();
        mixed.extend(&set);
        let mut bins = Bins::new(128, 5);
        bins.extend(&mixed);
        assert_eq!(bins.finish(&hashes).unwrap(), signature(&set, 128, 5));
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
