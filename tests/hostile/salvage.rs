//! Proves that salvaging keeps what is whole and says what is lost, whatever happened to the file.

use super::common::disk::MemoryDisk;
use super::common::place::{Place, exported};
use super::common::rng::Rng;
use super::common::workload::options;
use super::{Damage, FLUSH, PAGE, whole};
use sketchdb::{Database, Disk, Error, Options, Params, Query, Salvaged, SketchParams};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const GROUP: usize = 1024;
const HEADER: usize = 36;

/// The bytes that redb keeps in a file, without the superblock and the pages of checksums.
fn content(bytes: &[u8]) -> Vec<u8> {
    let pages = bytes.chunks_exact(PAGE).skip(1).enumerate();
    pages.filter(|(number, _)| number % (GROUP + 1) != 0).flat_map(|(_, page)| page.to_vec()).collect()
}

/// The numbers of the contents and documents in frames whose checksum holds.
fn intact(bytes: &[u8]) -> [BTreeSet<u64>; 2] {
    let (all, mut intact) = (content(bytes), [BTreeSet::new(), BTreeSet::new()]);
    for at in (0..all.len().saturating_sub(HEADER)).filter(|&at| &all[at..at + 4] == b"skFr") {
        let number = |from: usize, bytes: usize| {
            all[at + from..at + from + bytes].iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte))
        };
        let Some(frame) = all.get(at..at + HEADER + number(24, 4) as usize) else { continue };
        let (kind, narrow) = (usize::from(frame[5] & 0x7F), frame[5] & 0x80 != 0);
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&frame[..HEADER - 4]);
        hasher.update(&frame[HEADER..]);
        if u64::from(hasher.finalize()) == number(32, 4) && (1..=2).contains(&kind) {
            let mut id = number(16, 8);
            for slot in 0..number(6, 2) as usize {
                match narrow {
                    true => id += number(HEADER + 2 * slot, 1),
                    false => id = number(16, 8) + number(HEADER + 4 * slot, 2),
                }
                intact[kind - 1].insert(id);
            }
        }
    }
    intact
}

/// The living documents of a database: key, number, content.
fn living(bytes: Vec<u8>) -> BTreeMap<String, (u64, u64)> {
    let db = Database::open_on(MemoryDisk::of(bytes), options(FLUSH)).unwrap();
    let documents = told(&db).into_iter().map(|document| {
        let number = |name: &str| document[name].as_u64().unwrap();
        (document["key"].as_str().unwrap().to_owned(), (number("id"), number("content")))
    });
    documents.collect()
}

/// The documents of an export.
fn told(db: &Database) -> Vec<serde_json::Value> {
    let lines = exported(db).unwrap();
    let values = lines.iter().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    values.filter_map(|value| value.get("document").cloned()).collect()
}

fn salvage(bytes: Vec<u8>) -> Result<(Salvaged, Database), Error> {
    let disk = MemoryDisk::of(Vec::new());
    let salvaged = Database::salvage_onto(MemoryDisk::of(bytes), disk.clone(), 4 << 20, &mut |_, _, _| {})?;
    Ok((salvaged, Database::open_on(disk, options(FLUSH)).unwrap()))
}

/// How many contents and documents salvaging saves.
pub fn saved(bytes: Vec<u8>) -> (u64, u64) {
    match salvage(bytes) {
        Ok((saved, _)) => (saved.contents, saved.documents),
        Err(Error::Lost(_)) => (0, 0),
        Err(error) => panic!("{error}"),
    }
}

