//! Proves that whoever has read a verdict may forget the document: a process killed while it adds has kept every one whose
//! line it printed, and of the others the first ones, whole.

use super::common::place::Place;
use super::common::rng::Rng;
use super::processes::rounds;
use sketchdb::{Database, Options};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Several commits of one run.
const DOCUMENTS: usize = 10_000;
/// Runs that add to one file after another: what was killed is recovered and added to.
const ROUNDS_OF_A_FILE: usize = 4;

fn key(round: usize, number: usize) -> String {
    format!("{round}/{number}")
}

/// Three documents have the same text.
fn text(round: usize, number: usize) -> String {
    let mut rng = Rng((round * DOCUMENTS + number) as u64 / 3);
    (0..20).map(|_| format!("w{} ", rng.below(5000))).collect()
}

fn input(round: usize) -> String {
    let line =
        |number| format!("{{\"id\":\"{}\",\"text\":\"{}\"}}\n", key(round, number), text(round, number));
    (0..DOCUMENTS).map(line).collect()
}

/// Adds and kills the command after a while, or when so many verdicts were read: the keys of all that it printed.
fn add(db: &Path, input: &str, at_most: Duration, verdicts: usize) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sketchdb"));
    command.args(["--json", "--quiet", "add"]).arg(db).args(["-", "--format", "jsonl"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (reached, enough) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        // A command that was killed reads no more.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        let reading = scope.spawn(move || {
            let (mut lines, mut line, mut keys) = (BufReader::new(stdout), Vec::new(), Vec::new());
            while lines.read_until(b'\n', &mut line).unwrap() > 0 && line.last() == Some(&b'\n') {
                let verdict: serde_json::Value = serde_json::from_slice(&line).unwrap();
                keys.push(verdict["key"].as_str().unwrap().to_owned());
                if keys.len() == verdicts {
                    reached.send(()).unwrap();
                }
                line.clear();
            }
            keys
        });
        let _ = enough.recv_timeout(at_most);
        child.kill().unwrap();
        child.wait().unwrap();
        reading.join().unwrap()
    })
}

/// Checks what is there of a round of which so many documents were acknowledged: how many there are.
fn check(db: &Database, round: usize, acknowledged: usize) -> usize {
    let mut there = 0;
    for number in 0..DOCUMENTS {
        let stored = db.get(&key(round, number)).unwrap();
        assert!(stored.is_some() || number >= acknowledged, "{} was acknowledged", key(round, number));
        if let Some(stored) = stored {
            assert_eq!(there, number, "{} came before those that are missing", key(round, number));
            assert_eq!(stored.bytes, text(round, number).len() as u64, "{}", key(round, number));
            there += 1;
        }
    }
    there
}

#[test]
fn a_process_killed_while_it_adds_has_kept_what_it_acknowledged() {
    let (place, mut rng) = (Place::empty(), Rng(8));
    let started = Instant::now();
    let whole = add(&place.path(), &input(0), Duration::MAX, usize::MAX);
    let took = started.elapsed();
    assert_eq!(whole.len(), DOCUMENTS);
    let (mut acknowledged, mut there) = (Vec::new(), 0);
    for round in 0..rounds() {
        if round % ROUNDS_OF_A_FILE == 0 {
            std::fs::remove_file(place.path()).unwrap();
            acknowledged.clear();
        }
        let at_most = took * rng.below(1000) as u32 / 1000;
        // Just after lines were printed is when those that were printed too early are lost.
        let (at_most, verdicts) = match round % 2 {
            0 => (at_most, usize::MAX),
            _ => (Duration::from_secs(60), 1 + rng.below(DOCUMENTS)),
        };
        let keys = add(&place.path(), &input(round), at_most, verdicts);
        assert!(keys.iter().enumerate().all(|(number, at)| *at == key(round, number)), "in order");
        acknowledged.push((round, keys.len()));
        if !place.path().exists() {
            assert!(keys.is_empty(), "{} verdicts and no file", keys.len());
            Database::create(place.path(), &sketchdb::Params::default()).unwrap();
        }
        let db = Database::open(place.path(), Options::default()).unwrap();
        there += acknowledged.iter().map(|&(round, keys)| check(&db, round, keys)).sum::<usize>();
        assert_eq!(db.verify(true).unwrap().damage, []);
        db.close().unwrap();
    }
    assert!(there > 0, "nothing was acknowledged in any round");
    eprintln!("add: killed {} times, {there} documents looked for and found", rounds());
}
