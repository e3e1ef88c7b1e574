//! Proves that rows which no writer writes are refused or told, though every seal holds: with the place, never with a panic,
//! a hang or memory without bound, and never with a wrong answer.

use super::common::disk::MemoryDisk;
use super::common::workload::{Workload, options};
use super::rows::*;
use super::sealed::{crafted, sealed, unsealed};
use super::{PAGE, whole};
use redb::{ReadableTable, WriteTransaction};
use sketchdb::{ClusterOptions, Database, Error, Options, PairOptions, Params};
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

const FLUSH: u64 = 16;
const DIRECTORIES: u32 = 1 << 30;
const FILTERS: u32 = 1 << 31;
/// Generous: no case takes a second.
const PATIENCE: Duration = Duration::from_secs(300);
const MEMORY: usize = 4 << 20;

/// A closed file in which a merge is under way, and what it answers.
struct Base {
    workload: Workload,
    steps: usize,
    bytes: Vec<u8>,
}

fn base() -> &'static Base {
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

fn run_integers(of: &WriteTransaction, run: u64) -> Vec<u64> {
    integers(&rows(of, RUNS).into_iter().find(|row| row.0 == run).unwrap().1)
}

/// Whether a case told of damage, anywhere.
type Told = Result<bool, String>;

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

fn read_only() -> Options {
    Options { read_only: true, ..options(FLUSH) }
}

/// Whether `verify` names what is wrong.
fn is_named(bytes: &[u8]) -> bool {
    let db = Database::open_on(MemoryDisk::of(bytes.to_vec()), read_only());
    db.and_then(|db| db.verify(true)).is_ok_and(|verified| verified.damaged > 0)
}

