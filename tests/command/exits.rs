//! Exit codes: each that can be provoked, and which of several wins.

use crate::common::skipped::skipped;
use crate::common::texts::{Draw, text};
use crate::run::Shell;
use sketchdb::{Database, Options};

#[test]
fn done_is_0_and_nothing_found_1() {
    let shell = Shell::new();
    shell.run(&["create", "db"]).exits(0).gives_nothing();
    shell.write("a.txt", "one two three four five six");
    shell.run(&["query", "db", "a.txt"]).exits(1).gives_nothing();
    shell.run(&["get", "db", "a.txt"]).exits(1).gives_nothing();
    shell.run(&["add", "db", "a.txt"]).exits(0);
    shell.run(&["get", "db", "a.txt"]).exits(0);
    shell.run(&["query", "db", "a.txt"]).exits(1).gives_nothing();
    shell.run(&["query", "db", "a.txt", "--self"]).exits(0);
    shell.run(&["stats", "db"]).exits(0);
    for words in ["--help", "--version", "add --help"] {
        shell.run(&words.split(' ').collect::<Vec<_>>()).exits(0);
    }
}

#[test]
fn wrong_usage_is_2() {
    let shell = Shell::new();
    shell.run(&["create", "no/such/folder/db"]).exits(2).gives_nothing().says("no such folder");
    shell.database("db", &[("a", "text")]);
    shell.write("a.txt", "text");
    for line in [
        "",
        "bogus",
        "add",
        "add db",
        "query db",
        "get db",
        "stats",
        "stats db more",
        "create",
        "add db a.txt --bogus",
        "add db - -",
        "sketch - a.txt - --format jsonl",
        "query db a.txt --threshold 0",
        "query db a.txt --threshold 1.5",
        "query db a.txt --threshold nan",
        "query db a.txt --threshold x",
        "query db a.txt --by bogus",
        "query db a.txt --by hamming --threshold 65",
        "query db a.txt --by hamming --threshold 2.5",
        "query db a.txt --accept bogus",
        "query db a.txt --limit -1",
        "add db a.txt --seen-at yesterday",
        "add db a.txt --format bogus",
        "add db a.txt --threads 0",
        "add db a.txt --memory little",
        "create new --threshold 2",
        "create new --recall 1",
        "create new --hamming 8",
        "create new --hamming-tables 5",
        "create new --shingle words:0",
        "create new --shingle words",
        "create new --sample 1",
        "create new --minhashes 0",
        "create new --seed x",
        "query missing a.txt",
        "get missing a",
        "stats missing",
        "create db",
    ] {
        let args: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        let ran = shell.run(&args).exits(2).gives_nothing();
        assert!(!ran.err.is_empty(), "{line}: no word on stderr");
    }
    let long = "k".repeat(4097);
    for key in ["", &long] {
        shell.run(&["get", "db", key]).exits(2).gives_nothing();
    }
    assert!(!shell.path("new").exists());
}

#[test]
fn unreadable_inputs_are_3_and_win_over_nothing_found() {
    let shell = Shell::new();
    shell.write("a.txt", "one two three four five six");
    shell.run(&["add", "db", "missing.txt", "a.txt"]).exits(3).says("missing.txt");
    shell.run(&["get", "db", "a.txt"]).exits(0);
    shell.run(&["query", "db", "missing.txt", "a.txt", "--self"]).exits(3).says("missing.txt");
    shell.run(&["query", "db", "missing.txt"]).exits(3).gives_nothing();
}

#[test]
fn wrong_parameters_win_over_unreadable_inputs() {
    let shell = Shell::new();
    shell.database("db", &[("a", "text")]);
    shell.run(&["query", "db", "missing.txt", "--threshold", "7"]).exits(2).gives_nothing();
    shell.run(&["add", "new", "missing.txt", "--threshold", "7"]).exits(2);
    shell.run(&["add", "db", "missing.txt", "--threshold", "0.7"]).exits(4);
    for wrong in ["0", "1.5", "80"] {
        shell.run(&["add", "db", "missing.txt", "--threshold", wrong]).exits(2).says("must lie in (0, 1]");
    }
}

