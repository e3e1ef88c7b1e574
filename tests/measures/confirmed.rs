//! `any`, `edit` and confirmed measures: matches are exactly those that the definitions leave.

use crate::common::texts::{Draw, edited, text};
use crate::shapes::{ask, filled, keys};
use sketchdb::{Confirm, Database, Error, Match, Measure, Params, Query, SketchParams};
use std::collections::BTreeSet;

/// Families of a text, its edits, parts, and arrangements of its sentences.
fn documents() -> Vec<String> {
    let mut draw = Draw::new(331);
    let mut documents = Vec::new();
    for _ in 0..25 {
        let base = text(&mut draw, 240);
        let words: Vec<&str> = base.split(' ').collect();
        let turned = [&words[120..], &words[..120]].concat().join(" ");
        let part = words[40..180].join(" ");
        documents.extend([1, 3, 6, 12, 30].map(|edits| edited(&mut draw, &base, edits)));
        documents.push(format!("{base} {}", text(&mut draw, 20)));
        documents.push(format!("{base} {}", text(&mut draw, 200)));
        documents.extend([turned, part, base]);
    }
    documents
}

/// Asks each document by a measure; holds each answer.
fn each(db: &Database, documents: &[String], by: Measure, mut hold: impl FnMut(&String, Vec<Match>)) {
    documents.iter().for_each(|text| hold(text, ask(db, text, by, &[])));
}

fn kept(matches: &[Match], keep: impl Fn(&Match) -> bool) -> Vec<String> {
    let kept: Vec<Match> = matches.iter().filter(|found| found.exact || keep(found)).cloned().collect();
    keys(&kept)
}

fn within_bits(bits: u32) -> impl Fn(&Match) -> bool {
    move |found| found.hamming.is_some_and(|hamming| hamming <= bits)
}

fn within_share(share: f64) -> impl Fn(&Match) -> bool {
    move |found| found.edit.is_some_and(|edit| edit.share <= share)
}

#[test]
fn confirmed_matches_are_those_that_satisfy_both() {
    let documents = documents();
    let (_place, db) = filled(&Params::default(), &documents);
    let width = db.params().sketch.shingle.width();
    let (mut all, mut left) = (0, 0);
    for by in [
        Measure::Resemblance(0.5),
        Measure::Containment(0.5),
        Measure::Contained(0.5),
        Measure::Agreement(0.5),
        Measure::Hamming(20),
        Measure::Edit(0.5),
        Measure::Any(0.5),
    ] {
        each(&db, &documents, by, |text, base| {
            for bits in [0, 3, 12, Confirm::default_distance(0.8, width)] {
                let found = keys(&ask(&db, text, by, &[Confirm::Simhash(bits)]));
                assert_eq!(found, kept(&base, within_bits(bits)), "{by:?}, simhash:{bits}");
                (all, left) = (all + base.len(), left + found.len());
            }
            for share in [0.01, 0.1, Confirm::default_share(0.8)] {
                let found = keys(&ask(&db, text, by, &[Confirm::Edit(share)]));
                assert_eq!(found, kept(&base, within_share(share)), "{by:?}, edit:{share}");
            }
            let found = keys(&ask(&db, text, by, &[Confirm::Simhash(12), Confirm::Edit(0.1)]));
            assert_eq!(found, kept(&base, |found| within_bits(12)(found) && within_share(0.1)(found)));
        });
    }
    eprintln!("{left} of {all} matches confirmed by simhash");
    assert!(left * 10 < all * 9 && left * 10 > all, "some are kept, some are not: {left} of {all}");
}

/// Which windows of so few kinds are bits is a draw of the seed: a mean over several is told.
#[test]
fn default_bounds_confirm_what_is_truly_near() {
    let documents = documents();
    for threshold in [0.8, 0.9] {
        let (mut all, mut simhash, mut edit) = (0, 0, 0);
        for seed in 1..=4 {
            let sketch = SketchParams { seed, ..SketchParams::default() };
            let (_place, db) = filled(&Params { sketch, ..Params::default() }, &documents);
            let width = db.params().sketch.shingle.width();
            let bits = Confirm::default_distance(threshold, width);
            let share = Confirm::default_share(threshold);
            each(&db, &documents, Measure::Resemblance(threshold), |_, base| {
                all += base.len();
                simhash += kept(&base, within_bits(bits)).len();
                edit += kept(&base, within_share(share)).len();
            });
        }
        eprintln!("T = {threshold}: simhash confirms {simhash}, edit {edit} of {all}");
        // Three standard deviations of the simhash; of the edit distance, whose signatures are short here, 1.3.
        assert!(simhash as f64 >= 0.98 * all as f64, "simhash: {simhash} of {all}");
        assert!(edit as f64 >= 0.85 * all as f64, "edit: {edit} of {all}");
    }
}

#[test]
fn any_is_what_one_of_four_measures_accepts() {
    let documents = documents();
    let (_place, db) = filled(&Params::default(), &documents);
    for threshold in [0.5, 0.8] {
        let parts = [
            Measure::Resemblance(threshold),
            Measure::Containment(threshold),
            Measure::Contained(threshold),
            Measure::Hamming(db.params().hamming),
        ];
        each(&db, &documents, Measure::Any(threshold), |text, any| {
            let found: BTreeSet<String> = keys(&any).into_iter().collect();
            let by_one = parts.iter().flat_map(|&by| keys(&ask(&db, text, by, &[]))).collect();
            assert!(found.is_superset(&by_one), "{threshold}: {by_one:?} are {found:?}");
            for found in &any {
                let reaches = [found.resemblance, found.containment, found.contained]
                    .iter()
                    .any(|share| share.is_some_and(|share| share >= threshold));
                assert!(reaches || found.hamming.unwrap() <= db.params().hamming, "{found:?}");
            }
        });
    }
}

#[test]
fn edit_keeps_the_candidates_within_its_share_closest_first() {
    let documents = documents();
    let (_place, db) = filled(&Params::default(), &documents);
    // Whatever shares a band has some resemblance: these are all the candidates.
    each(&db, &documents, Measure::Resemblance(1e-6), |text, candidates| {
        for share in [0.02, 0.2, 1.0] {
            let found = ask(&db, text, Measure::Edit(share), &[]);
            assert_eq!(keys(&found), kept(&candidates, within_share(share)), "{share}");
            let shares: Vec<f64> = found.iter().skip(1).map(|found| found.edit.unwrap().share).collect();
            assert!(found[0].exact && shares.is_sorted(), "{shares:?}");
        }
    });
}

#[test]
fn shares_out_of_range_are_refused() {
    let (_place, db) = filled(&Params::default(), &["one two three"]);
    let sketch = db.sketch("one two three").unwrap();
    for wrong in [-0.5, 1.001, f64::NAN] {
        for by in [
            Measure::Containment(wrong),
            Measure::Contained(wrong),
            Measure::Agreement(wrong),
            Measure::Any(wrong),
            Measure::Edit(wrong),
        ] {
            let refused = db.query(&sketch, &Query { by: Some(by), ..Query::default() });
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{by:?}");
        }
    }
}
