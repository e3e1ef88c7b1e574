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
    shell.run(&["--quiet", "add", "db", "in.jsonl"]).exits(0);
    for args in [
        &["--json", "query", "db", "in.jsonl", "--self"][..],
        &["query", "db", "in.jsonl", "--self"],
        &["export", "db"],
        &["sketch", "in.jsonl"],
        &["dedup", "in.jsonl"],
    ] {
        let (code, err) = head(&shell, args);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn a_broken_pipe_ends_the_printing_and_never_the_storing() {
    let shell = Shell::new();
    shell.write("in.jsonl", many_lines(40_000));
    for (args, quiet) in [
        (&["--json", "add", "db0", "in.jsonl"][..], false),
        (&["add", "db1", "in.jsonl"], false),
        (&["add", "db2", "in.jsonl", "--quiet"], true),
    ] {
        let (code, err) = head(&shell, args);
        assert_eq!(code, Some(0), "{args:?}: {err}");
        let said = err.lines().find_map(|line| line.strip_prefix("sketchdb: stdout was closed: "));
        let count =
            said.map(|said| said.strip_suffix(" verdicts were not printed; their documents are stored"));
        assert_eq!(said.is_none(), quiet, "{args:?}: {err}");
        let count: Option<u64> = count.map(|count| count.unwrap().replace(',', "").parse().unwrap());
        // A pipe holds some lines that nobody reads.
        assert!(count.is_none_or(|count| (30_000..40_000).contains(&count)), "{count:?}");
        assert_eq!(
            shell.json(&["stats", args[if quiet { 1 } else { args.len() - 2 }]])[0]["documents"],
            40_000
        );
    }
    shell.run(&["--quiet", "add", "other", "in.jsonl"]).exits(0);
    let export = shell.run(&["export", "other"]).exits(0).out;
    shell.write("lines", export);
    shell.write("keys", "0\n1\n");
    for (args, code) in [
        (&["import", "new", "lines"][..], 0),
        (&["merge", "db0", "other"], 0),
        (&["remove", "db0", "5"], 0),
        (&["remove", "db0", "--keys-from", "missing"], 3),
        (&["remove", "db0", "none"], 1),
        (&["expire", "db0", "--unseen-for", "1d"], 0),
        (&["compact", "db0"], 0),
        (&["rebuild", "db0"], 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = shell.command(args);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {err}");
        assert!(
            err.contains("stdout was closed: the result was not printed; everything is stored"),
            "{args:?}: {err}"
        );
    }
    assert_eq!(shell.json(&["stats", "new"])[0]["documents"], 40_000);
    assert_eq!(shell.json(&["stats", "db0"])[0]["documents"], 39_999);
}

#[test]
fn dedup_writes_its_files_whoever_reads_what_is_kept() {
    let shell = Shell::new();
    shell.write("in.jsonl", many_lines(20_000).repeat(2));
    shell.run(&["--quiet", "dedup", "in.jsonl", "--removed", "all.jsonl"]).exits(0);
    for keep in ["first", "longest"] {
        let (code, err) = head(&shell, &["dedup", "in.jsonl", "--removed", "removed.jsonl", "--keep", keep]);
        assert_eq!(code, Some(0), "{err}");
        assert!(
            err.contains("stdout was closed: ") && err.contains(" kept documents were not printed"),
            "{err}"
        );
        assert_eq!(shell.bytes("removed.jsonl"), shell.bytes("all.jsonl"), "--keep {keep}");
    }
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