/// Salvages a damaged file and compares: whether what had changed since documents were added was known.
fn check(name: &str, bytes: Vec<u8>, living: &BTreeMap<String, (u64, u64)>) -> Option<bool> {
    let workload = &whole().workload;
    let [contents, documents] = intact(&bytes);
    let (salvaged, db) = match salvage(bytes) {
        Ok(saved) => saved,
        Err(Error::Lost(what)) if what.contains("parameters are lost") => return None,
        Err(Error::Lost(_)) => {
            // No text of a document is whole, and no key of one whose text is lost.
            assert!(documents.is_empty(), "{name}: {} documents are whole", documents.len());
            return Some(false);
        }
        Err(error) => panic!("{name}: {error}"),
    };
    assert_eq!(db.verify(true).unwrap().damage, [], "{name}");
    let model = &workload.states[workload.len()].model;
    let texts: BTreeMap<&String, &String> = model.documents().collect();
    let lost: BTreeSet<&String> = salvaged.lost_keys.iter().collect();
    if !salvaged.changes_known {
        return Some(false);
    }
    for (number, (key, (id, content))) in living.iter().enumerate() {
        let expected = documents.contains(id) && contents.contains(content);
        let stored = db.get(key).unwrap();
        assert!(!expected || stored.is_some(), "{name}: {key} is lost");
        assert_eq!(lost.contains(key), documents.contains(id) && !expected, "{name}: {key}");
        if let Some(stored) = stored {
            assert_eq!(stored.bytes, texts[key].len() as u64, "{name}: {key}");
            if number % 16 == 0 {
                let answer = db.query(&db.sketch(texts[key]).unwrap(), &Query::default()).unwrap();
                assert!(answer.matches.iter().any(|found| found.exact), "{name}: {key} is not found");
            }
        }
    }
    let known = told(&db);
    for document in &known {
        assert!(living.contains_key(document["key"].as_str().unwrap()), "{name}: {document} is back");
    }
    assert_eq!(known.len() as u64, salvaged.documents, "{name}");
    Some(true)
}

#[test]
fn what_is_whole_is_saved() {
    let (mut rng, whole) = (Rng(9), whole());
    let living = living(whole.bytes.clone());
    let used = whole.used_pages();
    let mut cases = vec![
        ("nothing".to_owned(), whole.bytes.clone()),
        ("the superblock is gone".to_owned(), [&[0; PAGE], &whole.bytes[PAGE..]].concat()),
        ("the magic is damaged".to_owned(), Damage::Flip { at: 3, bit: 5 }.applied(whole)),
        ("the header is gone".to_owned(), Damage::Zero { pages: 2..3 }.applied(whole)),
        ("the seals are gone".to_owned(), Damage::Zero { pages: 1..2 }.applied(whole)),
    ];
    let mut damage: Vec<Damage> = (0..60)
        .map(|_| used[rng.below(used.len())])
        .map(|page| Damage::Zero { pages: page..page + 1 })
        .collect();
    damage.extend((0..120).map(|_| {
        let at = used[rng.below(used.len())] * PAGE + rng.below(PAGE);
        Damage::Flip { at, bit: rng.below(8) as u32 }
    }));
    damage.extend((0..40).map(|_| Damage::Cut { len: rng.below(whole.bytes.len()) }));
    cases.extend(damage.into_iter().map(Damage::named).map(|(name, damage)| (name, damage.applied(whole))));
    let mut counts: BTreeMap<Option<bool>, usize> = BTreeMap::new();
    for (name, bytes) in cases {
        *counts.entry(check(&name, bytes, &living)).or_default() += 1;
    }
    eprintln!("salvaged, by whether changes were known: {counts:?}");
    assert!(counts[&Some(true)] > 20 && counts[&Some(false)] > 20, "{counts:?}");
}

/// A disk that loses what comes after some number of operations.
#[derive(Debug)]
struct Stops(Arc<MemoryDisk>, std::sync::atomic::AtomicU64, u64);

impl Stops {
    fn goes_on(&self) -> bool {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < self.2
    }
}

impl Disk for Stops {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        if self.goes_on() { self.0.write_at(offset, bytes) } else { Err(std::io::ErrorKind::Other.into()) }
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> std::io::Result<()> {
        self.0.sync()
    }
}

