//! Proves that a crash at any moment loses nothing acknowledged, shows no commit in part, and leaves a database that
//! goes on; that a failing disk gives errors, a handle that says so, and a file that is whole.
//!
//! SKETCHDB_CRASHES=all stops a longer workload after every single write and sync, and fails every single operation of
//! the shorter one, where otherwise some are drawn. SKETCHDB_KILLS=n kills each verb n times instead of ten.

#[path = "../common/mod.rs"]
mod common;
mod buffered;
mod closing;
mod dedup;
mod full;
mod media;
mod order;
mod processes;
mod verdicts;

use common::disk::{CrashDisk, Epoch, FailingDisk, Failure, History, MemoryDisk, Survives};
use common::params;
use common::rng::Rng;
use common::workload::{Workload, options};
use sketchdb::{Database, Disk, Error, Options, Params, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const FLUSH: u64 = 100;
const WAYS: [Survives; 6] = [
    Survives::Nothing,
    Survives::Everything,
    Survives::OnlyTheLast,
    Survives::Some,
    Survives::Some,
    Survives::Some,
];

/// Whether every moment and every operation has its turn, not only some of them.
fn all() -> bool {
    std::env::var("SKETCHDB_CRASHES").is_ok_and(|which| which == "all")
}

fn empty_file() -> Vec<u8> {
    let disk = Arc::new(MemoryDisk::default());
    Database::create_on(disk.clone(), &Params::default()).unwrap();
    disk.bytes()
}

/// A workload that was run, closed, and recorded.
struct Recorded {
    workload: Workload,
    history: History,
    /// For every step: how many operations were done when it was acknowledged.
    acknowledged: Vec<usize>,
}

fn record(steps: usize, documents: usize) -> Recorded {
    let (recorded, runs) = record_of(Workload::new(7, steps, documents));
    assert!(runs.windows(2).filter(|pair| pair[0] < pair[1]).count() >= 5, "five flushes: {runs:?}");
    assert!(runs.windows(2).any(|pair| pair[0] > pair[1]), "a merge: {runs:?}");
    recorded
}

/// Runs a workload; also how many runs there were after each step.
fn record_of(mut workload: Workload) -> (Recorded, Vec<u64>) {
    workload.record(FLUSH).unwrap();
    let disk = CrashDisk::over(workload.empty_file().bytes());
    let db = Database::open_on(disk.clone(), options(FLUSH)).unwrap();
    let (mut acknowledged, mut runs) = (Vec::new(), Vec::new());
    workload
        .run(&db, 0, |_| {
            acknowledged.push(disk.clock());
            runs.push(db.stats().unwrap().runs);
        })
        .unwrap();
    db.close().unwrap();
    (Recorded { workload, history: disk.history(), acknowledged }, runs)
}

impl Recorded {
    /// Opens the image of a crash and checks it, adds the rest, and checks that after closing.
    fn check(&self, disk: Arc<dyn Disk>, moment: usize, go_on: bool) -> usize {
        let workload = &self.workload;
        let least = self.acknowledged.iter().filter(|&&at| at <= moment).count();
        let db = Database::open_on(disk.clone(), options(FLUSH))
            .unwrap_or_else(|error| panic!("opening: {error}"));
        let steps =
            workload.steps_in(&db, least).unwrap().unwrap_or_else(|difference| panic!("{difference}"));
        assert_eq!(db.verify(true).unwrap().damage, [], "with {steps} steps");
        if !go_on {
            return steps;
        }
        workload.run(&db, steps, |_| {}).unwrap();
        db.close().unwrap();
        let db = Database::open_on(disk, options(FLUSH)).unwrap();
        assert_eq!(workload.differs(&db, workload.len()).unwrap(), None, "after going on");
        assert_eq!(db.verify(true).unwrap().damage, [], "after going on");
        steps
    }

    /// Recovers from an image, and from crashes of the recovery.
    fn crash_again(&self, image: Vec<u8>, moment: usize, rng: &mut Rng) -> usize {
        let disk = CrashDisk::over(image);
        let steps = self.check(disk.clone(), moment, false);
        let (history, mut images) = (disk.history(), 0);
        history.epochs(|number, epoch| {
            let again = epoch.moment(rng);
            let image = epoch.crash(again, WAYS[number % WAYS.len()], rng);
            assert_eq!(
                self.check(MemoryDisk::of(image), moment, false),
                steps,
                "after a crash while recovering"
            );
            images += 1;
        });
        images
    }
}

#[derive(Default)]
struct Counts {
    images: AtomicUsize,
    went_on: AtomicUsize,
    recoveries: AtomicUsize,
}

/// Several images of one epoch.
fn crash_in(recorded: &Recorded, number: usize, epoch: Epoch, counts: &Counts) {
    let mut rng = Rng(number as u64);
    for survives in WAYS {
        let moment = epoch.moment(&mut rng);
        let image = epoch.crash(moment, survives, &mut rng);
        let go_on = rng.once_in(16);
        if rng.once_in(12) {
            counts.recoveries.fetch_add(recorded.crash_again(image.clone(), moment, &mut rng), Relaxed);
        }
        recorded.check(MemoryDisk::of(image), moment, go_on);
        counts.images.fetch_add(1, Relaxed);
        counts.went_on.fetch_add(usize::from(go_on), Relaxed);
    }
}

/// An image of every moment of one epoch, in one way each.
fn crash_throughout(recorded: &Recorded, number: usize, epoch: Epoch, counts: &Counts) {
    let mut rng = Rng(number as u64);
    for moment in epoch.start + 1..=epoch.end() {
        let image = epoch.crash(moment, WAYS[moment % WAYS.len()], &mut rng);
        let go_on = rng.once_in(200);
        if rng.once_in(200) {
            counts.recoveries.fetch_add(recorded.crash_again(image.clone(), moment, &mut rng), Relaxed);
        }
        recorded.check(MemoryDisk::of(image), moment, go_on);
        counts.images.fetch_add(1, Relaxed);
        counts.went_on.fetch_add(usize::from(go_on), Relaxed);
    }
}

#[test]
fn nothing_acknowledged_is_lost_in_a_crash() {
    let (recorded, crash): (_, fn(&_, usize, Epoch, &_)) = match all() {
        true => (record(480, 24), crash_throughout),
        false => (record(60, 16), crash_in),
    };
    let counts = Counts::default();
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (recorded, counts) = (&recorded, &counts);
            scope.spawn(move || {
                recorded.history.epochs(|number, epoch| {
                    if number % 2 == worker {
                        crash(recorded, number, epoch, counts);
                    }
                });
            });
        }
    });
    let images = counts.images.into_inner();
    eprintln!(
        "{images} crash images over {} syncs of {} operations, {} of crashes while recovering: all whole; {} went on",
        recorded.history.syncs(),
        recorded.history.len(),
        counts.recoveries.into_inner(),
        counts.went_on.into_inner()
    );
    assert!(images >= 300);
}

