//! Proves that damage is noticed: whatever happens to the bytes of a file, every question is answered as before or with
//! an error that names the place, never wrongly and never with a panic.
//!
//! `SKETCHDB_DAMAGE=all` makes it exhaustive on a smaller file: `everything.rs`.

#[path = "../common/mod.rs"]
mod common;
mod contradictions;
mod crafted;
mod everything;
mod imports;
mod wide;
mod rows;
mod salvage;
mod sealed;
mod told;

use common::disk::{CrashDisk, MemoryDisk, Survives};
use common::params;
use common::rng::Rng;
use common::workload::{Workload, options};
use sketchdb::{Database, Error, Options};
use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock};

const PAGE: usize = 4096;
const FLUSH: u64 = 40;
/// Cases between two lines that say how far it is.
const PROGRESS: usize = 10_000;

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
    WHOLE.get_or_init(|| Whole::new(40, 20))
}

/// The bytes of a database each time it was closed, which is after every step.
fn closed_again_and_again(workload: &Workload) -> Vec<Vec<u8>> {
    let disk = workload.empty_file();
    let closed = |number: usize| {
        let db = Database::open_on(disk.clone(), options(FLUSH)).unwrap();
        workload.step(&db, number).unwrap();
        db.close().unwrap();
        disk.bytes()
    };
    (0..workload.len()).map(closed).collect()
}

impl Whole {
    fn new(steps: usize, documents: usize) -> Self {
        Self::of(Workload::new(3, steps, documents))
    }

    fn of(mut workload: Workload) -> Self {
        workload.record(FLUSH).unwrap();
        let mut closed = closed_again_and_again(&workload);
        let (bytes, older) = (closed.pop().unwrap(), closed[closed.len() / 2].clone());
        let headers = closed.iter().map(|bytes| bytes[HEADER].to_vec()).collect();
        Whole { workload, bytes, older, headers }
    }

    /// The pages that are not all zeros.
    fn used_pages(&self) -> Vec<usize> {
        let used = |page: &&[u8]| page.iter().any(|&byte| byte != 0);
        self.bytes.chunks(PAGE).enumerate().filter(|(_, page)| used(page)).map(|(number, _)| number).collect()
    }

    /// The pages that differ from what they were before.
    fn changed_pages(&self) -> Vec<usize> {
        let both = self.bytes.chunks(PAGE).zip(self.older.chunks(PAGE)).enumerate();
        both.filter(|(_, (now, before))| now != before).map(|(number, _)| number).collect()
    }
}

/// What came of asking a damaged file everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    SameAnswers,
    CleanError,
    WrongPlace,
    WrongAnswer,
    Panic,
}

/// Asks everything, then adds something when the file is open for writing. The first error tells.
fn ask(whole: &Whole, db: Result<Database, Error>, read_only: bool) -> Result<Outcome, Error> {
    let (workload, mut error) = (&whole.workload, None);
    let db = db?;
    for answer in workload.questions(&db, workload.len()) {
        match answer {
            Ok(None) => {}
            Ok(Some(difference)) => {
                eprintln!("wrong: {difference}");
                return Ok(Outcome::WrongAnswer);
            }
            Err(wrong) => drop(error.get_or_insert(wrong)),
        }
    }
    if let (false, None) = (read_only, &error) {
        db.add("another document", "a text that no other document has, of a dozen words or so")?;
        db.close()?;
    }
    error.map_or(Ok(Outcome::SameAnswers), Err)
}

/// Opens damaged bytes, read-only or for writing.
fn examine(whole: &Whole, (name, damage): &(String, Damage), read_only: bool) -> Outcome {
    let bytes = damage.applied(whole);
    let asked = catch_unwind(AssertUnwindSafe(|| {
        let db = Database::open_on(MemoryDisk::of(bytes), Options { read_only, ..options(FLUSH) });
        ask(whole, db, read_only)
    }));
    let outcome = match asked {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(Error::Corrupt { at, .. })) if damage.is_at(&at, whole) => Outcome::CleanError,
        Ok(Err(Error::Incompatible { .. })) if damage.leaves_nothing_known() => Outcome::CleanError,
        Ok(Err(error)) => {
            eprintln!("{name}: {error:?}");
            Outcome::WrongPlace
        }
        Err(_) => Outcome::Panic,
    };
    if outcome > Outcome::CleanError {
        eprintln!("{name}: {outcome:?}, read-only {read_only}");
    }
    outcome
}

/// Examines every case on two threads and prints what came of them.
fn examine_all(
    whole: &Whole,
    what: &str,
    cases: impl Iterator<Item = Damage> + Send,
) -> BTreeMap<Outcome, usize> {
    let (counts, next) = (Mutex::new(BTreeMap::new()), Mutex::new(cases.map(Damage::named).enumerate()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((number, case)) = next.lock().unwrap().next() else { break };
                    let outcome = examine(whole, &case, number % 2 == 0);
                    let mut counts = counts.lock().unwrap();
                    *counts.entry(outcome).or_insert(0) += 1;
                    if (number + 1) % PROGRESS == 0 {
                        eprintln!("{what}: {counts:?} so far");
                    }
                }
            });
        }
    });
    let counts = counts.into_inner().unwrap();
    eprintln!("{} {what}: {counts:?}", counts.values().sum::<usize>());
    counts
}

