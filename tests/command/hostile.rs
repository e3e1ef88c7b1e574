//! Inputs that are made to do harm, or are no input at all: each is named, its neighbours are stored, nothing else happens.
//!
//! `SKETCHDB_FILES=100000` puts so many files into a folder; 5,000 without it.

use crate::run::{Ran, Shell};
use std::io::Write;
use std::process::{Command, Stdio};

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn files_of_next_to_nothing_are_what_they_are() {
    let shell = Shell::new();
    for (name, bytes) in [
        ("0.txt", &b""[..]),
        ("1.txt", b"x"),
        ("2.txt", b"\0"),
        ("3.jsonl", b""),
        ("4.jsonl", b"\n \n\n"),
        ("5.gz", b""),
        ("6.jsonl.gz", b""),
        ("7.txt.zst", b""),
        ("8.txt.gz", b"\x1F"),
        ("9.txt", b"the last one"),
    ] {
        shell.write(&format!("folder/{name}"), bytes);
    }
    let mut ran = shell.run(&["--json", "add", "db", "folder"]).exits(3);
    for bad in ["5.gz: ", "6.jsonl.gz:1: ", "7.txt.zst: ", "8.txt.gz: "] {
        ran = ran.says(&format!("folder/{bad}"));
    }
    assert_eq!(ran.column("key"), ["0.txt", "1.txt", "2.txt", "9.txt"].map(|name| format!("folder/{name}")));
}

