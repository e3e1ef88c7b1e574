//! Code of the caller that is called back may call the same database: nothing is locked while it runs. What several
//! threads may share, and what they may not, is known to the compiler.

use crate::common::place::Place;
use crate::stress::watched;
use sketchdb::{ClusterOptions, Clusters, Database, Document, Error, PairOptions, Policy, Query, Sketch};
use std::cell::Cell;
use std::ops::ControlFlow;

/// Compiles for what threads may share.
const fn shared<T: Send + Sync>() {}
const _: () = {
    shared::<Database>();
    shared::<Clusters>();
    shared::<Document>();
    shared::<Sketch>();
    shared::<Error>();
};

const TEXT: &str =
    "the quick brown fox jumps over the lazy dog and runs into the deep dark wood beyond the hill";

/// A database with copies and near duplicates, a cluster of which lost a member.
fn database(place: &Place) -> Database {
    let db = place.open();
    for number in 0..4 {
        db.add(format!("copy {number}"), TEXT).unwrap();
        db.add(format!("near {number}"), format!("{TEXT} {}", "again ".repeat(number + 1))).unwrap();
    }
    db.add("own", "words that no other text has in it at all, twelve of them, or so").unwrap();
    db.remove(["near 0"]).unwrap();
    db
}

/// Every kind of call, writing ones among them, from within another.
fn call_everything(db: &Database, calls: &Cell<usize>) {
    calls.set(calls.get() + 1);
    let key = format!("from within {}", calls.get());
    db.add(&key, format!("{TEXT} {key}")).unwrap();
    assert!(db.get(&key).unwrap().is_some());
    db.query(&db.sketch(TEXT).unwrap(), &Query::default()).unwrap();
    db.remove([key.as_str(), "near 1"]).unwrap();
    db.expire(10).unwrap();
    db.stats().unwrap();
    db.clusters(ClusterOptions::default()).unwrap();
    db.cluster_of("copy 0").unwrap();
    db.export::<Error>(&mut |_, _, _| {}, |_| Ok(())).unwrap();
    db.pairs(&PairOptions::default(), |_| ControlFlow::<()>::Continue(())).unwrap();
    assert_eq!(db.verify(true).unwrap().damage, []);
    // Another thread is let in too.
    std::thread::scope(|scope| {
        scope.spawn(|| db.add(format!("beside {}", calls_of(&key)), TEXT).unwrap());
    });
}

fn calls_of(key: &str) -> &str {
    key.rsplit(' ').next().unwrap_or_default()
}

/// Runs a verb whose callback calls everything; it is called at least once.
fn calls_back(verb: impl FnOnce(&Database, &dyn Fn())) {
    watched(|| {
        let place = Place::new();
        let (db, calls) = (database(&place), Cell::new(0));
        verb(&db, &|| call_everything(&db, &calls));
        assert!(calls.get() > 0, "nothing was called back");
        db.close().unwrap();
        assert_eq!(place.open().verify(true).unwrap().damage, []);
    });
}

#[test]
fn from_export() {
    calls_back(|db, call| {
        let line = |_: &str| {
            call();
            Ok(())
        };
        db.export::<Error>(&mut |_, _, _| {}, line).unwrap();
    });
}

#[test]
fn from_pairs() {
    calls_back(|db, call| {
        let each = |_| {
            call();
            ControlFlow::<()>::Continue(())
        };
        db.pairs(&PairOptions { copies: true, threads: 2, ..PairOptions::default() }, each).unwrap();
    });
}

#[test]
fn from_clusters_and_their_members() {
    calls_back(|db, call| {
        let clusters = db.clusters(ClusterOptions::default()).unwrap();
        clusters
            .each(|cluster| {
                call();
                let member = |_| {
                    call();
                    ControlFlow::<()>::Continue(())
                };
                clusters.members(&cluster, member).unwrap();
                ControlFlow::<()>::Continue(())
            })
            .unwrap();
    });
    calls_back(|db, call| {
        let cluster = db.cluster_of("copy 0").unwrap().unwrap();
        let member = |_| {
            call();
            ControlFlow::<()>::Continue(())
        };
        db.cluster_members(&cluster, member).unwrap();
    });
}

#[test]
fn a_batch_that_fails_the_checks_harms_no_other_thread() {
    let place = Place::new();
    let db = place.open();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let db = &db;
            scope.spawn(move || {
                for number in 0..50 {
                    let wrong =
                        Document { key: String::new(), sketch: db.sketch(TEXT).unwrap(), seen_at: None };
                    assert!(matches!(
                        db.add_batch(vec![wrong], Policy::Everything),
                        Err(Error::Invalid { .. })
                    ));
                    db.add(format!("{writer}/{number}"), TEXT).unwrap();
                }
            });
        }
    });
    assert_eq!(db.stats().unwrap().documents, 200);
}
