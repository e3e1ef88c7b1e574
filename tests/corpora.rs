//! Real text with exact truth: on every corpus, what a sample of 256 allows is reached.
//!
//! Of the pairs with exact resemblance .9 and more at least .999 are found, of those from .85 on .99; at most .2 % of what is
//! reported lies below .7; the 95 % interval holds the truth in at least .9 of the pairs.

mod common;

use common::corpus::{Corpus, allowed, corpus};
use sketchdb::{Accept, Database, Document, Options, Params, Policy, Query};
use std::collections::HashMap;

/// Documents and what a query for each of them reports, by unordered pair: resemblance, low, high.
fn reported(corpus: &Corpus, accept: Accept) -> HashMap<(String, String), (f64, f64, f64)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("corpus.sketchdb");
    Database::create(&path, &Params::default()).unwrap();
    let db = Database::open(&path, Options::default()).unwrap();
    let mut sketcher = db.sketcher();
    let documents: Vec<Document> = corpus
        .documents
        .iter()
        .map(|(key, text)| Document {
            key: key.clone(),
            sketch: sketcher.sketch(text.as_bytes()),
            seen_at: None,
        })
        .collect();
    db.add_batch(documents.clone(), Policy::Everything).unwrap();
    let mut pairs = HashMap::new();
    for Document { key, sketch, .. } in documents {
        let query = Query { own: Some(key.clone()), copies: true, accept, ..Query::default() };
        for found in db.query(&sketch, &query).unwrap().matches {
            let interval = found.interval.unwrap();
            let pair = if key < found.key { (key.clone(), found.key) } else { (found.key, key.clone()) };
            pairs.insert(pair, (found.resemblance.unwrap(), interval.low, interval.high));
        }
    }
    pairs
}

fn holds(name: &str) {
    let Some(corpus) = corpus(name) else { return };
    let found = reported(&corpus, Accept::Estimate);
    let between = |low: f64, high: f64| corpus.pairs.iter().filter(move |p| p.1 >= low && p.1 < high);
    for (low, high, promise) in [(0.9, 2.0, 0.999), (0.85, 0.9, 0.99)] {
        let (all, missed) = between(low, high).fold((0, 0), |(all, missed), pair| {
            (all + 1, missed + usize::from(!found.contains_key(&pair.0)))
        });
        assert!(
            missed <= allowed(1.0 - promise, all),
            "{name}: {missed} of {all} pairs from {low} on missed"
        );
    }
    let exact: HashMap<_, _> = corpus.pairs.iter().cloned().collect();
    let wrong = found.iter().filter(|(pair, estimate)| {
        estimate.0 < 1.0 && exact.get(*pair).is_none_or(|&resemblance| resemblance < 0.7)
    });
    let wrong = wrong.count();
    assert!(wrong <= allowed(0.002, found.len()), "{name}: {wrong} of {} below .7", found.len());
    let above: Vec<_> =
        between(0.8, 2.0).filter_map(|pair| found.get(&pair.0).map(|f| (pair.1, *f))).collect();
    let held = above.iter().filter(|(r, f)| f.1 - 2e-6 <= *r && *r <= f.2 + 2e-6).count();
    assert!(held as f64 >= 0.9 * above.len() as f64, "{name}: intervals hold {held} of {}", above.len());
    eprintln!(
        "{name}: {} pairs reported, {wrong} below .7, intervals hold {held} of {}",
        found.len(),
        above.len()
    );
}

macro_rules! corpora {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            holds(stringify!($name));
        }
    )*};
}

corpora!(mccormick_100 mccormick_1000 mccormick_2500 licences_spdx revisions_peps revisions_symfony short_tldr_en);

#[test]
fn accepting_the_high_end_misses_nothing_at_the_threshold() {
    let Some(corpus) = corpus("licences_spdx") else { return };
    let found = reported(&corpus, Accept::High);
    let (all, missed) =
        corpus.pairs.iter().filter(|pair| pair.1 >= 0.8).fold((0, 0), |(all, missed), pair| {
            (all + 1, missed + usize::from(!found.contains_key(&pair.0)))
        });
    // The upper end lies below the truth in 2.5 % of the pairs at the threshold; the index misses .2 % of those.
    assert!(missed <= allowed(0.027, all), "{missed} of {all}");
    assert!(found.len() > reported(&corpus, Accept::Estimate).len());
}
