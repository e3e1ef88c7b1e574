//! Proves that damage is noticed: whatever happens to the bytes of a file, every question is answered as before or with
//! an error, never wrongly and never with a panic.

#[path = "../common/mod.rs"]
mod common;
mod imports;
mod salvage;

use common::disk::MemoryDisk;
use common::rng::Rng;
use common::workload::{Workload, options};
use sketchdb::{Database, Error, Options, Params};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock};

const PAGE: usize = 4096;
const FLUSH: u64 = 40;

/// A closed database, the bytes it had when it was closed before, and what it answers.
struct Whole {
    workload: Workload,
    bytes: Vec<u8>,
    older: Vec<u8>,
    /// The header pages of all the times it was closed before.
    headers: Vec<Vec<u8>>,
}

/// redb's header, which is written in place.
const HEADER: std::ops::Range<usize> = 2 * PAGE..3 * PAGE;

fn whole() -> &'static Whole {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let mut workload = Workload::new(3, 40, 20);
        workload.record(FLUSH).unwrap();
        let mut closed = closed_again_and_again(&workload);
        let (bytes, older) = (closed.pop().unwrap(), closed[closed.len() / 2].clone());
        let headers = closed.iter().map(|bytes| bytes[HEADER].to_vec()).collect();
        Whole { workload, bytes, older, headers }
    })
}

/// The bytes of a database each time it was closed, which is after every step.
fn closed_again_and_again(workload: &Workload) -> Vec<Vec<u8>> {
    let disk = MemoryDisk::of(Vec::new());
    Database::create_on(disk.clone(), &Params::default()).unwrap();
    let closed = |number: usize| {
        let db = Database::open_on(disk.clone(), options(FLUSH)).unwrap();
        workload.step(&db, number).unwrap();
        db.close().unwrap();
        disk.bytes()
    };
    (0..workload.len()).map(closed).collect()
}

impl Whole {
    /// The pages that are not all zeros.
    fn used_pages(&self) -> Vec<usize> {
        let used = |page: &&[u8]| page.iter().any(|&byte| byte != 0);
        self.bytes.chunks(PAGE).enumerate().filter(|(_, page)| used(page)).map(|(number, _)| number).collect()
    }
}

/// What came of asking a damaged file everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    SameAnswers,
    CleanError,
    WrongAnswer,
    Panic,
}

/// Asks everything, then adds something when the file is open for writing.
fn ask(db: Result<Database, Error>, read_only: bool) -> Result<Outcome, Error> {
    let (workload, mut error) = (&whole().workload, None);
    let db = db?;
    for answer in workload.questions(&db, workload.len()) {
        match answer {
            Ok(None) => {}
            Ok(Some(difference)) => {
                eprintln!("wrong: {difference}");
                return Ok(Outcome::WrongAnswer);
            }
            Err(wrong) => error = Some(wrong),
        }
    }
    if !read_only {
        db.add("another document", "a text that no other document has, of a dozen words or so")?;
        db.close()?;
    }
    error.map_or(Ok(Outcome::SameAnswers), Err)
}

/// Opens damaged bytes, read-only or for writing.
fn examine(name: &str, bytes: Vec<u8>, read_only: bool) -> Outcome {
    let asked = catch_unwind(AssertUnwindSafe(|| {
        let db = Database::open_on(MemoryDisk::of(bytes), Options { read_only, ..options(FLUSH) });
        ask(db, read_only)
    }));
    let outcome = match asked {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(
            Error::Corrupt { .. } | Error::Incompatible { .. } | Error::NeedsRecovery(_) | Error::Failed(_),
        )) => Outcome::CleanError,
        Ok(Err(error)) => panic!("{name}: not an error of damage: {error:?}"),
        Err(_) => Outcome::Panic,
    };
    if outcome > Outcome::CleanError {
        eprintln!("{name}: {outcome:?}, read-only {read_only}");
    }
    outcome
}

/// Examines every case on two threads and prints what came of them.
fn examine_all(what: &str, cases: Vec<(String, Damage)>) -> BTreeMap<Outcome, usize> {
    let (counts, next) = (Mutex::new(BTreeMap::new()), Mutex::new(cases.iter().enumerate()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((number, (name, damage))) = next.lock().unwrap().next() else { break };
                    let outcome = examine(name, damage.applied(), number % 2 == 0);
                    *counts.lock().unwrap().entry(outcome).or_insert(0) += 1;
                }
            });
        }
    });
    let counts = counts.into_inner().unwrap();
    eprintln!("{} {what}: {counts:?}", cases.len());
    counts
}

fn assert_noticed(counts: &BTreeMap<Outcome, usize>) {
    assert!(counts.keys().all(|outcome| *outcome <= Outcome::CleanError), "{counts:?}");
    assert!(counts.get(&Outcome::CleanError).is_some_and(|&errors| errors > 0));
}

/// What happens to the bytes.
enum Damage {
    Flip { at: usize, bit: u32 },
    Zero { page: usize },
    Swap { pages: [usize; 2] },
    Older { pages: Vec<usize> },
    Header { older: usize },
    Cut { len: usize },
}

