//! What a database holds in memory keeps to what it was given.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use sketchdb::{AddOptions, Database, Document, Durability, Options, Policy};

#[test]
fn the_memtable_keeps_to_its_share() {
    let place = Place::new();
    let options = Options { memory: 1 << 20, ..Options::default() };
    let db = Database::open(place.path(), options).unwrap();
    let share = db.stats().unwrap().shares.memtable;
    let mut draw = Draw::new(14);
    for part in 0..12 {
        let documents =
            (0..400).map(|number| document(&db, &format!("{part}/{number}"), text(&mut draw, 120)));
        db.add_batch(documents.collect(), Policy::Everything).unwrap();
        let stats = db.stats().unwrap();
        // Eight bytes an entry: 100 or so of a text, which a commit that is over the share writes to a run.
        assert!(8 * stats.memtable_entries < share, "{} entries, {share} bytes", stats.memtable_entries);
    }
    assert!(db.stats().unwrap().runs > 0);
}

/// Pages of what is buffered lie on the medium before the sums of their bytes do.
#[test]
fn a_handle_with_buffered_additions_verifies() {
    let place = Place::new();
    let options = Options { memory: 1 << 20, ..Options::default() };
    let db = Database::open(place.path(), options).unwrap();
    let buffered = AddOptions { durability: Durability::Buffered, ..AddOptions::default() };
    let mut draw = Draw::new(15);
    for part in 0..30 {
        let documents =
            (0..60).map(|number| document(&db, &format!("{part}/{number}"), text(&mut draw, 300)));
        db.add_batch(documents.collect(), buffered).unwrap();
        assert_eq!(db.verify(part % 10 == 0).unwrap().damage, [], "after {part}");
    }
}

/// Parking pages, error pages, empty pages: one text under thousands of keys.
#[test]
fn copies_by_the_thousand_are_verified_and_compacted() {
    const COPIES: usize = 70_000;
    let place = Place::new();
    let db = place.open();
    let sketch = db.sketch("one text that every page of a parked domain has").unwrap();
    let copy = |number: usize| Document { key: format!("{number}"), sketch: sketch.clone(), seen_at: None };
    for first in (0..COPIES).step_by(5000) {
        db.add_batch((first..first + 5000).map(copy).collect(), Policy::Everything).unwrap();
    }
    db.remove((0..COPIES).step_by(3).map(|number| number.to_string())).unwrap();
    let left = (COPIES - COPIES.div_ceil(3)) as u64;
    let verified = db.verify(true).unwrap();
    assert_eq!((verified.damage, verified.documents, verified.contents), (vec![], left, 1));
    db.close().unwrap();
    let compacted = Database::compact(place.path(), Options::default(), &mut |_, _, _| {}).unwrap();
    assert_eq!((compacted.documents, compacted.contents), (left, 1));
    assert_eq!(place.open().get("1").unwrap().unwrap().copies, left - 1);
}
