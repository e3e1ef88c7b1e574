//! Proves that a full disk is said to be full, that what was acknowledged is there and can be asked for, and that no verb
//! harms a file or leaves another.
//!
//! The disk is a small file system in memory. Where mounting is not permitted, the test runs itself again among users and
//! mounts of its own.

use super::common::place::Place;
use super::common::rng::Rng;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const DOCUMENTS: usize = 30_000;
/// Documents that are removed at most until the full disk refuses it.
const REMOVED: usize = 50;
/// Says that this is the run among mounts of its own.
const UNSHARED: &str = "SKETCHDB_UNSHARED";

/// A small file system, and a folder beside it.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    /// `None` when mounting is not permitted.
    fn mount(megabytes: usize) -> Option<Self> {
        let disk = Disk { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(disk.root()).unwrap();
        let size = format!("size={megabytes}m");
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", &size, "none"]).arg(disk.root()).output();
        mount.is_ok_and(|mount| mount.status.success()).then_some(disk)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn file(&self, name: &str) -> String {
        self.root().join(name).to_str().unwrap().to_owned()
    }

    fn beside(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.root()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Takes all the room that there is.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.root().join("filler")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.root()).output();
    }
}

fn text(number: usize) -> String {
    let mut rng = Rng(number as u64);
    (0..60).map(|_| format!("w{} ", rng.below(5000))).collect()
}

fn run(args: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sketchdb"));
    command.args(args);
    feed(command, stdin)
}

/// Runs where no file may grow beyond so many megabytes.
fn run_limited(megabytes: usize, args: &[&str], stdin: &str) -> Output {
    let mut command = Command::new("sh");
    let blocks = (megabytes << 20 >> 9).to_string();
    let script = "ulimit -f \"$0\"; exec \"$@\"";
    command.args(["-c", script, &blocks, env!("CARGO_BIN_EXE_sketchdb")]).args(args);
    feed(command, stdin)
}

fn feed(mut command: Command, stdin: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A command that fails early reads nothing.
        scope.spawn(move || drop(pipe.write_all(stdin.as_bytes())));
        child.wait_with_output().unwrap()
    })
}

/// Runs what must fail for want of room, name where, and say what to do.
fn refused(args: &[&str], place: &str) {
    check_refused(&run(args, ""), args, place);
}

fn check_refused(output: &Output, args: &[&str], place: &str) {
    check_told(output, args, [place, "No space left", "make room"]);
}

/// Checks that the command failed, and what it said.
fn check_told(output: &Output, args: &[&str], words: [&str; 3]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{args:?}: {said}");
    let missing: Vec<_> = words.iter().filter(|words| !said.contains(**words)).collect();
    assert!(missing.is_empty(), "{args:?} does not say {missing:?}: {said}");
}

