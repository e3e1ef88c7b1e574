//! Containment is estimated without bias between texts of every pair of levels, and is 1 of a subset.

use crate::common::texts::Draw;
use sketchdb::{Overlap, Sample, SketchParams, Sketcher};

const SEEDS: u64 = 60;

/// The samples of sets of numbered shingles, under one seed.
fn sketcher(seed: u64) -> Sketcher {
    let shingle = "words:1".parse().unwrap();
    Sketcher::new(&SketchParams { shingle, seed, ..SketchParams::default() }).unwrap()
}

fn sample(sketcher: &mut Sketcher, shingles: std::ops::Range<u64>) -> Sample {
    let text: String = shingles.map(|number| format!("w{number} ")).collect();
    sketcher.sketch(text.as_bytes()).sample
}

fn sizes() -> impl Iterator<Item = u64> {
    (0..=6).map(|level| 100 << level)
}

/// The mean of estimates, and how far off its standard errors allow.
fn assert_unbiased(what: &str, estimates: &[f64], exact: f64) {
    let n = estimates.len() as f64;
    let mean = estimates.iter().sum::<f64>() / n;
    let variance = estimates.iter().map(|estimate| (estimate - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    assert!((mean - exact).abs() <= 4.0 * error + 1e-9, "{what}: {mean:.4} ± {error:.4}, exact {exact:.4}");
}

#[test]
fn unbiased_at_every_pair_of_levels() {
    let first = sizes().collect::<Vec<_>>();
    let mut containments = vec![Vec::new(); 49];
    let mut containeds = vec![Vec::new(); 49];
    for seed in 0..SEEDS {
        let mut sketcher = sketcher(Draw::new(seed).number());
        let samples: Vec<Sample> = first.iter().map(|&size| sample(&mut sketcher, 0..size)).collect();
        for (j, &other) in first.iter().enumerate() {
            // The first text ends with what the second begins with: .6 of the smaller.
            for (i, &size) in first.iter().enumerate() {
                let shared = size.min(other) * 6 / 10;
                let second = sample(&mut sketcher, size - shared..size - shared + other);
                let overlap = Overlap::of(&samples[i], &second);
                containments[7 * i + j].extend(overlap.containment());
                containeds[7 * i + j].extend(overlap.contained());
            }
        }
    }
    for (i, &size) in first.iter().enumerate() {
        for (j, &other) in first.iter().enumerate() {
            let shared = (size.min(other) * 6 / 10) as f64;
            assert_unbiased(&format!("{size} in {other}"), &containments[7 * i + j], shared / size as f64);
            assert_unbiased(&format!("{other} in {size}"), &containeds[7 * i + j], shared / other as f64);
        }
    }
}

#[test]
fn a_subset_is_contained_entirely_at_every_pair_of_levels() {
    for seed in 0..4 {
        let mut sketcher = sketcher(seed);
        let samples: Vec<Sample> = sizes().map(|size| sample(&mut sketcher, 0..size)).collect();
        for (i, inner) in samples.iter().enumerate() {
            for outer in &samples[i..] {
                assert_eq!(Overlap::of(inner, outer).containment(), Some(1.0));
                assert_eq!(Overlap::of(outer, inner).contained(), Some(1.0));
            }
        }
    }
}