#[test]
fn frames_that_were_never_committed_shadow_nothing() {
    let text =
        |number: usize| (0..24).map(|word| format!("word{} ", number * 977 + word)).collect::<String>();
    let add = |db: &Database, documents: &[(String, String)]| {
        let documents = documents.iter().map(|(key, text)| {
            let sketch = db.sketch(text).unwrap();
            sketchdb::Document { key: key.clone(), sketch, seen_at: None }
        });
        db.add_batch(documents.collect(), sketchdb::Policy::Everything)
    };
    let named = |range: std::ops::Range<usize>, texts: usize| -> Vec<(String, String)> {
        range.map(|key| (format!("key {key}"), text(texts + key))).collect()
    };
    let mut shadows = 0;
    for stop in 1..60 {
        let disk = MemoryDisk::of(Vec::new());
        Database::create_on(disk.clone(), &Params::default()).unwrap();
        let db = Database::open_on(disk.clone(), options(1000)).unwrap();
        add(&db, &named(0..10, 0)).unwrap();
        db.close().unwrap();
        // The next writer dies while it commits what it adds.
        let stops = Arc::new(Stops(disk.clone(), Default::default(), stop));
        let Ok(db) = Database::open_on(stops, options(1000)) else { continue };
        if add(&db, &named(10..40, 1000)).is_ok() {
            break;
        }
        drop(db);
        let db = Database::open_on(disk.clone(), options(1000)).unwrap();
        if db.get("key 20").unwrap().is_some() {
            continue;
        }
        // The same numbers go to others, in another order.
        let mut others = named(10..25, 2000);
        others.reverse();
        add(&db, &others).unwrap();
        db.close().unwrap();
        let mut bytes = disk.bytes();
        let lying = bytes.windows(4).filter(|four| *four == b"skFr").count();
        bytes[2 * PAGE..3 * PAGE].fill(0);
        let (salvaged, db) = salvage(bytes).unwrap();
        assert!(!salvaged.changes_known && salvaged.lost_keys.is_empty(), "{stop}: {salvaged:?}");
        for (key, text) in named(0..10, 0).iter().chain(&others) {
            let answer = db.query(&db.sketch(text).unwrap(), &Query::default()).unwrap();
            let found = answer.matches.iter().any(|found| found.exact && found.key == *key);
            assert!(found, "stopped at {stop}: {key} is shadowed");
        }
        assert_eq!(salvaged.documents, 25, "stopped at {stop}: what was never committed is back");
        shadows += lying;
    }
    assert!(shadows > 0);
}

/// A disk that lets so many bytes be read and no more.
#[derive(Debug)]
struct Patient(Arc<MemoryDisk>, AtomicU64);

