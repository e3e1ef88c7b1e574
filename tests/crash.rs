//! Proves that a crash at any moment loses nothing acknowledged, shows no commit in part, and leaves a database that
//! goes on; that a failing disk gives errors, a handle that says so, and a file that is whole.

mod common;

use common::disk::{CrashDisk, Epoch, FailingDisk, Failure, History, MemoryDisk, Survives};
use common::rng::Rng;
use common::workload::{Workload, options};
use sketchdb::{Database, Disk, Error, Params, Policy};
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

fn empty_file() -> Vec<u8> {
    let disk = Arc::new(MemoryDisk::default());
    Database::create_on(disk.clone(), &Params::default()).unwrap();
    disk.bytes()
}

fn open(bytes: Vec<u8>) -> Result<Database, Error> {
    Database::open_on(MemoryDisk::of(bytes), options(FLUSH))
}

/// A workload that was run, closed, and recorded.
struct Recorded {
    workload: Workload,
    history: History,
    /// For every commit: how many operations were done when it was acknowledged.
    acknowledged: Vec<usize>,
}

fn record(commits: usize, documents: usize) -> Recorded {
    let mut workload = Workload::new(7, commits, documents);
    let disk = CrashDisk::over(empty_file());
    let db = Database::open_on(disk.clone(), options(FLUSH)).unwrap();
    let (mut acknowledged, mut runs) = (Vec::new(), Vec::new());
    workload
        .record(&db, |_| {
            acknowledged.push(disk.clock());
            runs.push(db.stats().unwrap().runs);
        })
        .unwrap();
    assert!(runs.windows(2).filter(|pair| pair[0] < pair[1]).count() >= 5, "five flushes: {runs:?}");
    assert!(runs.windows(2).any(|pair| pair[0] > pair[1]), "a merge: {runs:?}");
    db.close().unwrap();
    Recorded { workload, history: disk.history(), acknowledged }
}

impl Recorded {
    /// Opens the image of a crash and checks it, adds the rest, and checks that after closing.
    fn check(&self, disk: Arc<dyn Disk>, moment: usize, go_on: bool) -> usize {
        let workload = &self.workload;
        let least = self.acknowledged.iter().filter(|&&at| at <= moment).count();
        let db = Database::open_on(disk.clone(), options(FLUSH)).unwrap_or_else(|error| panic!("opening: {error}"));
        let commits = workload.commits_in(&db).unwrap();
        assert!((least..=least + 1).contains(&commits), "{commits} commits, {least} were acknowledged");
        assert_eq!(workload.differs(&db, commits).unwrap(), None, "with {commits} commits");
        if !go_on {
            return commits;
        }
        workload.run(&db, commits, |_| {}).unwrap();
        db.close().unwrap();
        let db = Database::open_on(disk, options(FLUSH)).unwrap();
        assert_eq!(workload.differs(&db, workload.commits.len()).unwrap(), None, "after going on");
        commits
    }

    /// Recovers from an image, and from crashes of the recovery.
    fn crash_again(&self, image: Vec<u8>, moment: usize, rng: &mut Rng) -> usize {
        let disk = CrashDisk::over(image);
        let commits = self.check(disk.clone(), moment, false);
        let (history, mut images) = (disk.history(), 0);
        history.epochs(|number, epoch| {
            let again = epoch.moment(rng);
            let image = epoch.crash(again, WAYS[number % WAYS.len()], rng);
            assert_eq!(self.check(MemoryDisk::of(image), moment, false), commits, "after a crash while recovering");
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
    for way in 0..3 {
        let survives = WAYS[(3 * number + way) % WAYS.len()];
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

#[test]
fn nothing_acknowledged_is_lost_in_a_crash() {
    let recorded = record(60, 16);
    let counts = Counts::default();
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (recorded, counts) = (&recorded, &counts);
            scope.spawn(move || {
                recorded.history.epochs(|number, epoch| {
                    if number % 2 == worker {
                        crash_in(recorded, number, epoch, counts);
                    }
                });
            });
        }
    });
    let images = counts.images.into_inner();
    eprintln!(
        "{images} crash images over {} syncs, {} of crashes while recovering: all whole; {} went on",
        recorded.history.syncs(),
        counts.recoveries.into_inner(),
        counts.went_on.into_inner()
    );
    assert!(images >= 300);
}