/// Reads, verifies and copies.
fn read(bytes: &[u8]) -> Told {
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
fn write(bytes: &[u8]) -> Told {
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
type Change = fn(&WriteTransaction);

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
fn examine_all(cases: &[(&str, Change)], harmless: &[&str], lies: &[&str]) {
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
        None => eprintln!("peak memory: not tested, /proc/self/status does not tell"),
    }
}

fn building(of: &WriteTransaction) -> u64 {
    runs(of)[1][0]
}

/// A finished run that no merge reads, or any.
fn run(of: &WriteTransaction, number: usize) -> u64 {
    runs(of)[0][number]
}

fn change_input(of: &WriteTransaction, change: impl FnOnce(&mut [u64])) {
    change_run(of, building(of), |run| change(&mut run[11..]));
}

fn change_frame(of: &WriteTransaction, contents: bool, change: impl FnOnce(&mut Vec<u8>)) {
    let table = if contents { CONTENTS } else { DOCUMENTS };
    let (key, mut frame) = rows(of, table).remove(1);
    change(&mut frame);
    put(of, table, key, &sealed_frame(frame));
}

fn parents(of: &WriteTransaction) -> Vec<(u64, u64)> {
    let table = of.open_table(PARENTS).unwrap();
    table.iter().unwrap().map(|row| row.unwrap()).map(|(a, b)| (a.value(), b.value())).collect()
}

fn set_parent(of: &WriteTransaction, content: u64, parent: u64) {
    of.open_table(PARENTS).unwrap().insert(content, parent).unwrap();
}

fn set_members(of: &WriteTransaction, key: (u64, u64), row: &[u8]) {
    of.open_table(MEMBERS).unwrap().insert(key, row).unwrap();
}

fn set_holders(of: &WriteTransaction, key: (u64, u64), row: &[u8]) {
    of.open_table(HOLDERS).unwrap().insert(key, row).unwrap();
}

fn set_marks(of: &WriteTransaction, key: (u8, u64), row: &[u8]) {
    of.open_table(MARKS).unwrap().insert(key, row).unwrap();
}

/// The first cluster of several members.
fn cluster(of: &WriteTransaction) -> (u64, u64) {
    of.open_table(MEMBERS).unwrap().iter().unwrap().next().unwrap().unwrap().0.value()
}

#[test]
fn what_is_sealed_again_is_the_same_file() {
    let bytes = &whole().bytes;
    let again = sealed(&bytes[..PAGE], &unsealed(bytes));
    let numbers =
        |at: usize| at / PAGE == 1 && at % PAGE < 4 || at / PAGE == 2 && (504..512).contains(&(at % PAGE));
    // A page of zeros may have been written or not.
    let unwritten = |at: usize| at / PAGE == 1 && bytes[at / 4 * 4..at / 4 * 4 + 4] == [0; 4];
    let known = |at: &usize| !numbers(*at) && !unwritten(*at);
    let other = (0..bytes.len()).filter(known).find(|&at| bytes[at] != again[at]);
    assert_eq!((other, again.len()), (None, bytes.len()));
    let Base { workload, steps, bytes } = base();
    let db = Database::open_on(MemoryDisk::of(bytes.clone()), read_only()).unwrap();
    assert_eq!(workload.differs(&db, *steps).unwrap(), None);
    assert_eq!(db.verify(true).unwrap().damage, []);
    assert!(!write(bytes).unwrap() && !read(bytes).unwrap());
}

#[test]
fn merges_and_runs_that_cannot_be_are_told() {
    examine_all(
        &[
            ("a merge of a run that is not there", |of| change_input(of, |inputs| inputs[0] = 999)),
            ("a merge of one run twice", |of| change_input(of, |inputs| inputs[3] = inputs[0])),
            ("a merge of itself", |of| change_input(of, |inputs| inputs[0] = building(of))),
            ("a merge that read too much", |of| change_input(of, |inputs| inputs[1] += 1)),
            ("a merge that read everything", |of| change_input(of, |inputs| inputs[1] = u64::from(u32::MAX))),
            ("a merge that read too little", |of| {
                change_input(of, |inputs| inputs.chunks_mut(3).take(1).for_each(|input| input[1..].fill(0)))
            }),
            ("a merge of nothing", |of| {
                change_run(of, building(of), |run| {
                    run.truncate(10);
                    run.push(0);
                })
            }),
            ("a merge of other ranges", |of| change_run(of, building(of), |run| run[2] += 1)),
            ("two runs that are being built", |of| {
                let run = run_integers(of, building(of));
                put(of, RUNS, 2, &record(&run));
            }),
            ("a run without its table", |of| put(of, RUNS, 0, &record(&run_integers(of, run(of, 0))))),
            ("a run removed", |of| remove(of, RUNS, run(of, 1))),
            ("a number never given to a run", |of| {
                put(of, RUNS, 1 << 40, &record(&run_integers(of, run(of, 0))))
            }),
            ("fewer groups", |of| change_run(of, run(of, 0), |run| run[6] = 0)),
            ("more groups", |of| change_run(of, run(of, 0), |run| run[6] += 1)),
            ("four billion groups", |of| change_run(of, run(of, 0), |run| run[6] = u64::from(u32::MAX))),
            ("another level", |of| change_run(of, run(of, 0), |run| run[0] = u64::from(u32::MAX))),
            ("fewer entries", |of| change_run(of, run(of, 0), |run| run[5] -= 1)),
            ("entries without number", |of| change_run(of, run(of, 0), |run| run[5] = u64::MAX)),
            ("other contents", |of| change_run(of, run(of, 0), |run| run[2] += 1)),
            ("ranges that end before they begin", |of| change_run(of, run(of, 0), |run| run.swap(1, 2))),
            ("a record of a run cut short", |of| {
                let mut row = record(&run_integers(of, run(of, 0)));
                row.pop();
                put(of, RUNS, run(of, 0), &row);
            }),
            ("blocks of two runs exchanged", |of| {
                let (a, b) = (run(of, 0), run(of, 1));
                let (first, second) = (run_row(of, a, 0), run_row(of, b, 0));
                change_row(of, a, 0, |row| *row = second);
                change_row(of, b, 0, |row| *row = first);
            }),
            ("blocks of one run exchanged", |of| {
                let (first, second) = (run_row(of, run(of, 0), 0), run_row(of, run(of, 0), 1));
                change_row(of, run(of, 0), 0, |row| *row = second);
                change_row(of, run(of, 0), 1, |row| *row = first);
            }),
            ("a block cut short", |of| change_row(of, run(of, 0), 0, |row| row.truncate(row.len() - 1))),
            ("a block of many entries", |of| change_row(of, run(of, 0), 0, |row| row[..2].fill(255))),
            ("a block of zeros", |of| change_row(of, run(of, 0), 0, |row| row.fill(0))),
            ("numbers of a block beyond the run", |of| {
                change_row(of, run(of, 0), 0, |row| {
                    row.iter_mut().rev().take(20).for_each(|byte| *byte = 255)
                })
            }),
            ("a directory cut short", |of| {
                change_row(of, run(of, 0), DIRECTORIES, |row| row.truncate(row.len() - 6))
            }),
            ("a directory of noise", |of| change_row(of, run(of, 0), DIRECTORIES, |row| row.reverse())),
            ("a filter that denies everything", |of| change_row(of, run(of, 0), FILTERS, |row| row.fill(0))),
            ("an empty filter", |of| change_row(of, run(of, 0), FILTERS, Vec::clear)),
        ],
        // What is not a whole block of a filter denies nothing.
        &["an empty filter"],
        &["a filter that denies everything"],
    );
}

#[test]
fn clusters_that_cannot_be_are_told() {
    examine_all(
        &[
            ("a content above itself", |of| {
                let (content, _) = parents(of)[0];
                set_parent(of, content, content);
            }),
            ("a cycle", |of| {
                let (content, parent) = parents(of)[0];
                set_parent(of, parent, content);
            }),
            ("a cycle of three", |of| {
                let (content, parent) = *parents(of).last().unwrap();
                set_parent(of, parent, content + 1);
                set_parent(of, content + 1, content);
            }),
            ("a parent that was never given", |of| set_parent(of, 1 << 40, 3)),
            ("a parent of one alone", |of| {
                let below: Vec<u64> = parents(of).iter().map(|row| row.0).collect();
                let alone = (2..).find(|content| !below.contains(content)).unwrap();
                set_parent(of, alone, 1);
            }),
            ("a parent missing", |of| remove(of, PARENTS, parents(of)[0].0)),
            ("members never given", |of| set_members(of, (cluster(of).0, 900), &bitmap(&[5]))),
            ("members near the end", |of| {
                let next = counters(of)[1];
                set_members(of, cluster(of), &bitmap(&[cluster(of).0, next, next + 1]));
            }),
            ("members in a row beyond all", |of| set_members(of, (cluster(of).0, 1 << 60), &bitmap(&[5]))),
            ("members that are none", |of| set_members(of, cluster(of), b"noise")),
            ("a cluster never given", |of| set_members(of, (1 << 40, 0), &bitmap(&[1, 2]))),
            ("members of two clusters", |of| set_members(of, (1, 0), &bitmap(&[1, cluster(of).0]))),
            ("what stands for a cluster of another", |of| {
                put(of, REPRESENTATIVES, parents(of)[0].0, &[4, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            }),
            ("what stands for nothing", |of| put(of, REPRESENTATIVES, 1 << 40, &[4, 0])),
            ("what stands for a cluster cut short", |of| put(of, REPRESENTATIVES, cluster(of).0, &[4, 3, 1])),
            ("holders of nothing", |of| set_holders(of, (1 << 40, 0), &bitmap(&[1]))),
            ("holders never given", |of| set_holders(of, (0, 900), &bitmap(&[1]))),
            ("holders that hold another", |of| set_holders(of, (0, 0), &bitmap(&[0, 1, 2, 3]))),
            ("holders that are none", |of| set_holders(of, (0, 0), b"")),
            ("dead that were never given", |of| set_marks(of, (1, 900), &bitmap(&[1]))),
            ("removed that were never given", |of| set_marks(of, (2, 900), &bitmap(&[1]))),
            ("dirty that were never given", |of| set_marks(of, (3, 900), &bitmap(&[1]))),
            ("a mark that is none", |of| set_marks(of, (9, 0), &bitmap(&[1]))),
            ("nothing is dead", |of| remove(of, MARKS, (1, 0))),
            ("nothing is removed", |of| remove(of, MARKS, (2, 0))),
        ],
        &[],
        &["holders that hold another", "nothing is dead", "nothing is removed"],
    );
}

#[test]
fn records_and_counters_that_cannot_be_are_told() {
    examine_all(
        &[
            ("a content cut short", |of| {
                change_frame(of, true, |frame| {
                    // The last record of the frame, and its slot.
                    let slot = FRAME_HEADER + 4 * (usize::from(frame[6]) - 1) + 2;
                    frame.pop();
                    frame[slot] = frame[slot].wrapping_sub(1);
                    let body = (frame.len() - FRAME_HEADER) as u32;
                    frame[24..28].copy_from_slice(&body.to_le_bytes());
                })
            }),
            ("a frame cut short", |of| change_frame(of, true, |frame| frame.truncate(frame.len() - 1))),
            ("a slot too long", |of| change_frame(of, true, |frame| frame[FRAME_HEADER + 3] = 255)),
            ("a frame of another content", |of| change_frame(of, true, |frame| frame[16] ^= 1)),
            ("a frame of documents of another", |of| change_frame(of, false, |frame| frame[16] ^= 1)),
            ("a frame of another database", |of| change_frame(of, true, |frame| frame[9] ^= 1)),
            ("a frame without records", |of| change_frame(of, true, |frame| frame[6..8].fill(0))),
            ("a frame of contents missing", |of| {
                let (key, _) = rows(of, CONTENTS).remove(1);
                remove(of, CONTENTS, key);
            }),
            ("a frame of documents twice", |of| {
                let (_, frame) = rows(of, DOCUMENTS).remove(1);
                put(of, DOCUMENTS, 1 << 30, &frame);
            }),
            ("amendments of nobody", |of| put(of, AMENDMENTS, 1 << 40, &[1, 0])),
            ("an amendment of one who was removed", |of| {
                let removed = of.open_table(MARKS).unwrap().get((2, 0)).unwrap().unwrap().value().to_vec();
                let first = roaring::RoaringBitmap::deserialize_from(&removed[..]).unwrap().min().unwrap();
                put(of, AMENDMENTS, u64::from(first), &[1, 0]);
            }),
            ("an amendment to a content never given", |of| {
                let (key, _) = rows(of, AMENDMENTS).remove(0);
                put(of, AMENDMENTS, key, &record(&[1 << 40, 0]));
            }),
            ("an amendment cut short", |of| {
                let (key, row) = rows(of, AMENDMENTS).remove(0);
                put(of, AMENDMENTS, key, &row[..row.len() - 1]);
            }),
            ("documents go back", |of| count(of, |counters| counters[0] -= 3)),
            ("contents go back", |of| count(of, |counters| counters[1] -= 3)),
            ("runs go back", |of| count(of, |counters| counters[2] = 1)),
            ("runs index more", |of| count(of, |counters| counters[5] += 1)),
            ("runs index less", |of| count(of, |counters| counters[5] -= 1)),
            ("everything was given", |of| count(of, |counters| counters[0] = u64::MAX)),
            ("contents beyond a memtable", |of| count(of, |counters| counters[1] += 1 << 20)),
            ("fewer documents alive", |of| count(of, |counters| counters[6] = 1)),
            ("fewer contents alive", |of| count(of, |counters| counters[7] = 1)),
            ("counters cut short", |of| count(of, |counters| counters.truncate(11))),
            ("no counters", |of| remove(of, META, "counters")),
            ("no parameters", |of| remove(of, META, "params")),
            ("no known answer", |of| remove(of, META, "known_answer")),
            ("another threshold", |of| change_params(of, "\"threshold\":0.8", "\"threshold\":0.5")),
            ("a threshold that cannot be", |of| change_params(of, "\"threshold\":0.8", "\"threshold\":-1")),
            ("a sample without end", |of| change_params(of, "\"sample\":256", "\"sample\":99999999999")),
            ("minhashes without end", |of| {
                change_params(of, "\"minhashes\":128", "\"minhashes\":4294967296")
            }),
            ("another parameter", |of| change_params(of, "\"seed\":1", "\"seed\":1,\"more\":1")),
            ("parameters that are no JSON", |of| change_params(of, "{", "[")),
            ("a table missing", |of| assert!(of.delete_table(MARKS).unwrap())),
        ],
        &[],
        &[],
    );
}
