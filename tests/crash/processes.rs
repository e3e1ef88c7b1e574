//! Proves that a process killed while it writes a file anew leaves the old file or the new one, and that nothing is written
//! to a file that another has taken the place of.

use super::common::place::{Place, exported, read_only};
use super::common::rng::Rng;
use sketchdb::{Database, Error, Options, Params};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const DOCUMENTS: usize = 300;

/// Rounds of killing each verb: some here, hundreds where the environment asks for them.
pub fn rounds() -> usize {
    std::env::var("SKETCHDB_KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(10)
}

fn text(number: usize) -> String {
    (0..30).map(|word| format!("word{} ", (number / 3 * 31 + word * word) % 4000)).collect()
}

pub fn fill(path: &Path, prefix: &str) {
    Database::create(path, &Params::default()).unwrap();
    let db = Database::open(path, Options { flush_contents: 60, ..Options::default() }).unwrap();
    let documents = (0..DOCUMENTS).map(|number| {
        let sketch = db.sketch(text(number)).unwrap();
        sketchdb::Document { key: format!("{prefix}{number}"), sketch, seen_at: Some(number as u64) }
    });
    db.add_batch(documents.collect(), sketchdb::Policy::Everything).unwrap();
    db.remove((0..DOCUMENTS).step_by(7).map(|number| format!("{prefix}{number}"))).unwrap();
    db.close().unwrap();
}

pub fn check(path: &Path, prefix: &str) {
    let db = Database::open(path, Options::default()).unwrap();
    for number in 0..DOCUMENTS {
        let there = db.get(&format!("{prefix}{number}")).unwrap().is_some();
        assert_eq!(there, number % 7 != 0, "{prefix}{number}");
    }
    assert_eq!(db.verify(true).unwrap().damage, []);
    db.close().unwrap();
}

/// Runs the command and kills it after a while; how long it took, when it came to its end before.
pub fn run(args: &[&str], at_most: Option<Duration>) -> Option<Duration> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sketchdb"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().unwrap();
    if let Some(at_most) = at_most {
        std::thread::sleep(at_most);
        child.kill().unwrap();
        child.wait().unwrap();
        return None;
    }
    assert!(child.wait().unwrap().success(), "{args:?}");
    Some(started.elapsed())
}

#[test]
fn a_process_killed_while_it_writes_anew_leaves_a_whole_file() {
    let place = Place::empty();
    let [old, other, export, db] =
        ["old.sketchdb", "other.sketchdb", "export", "db.sketchdb"].map(|name| place.file(name));
    fill(&old, "a");
    fill(&other, "b");
    let lines = exported(&Database::open(&old, read_only()).unwrap()).unwrap();
    std::fs::write(&export, lines.join("\n")).unwrap();
    let [at, other, export] = [&db, &other, &export].map(|path| path.to_str().unwrap());
    let verbs: [&[&str]; 4] =
        [&["compact", at], &["rebuild", at], &["merge", at, other], &["import", at, export]];
    let mut rng = Rng(4);
    for args in verbs {
        let begin = || match args[0] {
            "import" => drop(std::fs::remove_file(&db)),
            _ => drop(std::fs::copy(&old, &db).unwrap()),
        };
        begin();
        let whole = run(args, None).unwrap();
        check(&db, "a");
        for _ in 0..rounds() {
            begin();
            run(args, Some(whole * rng.below(1000) as u32 / 1000));
            if args[0] == "import" && !db.exists() {
                continue;
            }
            check(&db, "a");
        }
        // Whatever was left beside it is in nobody's way.
        begin();
        run(args, None).unwrap();
        check(&db, "a");
    }
}

#[test]
fn what_is_added_while_a_file_is_replaced_is_refused_or_kept() {
    const ADDED: usize = 150;
    let place = Place::new();
    let path = place.path();
    let done = std::sync::atomic::AtomicBool::new(false);
    let (added, (compacted, refused)) = std::thread::scope(|scope| {
        let compacting = scope.spawn(|| {
            let (mut compacted, mut refused) = (0, 0);
            // Once all is added nobody refuses it.
            while compacted == 0 || !done.load(std::sync::atomic::Ordering::Relaxed) {
                match Database::compact(&path, Options::default(), &mut |_, _, _| {}) {
                    Ok(_) => compacted += 1,
                    Err(Error::Locked(_)) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            (compacted, refused)
        });
        let mut added = Vec::new();
        while added.len() < ADDED {
            let key = format!("key {}", added.len());
            match Database::open(&path, Options::default()) {
                Ok(db) => {
                    db.add(&key, text(added.len() * 3)).unwrap();
                    db.close().unwrap();
                    added.push(key);
                }
                Err(Error::Locked(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        (added, compacting.join().unwrap())
    });
    let db = place.open();
    let lost: Vec<&String> = added.iter().filter(|key| db.get(key).unwrap().is_none()).collect();
    assert!(lost.is_empty(), "lost after {compacted} compactions, {refused} refusals: {lost:?}");
}