#[test]
fn nothing_is_lost_in_a_crash_whatever_the_parameters() {
    let mut images = 0;
    for (seed, params) in (0..).zip(params::sets(17)) {
        let (recorded, _) = record_of(Workload::with(&params, seed, 14, 12));
        let mut rng = Rng(seed);
        recorded.history.epochs(|number, epoch| {
            let way = WAYS[number % WAYS.len()];
            let (moment, go_on) = (epoch.moment(&mut rng), rng.once_in(8));
            let image = epoch.crash(moment, way, &mut rng);
            recorded.check(MemoryDisk::of(image), moment, go_on);
            images += 1;
        });
    }
    eprintln!("{images} crash images of files with drawn parameters: all whole");
    assert!(images >= 100, "{images} images");
}

/// A workload with its answers, not recorded.
fn workload(steps: usize, documents: usize) -> Workload {
    let mut workload = Workload::new(11, steps, documents);
    workload.record(40).unwrap();
    workload
}

/// A cache so small that pages are read again and again.
fn failing_options() -> Options {
    Options { memory: 64 << 10, ..options(40) }
}

/// Runs a workload on a failing disk until something fails: how many commits were acknowledged, and the error.
fn run_until_failure(workload: &Workload, disk: Arc<FailingDisk>) -> (usize, Result<()>) {
    let db = match Database::open_on(disk.clone(), failing_options()) {
        Ok(db) => db,
        Err(error) => return (0, Err(error)),
    };
    let mut acknowledged = 0;
    match workload.run(&db, 0, |steps| acknowledged = steps) {
        Ok(()) => (acknowledged, db.close()),
        Err(error) => {
            check_latched(workload, &db, acknowledged, &error);
            (acknowledged, Err(error))
        }
    }
}

