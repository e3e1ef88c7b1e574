//! `remove`: documents out by their keys, from the command line, a file or stdin.

use crate::common::texts::{Draw, text};
use crate::run::Shell;
use crate::stock::assert_fields;

const TEXT: &str = "one two three four five six seven";

fn shell() -> Shell {
    let shell = Shell::new();
    let other = text(&mut Draw::new(1), 50);
    shell.database("db", &[("a", TEXT), ("b", TEXT), ("c", &other), ("d", "words of its own")]);
    shell
}

fn left(shell: &Shell) -> Vec<&'static str> {
    let there = |key: &&str| shell.run(&["--quiet", "get", "db", key]).code == 0;
    ["a", "b", "c", "d"].into_iter().filter(there).collect()
}

#[test]
fn several_keys_go_at_once() {
    let shell = shell();
    let lines = shell.json(&["remove", "db", "a", "c"]);
    assert_eq!(lines.len(), 1);
    assert_fields(&lines[0], &["removed", "missing"]);
    assert_eq!((&lines[0]["removed"], &lines[0]["missing"]), (&2.into(), &0.into()));
    assert_eq!(left(&shell), ["b", "d"]);
    assert_eq!(shell.json(&["stats", "db"])[0]["documents"], 2);
}

#[test]
fn a_missing_key_is_named_and_the_others_go() {
    let shell = shell();
    let ran = shell.run(&["--json", "remove", "db", "nobody", "a"]).exits(0).says("nobody");
    assert_eq!((ran.column("removed"), ran.column("missing")), (vec!["1".into()], vec!["1".into()]));
    assert_eq!(left(&shell), ["b", "c", "d"]);
}

#[test]
fn when_none_was_there_it_is_1() {
    let shell = shell();
    shell.run(&["remove", "db", "x", "y"]).exits(1).says("\"x\"").says("\"y\"");
    shell.run(&["remove", "db", "a"]).exits(0);
    shell.run(&["remove", "db", "a"]).exits(1).says("\"a\"");
}

#[test]
fn a_key_given_twice_is_removed_once() {
    let shell = shell();
    let ran = shell.run(&["--json", "remove", "db", "a", "a"]).exits(0);
    assert_eq!((ran.column("removed"), ran.column("missing")), (vec!["1".into()], vec!["1".into()]));
}

#[test]
fn keys_come_from_a_file_with_either_line_end_and_empty_lines() {
    let shell = shell();
    shell.write("keys", "a\r\n\n\r\nc\nd");
    let ran = shell.run(&["--json", "remove", "db", "--keys-from", "keys"]).exits(0);
    assert_eq!((ran.column("removed"), ran.column("missing")), (vec!["3".into()], vec!["0".into()]));
    assert_eq!(left(&shell), ["b"]);
}

#[test]
fn keys_come_from_stdin_beside_those_given() {
    let shell = shell();
    shell.feed(&["remove", "db", "a", "--keys-from", "-"], "b\nc\n").exits(0);
    assert_eq!(left(&shell), ["d"]);
}

#[test]
fn keys_that_cannot_be_read_are_3_and_the_others_go() {
    let shell = shell();
    shell.run(&["remove", "db", "a", "--keys-from", "missing"]).exits(3).says("missing");
    shell.write("keys", format!("{}\nb\n", "k".repeat(4097)));
    shell.run(&["remove", "db", "--keys-from", "keys"]).exits(3).says("keys:1").says("4097 bytes");
    assert_eq!(left(&shell), ["c", "d"]);
}

#[test]
fn a_key_that_cannot_be_is_2_and_removes_nothing() {
    let shell = shell();
    shell.run(&["remove", "db", "a", ""]).exits(2).gives_nothing();
    shell.run(&["remove", "db"]).exits(2).gives_nothing();
    shell.run(&["remove", "missing", "a"]).exits(2).gives_nothing();
    assert_eq!(left(&shell), ["a", "b", "c", "d"]);
    assert!(!shell.path("missing").exists());
}

#[test]
fn one_of_several_copies_leaves_the_others() {
    let shell = shell();
    assert_eq!(shell.json(&["get", "db", "b"])[0]["copies"], 1);
    shell.run(&["remove", "db", "a"]).exits(0);
    assert_eq!(shell.json(&["get", "db", "b"])[0]["copies"], 0);
    shell.write("q.txt", TEXT);
    let found = &shell.json(&["query", "db", "q.txt"])[0];
    assert_eq!((&found["match"], &found["copies"]), (&"b".into(), &0.into()));
}

#[test]
fn what_is_added_again_has_a_new_id() {
    let shell = shell();
    let id = |key| shell.json(&["get", "db", key])[0]["id"].as_u64().unwrap();
    let before = id("d");
    shell.run(&["remove", "db", "d"]).exits(0);
    shell.write_lines("in.jsonl", &[("d", "words of its own")]);
    assert_eq!(shell.json(&["add", "db", "in.jsonl"])[0]["verdict"], "new");
    assert!(id("d") > before);
}

#[test]
fn what_is_removed_is_in_no_answer() {
    let shell = shell();
    shell.write("q.txt", TEXT);
    shell.run(&["pairs", "db"]).exits(0);
    shell.run(&["remove", "db", "a", "b"]).exits(0);
    shell.run(&["query", "db", "q.txt", "--by", "any"]).exits(1).gives_nothing();
    shell.run(&["pairs", "db"]).exits(1).gives_nothing();
    shell.run(&["clusters", "db"]).exits(1).gives_nothing();
    shell.run(&["clusters", "db", "--of", "a"]).exits(1).gives_nothing();
    shell.run(&["get", "db", "a"]).exits(1).gives_nothing();
    assert!(!shell.run(&["export", "db"]).exits(0).out.contains("\"key\":\"a\""));
}

#[test]
fn a_key_that_is_not_utf8_removes_no_other() {
    let shell = Shell::new();
    shell.database("db", &[("\u{FFFD}", TEXT), ("gone", "words of its own")]);
    let ran = shell.feed(&["--json", "remove", "db", "--keys-from", "-"], b"\xff\ngone\n").exits(3);
    let ran = ran.says("-:1: a key that is not UTF-8");
    assert_eq!(ran.json()[0]["removed"], 1);
    shell.run(&["get", "db", "\u{FFFD}"]).exits(0);
}