fn assert_noticed(counts: &BTreeMap<Outcome, usize>) {
    assert!(counts.keys().all(|outcome| *outcome <= Outcome::CleanError), "{counts:?}");
    assert!(counts.get(&Outcome::CleanError).is_some_and(|&errors| errors > 0));
}

/// What happens to the bytes.
enum Damage {
    Flip { at: usize, bit: u32 },
    Zero { pages: Range<usize> },
    Swap { pages: [usize; 2] },
    Older { pages: Range<usize> },
    Header { older: usize },
    Cut { len: usize },
}

impl Damage {
    fn named(self) -> (String, Damage) {
        let name = match &self {
            Damage::Flip { at, bit } => {
                format!("bit {bit} of byte {} of page {} flipped", at % PAGE, at / PAGE)
            }
            Damage::Zero { pages } => format!("pages {pages:?} zeroed"),
            Damage::Swap { pages } => format!("pages {pages:?} swapped"),
            Damage::Older { pages } => format!("older pages {pages:?}"),
            Damage::Header { older } => format!("the header of closing {older}"),
            Damage::Cut { len } => format!("cut to {len} bytes"),
        };
        (name, self)
    }

    fn applied(&self, whole: &Whole) -> Vec<u8> {
        let Whole { bytes, older, headers, .. } = whole;
        let mut out = bytes.clone();
        let of = |page: usize| page * PAGE..(page + 1) * PAGE;
        match self {
            Damage::Flip { at, bit } => out[*at] ^= 1 << bit,
            Damage::Zero { pages } => out[pages.start * PAGE..pages.end * PAGE].fill(0),
            Damage::Swap { pages: [a, b] } => {
                out[of(*a)].copy_from_slice(&bytes[of(*b)]);
                out[of(*b)].copy_from_slice(&bytes[of(*a)]);
            }
            Damage::Older { pages } => {
                pages.clone().for_each(|page| out[of(page)].copy_from_slice(&older[of(page)]))
            }
            Damage::Header { older } => out[HEADER].copy_from_slice(&headers[*older]),
            Damage::Cut { len } => out.truncate(*len),
        }
        out
    }

    /// Whether the first bytes and the header are gone, so that nobody can say what the file was.
    fn leaves_nothing_known(&self) -> bool {
        match self {
            Damage::Cut { len } => *len < 8,
            Damage::Zero { pages } => pages.start == 0 && pages.end * PAGE >= HEADER.end,
            _ => false,
        }
    }

    /// Whether this is the place that an error must name: a page that was damaged, or one whose seal was.
    fn is_at(&self, at: &str, whole: &Whole) -> bool {
        let byte: Option<usize> =
            at.split("byte ").nth(1).and_then(|rest| rest.trim_end_matches(')').parse().ok());
        let Some(page) = byte.map(|byte| byte / PAGE) else { return false };
        let (all, sealed) = (0..whole.bytes.len() / PAGE, 1);
        match self {
            Damage::Flip { at, .. } => at / PAGE == page || (at / PAGE == sealed && all.contains(&page)),
            Damage::Zero { pages } | Damage::Older { pages } => {
                pages.contains(&page) || pages.contains(&sealed)
            }
            Damage::Swap { pages } => pages.contains(&page) || pages.contains(&sealed),
            Damage::Header { .. } => page == HEADER.start / PAGE,
            // Of less than a sector it is the superblock that is wrong.
            Damage::Cut { len } => *len < 512 || at == format!("end of the file at byte {len}"),
        }
    }
}

#[test]
fn flipped_bits_are_noticed() {
    let (mut rng, whole) = (Rng(1), whole());
    let used = whole.used_pages();
    let mut bytes: Vec<usize> =
        (0..whole.bytes.len() / PAGE).map(|page| page * PAGE + rng.below(16)).collect();
    bytes.extend((0..4000).map(|_| used[rng.below(used.len())] * PAGE + rng.below(PAGE)));
    bytes.extend((0..500).map(|_| rng.below(3 * PAGE)));
    let cases = bytes.into_iter().map(|at| Damage::Flip { at, bit: rng.below(8) as u32 });
    assert_noticed(&examine_all(whole, "flips", cases));
}

#[test]
fn damage_is_noticed_whatever_the_parameters() {
    for (seed, params) in (0..).zip(params::sets(19)) {
        let whole = Whole::of(Workload::with(&params, seed, 12, 12));
        let (mut rng, used) = (Rng(seed), whole.used_pages());
        let flips = (0..150).map(|_| {
            let at = used[rng.below(used.len())] * PAGE + rng.below(PAGE);
            Damage::Flip { at, bit: rng.below(8) as u32 }
        });
        let mut cases: Vec<Damage> = flips.collect();
        cases.extend(used.iter().map(|&page| Damage::Zero { pages: page..page + 1 }));
        let what = format!("flips and zeroed pages, {}, {}", params.sketch.shingle, params.keep_sketches);
        assert_noticed(&examine_all(&whole, &what, cases.into_iter()));
    }
}

