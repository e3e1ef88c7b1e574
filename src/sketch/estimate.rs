//! Estimates from two samples, with their intervals.
//!
//! Two samples are compared below the smaller of their bounds, b: with the values of A, of B and of both below b counted,
//! r = both/(a + b - both) and c(A,B) = both/a. Scanning the union upwards and stopping before the value that ended one of
//! the samples is Haldane's inverse sampling, so the estimate is unbiased, uses every value there is, and is exact when both
//! samples are whole (Broder 1997, section 3, theorem).
//!
//! The interval is Wilson's score interval for the share of n values drawn without replacement from about N, that is with n
//! replaced by n·(N-1)/(N-n) (finite-population correction). Wald's interval covers 24 % at r = .999.

use super::kernel::common::common;
use super::sample::{Sample, WHOLE};

/// The 97.5 % quantile of the normal distribution: half of a two-sided 95 % interval.
const Z: f64 = 1.959_964;

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end, in [0, 1].
    pub low: f64,
    /// The upper end, in [0, 1].
    pub high: f64,
}

/// How many values two samples have below their common bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Values of the first sample.
    pub first: u64,
    /// Values of the second sample.
    pub second: u64,
    /// Values of both.
    pub both: u64,
    /// The smaller of the two bounds; 2^40 when every shingle of both texts was counted.
    pub bound: u64,
}

impl Overlap {
    /// Compares two samples made with the same parameters.
    pub fn of(first: &Sample, second: &Sample) -> Self {
        let bound = first.bound().min(second.bound());
        let (a, b) = (first.below(bound), second.below(bound));
        Overlap { first: a.len() as u64, second: b.len() as u64, both: common(a, b), bound }
    }

    /// Values of either sample.
    pub fn union(&self) -> u64 {
        self.first + self.second - self.both
    }

    /// The estimated resemblance |A∩B|/|A∪B|, `None` when neither text has a shingle below the bound.
    pub fn resemblance(&self) -> Option<f64> {
        share(self.both, self.union())
    }

    /// The 95 % interval of [`resemblance`](Self::resemblance).
    pub fn resemblance_interval(&self) -> Option<Interval> {
        self.interval(self.both, self.union())
    }

    /// How much of the first text is in the second: |A∩B|/|A|.
    pub fn containment(&self) -> Option<f64> {
        share(self.both, self.first)
    }

    /// How much of the second text is in the first: |A∩B|/|B|.
    pub fn contained(&self) -> Option<f64> {
        share(self.both, self.second)
    }

    /// The 95 % interval of [`containment`](Self::containment).
    pub fn containment_interval(&self) -> Option<Interval> {
        self.interval(self.both, self.first)
    }

    /// The 95 % interval of [`contained`](Self::contained).
    pub fn contained_interval(&self) -> Option<Interval> {
        self.interval(self.both, self.second)
    }

    /// The distance 1 - r, a metric: it obeys the triangle inequality (Broder 1997, section 2).
    pub fn distance(&self) -> Option<f64> {
        self.resemblance().map(|resemblance| 1.0 - resemblance)
    }

    /// The 95 % interval of the share `part` of `drawn` values below the bound.
    fn interval(&self, part: u64, drawn: u64) -> Option<Interval> {
        let estimate = share(part, drawn)?;
        let n = drawn as f64;
        let population = n * (WHOLE as f64 / self.bound as f64);
        if population - n < 0.5 {
            return Some(Interval { low: estimate, high: estimate });
        }
        Some(wilson(estimate, n * (population - 1.0).max(1.0) / (population - n)))
    }
}

