//! The agreement of k minhash entries as a criterion: 90 of 100 are reached as often as CS124, lecture 12, draws it, with
//! one permutation cut into bins as with the k permutations of the lecture.

use crate::common::rng::Rng;
use crate::shapes::{assert_share, filled};
use sketchdb::{Measure, Params, Query, SketchParams, reach_probability};

/// Resemblances, and how many pairs of them 90 equal entries of 100 accept.
const LECTURE: [(f64, f64); 3] = [(0.8, 0.0057), (0.95, 0.9885), (0.96, 0.9978)];
const PAIRS: usize = 1500;
const ENTRIES: usize = 100;
const THRESHOLD: f64 = 0.9;

fn words(numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|number| format!("w{number} ")).collect()
}

/// Two texts of words of their own: `union` words in all, of which `shared` are in both.
fn pair(number: usize, union: usize, shared: usize) -> (String, String) {
    let first = number * union;
    let half = shared + (union - shared) / 2;
    (words(first..first + half), words((first..first + shared).chain(first + half..first + union)))
}

#[test]
fn the_curve_is_that_of_the_lecture() {
    for (resemblance, accepted) in LECTURE {
        let p = reach_probability(ENTRIES as u32, resemblance, THRESHOLD);
        assert!((p - accepted).abs() < 5e-5, "{resemblance}: {p}");
    }
}

#[test]
fn the_database_accepts_pairs_as_the_curve_says() {
    // So many words that bins are almost drawn with replacement: entries agree as if each were drawn alone.
    const UNION: usize = 2000;
    for (resemblance, accepted) in LECTURE {
        let shared = (UNION as f64 * resemblance).round() as usize;
        let pairs: Vec<(String, String)> = (0..PAIRS).map(|number| pair(number, UNION, shared)).collect();
        let shingle = "words:1".parse().unwrap();
        let sketch = SketchParams { shingle, minhashes: ENTRIES, ..SketchParams::default() };
        let stored: Vec<&String> = pairs.iter().map(|pair| &pair.0).collect();
        let (_place, db) = filled(&Params { sketch, ..Params::default() }, &stored);
        let query = Query { by: Some(Measure::Agreement(THRESHOLD)), ..Query::default() };
        let mut count = 0;
        for (number, (_, text)) in pairs.iter().enumerate() {
            let matches = db.query(&db.sketch(text).unwrap(), &query).unwrap().matches;
            assert!(matches.len() <= 1, "no other pair shares a word");
            for found in matches {
                assert_eq!(found.key, number.to_string());
                assert!(found.agreement.unwrap() >= THRESHOLD, "{found:?}");
                count += 1;
            }
        }
        assert_share(&format!("one permutation, r = {resemblance}"), count, PAIRS, accepted);
    }
}

/// The least value of a set under each of the k permutations.
fn minima(set: impl Iterator<Item = usize> + Clone, keys: &[u64]) -> Vec<u64> {
    let permuted = |key: u64, element: usize| Rng(key ^ (element as u64) << 20).next();
    keys.iter().map(|&key| set.clone().map(|element| permuted(key, element)).min().unwrap()).collect()
}

#[test]
fn k_permutations_accept_pairs_as_the_curve_says() {
    const UNION: usize = 100;
    let mut rng = Rng(41);
    for (resemblance, accepted) in LECTURE {
        let shared = (UNION as f64 * resemblance).round() as usize;
        let half = shared + (UNION - shared) / 2;
        let mut count = 0;
        for _ in 0..PAIRS {
            let keys: Vec<u64> = (0..ENTRIES).map(|_| rng.next()).collect();
            let first = minima(0..half, &keys);
            let second = minima((0..shared).chain(half..UNION), &keys);
            let equal = first.iter().zip(&second).filter(|(a, b)| a == b).count();
            count += usize::from(equal as f64 / ENTRIES as f64 >= THRESHOLD);
        }
        assert_share(&format!("k permutations, r = {resemblance}"), count, PAIRS, accepted);
    }
}
