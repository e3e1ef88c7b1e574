//! Hot bands: more than 256 contents that share them all.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use sketchdb::{Added, Answer, Database, Policy, Query, Verdict};

/// Contents that may share a band before it is hot, and how many are compared when it is.
const HOT: usize = 256;
const COMPARED: usize = 16;

/// A text with the tokens of the template, and so with all of its bands, that no other number gives.
fn variant(template: &str, number: usize) -> String {
    let mark = |bit: usize| if number >> bit & 1 == 1 { "!" } else { "?" };
    template.to_owned() + &(0..16).map(mark).collect::<String>()
}

fn add(db: &Database, template: &str, numbers: std::ops::Range<usize>) -> Vec<Added> {
    let batch = numbers.map(|number| document(db, &format!("{number}"), variant(template, number)));
    db.add_batch(batch.collect(), Policy::Everything).unwrap()
}

fn query(db: &Database, text: &str) -> Answer {
    db.query(&db.sketch(text).unwrap(), &Query::default()).unwrap()
}

fn numbers(answer: &Answer) -> Vec<usize> {
    answer.matches.iter().map(|found| found.key.parse().unwrap()).collect()
}

#[test]
fn answers_are_bounded_beyond_256_contents_and_say_so() {
    let place = Place::new();
    let db = place.open();
    let template = text(&mut Draw::new(13), 50);
    let added = add(&db, &template, 0..HOT);
    assert!(added.iter().all(|added| !added.bounded));
    assert_eq!(query(&db, &template).matches.len(), HOT, "all of them are found");
    assert!(!add(&db, &template, HOT..HOT + 1)[0].bounded, "it met 256");
    let more = add(&db, &template, HOT + 1..HOT + 101);
    for added in more {
        assert_eq!((added.verdict, added.of.as_deref(), added.bounded), (Verdict::Near, Some("0"), true));
    }
    assert_eq!(db.stats().unwrap().bounded, 100);
    let check = |db: &Database| {
        let answer = query(db, &template);
        assert!(answer.bounded);
        assert_eq!(numbers(&answer), (0..COMPARED).collect::<Vec<_>>(), "the lowest are compared");
        let same = query(db, &variant(&template, HOT + 50));
        assert_eq!(
            (same.matches[0].exact, numbers(&same)[0]),
            (true, HOT + 50),
            "the same text is always found"
        );
        assert_eq!(same.matches.len(), COMPARED + 1);
        assert_eq!(db.stats().unwrap().bounded, 100, "queries are not counted");
    };
    check(&db);
    db.close().unwrap();
    check(&place.read().unwrap());
    check(&place.open());
}

#[test]
fn the_layout_of_the_runs_does_not_matter() {
    let template = text(&mut Draw::new(14), 50);
    let (split, whole) = (Place::new(), Place::new());
    for part in [0..300, 300..900, 900..1100, 1100..2000] {
        add(&split.open(), &template, part);
    }
    let db = whole.open();
    add(&db, &template, 0..2000);
    assert_eq!(query(&split.open(), &template), query(&db, &template));
    assert_eq!(split.open().stats().unwrap().bounded, db.stats().unwrap().bounded);
}

#[test]
fn contents_that_nobody_holds_do_not_make_a_band_hot() {
    let place = Place::new();
    let db = place.open();
    let mut draw = Draw::new(15);
    let template = text(&mut draw, 50);
    add(&db, &template, 0..HOT + 1);
    db.add("0", text(&mut draw, 50)).unwrap();
    let check = |db: &Database| {
        let answer = query(db, &template);
        assert!(!answer.bounded);
        assert_eq!(numbers(&answer), (1..HOT + 1).collect::<Vec<_>>());
    };
    check(&db);
    drop(db);
    let db = place.open();
    check(&db);
    add(&db, &template, HOT + 1..HOT + 2);
    assert_eq!(numbers(&query(&db, &template)), (1..COMPARED + 1).collect::<Vec<_>>());
}

#[test]
fn distances_are_never_bounded() {
    let db = Place::new().open();
    let template = text(&mut Draw::new(16), 50);
    add(&db, &template, 0..HOT + 100);
    let by = Some(sketchdb::Measure::Hamming(0));
    let answer = db.query(&db.sketch(&template).unwrap(), &Query { by, ..Query::default() }).unwrap();
    assert_eq!((answer.bounded, answer.matches.len()), (false, HOT + 100));
}

#[test]
fn a_limit_gives_the_head_of_all_answers_however_many_there_are() {
    let place = Place::new();
    let db = place.open();
    let phrase = text(&mut Draw::new(14), 7);
    let of = |number: usize| {
        format!("{}{}", format!("{phrase} ").repeat(30), text(&mut Draw::new(number as u64), 6))
    };
    let batch = (0..6000).map(|number| document(&db, &format!("{number}"), of(number)));
    db.add_batch(batch.collect(), Policy::Everything).unwrap();
    for number in [0, 3000, 5999] {
        let sketch = db.sketch(of(number)).unwrap();
        let ask = |limit: usize| {
            let own = Some(format!("{number}"));
            let query = Query { by: Some(sketchdb::Measure::Hamming(3)), limit, own, ..Query::default() };
            numbers(&db.query(&sketch, &query).unwrap())
        };
        let all = ask(0);
        assert!(all.len() > 4500, "{} of one simhash", all.len());
        for limit in [1, 7, 1000] {
            assert_eq!(ask(limit), all[..limit], "the first {limit}");
        }
    }
}
