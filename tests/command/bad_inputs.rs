//! One bad document, line or file is named and harms no other.

use crate::run::Shell;

#[test]
fn bad_lines_are_named_and_their_neighbours_stored() {
    let shell = Shell::new();
    let bad = [
        "{\"id\":\"x\",\"text\":\"broken",
        "{\"id\":\"x\"}",
        "{\"id\":\"x\",\"text\":null}",
        "{\"id\":\"x\",\"text\":5}",
        "{\"id\":1.5,\"text\":\"x\"}",
        "{\"id\":[1],\"text\":\"x\"}",
        "{\"id\":true,\"text\":\"x\"}",
        "[1,2]",
        "text",
        "null",
        "{\"id\":\"\\udc00\",\"text\":\"x\"}",
        "{} {}",
        "{\"id\":\"x\",\"text\":\"x\"} more",
        "{\"id\":\"x\",\"text\":\"\\q\"}",
        "{\"id\":\"x\",\"text\":\"tab\there\"}",
        "\u{1}",
        "{\"id\":99999999999999999999999,\"text\":\"x\"}",
    ];
    let deep = "[".repeat(100_000);
    let bad: Vec<&str> = bad.into_iter().chain([deep.as_str()]).collect();
    let lines: String = bad
        .iter()
        .enumerate()
        .map(|(n, bad)| format!("{{\"id\":{n},\"text\":\"good {n}\"}}\n{bad}\n"))
        .collect();
    shell.write("in.jsonl", lines + "{\"id\":\"last\",\"text\":\"good\"}");
    let mut ran = shell.run(&["--json", "add", "db", "in.jsonl"]).exits(3);
    for number in 0..bad.len() {
        ran = ran
            .says(&format!("in.jsonl:{}: ", 2 * number + 2))
            .keeps_silent_of(&format!("in.jsonl:{}: ", 2 * number + 1));
    }
    let good: Vec<String> = (0..bad.len()).map(|number| number.to_string()).chain(["last".into()]).collect();
    assert_eq!(ran.column("key"), good);
    good.iter().for_each(|key| drop(shell.run(&["get", "db", key]).exits(0)));
    shell.run(&["get", "db", "x"]).exits(1);
}

#[test]
fn what_is_wrong_with_a_line_is_said_in_words_of_its_fields() {
    let shell = Shell::new();
    for (line, said) in [
        ("{\"id\":1.5,\"text\":\"x\"}", "\"id\" must be a string or an integer"),
        ("{\"id\":[\", expected it\"],\"text\":\"x\"}", "\"id\" must be a string or an integer"),
        ("{\"text\":5}", "\"text\" must be a string"),
        ("\"a word at line 7\"", "a line must be a JSON object"),
        ("{\"id\":1}", "no field \"text\" (--text-field names another)"),
        ("{\"text\":\"a\",\"text\":\"b\"}", "the field of the text comes twice"),
        ("text", "not JSON: a value is missing or malformed (column 1)"),
        ("{\"text\":\"brok", "not JSON: it ends too early (column 14)"),
    ] {
        shell.write("in.jsonl", format!("\n{line}\n"));
        let ran = shell.run(&["--quiet", "add", "db", "in.jsonl"]).exits(3);
        assert_eq!(ran.err, format!("sketchdb: in.jsonl:2: {said}\n"));
    }
    shell.write("in.jsonl", "{\"name\":true,\"body\":\"x\"}\n");
    let fields = ["--id-field", "name", "--text-field", "body"];
    shell
        .run(&[&["add", "db", "in.jsonl"], &fields[..]].concat())
        .exits(3)
        .says("\"name\" must be a string or");
}

#[test]
fn a_key_that_is_no_key_is_named_by_its_line() {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &[("a", "one"), ("", "two"), (&"k".repeat(5000), "three"), ("d", "four")]);
    for args in [&["--json", "add", "db", "in.jsonl"][..], &["--json", "query", "db", "in.jsonl", "--self"]] {
        let ran = shell
            .run(args)
            .exits(3)
            .says("in.jsonl:2: ")
            .says("in.jsonl:3: ")
            .keeps_silent_of(&"k".repeat(100));
        assert_eq!(ran.json().len(), 2, "{args:?}");
    }
}

#[test]
fn bad_lines_spoil_no_query() {
    let shell = Shell::new();
    shell.database("db", &[("a", "one two three")]);
    shell.write("q.jsonl", "broken\n{\"id\":\"q\",\"text\":\"one two three\"}\n{\"id\":\"r\"}\n");
    let ran =
        shell.run(&["--json", "query", "db", "q.jsonl"]).exits(3).says("q.jsonl:1: ").says("q.jsonl:3: ");
    assert_eq!((ran.column("query"), ran.column("match")), (vec!["q".into()], vec!["a".into()]));
}

