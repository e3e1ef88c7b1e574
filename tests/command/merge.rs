//! `merge`: the documents of databases into another.

use crate::common::texts::{Draw, edited, text};
use crate::run::Shell;
use crate::stock::assert_fields;
use serde_json::Value;
use std::collections::BTreeMap;

fn add(shell: &Shell, db: &str, key: &str, text: &str, seen: &str) {
    shell.write_lines("in.jsonl", &[(key, text)]);
    shell.run(&["add", db, "in.jsonl", "--seen-at", seen]).exits(0);
    std::fs::remove_file(shell.path("in.jsonl")).unwrap();
}

#[test]
fn the_text_that_was_seen_last_stays() {
    let shell = Shell::new();
    add(&shell, "into", "newer here", "one two three", "200");
    add(&shell, "from", "newer here", "four five", "100");
    add(&shell, "into", "newer there", "six seven", "100");
    add(&shell, "from", "newer there", "eight nine ten", "200");
    add(&shell, "into", "same", "same text", "100");
    add(&shell, "from", "same", "same text", "300");
    add(&shell, "from", "only there", "eleven", "50");
    let before = shell.bytes("from");
    let lines = shell.json(&["merge", "into", "from"]);
    assert_eq!(lines.len(), 1);
    assert_fields(&lines[0], &["added", "updated", "kept", "bounded"]);
    assert_eq!(lines[0], serde_json::json!({"added": 1, "updated": 1, "kept": 2, "bounded": 0}));
    let get = |key: &str| shell.json(&["get", "into", key]).remove(0);
    for (key, bytes, seen) in [
        ("newer here", 13, "1970-01-01T00:03:20Z"),
        ("newer there", 14, "1970-01-01T00:03:20Z"),
        ("same", 9, "1970-01-01T00:05:00Z"),
        ("only there", 6, "1970-01-01T00:00:50Z"),
    ] {
        assert_eq!((&get(key)["bytes"], &get(key)["last_seen"]), (&bytes.into(), &seen.into()), "{key}");
    }
    assert!(shell.bytes("from") == before, "the other was changed");
}

#[test]
fn it_does_not_matter_which_is_merged_into_the_other() {
    let shell = Shell::new();
    // The same text, seen earlier there than here and later too; another text seen at the same time; one replaced there.
    for (db, key, text, seen) in [
        ("x", "same", "same text", "300"),
        ("y", "same", "same text", "100"),
        ("y", "same", "same text", "400"),
        ("x", "as late", "one text", "150"),
        ("y", "as late", "another text", "150"),
        ("x", "older", "first of all", "10"),
        ("y", "older", "second of all", "20"),
        ("x", "undated", "one", "5"),
    ] {
        add(&shell, db, key, text, seen);
    }
    for (into, from) in [("x", "y"), ("y", "x")] {
        std::fs::copy(shell.path(into), shell.path("into")).unwrap();
        shell.run(&["merge", "into", from]).exits(0);
        let same = &shell.json(&["get", "into", "same"])[0];
        assert_eq!(same["first_seen"], "1970-01-01T00:01:40Z", "{from} into {into}");
        assert_eq!(same["last_seen"], "1970-01-01T00:06:40Z");
        let older = &shell.json(&["get", "into", "older"])[0];
        assert_eq!((&older["bytes"], &older["first_seen"]), (&13.into(), &"1970-01-01T00:00:10Z".into()));
        std::fs::rename(shell.path("into"), shell.path(&format!("{from} into {into}"))).unwrap();
    }
    let documents = |db: &str| {
        let lines = shell.run(&["export", db]).exits(0).json();
        let texts: BTreeMap<u64, Value> = lines
            .iter()
            .filter_map(|line| line.get("content"))
            .map(|content| (content["id"].as_u64().unwrap(), content["hash"].clone()))
            .collect();
        let mut documents: Vec<String> = lines
            .iter()
            .filter_map(|line| line.get("document"))
            .map(|document| {
                let times = ["first_seen", "last_seen", "changed"].map(|time| document[time].to_string());
                format!("{} {} {times:?}", document["key"], texts[&document["content"].as_u64().unwrap()])
            })
            .collect();
        documents.sort();
        documents
    };
    assert_eq!(documents("y into x"), documents("x into y"));
}

