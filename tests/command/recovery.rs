//! After a writer was killed: every verb works by itself, readers that start together among them.

use crate::common::texts::{Draw, text};
use crate::interrupted::is_unclosed;
use crate::run::Shell;
use sketchdb::{Database, Options};
use std::process::Stdio;

const READING: [&[&str]; 11] = [
    &["query", "db", "a.txt"],
    &["get", "db", "late"],
    &["stats", "db"],
    &["pairs", "db", "--copies"],
    &["clusters", "db"],
    &["export", "db"],
    &["verify", "db", "--deep"],
    &["dedup", "a.txt", "--against", "db"],
    &["sketch", "a.txt", "--like", "db"],
    &["merge", "other", "db"],
    &["recover", "db"],
];

/// A folder with the file of a killed writer, whose last document is `late`, and a database to merge it into.
fn killed() -> (Shell, Vec<u8>) {
    let shell = Shell::new();
    let draw = &mut Draw::new(1);
    let late = text(draw, 100);
    shell.write("a.txt", &late);
    shell.database("other", &[("x", "a text of another database")]);
    shell.database("made", &[("a", &late), ("b", &text(draw, 100))]);
    let writer = Database::open(shell.path("made"), Options::default()).unwrap();
    writer.add("late", &late).unwrap();
    let image = shell.bytes("made");
    drop(writer);
    std::fs::remove_file(shell.path("made")).unwrap();
    assert!(is_unclosed(&image));
    shell.write("db", &image);
    (shell, image)
}

#[test]
fn every_reading_verb_recovers_what_a_killed_writer_left() {
    let (shell, image) = killed();
    for args in READING {
        shell.write("db", &image);
        shell.run(args).exits(0).keeps_silent_of("recover");
        assert!(!is_unclosed(&shell.bytes("db")), "{args:?} left the file to be recovered");
        shell.run(&["get", "db", "late"]).exits(0);
    }
}

#[test]
fn who_may_not_write_reads_the_last_commit() {
    let (shell, image) = killed();
    // As long as somebody reads it nobody may write to it.
    let reader = Database::open(shell.path("db"), Options { read_only: true, ..Options::default() }).unwrap();
    assert_eq!(reader.documents(), 3);
    for args in &READING[..10] {
        shell.run(args).exits(0);
        assert_eq!(shell.bytes("db"), image, "{args:?} wrote");
    }
    shell.run(&["recover", "db"]).exits(6).gives_nothing().says("in use");
    shell.run(&["add", "db", "a.txt"]).exits(6);
    drop(reader);
    assert_eq!(shell.bytes("db"), image);
}

#[test]
fn readers_that_start_together_all_answer() {
    let (shell, image) = killed();
    for _ in 0..6 {
        shell.write("db", &image);
        let start = |_| {
            let mut command = shell.command(&["--quiet", "get", "db", "late"]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let readers: Vec<_> = (0..12).map(start).collect();
        for reader in readers {
            let ended = reader.wait_with_output().unwrap();
            assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
        }
        // Each may have kept all others from writing. Whoever comes alone recovers the file.
        shell.run(&["get", "db", "late"]).exits(0);
        assert!(!is_unclosed(&shell.bytes("db")));
        assert_eq!(shell.files(), ["a.txt", "db", "other"]);
    }
}

#[test]
fn recover_says_whether_there_was_anything_to_do() {
    let (shell, image) = killed();
    assert_eq!(shell.run(&["recover", "db"]).exits(0).out, "recovered 3 documents\n");
    assert_eq!(shell.run(&["recover", "db"]).exits(0).out, "nothing to recover: 3 documents\n");
    shell.write("db", &image);
    for recovered in [true, false] {
        let line = &shell.json(&["recover", "db"])[0];
        assert_eq!(*line, serde_json::json!({"recovered": recovered, "documents": 3}));
    }
    shell.run(&["recover", "none"]).exits(2).says("no database");
    shell.run(&["recover", "a.txt"]).exits(4).says("no sketchdb database");
    shell.write("cut", &image[..image.len() / 2]);
    shell.run(&["recover", "cut"]).exits(4).says("cut: corrupt");
    let _writer = Database::open(shell.path("db"), Options::default()).unwrap();
    shell.run(&["recover", "db"]).exits(6).says("in use");
}

#[test]
fn a_lock_is_waited_for_as_long_as_was_asked() {
    let (shell, _) = killed();
    let writer = Database::open(shell.path("db"), Options::default()).unwrap();
    for wait in ["0", "0.2"] {
        shell.run(&["--wait", wait, "get", "db", "late"]).exits(6).says("in use");
        shell.run(&["--wait", wait, "compact", "db"]).exits(6).says("in use");
    }
    for wait in ["-1", "soon", "", "nan", "inf"] {
        shell.run(&["get", "db", "late", &format!("--wait={wait}")]).exits(2);
    }
    let waiting: [&[&str]; 6] = [
        &["get", "db", "late"],
        &["verify", "db"],
        &["compact", "db"],
        &["rebuild", "db"],
        &["merge", "other", "db"],
        &["add", "db", "a.txt"],
    ];
    std::thread::scope(|scope| {
        let shell = &shell;
        let run = |args: &&[&str]| shell.run(&[*args, &["--wait", "120"]].concat()).code;
        let runs: Vec<_> = waiting.iter().map(|args| scope.spawn(move || run(args))).collect();
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(runs.iter().all(|run| !run.is_finished()));
        drop(writer);
        for (args, run) in waiting.iter().zip(runs) {
            assert_eq!(run.join().unwrap(), 0, "{args:?}");
        }
    });
}