#[test]
fn what_is_no_database_or_a_damaged_one_is_4() {
    let shell = Shell::new();
    shell.write("a.txt", "one two three four five six");
    for (name, bytes) in [("empty", vec![]), ("short", b"hello".to_vec()), ("zeros", vec![0; 1 << 20])] {
        shell.write(name, &bytes);
        for args in
            [&["stats", name][..], &["add", name, "a.txt"], &["query", name, "a.txt"], &["get", name, "a"]]
        {
            let word = format!("sketchdb: {name} is no sketchdb database (by its first bytes): ");
            shell.run(args).exits(4).gives_nothing().says(&word).says("the database is named first");
        }
        assert_eq!(std::fs::read(shell.path(name)).unwrap(), bytes, "{name} was left as it was");
    }
    shell.database("db", &[("a", "text")]);
    let mut bytes = std::fs::read(shell.path("db")).unwrap();
    bytes[0] ^= 1;
    shell.write("damaged", &bytes);
    shell.run(&["stats", "damaged"]).exits(4).gives_nothing();
    bytes[0] ^= 1;
    shell.write("cut", &bytes[..bytes.len() / 2]);
    shell.run(&["stats", "cut"]).exits(4).gives_nothing();
    for args in ["stats cut", "add cut a.txt", "compact cut", "merge db cut", "rebuild cut"] {
        shell.run(&args.split(' ').collect::<Vec<_>>()).exits(4).says("sketchdb: cut: corrupt");
    }
}

#[test]
fn stdin_is_no_database() {
    let shell = Shell::new();
    shell.write("a.txt", "text");
    for args in [&["add", "-", "a.txt"][..], &["create", "-"], &["import", "-", "a.txt"]] {
        shell.run(args).exits(2).gives_nothing().says("the database is a file").says("./-");
    }
    assert_eq!(std::fs::read_dir(shell.path("")).unwrap().count(), 1);
    shell.run(&["create", "./-"]).exits(0);
}

#[test]
fn who_names_no_input_is_told_how() {
    let shell = Shell::new();
    for (args, usage) in [
        (&["add", "db"][..], "sketchdb add <DB> <INPUT>..."),
        (&["query", "db"], "sketchdb query <DB> <INPUT>..."),
        (&["sketch"], "sketchdb sketch <INPUT>..."),
        (&["dedup"], "sketchdb dedup <INPUT>..."),
    ] {
        shell.run(args).exits(2).gives_nothing().says(&format!("Usage: {usage}"));
        let help = shell.run(&[args[0], "--help"]).exits(0).out;
        assert!(help.contains("<INPUT>...") && !help.contains("[INPUT]"), "{help}");
    }
    shell.run(&["add", "db", "-", "-"]).exits(2).says("Usage: sketchdb add");
}

#[test]
fn a_folder_as_database_is_2() {
    let shell = Shell::new();
    shell.write("folder/a.txt", "text");
    for args in [&["stats", "folder"][..], &["add", "folder", "folder/a.txt"], &["create", "folder"]] {
        shell.run(args).exits(2).gives_nothing();
    }
}

#[test]
fn a_failing_system_is_5() {
    let shell = Shell::new();
    shell.write("a.txt", "text");
    if !std::path::Path::new("/dev/full").exists() {
        return skipped("there is no /dev/full");
    }
    shell.database("db", &[("a", "text"), ("b", "text")]);
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for args in
        [&["stats", "db"][..], &["get", "db", "a"], &["add", "db", "a.txt"], &["query", "db", "a.txt"]]
    {
        let code = shell.command(args).stdout(full()).output().unwrap().status.code();
        assert_eq!(code, Some(5), "{args:?}");
    }
    shell.run(&["get", "db", "a.txt"]).exits(0);
}

#[test]
fn a_locked_database_is_6() {
    let shell = Shell::new();
    shell.database("db", &[("a", "text")]);
    shell.write("a.txt", "text");
    let db = Database::open(shell.path("db"), Options::default()).unwrap();
    for args in
        [&["stats", "db"][..], &["get", "db", "a"], &["add", "db", "a.txt"], &["query", "db", "a.txt"]]
    {
        shell.run(args).exits(6).gives_nothing().says("in use");
    }
    shell.run(&["query", "db", "missing.txt"]).exits(6);
    db.add("b", text(&mut Draw::new(1), 20)).unwrap();
    drop(db);
    // A process that another test starts may hold the lock until it has begun.
    let wait = std::time::Duration::from_secs(60);
    let options = Options { read_only: true, wait, ..Options::default() };
    let reader = Database::open(shell.path("db"), options).unwrap();
    shell.run(&["get", "db", "b"]).exits(0);
    shell.run(&["add", "db", "a.txt"]).exits(6);
    drop(reader);
}
