//! What becomes of contents and times when keys are given again.

use crate::common::place::{Place, add_seen};
use crate::common::texts::{Draw, text};
use sketchdb::{Database, Match, Measure, Policy, Query, Verdict};

fn matches(db: &Database, text: &str, by: Option<Measure>) -> Vec<Match> {
    let query = Query { by, copies: true, ..Query::default() };
    db.query(&db.sketch(text).unwrap(), &query).unwrap().matches
}

fn keys(db: &Database, text: &str) -> Vec<String> {
    matches(db, text, None).into_iter().map(|found| found.key).collect()
}

#[test]
fn last_seen_never_goes_back() {
    let place = Place::new();
    let db = place.open();
    let add =
        |db: &Database, text: &str, seen: u64| add_seen(db, "a", text, seen, Policy::Everything).verdict;
    let times =
        |db: &Database| db.get("a").unwrap().map(|stored| (stored.first_seen, stored.last_seen)).unwrap();
    add(&db, "first", 100);
    assert_eq!((add(&db, "first", 50), times(&db)), (Verdict::Unchanged, (Some(100), Some(100))));
    assert_eq!((add(&db, "second", 70), times(&db)), (Verdict::Updated, (Some(100), Some(100))));
    assert_eq!((add(&db, "second", 200), times(&db)), (Verdict::Unchanged, (Some(100), Some(200))));
    assert_eq!((add(&db, "third", 300), times(&db)), (Verdict::Updated, (Some(100), Some(300))));
    assert_eq!(db.add("a", "third").unwrap().verdict, Verdict::Unchanged);
    drop(db);
    assert_eq!(times(&place.open()), (Some(100), Some(300)));
}

#[test]
fn the_library_asks_no_clock() {
    let db = Place::new().open();
    db.add("a", "text").unwrap();
    db.add("a", "other text").unwrap();
    let stored = db.get("a").unwrap().unwrap();
    assert_eq!((stored.first_seen, stored.last_seen), (None, None));
}

#[test]
fn an_update_keeps_the_id_and_its_own_old_text_does_not_count() {
    let db = Place::new().open();
    let first = text(&mut Draw::new(7), 100);
    let id = db.add("a", &first).unwrap().id;
    let updated = db.add("a", format!("{first} addition")).unwrap();
    assert_eq!((updated.id, updated.verdict, updated.of), (id, Verdict::Updated, None));
    assert_eq!(matches(&db, &first, None).len(), 1, "by the new text");
    assert!(!matches(&db, &first, None)[0].exact);
}

#[test]
fn updating_one_copy_leaves_the_others_whole() {
    let mut draw = Draw::new(8);
    let (first, other) = (text(&mut draw, 100), text(&mut draw, 100));
    for updated in ["a", "b", "c"] {
        let place = Place::new();
        let db = place.open();
        ["a", "b", "c"].iter().for_each(|key| drop(db.add(*key, &first).unwrap()));
        db.add(updated, &other).unwrap();
        let rest: Vec<&str> = ["a", "b", "c"].into_iter().filter(|key| *key != updated).collect();
        let check = |db: &Database| {
            assert_eq!(keys(db, &first), rest, "{updated} updated");
            assert_eq!(keys(db, &other), [updated]);
            assert_eq!(db.get(rest[0]).unwrap().unwrap().copies, 1);
            assert_eq!(db.get(updated).unwrap().unwrap().copies, 0);
        };
        check(&db);
        db.close().unwrap();
        check(&place.open());
    }
}

#[test]
fn a_text_that_nobody_holds_matches_no_more() {
    let mut draw = Draw::new(9);
    let (first, other) = (text(&mut draw, 100), text(&mut draw, 100));
    let place = Place::new();
    let db = place.open();
    db.add("a", &first).unwrap();
    db.add("b", &first).unwrap();
    db.add("a", &other).unwrap();
    db.add("b", &other).unwrap();
    let check = |db: &Database| {
        for by in [None, Some(Measure::Resemblance(0.01)), Some(Measure::Hamming(3))] {
            assert_eq!(matches(db, &first, by), [], "{by:?}");
        }
        let stats = db.stats().unwrap();
        assert_eq!((stats.documents, stats.contents, stats.dead_contents), (2, 1, 1));
    };
    check(&db);
    drop(db);
    let db = place.open();
    check(&db);
    let again = db.add("c", &first).unwrap();
    assert_eq!((again.verdict, again.of), (Verdict::New, None));
    assert_eq!(db.add("d", &first).unwrap().of, Some("c".into()));
    assert_eq!(keys(&db, &first), ["c", "d"]);
}

#[test]
fn a_key_may_take_back_its_old_text() {
    let place = Place::new();
    for round in 0..3 {
        let db = place.open();
        for text in ["one two three four five", "six seven eight nine ten"] {
            db.add("a", text).unwrap();
            assert_eq!(keys(&db, text), ["a"], "round {round}");
        }
        let stats = db.stats().unwrap();
        assert_eq!((stats.documents, stats.contents, stats.dead_contents), (1, 1, 2 * round + 1));
    }
}
