//! Proves what a buffered verdict is worth: after a crash at any moment the file holds all that was added before the last
//! flush that returned, of the rest the first documents and no others, and is whole.

use super::common::disk::CrashDisk;
use super::common::rng::Rng;
use super::common::texts::{Draw, text};
use super::{FLUSH, WAYS, empty_file};
use crate::MemoryDisk;
use sketchdb::{AddOptions, Database, Disk, Durability, Error, Options, Policy, Sighting};
use std::sync::Arc;

const PAGES: usize = 600;

fn page(number: usize) -> String {
    text(&mut Draw::new(number as u64), 40)
}

fn open(disk: Arc<dyn Disk>) -> Database {
    let adding = AddOptions { durability: Durability::Buffered, ..AddOptions::default() };
    Database::open_on(disk, Options { adding, ..super::options(FLUSH) }).unwrap()
}

fn add(db: &Database, number: usize) {
    assert_eq!(db.seen_or_add(number.to_string(), page(number), None).unwrap(), Sighting::New);
}

/// How many of the first pages are there, with none behind them.
fn there(db: &Database) -> usize {
    let there: Vec<bool> = (0..PAGES).map(|number| db.get(&number.to_string()).unwrap().is_some()).collect();
    let count = there.iter().filter(|&&there| there).count();
    assert!(there[..count].iter().all(|&there| there), "{count} are there, but not the first");
    count
}

#[test]
fn a_crash_loses_only_what_was_not_flushed() {
    let disk = CrashDisk::over(empty_file());
    let db = open(disk.clone());
    // What was added at each moment, and what was durable then.
    let mut flushed = vec![(0, 0)];
    for number in 0..PAGES {
        add(&db, number);
        assert_eq!(there(&db), number + 1, "readers see it");
        if number % 150 == 149 {
            assert_eq!(db.activity().buffered, 150);
            db.flush().unwrap();
            assert_eq!(db.activity().buffered, 0);
            flushed.push((disk.clock(), number + 1));
        }
        if number == 200 {
            assert_eq!(db.verify(true).unwrap().damage, [], "while it is buffered");
        }
    }
    let (history, mut rng) = (disk.history(), Rng(31));
    let (mut lost, mut images) = (0, 0);
    history.epochs(|_, epoch| {
        for way in WAYS {
            let moment = if images % 5 == 0 { epoch.end() } else { epoch.moment(&mut rng) };
            let image = MemoryDisk::of(epoch.crash(moment, way, &mut rng));
            let db = open(image);
            let (durable, count) = (flushed.iter().rfind(|&&(at, _)| at <= moment).unwrap().1, there(&db));
            assert!(count >= durable, "{count} are there of {durable} that were flushed");
            assert_eq!(db.verify(true).unwrap().damage, []);
            (count..PAGES.min(count + 3)).for_each(|number| add(&db, number));
            lost += usize::from(count < PAGES);
            images += 1;
        }
    });
    assert!(images > 50 && lost > 20, "{images} images, {lost} of them lack something");
}

#[test]
fn closing_keeps_what_is_buffered() {
    let disk = MemoryDisk::of(empty_file());
    let db = open(disk.clone());
    (0..40).for_each(|number| add(&db, number));
    assert_eq!(there(&open(disk.image())), 0, "nothing is on the disk before");
    db.close().unwrap();
    assert_eq!(there(&open(disk.image())), 40);
    let db = open(disk.clone());
    (40..50).for_each(|number| add(&db, number));
    drop(db);
    assert_eq!(there(&open(disk.image())), 50);
}

#[test]
fn the_8192nd_buffered_document_and_a_durable_one_make_all_durable() {
    let disk = MemoryDisk::of(empty_file());
    let db = open(disk.clone());
    (0..3).for_each(|number| add(&db, number));
    db.add("durable", page(3)).unwrap();
    assert_eq!(there(&open(disk.image())), 3);
    let batch = |from: usize, count: usize| {
        let document = |number: usize| super::common::place::document(&db, &format!("b{number}"), "one text");
        let buffered =
            AddOptions { durability: Durability::Buffered, ..AddOptions::from(Policy::Everything) };
        db.add_batch((from..from + count).map(document).collect(), buffered).unwrap();
    };
    let documents = || open(disk.image()).stats().unwrap().documents;
    batch(0, 8191);
    assert_eq!((documents(), db.activity().buffered), (4, 8191));
    batch(8191, 1);
    assert_eq!((documents(), db.activity().buffered), (4 + 8192, 0));
}

#[test]
fn options_that_the_file_cannot_follow_are_refused_when_it_is_opened() {
    let disk = MemoryDisk::of(empty_file());
    let adding = AddOptions { contained: Some(1.5), ..AddOptions::default() };
    let opened = Database::open_on(disk, Options { adding, ..Options::default() });
    assert!(matches!(opened, Err(Error::Invalid { .. })));
}

/// Pages of buffered commits reach the medium before their seals when the cache is small.
#[test]
fn what_is_buffered_is_no_damage() {
    let mut rng = Rng(32);
    for memory in [1 << 20, 16 << 20] {
        let disk = MemoryDisk::of(empty_file());
        let db = Database::open_on(disk, Options { memory, ..super::options(FLUSH) }).unwrap();
        for round in 0..40 {
            let durability = if rng.below(3) == 0 { Durability::Durable } else { Durability::Buffered };
            let options = AddOptions { durability, ..AddOptions::default() };
            let documents = (0..60).map(|at| {
                let number = round * 60 + at;
                sketchdb::Document {
                    key: number.to_string(),
                    sketch: db.sketch(page(number)).unwrap(),
                    seen_at: None,
                }
            });
            db.add_batch(documents.collect(), options).unwrap();
            assert_eq!(db.verify(false).unwrap().damage, [], "round {round}, {memory} bytes of memory");
        }
    }
}