fn done(args: &[&str]) -> String {
    let output = run(args, "");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a test with a small disk, or says why it does not.
fn with_disk(name: &str, megabytes: usize, test: impl FnOnce(&Disk)) {
    if let Some(disk) = Disk::mount(megabytes) {
        return test(&disk);
    }
    if std::env::var_os(UNSHARED).is_some() {
        return without_disk(name);
    }
    let own = std::env::current_exe().unwrap();
    let mut again = Command::new("unshare");
    again.arg("-rm").arg(own).args([&format!("full::{name}"), "--exact", "--nocapture"]);
    match again.env(UNSHARED, "1").status() {
        Ok(status) if status.success() => {}
        Ok(status) if status.code() == Some(101) => panic!("among mounts of its own"),
        _ => without_disk(name),
    }
}

/// Where nobody may mount, a limit of file sizes stands for the full disk: see the tests at the end.
fn without_disk(name: &str) {
    eprintln!("{name}: by a limit of file sizes only: neither `mount` nor `unshare -rm` is permitted");
}

fn lines() -> String {
    let line = |number| format!("{{\"id\":\"k{number}\",\"text\":\"{}\"}}\n", text(number));
    (0..DOCUMENTS).map(line).collect()
}

/// Adds until the disk is full: the keys whose verdicts were printed.
fn add_until_full(db: &str) -> Vec<String> {
    let args = ["--json", "add", db, "-", "--format", "jsonl"];
    let output = run(&args, &lines());
    check_refused(&output, &args, db);
    acknowledged(output)
}

/// The keys whose verdicts were printed.
fn acknowledged(output: Output) -> Vec<String> {
    let verdicts = String::from_utf8(output.stdout).unwrap();
    let key =
        |line| serde_json::from_str::<serde_json::Value>(line).unwrap()["key"].as_str().unwrap().to_owned();
    verdicts.lines().map(key).collect()
}

/// Checks that a database has every key, and what else it holds.
fn check_keys(db: &str, keys: &[String]) {
    let opened = sketchdb::Database::open(Path::new(db), sketchdb::Options::default()).unwrap();
    for key in keys {
        assert!(opened.get(key).unwrap().is_some(), "{key} was acknowledged");
    }
    assert_eq!(opened.verify(true).unwrap().damage, []);
    opened.close().unwrap();
}

/// Asks a database on the full disk whatever can be asked.
fn ask(db: &str, key: &str, after: &str) {
    let reading: [&[&str]; 5] = [
        &["stats", db],
        &["get", db, key],
        &["verify", db, "--deep"],
        &["clusters", db],
        &["query", db, "-"],
    ];
    for args in reading {
        let output = run(args, &text(0));
        let said = String::from_utf8_lossy(&output.stderr);
        // There may be no clusters to print.
        let answers = [Some(0), Some(if args[0] == "clusters" { 1 } else { 0 })];
        let answered = answers.contains(&output.status.code());
        assert!(answered, "{args:?} on the full disk after {after}: {} {said}", output.status);
    }
}

/// Does on the full disk all that can be done, and asks after each: how many keys at the end were removed, or refused to be.
fn use_on_full(disk: &Disk, db: &str, keys: &[String]) -> usize {
    ask(db, &keys[0], "add");
    let (left, root) = (disk.names(), disk.root());
    let refuse = |args: &[&str]| {
        let output = run(args, "");
        let done = output.status.success();
        if !done {
            check_refused(&output, args, root.to_str().unwrap());
            ask(db, &keys[0], args[0]);
        }
        assert_eq!(disk.names(), left, "{args:?} left something");
        !done
    };
    let most = (keys.len() - 1).min(REMOVED);
    let removed = (1..=most).find(|number| refuse(&["remove", db, &keys[keys.len() - number]]));
    eprintln!("on a full disk, this remove was refused: {removed:?}");
    for verb in ["compact", "rebuild"] {
        assert!(refuse(&[verb, db]), "{verb} found room on a full disk");
    }
    removed.unwrap_or(most)
}

#[test]
fn what_was_acknowledged_is_there_when_the_disk_is_full() {
    with_disk("what_was_acknowledged_is_there_when_the_disk_is_full", 6, |disk| {
        let (db, larger) = (disk.file("db"), disk.beside("larger"));
        let mut keys = add_until_full(&db);
        assert!(!keys.is_empty() && keys.len() < DOCUMENTS, "{} were added", keys.len());
        disk.fill();
        let removed = use_on_full(disk, &db, &keys);
        eprintln!("a full disk: {} documents acknowledged and there", keys.len());
        std::fs::copy(&db, &larger).unwrap();
        keys.truncate(keys.len() - removed);
        check_keys(&larger, &keys);
        done(&["add", &larger, file!()]);
        std::fs::remove_file(&larger).unwrap();
    });
}

/// Checks for a while that nobody recovers a database whose writer waits.
fn check_unrecovered(db: &str) {
    let options = sketchdb::Options { read_only: true, ..sketchdb::Options::default() };
    let mut unrecovered = 0;
    while unrecovered < 20 {
        match sketchdb::Database::open(db, options.clone()) {
            Err(sketchdb::Error::Locked(_)) => {}
            Err(error) => panic!("{error}"),
            Ok(_) => {
                // The flag in the header of the store that says that the file is to be recovered.
                let flags = std::fs::read(db).unwrap()[8192 + 9];
                assert!(flags & 2 != 0, "it was recovered before the error was said");
                unrecovered += 1;
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn the_error_is_said_before_the_database_is_recovered() {
    with_disk("the_error_is_said_before_the_database_is_recovered", 6, |disk| {
        let db = disk.file("db");
        let (mut said, mut saying) = std::io::pipe().unwrap();
        // Whoever says something now waits until it is heard.
        saying.write_all(&[b' '; 1 << 16]).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_sketchdb"));
        command.args(["--json", "--quiet", "add", &db, "-", "--format", "jsonl"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(saying);
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut texts, mut verdicts) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                (0..DOCUMENTS).try_for_each(|number| {
                    writeln!(texts, "{{\"id\":\"k{number}\",\"text\":\"{}\"}}", text(number))
                })
            });
            // Once there is a verdict, the file is locked until adding ended.
            verdicts.read_exact(&mut [0]).unwrap();
            scope.spawn(move || std::io::copy(&mut verdicts, &mut std::io::sink()));
            let checked = std::panic::catch_unwind(|| check_unrecovered(&db));
            let mut heard = String::new();
            said.read_to_string(&mut heard).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(5), "{heard}");
            assert!(heard.contains("No space left"), "{heard}");
            checked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        done(&["stats", &db]);
    });
}

#[test]
fn outputs_that_find_no_room_are_not_there() {
    with_disk("outputs_that_find_no_room_are_not_there", 8, |disk| {
        let (input, db) = (disk.beside("in.jsonl"), disk.beside("db"));
        let lines: String = (0..200)
            .map(|number| format!("{{\"id\":\"k{number}\",\"text\":\"{}\"}}\n", text(number / 2)))
            .collect();
        std::fs::write(&input, &lines).unwrap();
        done(&["add", &db, &input]);
        let exported = disk.beside("export");
        std::fs::write(&exported, done(&["export", &db])).unwrap();
        disk.fill();
        let ([small, large], root) = ([disk.file("out"), disk.beside("out")], disk.root());
        let root = root.to_str().unwrap();
        for keep in ["first", "longest"] {
            for (output, removed) in [(&small, &large), (&large, &small)] {
                refused(&["dedup", &input, "--output", output, "--removed", removed, "--keep", keep], root);
                assert!(!Path::new(&large).exists(), "--keep {keep}: one of two outputs took its place");
                assert_eq!(disk.names(), ["filler"]);
            }
        }
        refused(&["import", &small, &exported], root);
        refused(&["create", &small], root);
        let mut import = Command::new(env!("CARGO_BIN_EXE_sketchdb"));
        import.args(["import", &db, &exported]).env("TMPDIR", root);
        let temporary = format!("a temporary file in {root} (TMPDIR names another folder)");
        check_refused(&import.output().unwrap(), &["import"], &temporary);
        assert_eq!(disk.names(), ["filler"]);
        let out = std::fs::File::create(&small).unwrap();
        let export = Command::new(env!("CARGO_BIN_EXE_sketchdb")).args(["export", &db]).stdout(out).output();
        let export = export.unwrap();
        let said = String::from_utf8_lossy(&export.stderr);
        assert!(export.status.code() == Some(5) && said.contains("stdout: No space left"), "{said}");
    });
}

/// What is said of a file that may not grow.
const MAY_NOT_GROW: [&str; 2] = ["File too large", "raise the limit"];

#[test]
fn what_was_acknowledged_is_there_when_the_file_may_not_grow() {
    let place = Place::empty();
    let db = place.file("db").to_str().unwrap().to_owned();
    let args = ["--json", "add", &db, "-", "--format", "jsonl"];
    let output = run_limited(12, &args, &lines());
    check_told(&output, &args, [&db, MAY_NOT_GROW[0], MAY_NOT_GROW[1]]);
    let keys = acknowledged(output);
    assert!(!keys.is_empty() && keys.len() < DOCUMENTS, "{} were added", keys.len());
    // It was recovered before the command ended: whoever may not write reads it.
    for args in [&["stats", &db][..], &["get", &db, &keys[0]], &["verify", &db]] {
        let output = run_limited(0, args, "");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    check_keys(&db, &keys);
    done(&["add", &db, file!()]);
}

#[test]
fn outputs_that_may_not_grow_are_not_there() {
    let place = Place::empty();
    let [input, db, out, export] =
        ["in.jsonl", "db", "out", "export"].map(|name| place.file(name).to_str().unwrap().to_owned());
    std::fs::write(&input, lines().lines().take(3000).collect::<Vec<_>>().join("\n")).unwrap();
    done(&["add", &db, &input]);
    std::fs::write(&export, done(&["export", &db])).unwrap();
    let before = std::fs::read(&db).unwrap();
    let names = || {
        let names = std::fs::read_dir(place.file("")).unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let left = names();
    for args in [
        &["dedup", &input, "--output", &out][..],
        &["import", &out, &export],
        &["create", &out],
        &["compact", &db],
        &["rebuild", &db],
    ] {
        let output = run_limited(0, args, "");
        check_told(&output, args, ["sketchdb: ", MAY_NOT_GROW[0], MAY_NOT_GROW[1]]);
        assert_eq!(names(), left, "{args:?} left something");
        assert!(std::fs::read(&db).unwrap() == before, "{args:?} changed the database");
    }
}
