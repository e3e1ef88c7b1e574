//! Proves that ids may be as far apart as they can be, and that the last of them are not given out.

use super::common::disk::MemoryDisk;
use super::common::place::{document, exported};
use super::imports::{lines, sealed};
use serde_json::Value;
use sketchdb::{Database, Error, Options, Policy, Query};
use std::sync::Arc;

const MEMORY: usize = 4 << 20;

/// An export whose ids are others, all of them and those that come next.
fn with_ids(lines: &[String], new: impl Fn(u64) -> u64) -> Vec<String> {
    let set = |value: &mut Value, name: &str| {
        if let Some(id) = value.get_mut(name) {
            *id = new(id.as_u64().unwrap()).into();
        }
    };
    let changed = lines.iter().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        for (kind, names) in [
            ("sketchdb", &["next_document", "next_content"][..]),
            ("content", &["id", "cluster", "document"]),
            ("document", &["id", "content"]),
        ] {
            if let Some(value) = line.get_mut(kind) {
                names.iter().for_each(|name| set(value, name));
            }
        }
        line.to_string()
    });
    sealed(changed.collect())
}

fn imported(lines: Vec<String>) -> Arc<MemoryDisk> {
    let disk = MemoryDisk::of(Vec::new());
    let mut lines = lines.into_iter().map(Ok);
    Database::import_onto(disk.clone(), &mut lines, MEMORY, &mut |_, _, _| {}).unwrap();
    disk
}

fn open(disk: &Arc<MemoryDisk>) -> Database {
    Database::open_on(disk.clone(), Options { memory: MEMORY, ..Options::default() }).unwrap()
}

/// What the queries for some texts find.
fn found(db: &Database) -> Vec<Vec<(String, Option<f64>)>> {
    let query = Query { copies: true, ..Query::default() };
    let text = |number: usize| (0..40).map(|word| format!("w{} ", word * 7 + number)).collect::<String>();
    let ask = |number: usize| {
        let answer = db.query(&db.sketch(text(number)).unwrap(), &query).unwrap();
        answer.matches.into_iter().map(|found| (found.key, found.resemblance)).collect()
    };
    [0, 500, 900, 1300].map(ask).into()
}

fn is_whole(db: &Database) {
    assert_eq!(db.verify(true).unwrap().damage, []);
}

#[test]
fn ids_far_apart_take_several_runs() {
    let plain = lines();
    let expected = found(&open(&imported(plain.clone())));
    for apart in [1u64 << 32, 5 << 32, 1 << 40] {
        let disk = imported(with_ids(&plain, |id| if id < 3 { id } else { id + apart }));
        let db = open(&disk);
        is_whole(&db);
        assert_eq!(found(&db), expected);
        // What comes later is far from what was there, too.
        for number in 0..50 {
            db.add(format!("later {number}"), format!("text {number} of later ones {number}")).unwrap();
        }
        db.close().unwrap();
        let db = open(&disk);
        let anew = |write: &dyn Fn(Arc<MemoryDisk>)| {
            let disk = MemoryDisk::of(Vec::new());
            write(disk.clone());
            let copy = open(&disk);
            is_whole(&copy);
            assert_eq!(found(&copy), expected, "{apart} apart");
            assert_eq!(copy.stats().unwrap().documents, 55);
            assert!(copy.get("later 49").unwrap().is_some());
        };
        anew(&|disk| db.compact_onto(disk, MEMORY, &mut |_, _, _| {}).unwrap());
        anew(&|disk| db.rebuild_onto(disk, db.params(), MEMORY, &mut |_, _, _| {}).unwrap());
        anew(&|new| {
            let closed = MemoryDisk::of(disk.bytes());
            drop(open(&closed));
            Database::salvage_onto(closed, new, MEMORY, &mut |_, _, _| {}).unwrap();
        });
        let lines = exported(&db).unwrap();
        anew(&|disk| {
            let mut lines = lines.iter().cloned().map(Ok);
            Database::import_onto(disk, &mut lines, MEMORY, &mut |_, _, _| {}).unwrap();
        });
    }
}

#[test]
fn the_last_ids_are_not_given_out() {
    const LAST: u64 = (1 << 48) - (1 << 32);
    let plain = lines();
    let next = plain.len() as u64;
    let disk = imported(with_ids(&plain, |id| if id < 4 { id } else { id + LAST - next }));
    let db = open(&disk);
    let before = found(&db);
    let (mut added, mut refused) = (0, 0);
    for number in 0..20 {
        let document = document(&db, &format!("new {number}"), format!("a new text, number {number}"));
        match db.add_batch(vec![document], Policy::Everything) {
            Ok(_) => added += 1,
            Err(Error::Invalid { what, .. }) => {
                assert!(what.contains("2^48 ids"), "{what}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(added > 0 && refused > 0, "{added} added, {refused} refused");
    // Everything else goes on, and what was acknowledged is there.
    assert_eq!(db.remove(["new 0"]).unwrap(), [true]);
    db.close().unwrap();
    let db = open(&disk);
    is_whole(&db);
    assert_eq!(found(&db), before);
    assert!(db.get(&format!("new {}", added - 1)).unwrap().is_some());
    let (anew, new) = (MemoryDisk::of(Vec::new()), MemoryDisk::of(Vec::new()));
    db.compact_onto(anew.clone(), MEMORY, &mut |_, _, _| {}).unwrap();
    is_whole(&open(&anew));
    Database::create_on(new.clone(), db.params()).unwrap();
    let new = open(&new);
    new.merge(&db, &mut |_, _, _| {}).unwrap();
    new.add("counts anew", "and goes on").unwrap();
    is_whole(&new);
}
