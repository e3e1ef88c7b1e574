//! Runs a crafted file through everything that reads it, under watch: whether somebody told of the damage, and that nobody
//! answered wrongly, panicked, hung or took memory without bound.

use super::common::disk::MemoryDisk;
use super::common::skipped::skipped;
use super::common::workload::{Workload, options};
use super::rows::*;
use super::sealed::crafted;
use redb::WriteTransaction;
use sketchdb::{ClusterOptions, Database, Error, Options, PairOptions, Params};
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

const FLUSH: u64 = 16;
/// Generous: no case takes a second.
const PATIENCE: Duration = Duration::from_secs(120);
const MEMORY: usize = 4 << 20;

/// A closed file in which a merge is under way, and what it answers.
pub struct Base {
    pub workload: Workload,
    pub steps: usize,
    pub bytes: Vec<u8>,
}

pub fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let mut workload = Workload::new(11, 60, 8);
        workload.record(FLUSH).unwrap();
        let disk = MemoryDisk::of(Vec::new());
        Database::create_on(disk.clone(), &Params::default()).unwrap();
        let db = Database::open_on(disk.clone(), options(FLUSH)).unwrap();
        let mut found = None;
        for step in 0..workload.len() {
            workload.step(&db, step).unwrap();
            let mut merging = false;
            let bytes = crafted(&disk.bytes(), |of| {
                let [finished, building] = runs(of);
                let rows = |table| rows(of, table).len();
                let inputs = building.first().map(|&run| run_integers(of, run));
                merging = finished.len() > 3 && inputs.is_some_and(|run| run[11..].iter().any(|&at| at > 9));
                merging &= rows(AMENDMENTS) > 0;
            });
            if merging {
                found = Some((step + 1, bytes));
            }
        }
        let (steps, bytes) = found.expect("a merge under way");
        Base { workload, steps, bytes }
    })
}

/// Whether a case told of damage, anywhere.
pub type Told = Result<bool, String>;

/// Takes a clean error for told, with its place.
fn told<T>(what: &str, result: Result<T, Error>) -> Result<Option<T>, String> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Corrupt { at, what: why }) => {
            const PLACES: [&str; 8] =
                ["row", "run", "record", "frame", "page", "mark", "content", "document"];
            match PLACES.iter().any(|place| at.contains(place)) {
                true => Ok(None),
                false => Err(format!("{what}: no place in {at}: {why}")),
            }
        }
        Err(Error::Incompatible { .. } | Error::Failed(_)) => Ok(None),
        Err(error) => Err(format!("{what}: {error:?}")),
    }
}

/// Asks everything: whether an error told.
fn questions(what: &str, db: &Database) -> Told {
    let mut any = false;
    for answer in base().workload.questions(db, base().steps) {
        match told(what, answer)? {
            Some(Some(difference)) => return Err(format!("{what}: wrong: {difference}")),
            Some(None) => {}
            None => any = true,
        }
    }
    let pairs = db.pairs(&PairOptions { memory: MEMORY, threads: 1, ..PairOptions::default() }, |_| {
        ControlFlow::<()>::Continue(())
    });
    any |= told("pairs", pairs)?.is_none() | told("stats", db.stats())?.is_none();
    Ok(any)
}

pub fn read_only() -> Options {
    Options { read_only: true, ..options(FLUSH) }
}

/// Whether `verify` names what is wrong.
fn is_named(bytes: &[u8]) -> bool {
    let db = Database::open_on(MemoryDisk::of(bytes.to_vec()), read_only());
    db.and_then(|db| db.verify(true)).is_ok_and(|verified| verified.damaged > 0)
}

/// Reads, verifies and copies.
pub fn read(bytes: &[u8]) -> Told {
    let Some(db) = told("open", Database::open_on(MemoryDisk::of(bytes.to_vec()), read_only()))? else {
        return Ok(true);
    };
    let mut any = questions("read-only", &db)?;
    // Damage in the clusters or the index is not always met by a question.
    any |= told("verify", db.verify(true))?.is_none_or(|verified| verified.damaged > 0);
    for what in ["compact", "rebuild"] {
        let disk = MemoryDisk::of(Vec::new());
        let made = match what {
            "compact" => db.compact_onto(disk.clone(), MEMORY, &mut |_, _, _| {}),
            _ => db.rebuild_onto(disk.clone(), db.params(), MEMORY, &mut |_, _, _| {}),
        };
        if told(what, made)?.is_some() {
            let copy = Database::open_on(disk, read_only()).map_err(|error| format!("{what}: {error}"))?;
            let damage = copy.verify(true).unwrap().damage;
            if what == "rebuild" && !damage.is_empty() {
                return Err(format!("{what}: {damage:?}"));
            }
            any |= !damage.is_empty();
        }
    }
    let mut each = |_: &str| Ok(());
    any |= told("export", db.export::<Error>(&mut |_, _, _| {}, &mut each))?.is_none();
    Ok(any)
}

