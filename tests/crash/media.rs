//! Proves that a medium that fails while a database is written anew gives an error and harms nothing of the old one, and
//! that a crash after that leaves the new one whole: it takes the place of the old one then.

use super::common::disk::{CrashDisk, FailingDisk, Failure, MemoryDisk};
use super::common::place::exported;
use super::common::rng::Rng;
use super::common::workload::{Workload, options};
use super::{WAYS, empty_file};
use sketchdb::{Database, Disk, Error, Result};
use std::sync::Arc;

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const NEVER: Failure = Failure { after: u64::MAX, times: 0, errno: 0 };
/// Failures of each medium and kind of work.
const FAILURES: u64 = 40;
const MEMORY: usize = 4 << 20;

/// A closed database with clusters that lost members.
fn old() -> (Workload, Vec<u8>) {
    let mut workload = Workload::new(5, 24, 16);
    workload.record(40).unwrap();
    let disk = MemoryDisk::of(empty_file());
    let db = Database::open_on(disk.clone(), options(40)).unwrap();
    workload.run(&db, 0, |_| {}).unwrap();
    db.close().unwrap();
    (workload, disk.bytes())
}

type Work = fn(&Database, Arc<dyn Disk>) -> Result<()>;

fn works() -> [(&'static str, Work); 2] {
    [
        ("compact", |db, disk| db.compact_onto(disk, MEMORY, &mut |_, _, _| {})),
        ("rebuild", |db, disk| db.rebuild_onto(disk, &db.params().clone(), MEMORY, &mut |_, _, _| {})),
    ]
}

/// Opens the old medium and writes to the new one.
fn write(work: Work, from: Arc<FailingDisk>, onto: Arc<FailingDisk>) -> Result<()> {
    let db = Database::open_on(from, options(40))?;
    work(&db, onto)?;
    db.close()
}

fn check_whole(name: &str, workload: &Workload, disk: Arc<dyn Disk>) {
    let db = Database::open_on(disk, options(40)).unwrap();
    assert_eq!(workload.differs(&db, workload.len()).unwrap(), None, "{name}");
    assert_eq!(db.verify(true).unwrap().damage, [], "{name}");
    db.add("another", "a text that comes after all that").unwrap();
    db.close().unwrap();
}

fn open(bytes: &[u8]) -> Database {
    Database::open_on(MemoryDisk::of(bytes.to_vec()), options(40)).unwrap()
}

fn import(lines: &[String], disk: Arc<dyn Disk>) -> Result<()> {
    let mut lines = lines.iter().map(|line| Ok(line.clone()));
    Database::import_onto(disk, &mut lines, MEMORY, &mut |_, _, _| {}).map(|_| ())
}

fn check_error(name: &str, outcome: Result<()>) -> usize {
    match outcome {
        Ok(()) => 0,
        Err(Error::Io { .. } | Error::Failed(_)) => 1,
        Err(error) => panic!("{name}: it said {error}"),
    }
}

#[test]
fn a_copy_that_fails_leaves_the_old_database_as_it_was() {
    let (workload, bytes) = old();
    for (verb, work) in works() {
        let (from, onto) = (MemoryDisk::of(bytes.clone()), MemoryDisk::of(Vec::new()));
        let clocks = [from.clone(), onto.clone()].map(|disk| FailingDisk::over(disk, NEVER));
        write(work, clocks[0].clone(), clocks[1].clone()).unwrap();
        check_whole(verb, &workload, onto);
        let mut told = 0;
        for number in 0..2 * FAILURES {
            let (side, nth) = ((number % 2) as usize, number / 2);
            let errno = if nth % 2 == 0 { EIO } else { ENOSPC };
            let times = if nth % 3 == 0 { 1 } else { u64::MAX };
            let failure = Failure { after: nth * clocks[side].clock() / FAILURES, times, errno };
            let name = format!("{verb}, {} medium, {failure:?}", ["old", "new"][side]);
            let mut failures = [NEVER, NEVER];
            failures[side] = failure;
            let old = MemoryDisk::of(bytes.clone());
            let from = FailingDisk::over(old.clone(), failures[0]);
            let onto = FailingDisk::over(MemoryDisk::of(Vec::new()), failures[1]);
            told += check_error(&name, write(work, from, onto));
            check_whole(&name, &workload, old);
        }
        eprintln!("{verb}: {told} of {} failures told, nothing lost", 2 * FAILURES);
        assert!(told as u64 > FAILURES, "{verb}: only closing has nobody to tell");
    }
}

#[test]
fn an_import_that_fails_says_so() {
    let (workload, bytes) = old();
    let lines = exported(&open(&bytes)).unwrap();
    let import = |disk| import(&lines, disk);
    let onto = MemoryDisk::of(Vec::new());
    let clock = FailingDisk::over(onto.clone(), NEVER);
    import(clock.clone()).unwrap();
    check_whole("import", &workload, onto);
    let mut told = 0;
    for number in 0..FAILURES {
        let errno = if number % 2 == 0 { EIO } else { ENOSPC };
        let failure = Failure { after: number * clock.clock() / FAILURES, times: u64::MAX, errno };
        let failing = FailingDisk::over(MemoryDisk::of(Vec::new()), failure);
        told += check_error(&format!("import, {failure:?}"), import(failing));
    }
    assert!(told as u64 > FAILURES - 4, "{told} failures were told");
}

/// What is left of a new medium when the system stops at each sync and when all is said to be done: how many images.
fn crash_beside(name: &str, workload: &Workload, disk: &CrashDisk) -> usize {
    let (mut images, history) = (0, disk.history());
    let syncs = history.syncs();
    history.epochs(|number, epoch| {
        for (seed, survives) in (0..).zip(WAYS) {
            let mut rng = Rng(number as u64 * 8 + seed);
            let early = MemoryDisk::of(epoch.crash(epoch.moment(&mut rng), survives, &mut rng));
            // It is in nobody's place yet: whatever is found there, it is said.
            match Database::open_on(early, options(40)).and_then(|db| db.verify(true)) {
                Ok(_) | Err(Error::Corrupt { .. } | Error::Incompatible { .. }) => {}
                // Of pages that were never written redb says that they are no database.
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::InvalidData => {}
                Err(error) => panic!("{name}, {survives:?}: {error:?}"),
            }
            images += 1;
            if number + 1 >= syncs {
                let name = format!("{name}, {survives:?} of what came after the last sync");
                check_whole(&name, workload, MemoryDisk::of(epoch.crash(epoch.end(), survives, &mut rng)));
            }
        }
    });
    images
}

#[test]
fn a_copy_that_is_done_survives_a_crash() {
    let (workload, bytes) = old();
    let crash = |name: &str, write: &dyn Fn(Arc<dyn Disk>) -> Result<()>| {
        let disk = CrashDisk::over(Vec::new());
        write(disk.clone()).unwrap();
        let images = crash_beside(name, &workload, &disk);
        eprintln!("{name}: {images} images over {} syncs of the new medium", disk.history().syncs());
    };
    for (verb, work) in works() {
        crash(verb, &|disk| work(&open(&bytes), disk));
    }
    let lines = exported(&open(&bytes)).unwrap();
    crash("import", &|disk| import(&lines, disk));
}
