//! Sketches of other parameters than a database's are refused wherever one is taken, and nothing of them is stored.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use sketchdb::{
    Dedup, DedupOptions, Document, Error, Keep, PairOptions, Params, Policy, PortableSketch, Query, Sketch,
    SketchParams, Sketcher, compare,
};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Sketches of a text by parameters that differ from the defaults in one place each, some of them of the same sizes.
fn foreign(text: &str) -> Vec<Sketch> {
    let base = SketchParams::default;
    let all = [
        SketchParams { seed: 2, ..base() },
        SketchParams { sample: 16, minhashes: 16, ..base() },
        SketchParams { shingle: "words:4".parse().unwrap(), ..base() },
        SketchParams { labelled: true, ..base() },
        SketchParams { simhash: "words:1".parse().unwrap(), ..base() },
        SketchParams { edit: "50:4".parse().unwrap(), ..base() },
    ];
    all.iter().map(|params| Sketcher::new(params).unwrap().sketch(text.as_bytes())).collect()
}

fn assert_refused<T>(what: &str, result: Result<T, Error>) {
    match result {
        Err(Error::Incompatible { .. }) => {}
        Err(other) => panic!("{what}: {other}"),
        Ok(_) => panic!("{what} takes it"),
    }
}

#[test]
fn nothing_of_a_foreign_sketch_is_stored() {
    let (place, words) = (Place::new(), text(&mut Draw::new(71), 300));
    let db = place.open();
    db.add("own", &words).unwrap();
    let near = words.clone() + " and more";
    for sketch in foreign(&near) {
        let wrong = Document { key: "wrong".into(), sketch: sketch.clone(), seen_at: None };
        let right = document(&db, "right", &near);
        let both = vec![right, wrong.clone()];
        assert_refused("add_batch", db.add_batch(both.clone(), Policy::Everything));
        assert_refused("add_later", db.add_later(both, Policy::OnlyNew));
        assert_refused("query", db.query(&sketch, &Query::default()));
        assert_refused("compare", compare(&db.params().sketch, &sketch, &db.sketch(&words).unwrap(), 1));
        assert_refused("export", PortableSketch::new("key".into(), &db.params().sketch, &sketch));
        for keep in [Keep::First, Keep::Longest] {
            let options = DedupOptions { keep, ..DedupOptions::default() };
            let mut dedup = Dedup::new(db.params(), None, options).unwrap();
            assert_refused("dedup", dedup.push(vec![wrong.clone()]));
        }
    }
    assert_eq!(db.stats().unwrap().documents, 1);
    assert!(db.verify(true).unwrap().damage.is_empty());
    // The handle goes on.
    assert_eq!(db.query(&db.sketch(&near).unwrap(), &Query::default()).unwrap().matches.len(), 1);
}

#[test]
fn common_shingles_of_another_database_are_refused() {
    let other = Place::with(&Params {
        sketch: SketchParams { seed: 2, ..SketchParams::default() },
        ..Params::default()
    });
    let ignore = Some(Arc::new(other.open().common_shingles(0.5).unwrap()));
    let (place, words) = (Place::new(), text(&mut Draw::new(72), 300));
    let db = place.open();
    db.add("own", &words).unwrap();
    let query = Query { ignore: ignore.clone(), ..Query::default() };
    assert_refused("query", db.query(&db.sketch(&words).unwrap(), &query));
    let options = PairOptions { ignore, ..PairOptions::default() };
    assert_refused("pairs", db.pairs(&options, |_| ControlFlow::<()>::Continue(())));
}
