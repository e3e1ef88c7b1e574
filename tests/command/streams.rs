//! stdout carries data, stderr the rest; nobody is bothered when the reader has gone.

use crate::run::Shell;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

fn many_lines(count: usize) -> String {
    (0..count).map(|number| format!("{{\"id\":{number},\"text\":\"text of number {number}\"}}\n")).collect()
}

#[test]
fn quiet_keeps_warnings_and_summaries_from_stderr() {
    let shell = Shell::new();
    shell.write("a.txt", b"one two three four five \xC3\xA9\xC3\xA9 \xFF");
    shell.write("b.txt", "one two three four five six");
    for args in [
        &["create", "new"][..],
        &["add", "db", "a.txt", "b.txt"],
        &["query", "db", "b.txt", "--threshold", "0.1", "--self"],
        &["get", "db", "a.txt"],
        &["stats", "db"],
    ] {
        let ran = shell.run(&[args, &["--quiet"]].concat()).exits(0);
        assert_eq!(ran.err, "", "{args:?}");
    }
    assert_eq!(shell.run(&["--quiet", "get", "db", "no"]).exits(1).err, "");
    let loud = shell.run(&["add", "db", "a.txt", "b.txt"]).exits(0);
    loud.says("2 documents").says("2 unchanged").says("ill-formed");
}

#[test]
fn quiet_still_names_what_went_wrong() {
    let shell = Shell::new();
    shell.run(&["--quiet", "add", "db", "missing.txt"]).exits(3).says("missing.txt");
    shell.run(&["--quiet", "stats", "none"]).exits(2).says("none");
}

#[test]
fn stderr_has_no_colours_and_no_progress_when_it_is_no_terminal() {
    let shell = Shell::new();
    shell.write("in.jsonl", many_lines(3000));
    for args in [
        &["add", "db", "in.jsonl"][..],
        &["query", "db", "in.jsonl", "--self"],
        &["bogus"],
        &["stats", "none"],
    ] {
        let ran = shell.run(args);
        assert!(!ran.err.contains(['\u{1b}', '\r']) && !ran.out.contains('\u{1b}'), "{args:?}: {}", ran.err);
        assert!(ran.err.lines().count() < 20, "{args:?}: {}", ran.err);
    }
}

#[test]
fn stdout_has_json_lines_only() {
    let shell = Shell::new();
    shell.write("in.jsonl", many_lines(50) + "broken\n");
    let added = shell.run(&["add", "db", "in.jsonl", "missing.txt", "--json"]).exits(3);
    assert_eq!(added.json().len(), 50);
    let found = shell
        .run(&["query", "db", "in.jsonl", "missing.txt", "--json", "--threshold", "0.2", "--self"])
        .exits(3);
    assert!(found.json().len() >= 50);
    shell.run(&["get", "db", "none", "--json"]).exits(1).gives_nothing();
}

/// Runs a command whose stdout is closed after a line; its exit code and stderr.
fn head(shell: &Shell, args: &[&str]) -> (Option<i32>, String) {
    let mut command = shell.command(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(!line.is_empty());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (child.wait().unwrap().code(), err)
}

#[test]
fn a_broken_pipe_ends_the_command_quietly() {
    let shell = Shell::new();
    shell.write("in.jsonl", many_lines(40_000));
    for args in [
        &["--json", "add", "db", "in.jsonl"][..],
        &["--json", "query", "db", "in.jsonl", "--self"],
        &["query", "db", "in.jsonl", "--self"],
    ] {
        let (code, err) = head(&shell, args);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{args:?}");
    }
    // What was told is there, and the file is whole.
    shell.run(&["get", "db", "0"]).exits(0);
    shell.run(&["--quiet", "add", "db", "in.jsonl"]).exits(0);
    assert_eq!(shell.json(&["stats", "db"])[0]["documents"], 40_000);
}

#[test]
fn a_line_appears_while_stdin_stays_open() {
    let shell = Shell::new();
    let mut command = shell.command(&["--json", "add", "db", "-", "--format", "jsonl"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut stdin, mut out) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for number in 0..3 {
        writeln!(stdin, "{{\"id\":{number},\"text\":\"text {number}\"}}").unwrap();
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("{{\"key\":\"{number}\"")), "{line}");
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn nobody_listening_on_stderr_changes_nothing() {
    let shell = Shell::new();
    shell.write("a.txt", "one two three");
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        return eprintln!("skipped: no /dev/full on this system");
    };
    let command = std::process::Command::new(env!("CARGO_BIN_EXE_sketchdb"))
        .args(["add", "db", "a.txt", "missing.txt"])
        .current_dir(shell.path("."))
        .stderr(full)
        .output()
        .unwrap();
    assert_eq!(command.status.code(), Some(3));
    shell.run(&["get", "db", "a.txt"]).exits(0);
}
