//! What a database holds in memory keeps to what it was given.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use sketchdb::{Database, Options, Policy};

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