#[test]
fn missing_files_are_named_and_their_neighbours_stored() {
    let shell = Shell::new();
    shell.write("a.txt", "one");
    shell.write("b.txt", "two");
    let ran = shell
        .run(&["--json", "add", "db", "no.txt", "a.txt", "no/at/all.jsonl", "b.txt", "a.txt/x"])
        .exits(3);
    let ran = ran.says("no.txt: ").says("no/at/all.jsonl: ").says("a.txt/x: ");
    assert_eq!(ran.column("key"), ["a.txt", "b.txt"]);
}

#[test]
fn what_is_no_archive_is_named() {
    let shell = Shell::new();
    shell.write("a.warc.gz", "x");
    shell.write("b.txt", "one");
    let ran = shell.run(&["--json", "add", "db", "a.warc.gz", "b.txt"]).exits(3).says("a.warc.gz:0: ");
    assert_eq!(ran.column("key"), ["b.txt"]);
}

#[cfg(unix)]
mod unix {
    use super::Shell;
    use crate::common::skipped::skipped;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    #[test]
    fn pipes_and_loops_in_a_directory_are_named() {
        let shell = Shell::new();
        shell.write("folder/a.txt", "one");
        shell.write("folder/z.txt", "two");
        shell.write("aim.txt", "three");
        assert!(Command::new("mkfifo").arg(shell.path("folder/pipe")).status().unwrap().success());
        symlink("y", shell.path("folder/x")).unwrap();
        symlink("x", shell.path("folder/y")).unwrap();
        symlink(".", shell.path("folder/self")).unwrap();
        symlink("nowhere", shell.path("folder/dangling")).unwrap();
        symlink("../aim.txt", shell.path("folder/link.txt")).unwrap();
        let mut ran = shell.run(&["--json", "add", "db", "folder", "folder/pipe"]).exits(3);
        for name in ["pipe", "x", "y", "dangling"] {
            ran = ran.says(&format!("folder/{name}: "));
        }
        assert_eq!(ran.column("key"), ["folder/a.txt", "folder/link.txt", "folder/z.txt"]);
    }

    #[test]
    fn names_that_are_no_utf8_are_named() {
        let shell = Shell::new();
        shell.write("folder/a.txt", "one");
        let odd = shell.path("folder").join(std::ffi::OsStr::from_bytes(b"b\xFF.txt"));
        if std::fs::write(odd, "two").is_err() {
            return skipped("this file system has no names but UTF-8");
        }
        let ran = shell.run(&["--json", "add", "db", "folder"]).exits(3).says("not UTF-8");
        assert_eq!(ran.column("key"), ["folder/a.txt"]);
    }

    #[test]
    fn what_may_not_be_read_is_named() {
        let shell = Shell::new();
        shell.write("folder/a.txt", "one");
        shell.write("folder/closed/b.txt", "two");
        shell.write("folder/c.txt", "three");
        let set = |name: &str, mode: u32| {
            std::fs::set_permissions(shell.path(name), PermissionsExt::from_mode(mode)).unwrap()
        };
        set("folder/closed", 0o000);
        set("folder/c.txt", 0o000);
        // The database is made beside the folder.
        set("", 0o777);
        set("folder", 0o755);
        if let Some(ran) = shell.run_bound("folder/c.txt", &["--json", "add", "db", "folder"]) {
            let ran = ran.exits(3).says("folder/closed: ").says("folder/c.txt: ");
            assert_eq!(ran.column("key"), ["folder/a.txt"]);
        }
        set("folder/closed", 0o700);
    }

    #[test]
    fn a_pipe_is_no_database() {
        let shell = Shell::new();
        shell.write("a.txt", "one");
        assert!(Command::new("mkfifo").arg(shell.path("pipe")).status().unwrap().success());
        for args in [&["stats", "pipe"][..], &["add", "pipe", "a.txt"], &["create", "pipe"]] {
            shell.run(args).exits(2).gives_nothing();
        }
    }
}

#[test]
fn a_database_is_no_document_of_the_folder_it_lies_in() {
    let shell = Shell::new();
    shell.write("folder/a.txt", "one two three");
    for verdict in ["new", "unchanged"] {
        let lines = shell.json(&["add", "folder/db", "folder"]);
        let told: Vec<_> = lines.iter().map(|line| (&line["key"], &line["verdict"])).collect();
        assert_eq!(told, [(&"folder/a.txt".into(), &verdict.into())]);
    }
}