#[test]
fn zeroed_swapped_and_older_pages_are_noticed() {
    let (mut rng, whole) = (Rng(2), whole());
    let used = whole.used_pages();
    let mut pick = || used[rng.below(used.len())];
    let mut cases: Vec<Damage> = used.iter().map(|&page| Damage::Zero { pages: page..page + 1 }).collect();
    cases.extend((0..400).map(|_| Damage::Swap { pages: [pick(), pick()] }));
    cases.extend(whole.changed_pages().into_iter().map(|page| Damage::Older { pages: page..page + 1 }));
    assert_noticed(&examine_all(whole, "zeroed, swapped and older pages", cases.into_iter()));
}

#[test]
fn truncations_are_noticed() {
    let (mut rng, len) = (Rng(3), whole().bytes.len());
    let mut cases: Vec<Damage> = (0..len / PAGE).map(|page| Damage::Cut { len: page * PAGE }).collect();
    cases.extend((0..200).map(|_| Damage::Cut { len: rng.below(len) }));
    assert_noticed(&examine_all(whole(), "truncations", cases.into_iter()));
}

#[test]
fn older_headers_are_noticed() {
    let cases = (0..whole().headers.len()).map(|older| Damage::Header { older });
    let counts = examine_all(whole(), "older headers", cases);
    assert!(counts.keys().eq([&Outcome::CleanError]), "{counts:?}");
}

#[test]
fn an_older_file_put_back_whole_is_a_whole_file() {
    let options = Options { read_only: true, ..options(FLUSH) };
    let db = Database::open_on(MemoryDisk::of(whole().older.clone()), options).unwrap();
    assert_eq!(db.verify(true).unwrap().damage, []);
}

#[test]
fn verify_names_a_place_for_every_flip() {
    let (mut rng, whole) = (Rng(4), whole());
    let len = whole.bytes.len();
    // In the page of seals, those of pages that are not there among them.
    let seals = (0..200).map(|number| PAGE + 5 + 19 * number);
    let cases: Vec<usize> = (0..400).map(|_| rng.below(len)).chain(seals).collect();
    let flips = cases.into_iter().map(|at| Damage::Flip { at, bit: rng.below(8) as u32 });
    let (named, refused) = name_all(whole, flips);
    eprintln!("{named} flips named, {refused} files refused");
    assert!(named > 0 && refused > 0);
}

#[test]
fn what_a_crash_leaves_is_no_damage_to_a_reader() {
    let disk = CrashDisk::over(whole().bytes.clone());
    let db = Database::open_on(disk.clone(), options(FLUSH)).unwrap();
    db.add("another", "a text of some words that no other document has").unwrap();
    db.close().unwrap();
    let (mut rng, mut whole) = (Rng(7), 0);
    disk.history().epochs(|_, epoch| {
        for survives in [Survives::Some; 6].into_iter().chain([Survives::Nothing, Survives::Everything]) {
            let image = epoch.crash(epoch.moment(&mut rng), survives, &mut rng);
            let options = Options { read_only: true, ..options(FLUSH) };
            let disk = MemoryDisk::of(image.clone());
            let db = Database::open_on(disk.clone(), options).unwrap();
            assert_eq!(db.verify(true).unwrap().damage, []);
            assert_eq!(disk.bytes(), image, "a reader wrote");
            whole += 1;
        }
    });
    eprintln!("{whole} crashed files are whole to a reader");
    assert!(whole > 50);
}

/// Has damage named by `verify`: how many files it was named in, and how many were refused with a place.
fn name_all(whole: &Whole, cases: impl Iterator<Item = Damage>) -> (usize, usize) {
    let open = |bytes| {
        let options = Options { read_only: true, ..options(FLUSH) };
        Database::open_on(MemoryDisk::of(bytes), options)
    };
    assert_eq!(open(whole.bytes.clone()).unwrap().verify(true).unwrap().damage, []);
    let (mut named, mut refused) = (0, 0);
    for (name, damage) in cases.map(Damage::named) {
        match open(damage.applied(whole)) {
            Ok(db) => {
                let verified = db.verify(false).unwrap_or_else(|error| panic!("{name}: {error}"));
                assert!(verified.damaged > 0, "{name} is not named");
                if named % 16 == 0 {
                    let counted = salvage::saved(damage.applied(whole));
                    assert_eq!(verified.intact, Some(counted), "{name}");
                }
                let at = &verified.damage[0].at;
                assert!(damage.is_at(at, whole), "{name} is named as {at}");
                named += 1;
            }
            Err(Error::Corrupt { at, .. }) => {
                assert!(damage.is_at(&at, whole), "{name} is named as {at}");
                refused += 1;
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
    (named, refused)
}
