//! Databases and answers, in the few forms that the measures are asked in.

use crate::common::place::{Place, document};
use sketchdb::{Accept, Confirm, Database, Document, Match, Measure, Params, Policy, Query};

/// A database that holds these documents, keyed by their number.
pub fn filled(params: &Params, texts: &[impl AsRef<[u8]>]) -> (Place, Database) {
    let place = Place::with(params);
    let db = place.open();
    let documents: Vec<Document> =
        texts.iter().enumerate().map(|(number, text)| document(&db, &number.to_string(), text)).collect();
    db.add_batch(documents, Policy::Everything).unwrap();
    (place, db)
}

/// All matches of a text.
pub fn ask(db: &Database, text: impl AsRef<[u8]>, by: Measure, confirm: &[Confirm]) -> Vec<Match> {
    let query = Query {
        by: Some(by),
        accept: Accept::Estimate,
        confirm: confirm.to_vec(),
        copies: true,
        ..Query::default()
    };
    db.query(&db.sketch(text).unwrap(), &query).unwrap().matches
}

/// Their keys, in order of the alphabet.
pub fn keys(matches: &[Match]) -> Vec<String> {
    let mut keys: Vec<String> = matches.iter().map(|found| found.key.clone()).collect();
    keys.sort_unstable();
    keys
}

/// Asserts that so many of `n` trials went as with this probability: within five standard deviations, and one.
pub fn assert_share(what: &str, count: usize, n: usize, probability: f64) {
    let mean = probability * n as f64;
    let apart = 5.0 * (mean * (1.0 - probability)).sqrt() + 1.0;
    eprintln!("{what}: {count} of {n}, {mean:.1} expected");
    assert!((count as f64 - mean).abs() <= apart, "{what}: {count} of {n}, {mean:.1} ± {apart:.1} expected");
}
