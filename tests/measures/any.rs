//! The recall that a search by any measure expects below the threshold of the file, held against what it finds.

use crate::common::texts::{Draw, text, word};
use crate::shapes::{ask, filled};
use sketchdb::{Kept, Measure, Params, Query};

const PAIRS: usize = 300;

/// Texts of `words` words, and of each one whose resemblance is at least the share, hardly more.
fn pairs(seed: u64, words: usize, share: f64) -> Vec<[String; 2]> {
    let mut draw = Draw::new(seed);
    let mut pair = || {
        let first: Vec<String> = text(&mut draw, words).split(' ').map(str::to_owned).collect();
        let shingles = words - 4;
        // A word that is replaced takes five shingles: of n, x are common for r = x/(2n - x).
        let common = (2.0 * share * shingles as f64 / (1.0 + share)).ceil() as usize;
        let mut other = first.clone();
        for edit in 0..(shingles - common) / 5 {
            other[7 + 5 * edit] = word(&mut draw);
        }
        [first.join(" "), other.join(" ")]
    };
    (0..PAIRS).map(|_| pair()).collect()
}

fn kept(sample: bool, signature: bool, simhash: bool) -> Params {
    Params { keep_sketches: Kept { sample, signature, simhash, edit: false }, ..Params::default() }
}

#[test]
fn at_least_so_many_are_found_as_are_expected() {
    let files = [
        ("all", Params::default()),
        ("no containment", Params { containment: false, ..Params::default() }),
        ("no containment, high", Params { containment: false, threshold: 0.9, ..Params::default() }),
        ("no simhash", kept(true, true, false)),
        ("no signature", kept(true, false, true)),
        ("sample alone", kept(true, false, false)),
        ("no simhash, no containment", Params { containment: false, ..kept(true, true, false) }),
        ("nothing by shingles", Params { containment: false, ..kept(true, false, true) }),
    ];
    for (number, (name, params)) in files.into_iter().enumerate() {
        for (words, share) in [(300, 0.6), (60, 0.5), (1500, 0.3)] {
            let pairs = pairs(341 + number as u64, words, share);
            let (_place, db) = filled(&params, &pairs.iter().map(|pair| &pair[0]).collect::<Vec<_>>());
            let by = Measure::Any(share);
            let query = Query { by: Some(by), ..Query::default() };
            let expected = db.query(&db.sketch("").unwrap(), &query).unwrap().expected_recall;
            let expected = expected.unwrap_or_else(|| panic!("{name}: none is said at {share}"));
            let found = pairs.iter().enumerate().filter(|(number, pair)| {
                ask(&db, &pair[1], by, &[]).iter().any(|found| found.key == number.to_string())
            });
            let found = found.count();
            let mean = expected * PAIRS as f64;
            // What was estimated below the share though it is above was found and not passed: half at worst.
            let allowed = 4.0 * (mean * (1.0 - expected)).sqrt() + 1.0;
            eprintln!("{name}, {words} words at {share}: {found} of {PAIRS}, {mean:.1} expected");
            let passed = if params.sketch.sample >= 2 * words { 1.0 } else { 0.4 };
            assert!(found as f64 + allowed >= mean * passed, "{name}: {found} of {PAIRS} at {share}");
        }
    }
}

#[test]
fn figures_are_those_of_what_is_indexed() {
    let expected = |params: &Params, share: f64| {
        let (_place, db) = filled(params, &["some text"]);
        let by = Some(Measure::Any(share));
        db.query(&db.sketch("").unwrap(), &Query { by, ..Query::default() }).unwrap().expected_recall
    };
    let near = |params: &Params, share: f64, figure: f64| {
        let said = expected(params, share).unwrap();
        assert!((said - figure).abs() < 1e-9, "{said}, not {figure}");
    };
    let bands = |share: f64| 1.0 - (1.0 - share.powi(6)).powi(21);
    let samples = |share: f64| 1.0 - (-50.0 * share).exp();
    near(&Params::default(), 0.05, 1.0 - (1.0 - bands(0.05)) * (1.0 - samples(0.05)));
    near(&Params { containment: false, ..Params::default() }, 0.5, bands(0.5));
    near(&kept(true, false, true), 0.05, samples(0.05));
    near(&kept(false, true, true), 0.5, 0.0);
    near(&Params { containment: false, ..kept(true, false, true) }, 0.9, 0.0);
    assert_eq!(expected(&Params::default(), 0.8), None);
    assert_eq!(expected(&Params { containment: false, ..Params::default() }, 0.8), None);
}
