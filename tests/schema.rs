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
    stdout_of(0, folder, args)
}

/// What the command prints to stdout when it ends with this code.
fn stdout_of(expected: i32, folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sketchdb")).args(args).current_dir(folder).output();
    let output = output.expect("the command");
    let code = output.status.code();
    assert!(code == Some(expected), "{args:?}: {code:?}, {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The lines of a verb, each checked.
fn lines(folder: &Path, verb: &str, rest: &[&str]) -> Vec<Value> {
    lines_of(verb, folder, verb, rest)
}

/// The lines of a verb, each checked against a definition.
fn lines_of(definition: &str, folder: &Path, verb: &str, rest: &[&str]) -> Vec<Value> {
    checked(|_| definition.to_owned(), &stdout(folder, &[&["--json", "--quiet", verb], rest].concat()))
}

/// Lines, each checked against the definition that it is to have.
fn checked(definition: impl Fn(&Value) -> String, text: &str) -> Vec<Value> {
    let schema = schema();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(!lines.is_empty(), "nothing was printed");
    for line in &lines {
        schema.check(&definition(line), line).unwrap_or_else(|wrong| panic!("{wrong} in {line}"));
        schema.check_any(line).unwrap_or_else(|wrong| panic!("{wrong} in {line}"));
    }
    lines
}

/// The lines of an export, each checked.
fn exported(folder: &Path, database: &str) -> Vec<Value> {
    let definition = |line: &Value| format!("export_{}", kind(line));
    checked(definition, &stdout(folder, &["--json", "--quiet", "export", database]))
}

/// What a line of an export is of.
fn kind(line: &Value) -> String {
    line.as_object().and_then(|line| line.keys().next()).expect("a field").clone()
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
    lines(folder, "add", &["db", "docs.jsonl"]);
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

/// Options that make `docs.jsonl` a database with every kind of line in its export.
const FULL: [&str; 4] = ["--clusters", "greedy", "--representative", "popular"];

#[test]
fn what_is_alike_and_what_goes_is_told_as_the_schema_says() {
    let folder = folder();
    let folder = folder.path();
    for seen in ["2026-01-01", "2026-02-01"] {
        lines(folder, "add", &["db", "docs.jsonl", "--seen-at", &format!("{seen}T00:00:00Z")]);
    }
    let pairs = lines(folder, "pairs", &["db", "--copies"]);
    assert_eq!(strings(&pairs, "a"), ["first", "no tokens"].map(String::from).into());
    lines(folder, "pairs", &["db", "--by", "hamming", "--threshold", "40"]);
    let clusters = lines(folder, "clusters", &["db", "--min-size", "1"]);
    assert_eq!(
        (clusters[0]["size"].clone(), clusters[0]["members"].clone()),
        (json!(2), json!(["first", "near"]))
    );
    assert_eq!(clusters.iter().filter(|cluster| cluster["cohesion"] == Value::Null).count(), 0);
    lines(folder, "clusters", &["db", "--of", "no tokens"]);
    assert_eq!(lines(folder, "remove", &["db", "first", "absent"])[0], json!({"removed": 1, "missing": 1}));
    lines(folder, "add", &["db", "query.txt", "--seen-at", "2026-03-01T00:00:00Z"]);
    let expired = lines(folder, "expire", &["db", "--unseen-for", "14d", "--now", "2026-03-01T00:00:00Z"]);
    assert_eq!(expired[0], json!({"expired": 5, "before": "2026-02-15T00:00:00Z"}));
    let stats = &lines(folder, "stats", &["db"])[0];
    assert_eq!([&stats["documents"], &stats["clusters"], &stats["removed_documents"]], [1, 1, 6]);
}

#[test]
fn what_is_written_anew_and_what_is_broken_is_told_as_the_schema_says() {
    let folder = folder();
    let folder = folder.path();
    lines(folder, "add", &[&["db", "docs.jsonl"], &FULL[..]].concat());
    assert_eq!(lines(folder, "verify", &["db"])[0]["intact_contents"], Value::Null);
    lines(folder, "verify", &["db", "--deep"]);
    let kinds: BTreeSet<String> = exported(folder, "db").iter().map(kind).collect();
    assert_eq!(kinds, ["sketchdb", "content", "document", "cluster", "end"].map(String::from).into());
    std::fs::write(folder.join("lines"), stdout(folder, &["export", "db"])).expect("an export");
    assert_eq!(lines_of("merge", folder, "import", &["new", "lines"])[0]["added"], 6);
    assert_eq!(lines(folder, "merge", &["new", "db"])[0]["kept"], 6);
    lines(folder, "compact", &["db"]);
    lines(folder, "rebuild", &["db", "--threshold", "0.7"]);
    lines(folder, "add", &["lean", "docs.jsonl", "--keep-sketches", "signature"]);
    lines(folder, "pairs", &["lean", "--by", "agreement"]);
    assert_eq!(exported(folder, "lean")[1]["content"]["sample"], Value::Null);
    break_contents(&folder.join("db"));
    let damaged = stdout_of(4, folder, &["--json", "--quiet", "verify", "db"]);
    let damaged = checked(|_| "verify".into(), &damaged).remove(0);
    assert_eq!((damaged["ok"].clone(), damaged["intact_contents"].clone()), (json!(false), json!(0)));
    assert_ne!(damaged["damage"], json!([]));
    let saved = stdout_of(3, folder, &["--json", "--quiet", "rebuild", "db", "--salvage"]);
    let saved = checked(|_| "salvage".into(), &saved).remove(0);
    assert_eq!(saved["lost_keys"].as_array().map(Vec::len), Some(6), "{saved}");
}

/// Changes a byte in every frame of contents.
fn break_contents(path: &Path) {
    let mut bytes = std::fs::read(path).expect("a file");
    let frames: Vec<usize> = bytes
        .windows(6)
        .enumerate()
        .filter(|(_, window)| window.starts_with(b"skFr") && window[5] & 0x7F == 1)
        .map(|(at, _)| at)
        .collect();
    assert!(!frames.is_empty());
    frames.into_iter().for_each(|at| bytes[at + 50] ^= 1);
    std::fs::write(path, bytes).expect("a file");
}

#[test]
fn what_dedup_prints_is_as_the_schema_says() {
    let folder = folder();
    let folder = folder.path();
    for (name, seed) in [("a.txt", 5), ("b.txt", 5), ("c.txt", 6)] {
        std::fs::write(folder.join(name), text(seed, 80)).expect("a file");
    }
    let kept = lines_of("kept", folder, "dedup", &["a.txt", "b.txt", "c.txt", "--removed", "removed"]);
    assert_eq!(strings(&kept, "id"), ["a.txt", "c.txt"].map(String::from).into());
    let removed = std::fs::read_to_string(folder.join("removed")).expect("what was removed");
    assert_eq!(removed, "{\"id\":\"b.txt\",\"duplicate_of\":\"a.txt\",\"resemblance\":1.0}\n");
    let schema = schema();
    let duplicate: Value = serde_json::from_str(&removed).expect("JSON");
    schema.check("duplicate", &duplicate).expect("a duplicate");
    for wrong in
        [json!({"id": "b"}), json!({"duplicate_of": "", "resemblance": 1}), json!({"duplicate_of": "a"})]
    {
        schema.check("duplicate", &wrong).expect_err("no duplicate");
    }
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
    for database in ["full", "full2"] {
        lines(folder, "add", &[&[database, "docs.jsonl"], &FULL[..]].concat());
    }
    let export = exported(folder, "full");
    let mut damaged = lines(folder, "verify", &["full"]).remove(0);
    damaged["damage"] = json!([{"at": "a place", "what": "a fault"}]);
    let mut examples = vec![
        ("add", lines(folder, "add", &["db", "docs.jsonl"]).remove(1)),
        ("query", lines(folder, "query", &["db", "query.txt"]).remove(0)),
        ("get", lines(folder, "get", &["db", "long"]).remove(0)),
        ("stats", lines(folder, "stats", &["db", "--common", "0.5"]).remove(0)),
        ("yes_no", lines_of("yes_no", folder, "query", &["db", "query.txt", "--yes-no"]).remove(0)),
        ("compare", lines(folder, "compare", &["query.txt", "docs.jsonl"]).remove(0)),
        ("sketch", lines(folder, "sketch", &["query.txt"]).remove(0)),
        ("pairs", lines(folder, "pairs", &["db"]).remove(0)),
        ("clusters", lines(folder, "clusters", &["db"]).remove(0)),
        ("kept", lines_of("kept", folder, "dedup", &["query.txt"]).remove(0)),
        ("verify", damaged.clone()),
        ("damage", damaged["damage"][0].clone()),
        ("remove", lines(folder, "remove", &["db", "near"]).remove(0)),
        ("expire", lines(folder, "expire", &["db", "--unseen-for", "1d"]).remove(0)),
        ("compact", lines(folder, "compact", &["db"]).remove(0)),
        ("rebuild", lines(folder, "rebuild", &["db"]).remove(0)),
        ("salvage", lines_of("salvage", folder, "rebuild", &["db", "--salvage"]).remove(0)),
        ("recover", lines(folder, "recover", &["full"]).remove(0)),
        ("merge", lines(folder, "merge", &["full", "full2"]).remove(0)),
        ("params", export[0]["sketchdb"]["params"].clone()),
    ];
    let definitions = ["sketchdb", "content", "document", "cluster", "end"]
        .map(|kind| (kind, format!("export_{kind}"), format!("exported_{kind}")));
    for (name, line, inner) in &definitions {
        let example = export.iter().find(|line| kind(line) == *name).expect(name);
        examples.extend([(line.as_str(), example.clone()), (inner.as_str(), example[name].clone())]);
    }
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