/// Wilson's score interval of a share observed in n draws.
fn wilson(share: f64, n: f64) -> Interval {
    let z2 = Z * Z / n;
    let centre = (share + z2 / 2.0) / (1.0 + z2);
    let half = Z / (1.0 + z2) * (share * (1.0 - share) / n + z2 / (4.0 * n)).sqrt();
    Interval { low: (centre - half).clamp(0.0, share), high: (centre + half).clamp(share, 1.0) }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// P(a share of at least `threshold` is observed in `n` draws | the true share is `share`): the decision curve of an
/// estimate (CS124 lecture 12 draws it for 90 of 100).
pub fn reach_probability(n: u32, share: f64, threshold: f64) -> f64 {
    let least = (threshold * f64::from(n) - 1e-9).ceil().max(0.0) as u32;
    if share >= 1.0 {
        return 1.0;
    }
    let log_factorials: Vec<f64> = (0..=n)
        .scan(0.0, |sum, i| {
            *sum += f64::from(i.max(1)).ln();
            Some(*sum)
        })
        .collect();
    let log_choose =
        |k: u32| log_factorials[n as usize] - log_factorials[k as usize] - log_factorials[(n - k) as usize];
    (least..=n)
        .map(|k| (log_choose(k) + f64::from(k) * share.ln() + f64::from(n - k) * (1.0 - share).ln()).exp())
        .sum::<f64>()
        .min(1.0)
}

/// P(the share observed in `s` draws lies within `error` of the true `share`): Broder's p(s, r, ε) (1997, section 4.2).
pub fn precision(s: u32, share: f64, error: f64) -> f64 {
    let beyond = share + error;
    let above = if beyond >= 1.0 { 0.0 } else { reach_probability(s, share, beyond + 1.0 / f64::from(s)) };
    (reach_probability(s, share, share - error) - above).max(0.0)
}

/// How many distinct values n shingles are expected to have when each gets a random id of `bits` bits:
/// n - C(n,2)/2^bits (Broder 1997, section 4.1).
pub fn expected_distinct(n: f64, bits: u32) -> f64 {
    n - n * (n - 1.0) / 2.0 / 2f64.powi(bits as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn precision_is_the_sum_of_the_binomial() {
        // s = 100, r = .5, ε = .1: P(40 ≤ k ≤ 60) = .9648.
        assert!((precision(100, 0.5, 0.1) - 0.9648).abs() < 5e-5, "{}", precision(100, 0.5, 0.1));
        assert!((precision(256, 0.95, 0.05) - reach_probability(256, 0.95, 0.9)).abs() < 1e-9);
        assert!(precision(256, 0.8, 0.05) > precision(100, 0.8, 0.05));
    }

    #[test]
    fn collisions_follow_the_birthday_bound() {
        let distinct: std::collections::HashSet<u64> = (0..20_000u64).map(|i| mix(i) >> 40).collect();
        let expected = expected_distinct(20_000.0, 24);
        assert!(
            (distinct.len() as f64 - expected).abs() < 4.0 * (20_000.0 - expected).sqrt(),
            "{}",
            distinct.len()
        );
    }

    #[test]
    fn the_distance_is_a_metric() {
        for key in 0..500 {
            let set = |which: u64| (0..60).filter(move |&x| !mix(x ^ mix(key * 3 + which)).is_multiple_of(3));
            let samples = [0, 1, 2].map(|which| sample(set(which), 1, 256));
            let d = |i: usize, j: usize| Overlap::of(&samples[i], &samples[j]).distance().unwrap();
            assert!(d(0, 2) <= d(0, 1) + d(1, 2) + 1e-12);
            assert_eq!((d(0, 0), d(0, 1)), (0.0, d(1, 0)));
        }
    }

    fn sample(set: impl Iterator<Item = u64>, key: u64, size: usize) -> Sample {
        let mut hashes: Vec<u64> = set.map(|x| mix(mix(x) ^ mix(key))).collect();
        hashes.sort_unstable();
        Sample::of_sorted(&hashes, size)
    }

    /// Two sets of `first` and `second` elements sharing `shared`, under one random permutation.
    fn overlap(first: u64, second: u64, shared: u64, key: u64) -> Overlap {
        let a = sample(0..first, key, 256);
        let b = sample(first - shared..first - shared + second, key, 256);
        Overlap::of(&a, &b)
    }

    #[test]
    fn whole_samples_are_exact() {
        let o = overlap(200, 150, 100, 1);
        assert_eq!(o.resemblance(), Some(100.0 / 250.0));
        assert_eq!((o.containment(), o.contained()), (Some(0.5), Some(100.0 / 150.0)));
        let interval = o.resemblance_interval().unwrap();
        assert_eq!((interval.low, interval.high), (0.4, 0.4));
        assert_eq!(overlap(0, 0, 0, 1).resemblance(), None);
    }

    #[test]
    fn estimates_are_unbiased_and_intervals_cover() {
        const TRIALS: u64 = 2000;
        for (first, second, shared) in
            [(1000, 1000, 888), (1000, 1000, 400), (5000, 5000, 4970), (20_000, 1000, 900), (300, 260, 250)]
        {
            let union = (first + second - shared) as f64;
            let exact = shared as f64 / union;
            let (mut sum, mut held, mut theory) = (0.0, 0, 0.0);
            for key in 0..TRIALS {
                let o = overlap(first, second, shared, key);
                let interval = o.resemblance_interval().unwrap();
                sum += o.resemblance().unwrap();
                held += u64::from(interval.low <= exact + 1e-9 && exact <= interval.high + 1e-9);
                let n = o.union() as f64;
                theory += exact * (1.0 - exact) / n * ((union - n) / union).max(0.0);
            }
            let error = (sum / TRIALS as f64 - exact) / (theory / TRIALS as f64 / TRIALS as f64).sqrt();
            assert!(error.abs() < 4.0, "{first}/{second}/{shared}: {error:.2} standard errors off");
            let cover = held as f64 / TRIALS as f64;
            assert!(cover > 0.92, "{first}/{second}/{shared}: covers {cover}");
        }
    }

    #[test]
    fn the_variance_is_that_of_drawing_without_replacement() {
        const TRIALS: u64 = 4000;
        let (first, shared) = (1000u64, 800u64);
        let union = (2 * first - shared) as f64;
        let exact = shared as f64 / union;
        let (mut squares, mut theory) = (0.0, 0.0);
        for key in 0..TRIALS {
            let o = overlap(first, first, shared, key);
            let n = o.union() as f64;
            squares += (o.resemblance().unwrap() - exact).powi(2);
            theory += exact * (1.0 - exact) / n * (union - n) / (union - 1.0);
        }
        let ratio = squares / theory;
        // Relative standard error of a variance of 4,000 trials: .022.
        assert!((ratio - 1.0).abs() < 0.1, "variance {ratio:.3} of theory");
    }

    #[test]
    fn a_subset_is_contained_entirely() {
        for key in 0..50 {
            let o = overlap(20_000, 1500, 1500, key);
            assert_eq!(o.contained(), Some(1.0));
        }
    }

    #[test]
    fn the_curve_is_that_of_the_lecture() {
        let p = |r| reach_probability(100, r, 0.9);
        assert!((p(0.8) - 0.0057).abs() < 5e-5, "{}", p(0.8));
        assert!((p(0.95) - 0.9885).abs() < 5e-5, "{}", p(0.95));
        assert!((p(0.96) - 0.9978).abs() < 5e-5, "{}", p(0.96));
        assert!((p(0.5) / 1.53e-17 - 1.0).abs() < 0.01, "{}", p(0.5));
        assert_eq!(p(1.0), 1.0);
    }
}