/// A handle that failed adds nothing more and says why; what it still answers is right.
fn check_latched(workload: &Workload, db: &Database, acknowledged: usize, error: &Error) {
    for answer in workload.questions(db, acknowledged) {
        assert!(!matches!(answer, Ok(Some(_))), "after a failure: {answer:?}");
    }
    for _ in 0..2 {
        let again = db.add("another", "text");
        assert!(matches!(&again, Err(Error::Failed(_))), "after {error} it said {again:?}");
    }
}

/// Fails once, then opens the file on a disk that works; the error.
fn fail(workload: &Workload, failure: Failure) -> Option<Error> {
    let disk = MemoryDisk::of(empty_file());
    let failing = FailingDisk::over(disk.clone(), failure);
    let (acknowledged, outcome) = run_until_failure(workload, failing.clone());
    assert!(failing.has_failed(), "{failure:?} never happened");
    let db = Database::open_on(disk.clone(), failing_options()).unwrap();
    let steps = workload.steps_in(&db, acknowledged).unwrap();
    let steps = steps.unwrap_or_else(|difference| panic!("{failure:?}: {difference}"));
    assert_eq!(db.verify(true).unwrap().damage, [], "{failure:?}");
    workload.run(&db, steps, |_| {}).unwrap();
    db.close().unwrap();
    let db = Database::open_on(disk, failing_options()).unwrap();
    assert_eq!(workload.differs(&db, workload.len()).unwrap(), None, "{failure:?}, after going on");
    outcome.err()
}

/// How many operations the workload takes.
fn operations(workload: &Workload) -> u64 {
    let disk =
        FailingDisk::over(MemoryDisk::of(empty_file()), Failure { after: u64::MAX, times: 0, errno: 0 });
    run_until_failure(workload, disk.clone()).1.unwrap();
    disk.clock()
}

#[test]
fn a_failing_disk_gives_errors_and_loses_nothing() {
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    let workload = workload(24, 16);
    let operations = operations(&workload);
    let failures = if all() { operations } else { 300 };
    let next = AtomicUsize::new(0);
    let (told, silent) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Relaxed) as u64;
                    if number >= failures {
                        break;
                    }
                    let after = number * operations / failures;
                    let errno = if number.is_multiple_of(2) { EIO } else { ENOSPC };
                    let times = if number.is_multiple_of(3) { 1 } else { u64::MAX };
                    match fail(&workload, Failure { after, times, errno }) {
                        Some(Error::Io { .. } | Error::Failed(_)) => told.fetch_add(1, Relaxed),
                        Some(error) => {
                            panic!("operation {after} failed and it said: {error}")
                        }
                        None => silent.fetch_add(1, Relaxed),
                    };
                }
            });
        }
    });
    let (told, silent) = (told.into_inner(), silent.into_inner());
    eprintln!(
        "{failures} failures among {operations} operations: {told} errors, {silent} while closing; nothing lost"
    );
    assert!(silent as u64 <= failures / 10, "only the last steps of closing have nobody to tell");
}