impl Disk for Patient {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let left = self.1.load(Relaxed).checked_sub(out.len() as u64);
        self.1.store(left.ok_or_else(|| io::Error::other("it reads without end"))?, Relaxed);
        self.0.read_at(offset, out)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_at(offset, bytes)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

/// What begins a frame of a database, of so many records and bytes.
fn header(database: &[u8], records: u16, claims: u32) -> Vec<u8> {
    let id = 7u64.to_le_bytes();
    let rest = [claims.to_le_bytes(), [0; 4], [0; 4]].concat();
    [b"skFr\x01\x02", &records.to_le_bytes()[..], database, &id, &rest].concat()
}

#[test]
fn headers_in_keys_do_not_make_it_read_without_end() {
    let whole = whole();
    let frames = content(&whole.bytes);
    let at = frames.windows(4).position(|four| four == b"skFr").unwrap();
    let (own, other) = (&frames[at + 8..at + 16], [7; 8]);
    let saved = salvage(whole.bytes.clone()).unwrap().0;
    for (name, database, records, claims) in [
        ("long frames of this database", own, 1, 200_000),
        ("frames of several records", own, 2, 200_000),
        ("frames that are longer than any", own, 1, 900_000),
        ("frames of another database", &other[..], 1, 30_000),
    ] {
        // As pages that were keys once and whose frames are gone.
        let mut bytes = whole.bytes.clone();
        bytes.extend(header(database, records, claims).repeat((1 << 20) / HEADER));
        bytes.resize((bytes.len() + (1 << 20)).next_multiple_of(PAGE), 0);
        let long = name.starts_with("long");
        let length = bytes.len() as u64;
        let most = 40 * length + if long { (64 << 20) + 16 * length } else { 0 };
        let disk = Arc::new(Patient(MemoryDisk::of(bytes), most.into()));
        let new = MemoryDisk::of(Vec::new());
        let salvaged = Database::salvage_onto(disk.clone(), new, 4 << 20, &mut |_, _, _| {});
        let salvaged = salvaged.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((salvaged.passed_over > 0, salvaged.lost_keys.len()), (long, 0), "{name}: {salvaged:?}");
        assert!(salvaged.documents >= saved.documents, "{name}: {salvaged:?}");
        eprintln!(
            "{name}: {:.1} times the file was read",
            (most - disk.1.load(Relaxed)) as f64 / length as f64
        );
    }
}

#[test]
fn the_longest_record_is_saved() {
    let mut params = Params::default();
    params.sketch = SketchParams { sample: 65_536, minhashes: 4096, ..params.sketch };
    let disk = MemoryDisk::of(Vec::new());
    Database::create_on(disk.clone(), &params).unwrap();
    let db = Database::open_on(disk.clone(), options(FLUSH)).unwrap();
    let mut rng = Rng(5);
    db.add("long", (0..70_000).map(|_| format!("{:x} ", rng.next())).collect::<String>()).unwrap();
    db.close().unwrap();
    let (salvaged, db) = salvage(disk.bytes()).unwrap();
    assert_eq!((salvaged.documents, salvaged.is_lossy()), (1, false), "{salvaged:?}");
    assert!(db.get("long").unwrap().is_some());
}

/// The epochs of the frames of documents in a file, by the number of the first document of each.
fn epochs(bytes: &[u8]) -> BTreeMap<u64, u32> {
    let all = content(bytes);
    let at = (0..all.len() - HEADER).filter(|&at| &all[at..at + 4] == b"skFr" && all[at + 5] & 0x7F == 2);
    at.map(|at| {
        let first = u64::from_le_bytes(all[at + 16..at + 24].try_into().unwrap());
        (first, u32::from_le_bytes(all[at + 28..at + 32].try_into().unwrap()))
    })
    .collect()
}

/// Frames of a commit that never came are older than all that later writers put at the same numbers.
#[test]
fn each_writer_has_an_epoch_of_its_own() {
    let mut disk = MemoryDisk::of(Vec::new());
    Database::create_on(disk.clone(), &Params::default()).unwrap();
    // Records so long that each has a frame of its own, which later commits leave where it is.
    let text = |number: u64| (0..2000).map(|word| format!("w{} ", number << 20 | word)).collect::<String>();
    for number in 0..4 {
        let db = Database::open_on(disk.clone(), options(FLUSH)).unwrap();
        db.add(format!("{number}").repeat(3000), text(number)).unwrap();
        match number {
            // Killed: the next one recovers the file.
            2 => disk = disk.image(),
            _ => db.close().unwrap(),
        }
    }
    let epochs = epochs(&disk.bytes());
    assert_eq!(epochs.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    let epochs: Vec<u32> = epochs.into_values().collect();
    assert!(epochs.is_sorted_by(|before, after| before < after), "{epochs:?}");
}

/// What `verify` says of a damaged file, also of one that cannot be opened, and what salvaging saves.
fn counted_and_saved(bytes: &[u8]) -> ((u64, u64), (u64, u64)) {
    let place = Place::empty();
    std::fs::write(place.path(), bytes).unwrap();
    let verified = Database::verify_at(place.path(), options(FLUSH), false).unwrap();
    assert!(verified.damaged > 0);
    (verified.intact.expect("a count"), saved(bytes.to_vec()))
}

#[test]
fn verify_counts_what_salvaging_saves() {
    // Frames of documents are written anew as they grow: their older copies lie in free pages.
    let disk = MemoryDisk::of(Vec::new());
    Database::create_on(disk.clone(), &Params::default()).unwrap();
    for writer in 0..8 {
        let db = Database::open_on(disk.clone(), Options::default()).unwrap();
        let mut rng = Rng(writer);
        for number in 0..10 {
            let text: String = (0..40).map(|_| format!("w{} ", rng.next())).collect();
            db.add(format!("{writer}/{number}"), text).unwrap();
        }
        db.close().unwrap();
    }
    let mut bytes = disk.bytes();
    bytes[9000] ^= 1;
    assert_eq!(counted_and_saved(&bytes), ((80, 80), (80, 80)));
    let (mut rng, whole) = (Rng(12), whole());
    let used = whole.used_pages();
    let mut counts = BTreeSet::new();
    for _ in 0..24 {
        let page = used[rng.below(used.len())];
        let pages = page..(page + 1 + rng.below(12)).min(whole.bytes.len() / PAGE);
        let (name, damage) = Damage::Zero { pages }.named();
        let (counted, saved) = counted_and_saved(&damage.applied(whole));
        assert_eq!(counted, saved, "{name}");
        counts.insert(counted);
    }
    assert!(counts.len() > 4, "{counts:?}");
}