#[test]
fn several_are_taken_over_and_what_is_alike_joins_clusters() {
    let shell = Shell::new();
    let draw = &mut Draw::new(50);
    let first = text(draw, 200);
    shell.database("into", &[("a", &first)]);
    shell.database("x", &[("b", &edited(draw, &first, 1)), ("c", "words of its own")]);
    shell.database("y", &[("d", &first), ("c", "words of its own")]);
    assert_eq!(shell.json(&["merge", "into", "x", "y"])[0]["added"], 3);
    let cluster = &shell.json(&["clusters", "into"])[0];
    assert_eq!((&cluster["size"], &cluster["representative"]), (&3.into(), &"a".into()));
    assert_eq!(shell.json(&["get", "into", "a"])[0]["copies"], 1);
    shell.run(&["verify", "into", "--deep"]).exits(0);
    let again = &shell.json(&["merge", "into", "x", "y", "x"])[0];
    assert_eq!((&again["added"], &again["updated"]), (&0.into(), &0.into()));
}

#[test]
fn what_was_removed_there_does_not_come() {
    let shell = Shell::new();
    shell.database("into", &[("a", "one two three")]);
    shell.database("from", &[("b", "four five six"), ("c", "seven eight")]);
    shell.run(&["remove", "from", "b"]).exits(0);
    assert_eq!(shell.json(&["merge", "into", "from"])[0]["added"], 1);
    shell.run(&["get", "into", "b"]).exits(1);
}

#[test]
fn other_parameters_are_4_with_their_name_and_file_and_change_nothing() {
    let shell = Shell::new();
    shell.database("into", &[("a", "one two three")]);
    shell.database("fits", &[("b", "four five six")]);
    shell.write_lines("in.jsonl", &[("c", "seven eight nine")]);
    for (name, option) in [
        ("threshold", ["--threshold", "0.7"]),
        ("shingle", ["--shingle", "words:3"]),
        ("seed", ["--seed", "9"]),
    ] {
        shell.run(&["add", name, "in.jsonl", option[0], option[1]]).exits(0);
        let before = shell.run(&["export", "into"]).exits(0).out;
        let file = format!("{name} of {name}");
        shell.run(&["merge", "into", "fits", name]).exits(4).gives_nothing().says(&file).says(option[1]);
        assert!(shell.run(&["export", "into"]).exits(0).out == before);
        shell.run(&["get", "into", "b"]).exits(1);
        shell.run(&["get", "into", "c"]).exits(1);
    }
}

#[test]
fn a_database_into_itself_is_an_error_and_harms_nothing() {
    let shell = Shell::new();
    shell.database("db", &[("a", "one two three"), ("b", "four five six")]);
    let mut names = vec!["db", "./db"];
    if cfg!(unix) {
        std::fs::hard_link(shell.path("db"), shell.path("hard")).unwrap();
        names.push("hard");
    }
    for name in names {
        let ran = shell.run(&["merge", "db", name]).gives_nothing();
        assert!(ran.code == 6 || ran.code == 2, "{ran:?}");
        assert_eq!(shell.json(&["stats", "db"])[0]["documents"], 2);
    }
    shell.run(&["verify", "db", "--deep"]).exits(0);
}

#[test]
fn what_is_not_there_is_2_and_what_is_no_database_4() {
    let shell = Shell::new();
    shell.database("into", &[("a", "one two three")]);
    shell.database("from", &[("b", "four five six")]);
    shell.write("text", "hello");
    shell.run(&["merge", "into", "from", "missing"]).exits(2).gives_nothing().says("missing");
    shell.run(&["merge", "missing", "from"]).exits(2).gives_nothing();
    shell.run(&["merge", "into", "from", "text"]).exits(4).gives_nothing();
    shell.run(&["merge", "into"]).exits(2).gives_nothing();
    shell.run(&["get", "into", "b"]).exits(1);
    assert!(!shell.path("missing").exists());
}