#[test]
#[cfg(target_os = "linux")]
fn a_bomb_is_read_to_its_end_in_little_memory() {
    let shell = Shell::new();
    let bomb = gz(&vec![b'a'; 100 << 20]);
    let line = gz(&[&b"{\"id\":\"line\",\"text\":\""[..], &vec![b' '; 100 << 20], b"\"}\n"].concat());
    assert!(bomb.len() < 1 << 18 && line.len() < 1 << 18);
    shell.write("bomb.txt.gz", bomb);
    shell.write("bomb.jsonl.gz", line);
    shell.write("within.txt.gz", gz(&gz(&vec![b'a'; 1 << 20])));
    shell.write("z.txt", "a good neighbour");
    let script = "ulimit -d 65536 && exec \"$0\" --threads 2 --memory 8M --json add db *.gz z.txt";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_sketchdb")]).current_dir(shell.path("."));
    let ran = Ran::of(command.output().unwrap()).exits(0);
    assert_eq!(ran.column("key"), ["line", "bomb.txt.gz", "within.txt.gz", "z.txt"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_bomb_is_no_export() {
    let shell = Shell::new();
    shell.write("bomb.gz", gz(&vec![0; 200 << 20]));
    let script = "ulimit -d 98304 && exec \"$0\" --memory 8M import db bomb.gz";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_sketchdb")]).current_dir(shell.path("."));
    let ran =
        Ran::of(command.output().unwrap()).exits(3).says("line 1 of the export: a line of 209715200 bytes");
    assert!(ran.err.starts_with("sketchdb: ") && !shell.path("db").exists(), "{ran:?}");
}

#[test]
fn an_export_that_cannot_be_read_is_an_unreadable_input() {
    let shell = Shell::new();
    shell.database("stock", &[("a", "one two three four"), ("b", "five six seven eight")]);
    let export = gz(shell.run(&["export", "stock"]).exits(0).out.as_bytes());
    shell.write("whole.gz", &export);
    shell.write("cut.gz", &export[..export.len() / 2]);
    shell.write("bad.gz", [&export[..export.len() - 8], &[0; 8]].concat());
    for file in ["cut.gz", "bad.gz", "missing.gz", "."] {
        let ran = shell.run(&["import", "db", file]).exits(3).gives_nothing();
        assert!(ran.err.starts_with(&format!("sketchdb: {file}: ")) && !shell.path("db").exists(), "{ran:?}");
    }
    shell.run(&["import", "db", "whole.gz"]).exits(0);
}

#[test]
fn what_is_said_of_an_input_cannot_move_the_cursor() {
    let shell = Shell::new();
    shell.database("db", &[("a", "one two three four")]);
    let red = "no\u{1b}[31mRED";
    shell.write(&format!("{red}.txt"), b"\xC3\xA9\xC3\xA9 one \xFF");
    let feed = |args: &[&str]| shell.feed(args, format!("{red}\n"));
    for ran in [
        feed(&["add", "new", "-", "--format", "paths"]).exits(3),
        shell.run(&["add", "new", red]).exits(3),
        shell.run(&["add", "new", &format!("{red}.txt")]).exits(0),
        shell.run(&["remove", "db", "--keys-from", red]).exits(3),
        shell.run(&["import", "new2", red]).exits(3),
        shell.run(&["stats", red]).exits(2),
    ] {
        let ran = ran.says("RED");
        assert!(!ran.err.contains('\u{1b}'), "{ran:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn where_there_are_fewer_threads_than_asked_for_these_do_the_work() {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &[("a", "one two three"), ("b", "four five six")]);
    let script = "ulimit -v 100000 && exec \"$0\" --threads 1000 --memory 8M --json add db in.jsonl";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_sketchdb")]).current_dir(shell.path("."));
    let ran = Ran::of(command.output().unwrap()).exits(0);
    assert_eq!(ran.column("key"), ["a", "b"]);
}

#[test]
fn odd_keys_and_texts_are_kept_as_they_are() {
    let shell = Shell::new();
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let key = "k".repeat(4096);
    let lines = [
        r#"{"id":"nul\u0000key\n\u001b[31m","text":"\u0000 one two"}"#.to_owned(),
        format!(r#"{{"x":{deep},"id":"deep","text":"three four"}}"#),
        format!(r#"{{"text":"five six","id":"{key}"}}"#),
        format!(r#"{{"text":"seven","id":"{}"}}"#, "k".repeat(1_000_000)),
        r#"{"id":"","text":"eight"}"#.to_owned(),
        r#"{"id":"\ud834\udd1e","text":"nine"}"#.to_owned(),
    ];
    shell.write("in.jsonl", lines.join("\n"));
    let ran =
        shell.run(&["--json", "add", "db", "in.jsonl"]).exits(3).says("in.jsonl:4: ").says("in.jsonl:5: ");
    assert!(ran.err.len() < 1000, "{} bytes are said", ran.err.len());
    assert_eq!(ran.column("key"), ["nul\0key\n\u{1b}[31m", "deep", &key, "\u{1D11E}"]);
    let ran = shell.run(&["query", "db", "in.jsonl", "--self"]).exits(3);
    assert!(!ran.out.contains(['\0', '\u{1b}']), "a key moves the cursor");
}

#[test]
fn a_key_that_comes_again_is_an_update() {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &[("a", "one"), ("b", "two"), ("a", "three"), ("a", "three")]);
    let ran = shell.run(&["--json", "add", "db", "in.jsonl"]).exits(0);
    assert_eq!(ran.column("verdict"), ["new", "new", "updated", "unchanged"]);
}

#[test]
fn many_files_in_a_folder_are_all_read_in_order() {
    let files: usize = std::env::var("SKETCHDB_FILES").ok().and_then(|n| n.parse().ok()).unwrap_or(5000);
    let shell = Shell::new();
    shell.write("folder/file", "");
    std::fs::remove_file(shell.path("folder/file")).unwrap();
    for number in 0..files {
        let path = shell.path("folder").join(format!("{number:06}.txt"));
        std::fs::write(path, format!("file number {number}")).unwrap();
    }
    let ran = shell.run(&["--json", "add", "db", "folder"]).exits(0);
    let keys = ran.column("key");
    assert_eq!(keys.len(), files);
    assert!(keys.is_sorted() && ran.column("verdict").iter().all(|verdict| verdict == "new"));
}

#[test]
fn a_file_that_vanishes_is_named() {
    let shell = Shell::new();
    shell.write("gone.txt", "one");
    shell.write("stays.txt", "two");
    let mut command = shell.command(&["--json", "add", "db", "-", "--format", "paths"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // The walk has the file now, no worker has: pieces wait for others to come.
    pipe.write_all(b"gone.txt\n").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    std::fs::remove_file(shell.path("gone.txt")).unwrap();
    pipe.write_all(b"stays.txt\n").unwrap();
    drop(pipe);
    let ran = Ran::of(child.wait_with_output().unwrap()).exits(3).says("gone.txt: ");
    assert_eq!(ran.column("key"), ["stays.txt"]);
}

/// Every verb that opens a database, with what it needs besides.
const VERBS: [&[&str]; 14] = [
    &["add", "DB", "a.txt"],
    &["query", "DB", "a.txt"],
    &["get", "DB", "a"],
    &["remove", "DB", "a"],
    &["expire", "DB", "--unseen-for", "1d"],
    &["pairs", "DB"],
    &["clusters", "DB"],
    &["stats", "DB"],
    &["verify", "DB"],
    &["compact", "DB"],
    &["rebuild", "DB"],
    &["rebuild", "DB", "--salvage"],
    &["export", "DB"],
    &["dedup", "a.txt", "--against", "DB"],
];

/// Runs every verb on a path, which no verb may change.
fn refused(shell: &Shell, path: &str, codes: &[i32], words: &str) {
    for verb in VERBS {
        let args: Vec<&str> = verb.iter().map(|word| if *word == "DB" { path } else { word }).collect();
        let before = std::fs::read(shell.path(path)).ok();
        let ran = shell.run(&args);
        // What verify finds is what it is for.
        assert!(ran.out.is_empty() || verb[0] == "verify", "{ran:?}");
        assert!(codes.contains(&ran.code), "{ran:?}");
        assert!(ran.err.contains(words), "{args:?}: {}", ran.err);
        assert_eq!(std::fs::read(shell.path(path)).ok(), before, "{args:?}");
    }
}

#[test]
fn what_is_no_database_is_refused_by_every_verb_and_left_alone() {
    let shell = Shell::new();
    shell.write("a.txt", "one two three");
    shell.write("empty", "");
    shell.write("byte", "s");
    shell.write("magic", "sketchdb");
    shell.write("text", "one two three ".repeat(10_000));
    shell.write("zeros", vec![0; 1 << 20]);
    shell.write("folder.sketchdb/file", "");
    for name in ["empty", "byte", "magic", "text", "zeros"] {
        refused(&shell, name, &[4], "");
    }
    refused(&shell, "folder.sketchdb", &[2], "folder.sketchdb");
    for nowhere in ["a.txt/db", "no/such/db"] {
        refused(&shell, nowhere, &[2], "");
    }
    let names = std::fs::read_dir(shell.path(".")).unwrap().count();
    assert_eq!(names, 7, "something was left behind");
}

#[test]
#[cfg(target_os = "linux")]
fn devices_are_neither_inputs_nor_databases() {
    let shell = Shell::new();
    shell.write("a.txt", "one");
    let ran = shell.run(&["--json", "add", "db", "/dev/null", "/dev/zero", "a.txt"]).exits(3);
    let ran = ran.says("/dev/null: ").says("/dev/zero: ");
    assert_eq!(ran.column("key"), ["a.txt"]);
    for device in ["/dev/null", "/dev/zero"] {
        for verb in VERBS {
            let args: Vec<&str> = verb.iter().map(|word| if *word == "DB" { device } else { word }).collect();
            shell.run(&args).exits(2).gives_nothing().says(device);
        }
    }
}
