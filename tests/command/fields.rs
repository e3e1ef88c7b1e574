//! JSON lines have exactly the fields of the contract.

use crate::common::texts::{Draw, text};
use crate::run::Shell;
use serde_json::Value;
use std::collections::BTreeSet;

const ADD: &[&str] = &[
    "key",
    "id",
    "verdict",
    "of",
    "resemblance",
    "cluster",
    "containment",
    "containment_low",
    "containment_high",
    "values",
    "bounded",
];
const QUERY: &[&str] = &[
    "query",
    "match",
    "resemblance",
    "low",
    "high",
    "containment",
    "containment_low",
    "containment_high",
    "contained",
    "contained_low",
    "contained_high",
    "values",
    "hamming",
    "agreement",
    "edit",
    "edit_raw",
    "exact",
    "copies",
    "found_by",
    "matches",
    "bounded",
];
const GET: &[&str] = &["key", "id", "first_seen", "last_seen", "cluster", "copies", "shingles", "bytes"];
const STATS: &[&str] =
    &["documents", "contents", "clusters", "file_bytes", "live_bytes", "index_entries", "index_bytes"];
const PARAMETERS: &[&str] = &[
    "shingle",
    "threshold",
    "recall",
    "sample",
    "minhashes",
    "simhash",
    "hamming",
    "hamming_tables",
    "seed",
];

fn names(line: &Value) -> BTreeSet<&str> {
    line.as_object().expect("an object").keys().map(String::as_str).collect()
}

fn assert_fields(line: &Value, fields: &[&str]) {
    assert_eq!(names(line), fields.iter().copied().collect(), "{line}");
}

/// Asserts that fields are null, strings, numbers, booleans or lists.
fn assert_kinds(line: &Value, kinds: &[(&str, &str)]) {
    for (field, kind) in kinds {
        let found = match &line[*field] {
            Value::Null => "null",
            Value::String(_) => "string",
            Value::Number(number) if number.is_u64() => "whole",
            Value::Number(_) => "share",
            Value::Bool(_) => "bool",
            Value::Array(_) => "list",
            Value::Object(_) => "object",
        };
        assert_eq!(found, *kind, "{field} of {line}");
    }
}

#[test]
fn add_has_its_fields() {
    let shell = Shell::new();
    let first = text(&mut Draw::new(1), 104);
    let near = format!("{first} more");
    shell.write_lines("in.jsonl", &[("a", &first), ("b", &first), ("c", &near), ("a", &first), ("a", &near)]);
    let lines = shell.json(&["add", "db", "in.jsonl"]);
    lines.iter().for_each(|line| assert_fields(line, ADD));
    let verdicts: Vec<&str> = lines.iter().map(|line| line["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["new", "exact", "near", "unchanged", "updated"]);
    assert_kinds(
        &lines[0],
        &[("key", "string"), ("id", "whole"), ("of", "null"), ("resemblance", "null"), ("cluster", "whole")],
    );
    assert_eq!((&lines[1]["of"], &lines[1]["resemblance"]), (&"a".into(), &1.0.into()));
    assert_eq!((&lines[2]["of"], &lines[2]["resemblance"]), (&"a".into(), &0.990099.into()));
    assert_eq!((&lines[4]["of"], &lines[4]["id"]), (&"c".into(), &lines[0]["id"]));
}

#[test]
fn query_has_its_fields() {
    let shell = Shell::new();
    let first = text(&mut Draw::new(2), 104);
    shell.database("db", &[("a", &first), ("b", &format!("{first} more")), ("c", &first)]);
    shell.write("q.txt", &first);
    let lines = shell.json(&["query", "db", "q.txt"]);
    assert_eq!(lines.len(), 2);
    lines.iter().for_each(|line| assert_fields(line, QUERY));
    let [same, near] = [&lines[0], &lines[1]];
    assert_eq!(
        (&same["query"], &same["match"], &same["exact"], &same["copies"]),
        (&"q.txt".into(), &"a".into(), &true.into(), &1.into())
    );
    assert_eq!(same["found_by"], serde_json::json!(["content", "band"]));
    assert_eq!(
        (&near["match"], &near["exact"], &near["contained"]),
        (&"b".into(), &false.into(), &0.990099.into())
    );
    assert_kinds(
        near,
        &[
            ("resemblance", "share"),
            ("low", "share"),
            ("high", "share"),
            ("containment", "share"),
            ("containment_low", "share"),
            ("contained_high", "share"),
            ("values", "whole"),
            ("matches", "whole"),
            ("bounded", "bool"),
            ("hamming", "whole"),
            ("agreement", "share"),
            ("edit", "share"),
            ("edit_raw", "share"),
            ("copies", "whole"),
            ("found_by", "list"),
        ],
    );
}

#[test]
fn get_has_its_fields() {
    let shell = Shell::new();
    shell.database("db", &[("a", "one two three four five six"), ("b", "one two three four five six")]);
    let lines = shell.json(&["get", "db", "b"]);
    assert_eq!(lines.len(), 1);
    assert_fields(&lines[0], GET);
    assert_kinds(&lines[0], &[("first_seen", "string"), ("last_seen", "string"), ("cluster", "whole")]);
    for (field, value) in [("id", 1), ("copies", 1), ("shingles", 2), ("bytes", 27)] {
        assert_eq!(lines[0][field], value, "{field}");
    }
}

#[test]
fn stats_has_at_least_its_fields_and_every_parameter() {
    let shell = Shell::new();
    shell.database("db", &[("a", "one two"), ("b", "one two"), ("c", "three")]);
    let lines = shell.json(&["stats", "db"]);
    assert_eq!(lines.len(), 1);
    let missing: Vec<_> =
        STATS.iter().chain(PARAMETERS).filter(|name| !names(&lines[0]).contains(*name)).collect();
    assert!(missing.is_empty(), "{missing:?} missing of {}", lines[0]);
    assert_eq!((&lines[0]["documents"], &lines[0]["contents"]), (&3.into(), &2.into()));
    assert_eq!(lines[0]["file_bytes"], std::fs::metadata(shell.path("db")).unwrap().len());
    assert_eq!((&lines[0]["clusters"], &lines[0]["cluster_rule"]), (&2.into(), &"components".into()));
    assert_eq!((&lines[0]["shingle"], &lines[0]["threshold"]), (&"words:5".into(), &0.8.into()));
}

#[test]
fn without_json_the_same_is_said_for_people() {
    let shell = Shell::new();
    shell.write("a.txt", "one two three four five six");
    shell.write("b.txt", "one two three four five six");
    let added = shell.run(&["add", "db", "a.txt", "b.txt"]).exits(0);
    let words: Vec<Vec<&str>> = added.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words, [vec!["new", "a.txt"], vec!["exact", "b.txt", "1.000", "of", "a.txt"]]);
    let found = shell.run(&["query", "db", "b.txt"]).exits(0).out;
    assert!(found.contains("same text") && found.contains("a.txt"), "{found}");
    assert!(shell.run(&["get", "db", "a.txt"]).exits(0).out.contains("27 B"));
    assert!(shell.run(&["stats", "db"]).exits(0).out.contains("threshold"));
}
