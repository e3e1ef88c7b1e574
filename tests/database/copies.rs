//! Very many documents of one text.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use sketchdb::{Document, Policy, Query, Verdict};

#[test]
fn copies_cost_no_contents_and_are_counted() {
    const COPIES: u64 = 200_000;
    let place = Place::new();
    let db = place.open();
    let text = text(&mut Draw::new(17), 100);
    let copy = document(&db, "", &text);
    for start in (0..COPIES).step_by(8192) {
        let keys = (start..COPIES.min(start + 8192)).map(|number| number.to_string());
        let batch = keys.map(|key| Document { key, ..copy.clone() }).collect();
        let added = db.add_batch(batch, Policy::Everything).unwrap();
        let exact = added.iter().filter(|added| added.verdict == Verdict::Exact).count();
        assert_eq!(exact, added.len() - usize::from(start == 0));
    }
    let stats = db.stats().unwrap();
    assert_eq!((stats.documents, stats.contents, stats.bounded), (COPIES, 1, 0));
    let found = db.query(&copy.sketch, &Query::default()).unwrap().matches;
    assert_eq!((found.len(), found[0].key.as_str(), found[0].copies), (1, "0", COPIES - 1));
    let all = db.query(&copy.sketch, &Query { copies: true, ..Query::default() }).unwrap().matches;
    assert!(all.iter().map(|found| found.id.0).eq(0..COPIES), "each is a match of its own");
    db.close().unwrap();
    let db = place.open();
    assert_eq!(db.add("0", "another text").unwrap().of, None);
    for key in ["1", "77777", "199999"] {
        assert_eq!(db.get(key).unwrap().unwrap().copies, COPIES - 2, "{key}");
    }
    assert_eq!(db.add("200000", &text).unwrap().of.as_deref(), Some("1"));
}