/// Asks, adds until runs are flushed and merged, removes, forms clusters, closes and opens again.
pub fn write(bytes: &[u8]) -> Told {
    let disk = MemoryDisk::of(bytes.to_vec());
    let Some(db) = told("open", Database::open_on(disk.clone(), options(FLUSH)))? else { return Ok(true) };
    let mut any = questions("writing", &db)?;
    for number in 0..6 {
        let text = |part: u64| {
            (0..30).map(|word| format!("w{} ", (number * 8 + part) * 977 + word)).collect::<String>()
        };
        let documents = (0..8).map(|part| sketchdb::Document {
            key: format!("more {number} {part}"),
            sketch: db.sketch(text(part)).unwrap(),
            seen_at: None,
        });
        let added = db.add_batch(documents.collect(), sketchdb::Policy::Everything);
        any |= told("add", added)?.is_none();
    }
    let keys: Vec<String> =
        base().workload.states[base().steps].model.documents().map(|d| d.0.clone()).collect();
    any |= told("remove", db.remove(keys.into_iter().step_by(3)))?.is_none();
    any |= told("clusters", db.clusters(ClusterOptions::default()))?.is_none();
    any |= told("close", db.close())?.is_none();
    told("open again", Database::open_on(disk, options(FLUSH)))?;
    Ok(any)
}

/// What is saved is whole.
fn salvage(bytes: &[u8]) -> Result<(), String> {
    let disk = MemoryDisk::of(Vec::new());
    let saved =
        Database::salvage_onto(MemoryDisk::of(bytes.to_vec()), disk.clone(), MEMORY, &mut |_, _, _| {});
    let saved = saved.map_err(|error| format!("salvage: {error}"))?;
    let db = Database::open_on(disk, options(FLUSH)).map_err(|error| format!("salvaged: {error}"))?;
    let damage = db.verify(true).map_err(|error| format!("salvaged: {error}"))?.damage;
    match damage.is_empty() && (saved.documents > 0 || saved.is_lossy()) {
        true => Ok(()),
        false => Err(format!("salvaged: {saved:?}, {damage:?}")),
    }
}

/// What somebody does to the rows.
pub type Change = fn(&WriteTransaction);

/// Runs a case under watch: a panic, a hang and a wrong answer are faults.
fn examine(name: &str, change: Change, lie: bool) -> Told {
    let bytes = crafted(&base().bytes, change);
    if lie && !is_named(&bytes) {
        return Err("`verify` names nothing".into());
    }
    let (done, wait) = channel();
    let worker = std::thread::spawn(move || {
        let result =
            read(&bytes).and_then(|a| Ok(a | write(&bytes)?)).and_then(|told| salvage(&bytes).map(|()| told));
        drop(done.send(result));
    });
    match wait.recv_timeout(PATIENCE) {
        Ok(result) => result,
        Err(_) if worker.is_finished() => Err(format!("{name}: a panic")),
        Err(_) => panic!("{name}: a hang"),
    }
}

/// Every case must be told of, unless nothing in it can do harm. Of lies that only a look at everything finds, answers may be
/// wrong, and `verify` must name them.
pub fn examine_all(cases: &[(&str, Change)], harmless: &[&str], lies: &[&str]) {
    let (faults, next) = (Mutex::new(Vec::new()), Mutex::new(cases.iter()));
    base();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((name, change)) = next.lock().unwrap().next() else { break };
                    let lie = lies.contains(name);
                    let fault = match examine(name, *change, lie) {
                        Ok(true) => continue,
                        Err(fault) if lie && fault.contains(": wrong: ") => continue,
                        Ok(false) if harmless.contains(name) => continue,
                        Ok(false) => "nobody tells".to_owned(),
                        Err(fault) => fault,
                    };
                    faults.lock().unwrap().push(format!("{name}: {fault}"));
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
    eprintln!("{} crafted files: each told of, or harmless", cases.len());
    check_memory();
}

/// What the process ever took is bounded.
fn check_memory() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    match peak.and_then(|kilobytes| kilobytes.parse::<u64>().ok()) {
        Some(kilobytes) => assert!(kilobytes < 1 << 20, "{kilobytes} kB at the peak"),
        None => skipped("/proc/self/status does not tell the peak of memory"),
    }
}
