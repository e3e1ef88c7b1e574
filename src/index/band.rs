//! Banding: b bands of r signature entries each; two texts that agree in all entries of a band are candidates
//! (Leskovec, Rajaraman, Ullman, *Mining of Massive Datasets*, 3.4).
//!
//! P(candidate | resemblance x) = 1 - (1 - x^r)^b. Candidates are verified, so false ones cost time and not precision: r is
//! the largest for which the promised share of the pairs AT the threshold becomes candidates.

use super::term::{Address, Space, Term};
use crate::error::{Error, Result};
use crate::sketch::Signature;
use crate::text::rabin::mix;

/// Rows and bands of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bands {
    /// Entries in a band, r.
    pub rows: usize,
    /// Bands, b.
    pub bands: usize,
}

impl Bands {
    /// The design for `entries` minhashes by which at least `recall` of the pairs with resemblance `threshold` become
    /// candidates. Fails when even bands of one entry do not suffice.
    pub fn choose(entries: usize, threshold: f64, recall: f64) -> Result<Self> {
        (1..=entries)
            .rev()
            .map(|rows| Bands { rows, bands: entries / rows })
            .find(|design| design.candidate_probability(threshold) >= recall)
            .ok_or_else(|| {
                Error::invalid(
                    format!("recall {recall} at threshold {threshold} with {entries} minhashes"),
                    "raise the threshold or the minhashes, or lower the recall",
                )
            })
    }

    /// P(two texts share a band | their resemblance).
    pub fn candidate_probability(&self, resemblance: f64) -> f64 {
        1.0 - (1.0 - resemblance.powi(self.rows as i32)).powi(self.bands as i32)
    }

    /// The addresses of a signature's bands, in the order of the bands.
    pub(crate) fn addresses(self, signature: &Signature) -> impl Iterator<Item = Address> {
        signature.entries().chunks_exact(self.rows).take(self.bands).enumerate().map(|(band, rows)| {
            let key = rows.iter().fold(mix(band as u64 + 1), |key, &entry| mix(key ^ u64::from(entry)));
            Address::new(Space::CONTENTS, Term::of_hash(key))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::signature::Bins;
    use std::collections::HashSet;

    #[test]
    fn the_promise_at_the_threshold_is_kept() {
        assert_eq!(Bands::choose(128, 0.8, 0.99).unwrap(), Bands { rows: 6, bands: 21 });
        for threshold in [0.3, 0.5, 0.7, 0.9, 0.95, 1.0] {
            let design = Bands::choose(128, threshold, 0.99).unwrap();
            assert!(design.candidate_probability(threshold) >= 0.99, "{threshold}: {design:?}");
        }
        assert!(Bands::choose(16, 0.05, 0.99).is_err());
    }

    #[test]
    fn the_share_of_candidates_follows_the_curve() {
        const TRIALS: u64 = 3000;
        let design = Bands { rows: 6, bands: 21 };
        for (n, shared) in [(400u64, 229u64), (400, 283), (400, 320), (60, 46)] {
            let mut candidates = 0;
            for trial in 0..TRIALS {
                let signature = |range: std::ops::Range<u64>| {
                    let mut bins = Bins::new(128, mix(trial));
                    let set: Vec<u64> = range.map(|i| mix(i ^ trial << 20)).collect();
                    bins.extend(&set);
                    bins.finish(&set).unwrap()
                };
                let first: HashSet<Address> = design.addresses(&signature(0..n)).collect();
                candidates += u64::from(
                    design.addresses(&signature(n - shared..2 * n - shared)).any(|a| first.contains(&a)),
                );
            }
            let expected = design.candidate_probability(shared as f64 / (2 * n - shared) as f64);
            let got = candidates as f64 / TRIALS as f64;
            // Entries of small sets are negatively correlated: .015, plus four standard errors of the trials.
            let allowed = 0.015 + 4.0 * (expected * (1.0 - expected) / TRIALS as f64).sqrt();
            assert!((got - expected).abs() < allowed, "{shared}/{n}: {got:.4}, expected {expected:.4}");
        }
    }

    #[test]
    fn equal_bands_at_other_places_have_other_terms() {
        let signature = Signature(vec![7; 12]);
        let addresses: HashSet<Address> = Bands { rows: 3, bands: 4 }.addresses(&signature).collect();
        assert_eq!(addresses.len(), 4);
    }
}
