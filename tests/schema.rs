//! Proves that every line of `--json` is as `schema/output.schema.json` says, and that the schema says it strictly.

#[path = "common/json_schema.rs"]
mod json_schema;

use json_schema::Schema;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn schema() -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/output.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema");
    Schema(serde_json::from_str(&text).expect("JSON"))
}

/// What the command prints to stdout, run in a folder.
fn stdout(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sketchdb")).args(args).current_dir(folder).output();
    let output = output.expect("the command");
    let code = output.status.code();
    assert!(code == Some(0), "{args:?}: {code:?}, {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The lines of a verb, each checked.
fn lines(folder: &Path, verb: &str, rest: &[&str]) -> Vec<Value> {
    lines_of(verb, folder, verb, rest)
}

/// The lines of a verb, each checked against a definition.
fn lines_of(definition: &str, folder: &Path, verb: &str, rest: &[&str]) -> Vec<Value> {
    let text = stdout(folder, &[&["--json", "--quiet", verb], rest].concat());
    let schema = schema();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(!lines.is_empty(), "{verb} {rest:?} prints nothing");
    for line in &lines {
        schema.check(definition, line).unwrap_or_else(|wrong| panic!("{wrong} in {line}"));
        schema.check_any(line).unwrap_or_else(|wrong| panic!("{wrong} in {line}"));
    }
    lines
}

/// The text of `words` words, the same for a seed.
fn text(seed: u64, words: u64) -> String {
    let word = |i: u64| format!("w{}", (seed * 7919 + i * i * 31 + i) % 211);
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// A folder with `docs.jsonl`, on which every verdict is given, and a query.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let document = |key: &str, text: &str| json!({"id": key, "text": text}).to_string();
    let first = text(1, 120);
    let docs = [
        document("first", &first),
        document("near", &(first.clone() + " and more")),
        document("copy", &first),
        document("first", &first),
        document("long", &text(2, 900)),
        document("copy", &text(3, 60)),
        document("no tokens", "?!"),
        document("no tokens either", "?!"),
    ];
    std::fs::write(folder.path().join("docs.jsonl"), docs.join("\n")).expect("documents");
    std::fs::write(folder.path().join("query.txt"), first + " and then some").expect("a query");
    folder
}

fn strings(lines: &[Value], name: &str) -> BTreeSet<String> {
    let values = lines.iter().flat_map(|line| match &line[name] {
        Value::Array(values) => values.clone(),
        value => vec![value.clone()],
    });
    values.map(|value| value.as_str().expect("a string").to_owned()).collect()
}

#[test]
fn every_verb_prints_what_the_schema_says() {
    let folder = folder();
    let folder = folder.path();
    let added = lines(folder, "add", &["db", "docs.jsonl", "--seen-at", "2026-01-31T12:00:00Z"]);
    assert_eq!(
        strings(&added, "verdict"),
        ["exact", "near", "new", "unchanged", "updated"].map(String::from).into()
    );
    let refused = lines(folder, "add", &["db", "query.txt", "--only-new"]);
    assert_eq!(refused[0]["id"], Value::Null);
    let mut found = lines(folder, "query", &["db", "query.txt", "docs.jsonl", "--self", "--copies"]);
    found.extend(lines(folder, "query", &["db", "query.txt", "--by", "hamming", "--threshold", "30"]));
    found.extend(lines(
        folder,
        "query",
        &["db", "docs.jsonl", "--accept", "high", "--threshold", "0.01", "--limit", "0"],
    ));
    assert_eq!(strings(&found, "found_by"), ["band", "content", "simhash"].map(String::from).into());
    for key in ["first", "long", "no tokens"] {
        assert_eq!(lines(folder, "get", &["db", key])[0]["first_seen"], "2026-01-31T12:00:00Z");
    }
    assert_eq!(lines(folder, "stats", &["db"]).len(), 1);
}

#[test]
fn comparisons_sketches_and_bare_answers_are_as_the_schema_says() {
    let folder = folder();
    let folder = folder.path();
    lines(folder, "add", &["db", "docs.jsonl", "--passages", "100"]);
    std::fs::write(folder.join("empty.txt"), "").expect("a file");
    let found = lines(folder, "query", &["db", "query.txt", "--by", "any", "--threshold", "0.5"]);
    assert!(strings(&found, "found_by").contains("sample"));
    for [a, b] in [["query.txt", "docs.jsonl"], ["query.txt", "query.txt"], ["empty.txt", "query.txt"]] {
        lines(folder, "compare", &[a, b]);
        lines(folder, "compare", &[b, a]);
    }
    lines(folder, "compare", &["empty.txt", "empty.txt"]);
    let sketches = lines(folder, "sketch", &["docs.jsonl", "query.txt", "empty.txt", "--like", "db"]);
    let texts: Vec<String> = sketches.iter().map(Value::to_string).collect();
    std::fs::write(folder.join("sketches"), texts.join("\n")).expect("a file");
    lines_of("yes_no", folder, "query", &["db", "docs.jsonl", "--yes-no"]);
    let blind = lines_of("yes_no", folder, "query", &["db", "--sketches", "sketches", "--yes-no"]);
    assert_eq!(blind.len(), sketches.len());
}

#[test]
fn creating_prints_nothing() {
    let folder = folder();
    assert_eq!(stdout(folder.path(), &["--json", "create", "db"]), "");
    assert_eq!(lines(folder.path(), "stats", &["db"])[0]["documents"], 0);
}

#[test]
fn greatest_parameters_fit_the_schema() {
    let folder = folder();
    let greatest =
        ["--seed", "18446744073709551615", "--hamming", "3", "--hamming-tables", "84", "--threshold", "1"];
    let sizes = ["--sample", "65536", "--minhashes", "4096", "--recall", "0.999999", "--shingle", "words:64"];
    stdout(folder.path(), &[&["create", "db"], &greatest[..], &sizes].concat());
    assert_eq!(lines(folder.path(), "stats", &["db"])[0]["seed"], u64::MAX);
}

/// Every line of a verb stops being valid when a field is missing, foreign or of another kind.
#[test]
fn the_schema_is_strict() {
    let folder = folder();
    let folder = folder.path();
    let examples = [
        ("add", lines(folder, "add", &["db", "docs.jsonl"]).remove(1)),
        ("query", lines(folder, "query", &["db", "query.txt"]).remove(0)),
        ("get", lines(folder, "get", &["db", "long"]).remove(0)),
        ("stats", lines(folder, "stats", &["db"]).remove(0)),
        ("yes_no", lines_of("yes_no", folder, "query", &["db", "query.txt", "--yes-no"]).remove(0)),
        ("compare", lines(folder, "compare", &["query.txt", "docs.jsonl"]).remove(0)),
        ("sketch", lines(folder, "sketch", &["query.txt"]).remove(0)),
    ];
    let schema = schema();
    for (verb, line) in examples {
        let fields: Vec<String> = line.as_object().expect("an object").keys().cloned().collect();
        let described = schema.definition(verb)["properties"].as_object().expect("properties");
        assert_eq!(fields.iter().collect::<BTreeSet<_>>(), described.keys().collect(), "{verb}");
        for field in fields {
            let mut without = line.clone();
            without.as_object_mut().expect("an object").remove(&field);
            schema.check(verb, &without).expect_err(&format!("{verb} without {field}"));
            for wrong in [json!({}), json!(-1), json!([-1])] {
                let mut changed = line.clone();
                changed[&field] = wrong.clone();
                schema.check(verb, &changed).expect_err(&format!("{verb} with {field} {wrong}"));
            }
        }
        let mut more = line.clone();
        more["colour"] = json!("blue");
        schema.check(verb, &more).expect_err("a foreign field");
    }
}
