//! Rounds of many threads on one database: what they share, how long they go on, and who looks that they do not hang.

use crate::common::disk::MemoryDisk;
use crate::common::params::{in_units, sets};
use crate::common::rng::Rng;
use crate::common::texts::{Draw, edited, text};
use sketchdb::{Database, Disk, Document, Options, Params};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub const WRITERS: usize = 8;
pub const READERS: usize = 4;
/// Every size of memtable, with updates and without, in files of each set of parameters.
const ROUNDS: u64 = 18;
/// Far longer than any round takes.
const HANGS: Duration = Duration::from_secs(600);

/// Runs as many rounds as `SKETCHDB_STRESS` tells, each with a seed of its own.
pub fn rounds(name: &str, mut round: impl FnMut(u64) -> Vec<(&'static str, u64)>) {
    let asked = std::env::var("SKETCHDB_STRESS").ok().and_then(|asked| asked.parse().ok());
    let seeds: u64 = asked.unwrap_or(ROUNDS);
    let mut sums: Vec<(&'static str, u64)> = Vec::new();
    for seed in 1..=seeds {
        for (what, count) in watched(|| round(seed)) {
            match sums.iter_mut().find(|sum| sum.0 == what) {
                Some(sum) => sum.1 += count,
                None => sums.push((what, count)),
            }
        }
    }
    println!("{name}: {seeds} rounds, {sums:?}");
    assert!(sums.iter().all(|sum| sum.1 > 0), "something was never met: {sums:?}");
}

/// Does something that may hang, and ends the process when it does.
pub fn watched<T>(work: impl FnOnce() -> T) -> T {
    let (done, ended) = channel::<()>();
    std::thread::spawn(move || {
        if ended.recv_timeout(HANGS) == Err(RecvTimeoutError::Timeout) {
            // Past what keeps the output of tests back.
            let _ = writeln!(std::io::stderr(), "the threads hang");
            std::process::abort();
        }
    });
    let made = work();
    drop(done);
    made
}

/// Tells threads to stop once it goes, by the end or by a panic.
pub struct Stops<'a>(pub &'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A clock that ticks at every look.
#[derive(Default)]
pub struct Clock(AtomicU64);

impl Clock {
    pub fn tick(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Documents whose adding was acknowledged: key and text, for any thread to look for.
#[derive(Default)]
pub struct Board(Mutex<Vec<(String, Arc<str>)>>);

impl Board {
    pub fn post(&self, documents: impl IntoIterator<Item = (String, Arc<str>)>) {
        self.0.lock().unwrap().extend(documents);
    }

    pub fn last(&self) -> Option<(String, Arc<str>)> {
        self.0.lock().unwrap().last().cloned()
    }
}

/// Texts, some of them near to others, so few that threads come to the same ones.
pub fn pool(seed: u64, families: usize) -> Vec<Arc<str>> {
    let mut draw = Draw::new(seed << 20);
    let mut pool = Vec::new();
    for _ in 0..families {
        let first = text(&mut draw, 60);
        pool.push(edited(&mut draw, &first, 1));
        pool.push(edited(&mut draw, &first, 2));
        pool.push(first);
    }
    pool.into_iter().map(Arc::from).collect()
}

/// The parameters of a round: the default ones in every other.
pub fn drawn(seed: u64) -> Params {
    let sets = sets(23);
    match seed.is_multiple_of(2) {
        true => Params::default(),
        false => sets[seed as usize / 2 % sets.len()].clone(),
    }
}

/// A database in a folder of its own whose memtable is so small that runs are written and merged.
pub fn small_runs(seed: u64, path: &std::path::Path) -> Database {
    Database::create(path, &drawn(seed)).unwrap();
    let flush_contents = [40, 150, 32 * 1024][seed as usize % 3];
    Database::open(path, Options { flush_contents, ..Options::default() }).unwrap()
}

pub fn document(db: &Database, key: &str, text: &str) -> Document {
    crate::common::place::document(db, key, in_units(db.params(), text))
}

pub fn one_of<'a, T>(rng: &mut Rng, list: &'a [T]) -> &'a T {
    &list[rng.below(list.len())]
}

/// A disk that takes its time, so that calls wait and go into one commit.
#[derive(Debug)]
pub struct SlowDisk(pub Arc<MemoryDisk>);

impl Disk for SlowDisk {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> std::io::Result<()> {
        std::thread::sleep(Duration::from_millis(2));
        self.0.sync()
    }
}
