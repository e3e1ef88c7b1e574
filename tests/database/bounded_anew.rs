//! What a merge, a rebuild, a copy or an import of a file counts and says of bounded searches.

use crate::common::place::{Place, document, exported};
use crate::common::texts::{Draw, text};
use sketchdb::{
    ClusterOptions, Database, Options, PairEvent, PairOptions, Params, Policy, Progress, Query, Result,
};
use std::ops::ControlFlow;

/// Contents that may share a band before it is hot.
const HOT: usize = 256;

fn quiet() -> impl FnMut(&'static str, u64, u64) {
    |_, _, _| {}
}

/// A text with the tokens of the template, and so with all of its bands, that no other number gives.
fn variant(template: &str, number: usize) -> String {
    let mark = |bit: usize| if number >> bit & 1 == 1 { "!" } else { "?" };
    template.to_owned() + &(0..16).map(mark).collect::<String>()
}

/// A database of so many texts of one template.
fn filled(texts: usize) -> Place {
    let place = Place::new();
    let db = place.open();
    let template = text(&mut Draw::new(81), 50);
    let batch = (0..texts).map(|number| document(&db, &number.to_string(), variant(&template, number)));
    db.add_batch(batch.collect(), Policy::Everything).unwrap();
    db.close().unwrap();
    place
}

fn bounded(db: &Database) -> u64 {
    db.stats().unwrap().bounded
}

/// Whether clusters are said to be bounded; of all, and of one asked for by its key.
fn clusters(db: &Database) -> bool {
    let mut all = Vec::new();
    let listed = db.clusters(ClusterOptions::default()).unwrap();
    let none = listed.each(|cluster| -> ControlFlow<()> {
        all.push(cluster.bounded);
        ControlFlow::Continue(())
    });
    assert_eq!((none.unwrap(), all.len()), (None, 1));
    assert_eq!(db.cluster_of("1").unwrap().unwrap().bounded, all[0]);
    all[0]
}

#[test]
fn merge_is_bounded_exactly_where_add_is() {
    for (texts, cut) in [(HOT, 0), (HOT + 1, 0), (HOT + 2, 1), (HOT + 41, 40)] {
        let (from, into) = (filled(texts), Place::new());
        let (from, into) = (from.open(), into.open());
        assert_eq!(bounded(&from), cut, "{texts} added");
        let merged = into.merge(&from, &mut quiet()).unwrap();
        assert_eq!((merged.added, merged.bounded), (texts as u64, cut), "{texts} merged");
        assert_eq!((bounded(&into), clusters(&into)), (cut, cut > 0));
        let again = into.merge(&from, &mut quiet()).unwrap();
        assert_eq!(
            (again.kept, again.bounded, bounded(&into)),
            (texts as u64, 0, cut),
            "nothing is searched"
        );
    }
}

#[test]
fn what_a_merge_adds_is_counted_on_top() {
    let (one, other) = (filled(HOT + 11), filled(0));
    let other = other.open();
    let template = text(&mut Draw::new(81), 50);
    let batch = (1000..1005).map(|number| document(&other, &number.to_string(), variant(&template, number)));
    other.add_batch(batch.collect(), Policy::Everything).unwrap();
    let one = one.open();
    assert_eq!((bounded(&one), bounded(&other)), (10, 0));
    assert_eq!(one.merge(&other, &mut quiet()).unwrap().bounded, 5);
    assert_eq!(bounded(&one), 15);
}

type Rebuilt = Result<sketchdb::Compacted>;

fn rebuild(place: &Place, params: impl FnOnce(Params) -> Params) -> Rebuilt {
    let progress: Progress = &mut quiet();
    Database::rebuild(place.path(), Options::default(), |own, _| Ok(params(own)), progress)
}

#[test]
fn a_rebuilt_file_counts_the_searches_of_the_rebuild() {
    let place = filled(HOT + 41);
    let db = place.open();
    assert_eq!((bounded(&db), clusters(&db)), (40, true));
    db.close().unwrap();
    assert_eq!(rebuild(&place, |own| own).unwrap().bounded, 40);
    assert_eq!(bounded(&place.open()), 40, "not 80");
    let db = place.open();
    db.remove((0..50).map(|number: usize| number.to_string()).filter(|key| key != "1")).unwrap();
    assert_eq!((bounded(&db), clusters(&db)), (40, true), "what was cut may have left clusters apart");
    db.close().unwrap();
    let compacted = Database::compact(place.path(), Options::default(), &mut quiet()).unwrap();
    assert_eq!((compacted.bounded, bounded(&place.open())), (0, 40), "compaction keeps clusters and count");
    let other = rebuild(&place, |own| Params { threshold: 0.7, ..own }).unwrap();
    let db = place.open();
    assert_eq!((other.bounded, bounded(&db), clusters(&db)), (0, 0, false), "248 are left");
}

#[test]
fn an_export_carries_the_count() {
    let place = filled(HOT + 8);
    let lines = exported(&place.open()).unwrap();
    let path = place.file("imported");
    let mut lines = lines.into_iter().map(Ok);
    let imported = Database::import(&path, &mut lines, Options::default(), &mut quiet()).unwrap();
    assert_eq!(imported.bounded, 0, "nothing is searched: the clusters are those of the export");
    let db = Database::open(path, Options::default()).unwrap();
    assert_eq!((bounded(&db), clusters(&db)), (7, true));
}

#[test]
fn pairs_say_that_others_may_be_missing() {
    for (texts, cut) in [(HOT, false), (HOT + 1, true)] {
        let place = filled(texts);
        let db = place.open();
        let template = text(&mut Draw::new(81), 50);
        db.add("copy", variant(&template, 0)).unwrap();
        let (mut same, mut near) = (Vec::new(), Vec::new());
        let (_, none) = db
            .pairs(&PairOptions::default(), |event| -> ControlFlow<()> {
                if let PairEvent::Pair(pair) = event {
                    if pair.exact { &mut same } else { &mut near }.push(pair.bounded);
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!((none, same), (None, vec![false]), "pairs of the same text are complete");
        assert!(near.len() > HOT && near.iter().all(|&bounded| bounded == cut), "{texts} texts");
        let answer = db.query(&db.sketch(&template).unwrap(), &Query::default()).unwrap();
        assert_eq!(answer.bounded, cut);
    }
}
