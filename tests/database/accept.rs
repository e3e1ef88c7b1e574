//! Which end of the interval must reach the threshold.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, edited, text};
use sketchdb::{Accept, Database, Interval, Match, Measure, PairOptions, Policy, Query};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

const THRESHOLD: f64 = 0.8;

/// A text, and the same with ever more of its words replaced, so long that their samples are not whole.
fn database(place: &Place) -> (Database, String) {
    let db = place.open();
    let mut draw = Draw::new(23);
    let first = text(&mut draw, 2000);
    let edits = (0..60).map(|edits| edited(&mut draw, &first, edits));
    let documents: Vec<_> =
        edits.enumerate().map(|(edits, text)| document(&db, &format!("{edits}"), text)).collect();
    db.add_batch(documents, Policy::Everything).unwrap();
    (db, first)
}

fn found(db: &Database, text: &str, accept: Accept) -> Vec<Match> {
    let by = Some(Measure::Resemblance(THRESHOLD));
    db.query(&db.sketch(text).unwrap(), &Query { by, accept, limit: 0, ..Query::default() }).unwrap().matches
}

fn paired(db: &Database, accept: Accept) -> Vec<(Interval, f64)> {
    let (mut pairs, by) = (Vec::new(), Some(Measure::Resemblance(THRESHOLD)));
    db.pairs(&PairOptions { by, accept, ..PairOptions::default() }, |pair| {
        if let sketchdb::PairEvent::Pair(pair) = pair {
            pairs.push((pair.interval.unwrap(), pair.resemblance.unwrap()));
        }
        ControlFlow::<()>::Continue(())
    })
    .unwrap();
    pairs
}

#[test]
fn the_end_that_was_asked_for_reaches_the_threshold() {
    let place = Place::new();
    let (db, text) = database(&place);
    let [low, estimate, high] =
        [Accept::Low, Accept::Estimate, Accept::High].map(|accept| found(&db, &text, accept));
    let of = |end: fn(&Match) -> f64| -> BTreeSet<&str> {
        high.iter().filter(|found| end(found) >= THRESHOLD).map(|found| found.key.as_str()).collect()
    };
    let keys = |found: &[Match]| found.iter().map(|found| found.key.clone()).collect::<BTreeSet<String>>();
    let owned = |keys: BTreeSet<&str>| keys.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(keys(&low), owned(of(|found| found.interval.unwrap().low)), "low");
    assert_eq!(keys(&estimate), owned(of(|found| found.resemblance.unwrap())), "estimate");
    assert!(high.iter().all(|found| found.interval.unwrap().high >= THRESHOLD), "high");
    let counts = [low.len(), estimate.len(), high.len()];
    assert!(counts.is_sorted_by(|fewer, more| fewer < more) && low.len() > 1, "{counts:?} matches");
}

#[test]
fn pairs_obey_the_end_that_was_asked_for() {
    let place = Place::new();
    let (db, _) = database(&place);
    let high = paired(&db, Accept::High);
    let count = |end: fn(&(Interval, f64)) -> f64| high.iter().filter(|pair| end(pair) >= THRESHOLD).count();
    let [low, estimate] = [count(|pair| pair.0.low), count(|pair| pair.1)];
    assert_eq!([paired(&db, Accept::Low).len(), paired(&db, Accept::Estimate).len()], [low, estimate]);
    assert!(0 < low && low < estimate && estimate < high.len(), "{low}, {estimate}, {}", high.len());
}