impl Damage {
    fn named(self) -> (String, Damage) {
        let name = match &self {
            Damage::Flip { at, bit } => {
                format!("bit {bit} of byte {} of page {} flipped", at % PAGE, at / PAGE)
            }
            Damage::Zero { page } => format!("page {page} zeroed"),
            Damage::Swap { pages } => format!("pages {pages:?} swapped"),
            Damage::Older { pages } => format!("older pages {pages:?}"),
            Damage::Header { older } => format!("the header of closing {older}"),
            Damage::Cut { len } => format!("cut to {len} bytes"),
        };
        (name, self)
    }

    fn applied(&self) -> Vec<u8> {
        let Whole { bytes, older, headers, .. } = whole();
        let mut out = bytes.clone();
        let of = |page: usize| page * PAGE..(page + 1) * PAGE;
        match self {
            Damage::Flip { at, bit } => out[*at] ^= 1 << bit,
            Damage::Zero { page } => out[of(*page)].fill(0),
            Damage::Swap { pages: [a, b] } => {
                out[of(*a)].copy_from_slice(&bytes[of(*b)]);
                out[of(*b)].copy_from_slice(&bytes[of(*a)]);
            }
            Damage::Older { pages } => {
                pages.iter().for_each(|&page| out[of(page)].copy_from_slice(&older[of(page)]))
            }
            Damage::Header { older } => out[HEADER].copy_from_slice(&headers[*older]),
            Damage::Cut { len } => out.truncate(*len),
        }
        out
    }
}

#[test]
fn flipped_bits_are_noticed() {
    let (mut rng, whole) = (Rng(1), whole());
    let used = whole.used_pages();
    let mut bytes: Vec<usize> =
        (0..whole.bytes.len() / PAGE).map(|page| page * PAGE + rng.below(16)).collect();
    bytes.extend((0..5000).map(|_| used[rng.below(used.len())] * PAGE + rng.below(PAGE)));
    bytes.extend((0..500).map(|_| rng.below(3 * PAGE)));
    let cases = bytes.into_iter().map(|at| Damage::Flip { at, bit: rng.below(8) as u32 }.named()).collect();
    assert_noticed(&examine_all("flips", cases));
}

#[test]
fn zeroed_swapped_and_older_pages_are_noticed() {
    let (mut rng, whole) = (Rng(2), whole());
    let used = whole.used_pages();
    let mut pick = || used[rng.below(used.len())];
    let mut cases: Vec<Damage> = used.iter().map(|&page| Damage::Zero { page }).collect();
    cases.extend((0..400).map(|_| Damage::Swap { pages: [pick(), pick()] }));
    let both = whole.bytes.len().min(whole.older.len()) / PAGE;
    let of = |page: usize| page * PAGE..(page + 1) * PAGE;
    let changed = (0..both).filter(|&page| whole.bytes[of(page)] != whole.older[of(page)]);
    cases.extend(changed.map(|page| Damage::Older { pages: vec![page] }));
    assert_noticed(&examine_all(
        "zeroed, swapped and older pages",
        cases.into_iter().map(Damage::named).collect(),
    ));
}

#[test]
fn truncations_are_noticed() {
    let (mut rng, len) = (Rng(3), whole().bytes.len());
    let mut cases: Vec<Damage> = (0..len / PAGE).map(|page| Damage::Cut { len: page * PAGE }).collect();
    cases.extend((0..200).map(|_| Damage::Cut { len: rng.below(len) }));
    assert_noticed(&examine_all("truncations", cases.into_iter().map(Damage::named).collect()));
}

#[test]
fn older_headers_are_noticed() {
    let cases = (0..whole().headers.len()).map(|older| Damage::Header { older }.named()).collect();
    let counts = examine_all("older headers", cases);
    assert!(counts.keys().eq([&Outcome::CleanError]), "{counts:?}");
}

#[test]
fn verify_names_a_place_for_every_flip() {
    let (mut rng, whole) = (Rng(4), whole());
    let open = |bytes| {
        let options = Options { read_only: true, ..options(FLUSH) };
        Database::open_on(MemoryDisk::of(bytes), options)
    };
    assert_eq!(open(whole.bytes.clone()).unwrap().verify(true).unwrap().damage, []);
    let (mut named, mut refused) = (0, 0);
    for _ in 0..400 {
        let at = rng.below(whole.bytes.len());
        // The second page has seals of pages that are not there yet.
        if at / PAGE == 1 && at % PAGE / 4 > whole.bytes.len() / PAGE - 3 {
            continue;
        }
        let (name, damage) = Damage::Flip { at, bit: rng.below(8) as u32 }.named();
        match open(damage.applied()) {
            Ok(db) => {
                let verified = db.verify(false).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(verified.damaged > 0 && verified.intact.is_some(), "{name} is not named");
                named += 1;
            }
            Err(Error::Corrupt { .. } | Error::Incompatible { .. }) => refused += 1,
            Err(error) => panic!("{name}: {error}"),
        }
    }
    eprintln!("{named} flips named, {refused} files refused");
    assert!(named > 0 && refused > 0);
}
