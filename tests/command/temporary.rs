//! Files that a command makes until its output is complete: private, no documents, and gone.

use crate::run::Shell;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Stdio};

const SAME: &str = "one two three four five six";
const LEFT: &str = ".sketchdb-aB3aB3aB3aB3.tmp";

fn temporary(shell: &Shell) -> Vec<String> {
    shell.files().into_iter().filter(|name| name.starts_with(".sketchdb-")).collect()
}

/// A file that a killed command left.
fn leave(shell: &Shell) {
    shell.write(LEFT, SAME);
    std::fs::set_permissions(shell.path(LEFT), Permissions::from_mode(0o600)).unwrap();
}

fn mode(shell: &Shell, name: &str) -> u32 {
    std::fs::metadata(shell.path(name)).unwrap().permissions().mode() & 0o777
}

/// A `dedup` that has its outputs open, and waits for more on stdin.
fn waiting(shell: &Shell) -> Child {
    let args = ["--json", "dedup", "-", "--format", "jsonl", "--removed", "removed.jsonl"];
    let mut command = shell.command(&args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = (0..4096).map(|id| format!("{{\"id\":{id},\"text\":\"{SAME}\"}}\n")).collect();
    child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    child.stdin.as_mut().unwrap().flush().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains(SAME), "{line}");
    child
}

#[test]
fn a_file_that_is_not_complete_is_private_and_has_its_mode_at_the_end() {
    let shell = Shell::new();
    shell.write("plain", "");
    let mut child = waiting(&shell);
    let [name] = &temporary(&shell)[..] else { panic!("one temporary file: {:?}", shell.files()) };
    assert_eq!(mode(&shell, name), 0o600);
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!((mode(&shell, "removed.jsonl"), temporary(&shell)), (mode(&shell, "plain"), vec![]));
    for (name, kind) in [("in.jsonl", 0o604), ("other", 0o640)] {
        shell.write_lines(name, &[("a", SAME)]);
        std::fs::set_permissions(shell.path(name), Permissions::from_mode(kind)).unwrap();
        shell.run(&["dedup", "in.jsonl", "--output", name]).exits(0);
        assert_eq!(mode(&shell, name), kind);
    }
}

#[test]
fn what_a_killed_command_left_is_no_document_and_goes_with_the_next() {
    let shell = Shell::new();
    shell.write("a.txt", SAME);
    let mut killed = waiting(&shell);
    let left = temporary(&shell);
    assert_eq!(left.len(), 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(temporary(&shell), left, "nobody could remove it");
    let ran = shell.run(&["--json", "sketch", "."]).exits(0);
    assert_eq!(ran.column("key"), ["./a.txt"]);
    shell.run(&["dedup", "a.txt", "--output", "kept.jsonl"]).exits(0);
    assert_eq!(temporary(&shell), [""; 0]);
    for verb in [
        &["create", "new"][..],
        &["compact", "db"],
        &["rebuild", "db", "--recall", "0.9"],
        &["import", "copy", "export"],
    ] {
        if verb[0] == "compact" {
            shell.database("db", &[("a", SAME)]);
            let export = shell.run(&["export", "db"]).exits(0).out;
            shell.write("export", export);
        }
        leave(&shell);
        shell.run(verb).exits(0);
        assert_eq!(temporary(&shell), [""; 0], "{verb:?}");
    }
}

#[test]
fn what_a_living_command_writes_stays() {
    let shell = Shell::new();
    shell.write("a.txt", SAME);
    let mut living = waiting(&shell);
    let own = temporary(&shell);
    leave(&shell);
    shell.write(".sketchdb-notes", SAME);
    shell.run(&["dedup", "a.txt", "--output", "kept.jsonl"]).exits(0);
    let mut expected = own.clone();
    expected.push(".sketchdb-notes".into());
    expected.sort_unstable();
    assert_eq!(temporary(&shell), expected);
    drop(living.stdin.take());
    assert_eq!(living.wait().unwrap().code(), Some(0));
    assert_eq!(temporary(&shell), [".sketchdb-notes"]);
    assert_eq!(shell.bytes("removed.jsonl").iter().filter(|byte| **byte == b'\n').count(), 4095);
}

#[test]
fn a_list_of_paths_names_none_as_a_document() {
    let shell = Shell::new();
    shell.write("a.txt", SAME);
    leave(&shell);
    let ran = shell.feed(&["--json", "add", "db", "-", "--format", "paths"], format!("a.txt\n{LEFT}\n"));
    assert_eq!(ran.exits(0).column("key"), ["a.txt"]);
}

/// As root the file is another user's; the same user keeps what is its own anyway.
#[test]
fn a_file_that_is_replaced_keeps_its_owner() {
    let shell = Shell::new();
    shell.database("db", &[("a", SAME)]);
    let _ = std::os::unix::fs::chown(shell.path("db"), Some(65_534), Some(65_534));
    let owner = || {
        let file = std::fs::metadata(shell.path("db")).unwrap();
        (file.uid(), file.gid(), file.mode())
    };
    let before = owner();
    shell.run(&["compact", "db"]).exits(0);
    assert_eq!(owner(), before);
    shell.run(&["rebuild", "db", "--threshold", "0.7"]).exits(0);
    assert_eq!(owner(), before);
}
