//! An answer says how many matches there are in all, however few of them it has room for.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use sketchdb::{Database, Measure, Policy, Query};

/// Texts that `query` chunks when it measures them: more than 4,096 of one simhash, each under its own key.
fn filled(db: &Database) -> Vec<String> {
    let phrase = text(&mut Draw::new(71), 7);
    let of = |number: u64| {
        format!("{}{}", format!("{phrase} ").repeat(30), text(&mut Draw::new(1000 + number), 6))
    };
    let texts: Vec<String> = (0..6000).map(of).collect();
    let batch = texts.iter().enumerate().map(|(number, text)| document(db, &number.to_string(), text));
    db.add_batch(batch.collect(), Policy::Everything).unwrap();
    // Copies of the first and the last text.
    for (key, text) in [("copy 1", &texts[0]), ("copy 2", &texts[0]), ("copy 3", &texts[5999])] {
        db.add(key, text).unwrap();
    }
    texts
}

#[test]
fn a_limit_cuts_the_list_and_not_the_count() {
    let place = Place::new();
    let db = place.open();
    let texts = filled(&db);
    for (asked, own, copies) in [
        (0, None, false),
        (0, None, true),
        (0, Some("0"), false),
        (0, Some("0"), true),
        (0, Some("copy 2"), true),
        (17, Some("17"), false),
        (17, Some("17"), true),
        (17, Some("no such key"), true),
    ] {
        let sketch = db.sketch(&texts[asked]).unwrap();
        let ask = |limit: usize| {
            let (by, own) = (Some(Measure::Hamming(3)), own.map(str::to_owned));
            db.query(&sketch, &Query { by, limit, copies, own, ..Query::default() }).unwrap()
        };
        let all = ask(0);
        assert_eq!(all.total, all.matches.len() as u64, "{asked} {own:?} {copies}");
        assert!(all.total > 5000, "more than are measured at once");
        for limit in [1, 2, 100, 5000, 10_000] {
            let some = ask(limit);
            assert_eq!(some.total, all.total, "limit {limit}, {asked} {own:?} {copies}");
            assert_eq!(some.matches, all.matches[..limit.min(all.matches.len())], "limit {limit}");
        }
    }
}

#[test]
fn a_text_that_only_its_own_key_holds_is_no_match() {
    let db = Place::new().open();
    let page = text(&mut Draw::new(72), 100);
    db.add("own", &page).unwrap();
    let ask = |copies: bool| {
        let query = Query { own: Some("own".into()), limit: 1, copies, ..Query::default() };
        db.query(&db.sketch(&page).unwrap(), &query).unwrap()
    };
    assert_eq!((ask(false).total, ask(true).total), (0, 0));
    for key in ["a", "b", "c"] {
        db.add(key, &page).unwrap();
    }
    assert_eq!((ask(false).total, ask(true).total), (1, 3));
    assert_eq!(ask(true).matches.len(), 1);
}
