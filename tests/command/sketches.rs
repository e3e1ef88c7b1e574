//! Sketches as lines, and queries by them: who asks shows no document, and gets the answers of who does.

use crate::common::texts::{Draw, edited, text};
use crate::run::{Ran, Shell};
use serde_json::Value;

/// `docs.jsonl` in `db`; `ask.jsonl`: documents near, contained, apart, without tokens.
fn shell(options: &[&str]) -> Shell {
    let shell = Shell::new();
    let mut draw = Draw::new(381);
    let stored: Vec<String> = (0..20).map(|_| text(&mut draw, 300)).collect();
    let names: Vec<String> = (0..20).map(|number| format!("d{number}")).collect();
    let documents: Vec<(&str, &str)> =
        names.iter().map(String::as_str).zip(stored.iter().map(String::as_str)).collect();
    shell.write_lines("docs.jsonl", &documents);
    shell.run(&[&["add", "db", "docs.jsonl"], options].concat()).exits(0);
    let part = stored[1].split(' ').take(120).collect::<Vec<_>>().join(" ");
    let (near, apart) = (edited(&mut draw, &stored[0], 3), text(&mut draw, 300));
    let asked =
        [("d0", near.as_str()), ("part", &part), ("apart", &apart), ("none", "?!"), ("same", &stored[2])];
    shell.write_lines("ask.jsonl", &asked);
    shell
}

fn sketch(shell: &Shell, options: &[&str]) -> Ran {
    let ran = shell.run(&[&["sketch", "ask.jsonl"], options].concat()).exits(0);
    shell.write("sketches", &ran.out);
    ran
}

#[test]
fn a_line_a_document_carries_every_parameter() {
    let shell = shell(&[]);
    let lines = sketch(&shell, &["--seed", "7", "--weights", "one"]).json();
    let keys: Vec<&str> = lines.iter().map(|line| line["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["d0", "part", "apart", "none", "same"]);
    for line in lines {
        let expected = serde_json::json!({
            "shingle": "words:5", "sample": 256, "minhashes": 128, "labelled": false, "simhash": "words:2",
            "weights": "one", "edit": "100:4", "html": "main", "seed": 7
        });
        assert_eq!(line["params"], expected);
        assert!(!line.to_string().contains("words of the text"));
    }
}

#[test]
fn every_kernel_makes_the_same_sketches() {
    let shell = shell(&[]);
    let own = sketch(&shell, &[]).out;
    for kernel in sketchdb::Sketcher::KERNELS {
        let output = shell.command(&["sketch", "ask.jsonl"]).env("SKETCHDB_KERNEL", kernel).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), own, "{kernel}");
    }
    let output = shell.command(&["sketch", "ask.jsonl"]).env("SKETCHDB_KERNEL", "sse9").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8(output.stderr).unwrap().contains("SKETCHDB_KERNEL=sse9: portable, avx2, avx512")
    );
}

#[test]
fn like_takes_the_parameters_of_a_database() {
    let shell = shell(&["--shingle", "words:3", "--seed", "99", "--labelled"]);
    let own = sketch(&shell, &["--shingle", "words:3", "--seed", "99", "--labelled"]).out;
    assert_eq!(sketch(&shell, &["--like", "db"]).out, own);
    assert_eq!(sketch(&shell, &["--like", "db", "--seed", "99"]).out, own);
    shell.run(&["sketch", "ask.jsonl", "--like", "db", "--seed", "98"]).exits(4).gives_nothing().says("seed");
    shell.run(&["sketch", "ask.jsonl", "--like", "nothing"]).exits(2).gives_nothing();
}

#[test]
fn blind_queries_answer_as_direct_ones() {
    let shell = shell(&["--seed", "5"]);
    shell.run(&["add", "twin", "docs.jsonl", "--seed", "5"]).exits(0);
    sketch(&shell, &["--like", "db"]);
    for by in ["resemblance", "containment", "contained", "agreement", "edit", "hamming", "any"] {
        for more in [&[][..], &["--yes-no"], &["--self"], &["--yes-no", "--self"], &["--confirm", "edit"]] {
            let ask = |db: &str, input: &[&str]| {
                let ran = shell.run(&[&["--json", "query", db], input, &["--by", by], more].concat());
                (ran.code, ran.out)
            };
            let direct = ask("db", &["ask.jsonl"]);
            assert_eq!(ask("db", &["--sketches", "sketches"]), direct, "{by} {more:?}");
            assert_eq!(ask("twin", &["--sketches", "sketches"]), direct, "{by} {more:?}");
        }
    }
    let found = shell.run(&["--json", "query", "db", "--sketches", "sketches", "--yes-no"]).exits(0).json();
    let yes: Vec<Value> = found.iter().map(|line| line["found"].clone()).collect();
    assert_eq!(yes, [false, false, false, false, true], "d0 is its own key");
    assert_eq!(found[4], serde_json::json!({"query": "same", "found": true}));
    let people = shell.run(&["query", "db", "--sketches", "sketches", "--yes-no"]).exits(0).out;
    assert_eq!(people.lines().last(), Some("yes  same"));
    let stdin = shell
        .feed(&["--json", "query", "db", "--sketches", "-"], std::fs::read(shell.path("sketches")).unwrap());
    assert_eq!(stdin.exits(0).column("match"), ["d2"]);
}

#[test]
fn sketches_of_other_parameters_are_refused_with_the_reason() {
    let shell = shell(&[]);
    for (option, value, name) in [
        ("--seed", "2", "seed"),
        ("--shingle", "words:4", "shingle"),
        ("--sample", "128", "sample"),
        ("--minhashes", "100", "minhashes"),
        ("--simhash", "words:1", "simhash"),
        ("--weights", "one", "weights"),
        ("--edit", "50:4", "edit"),
    ] {
        sketch(&shell, &[option, value]);
        let refused =
            shell.run(&["query", "db", "--sketches", "sketches", "--yes-no"]).exits(3).gives_nothing();
        refused.says(&format!("made with {name} {value}, ")).says("--like db");
    }
    sketch(&shell, &["--labelled"]);
    shell.run(&["query", "db", "--sketches", "sketches"]).exits(3).gives_nothing().says("labelled");
}

#[test]
fn a_sketch_of_other_parameters_stops_no_other() {
    let shell = shell(&[]);
    let other = sketch(&shell, &["--seed", "5"]).out;
    let own = sketch(&shell, &[]).out;
    let (other, own): (Vec<&str>, Vec<&str>) = (other.lines().collect(), own.lines().collect());
    shell.write("mixed", [own[0], other[1], own[4]].join("\n"));
    let ran = shell.run(&["--json", "query", "db", "--sketches", "mixed", "--self"]).exits(3);
    assert_eq!(ran.column("query"), ["d0", "same"]);
    ran.says("mixed:2: made with seed 5, the database has 1: sketch it again with `--like db`");
}

#[test]
fn broken_lines_are_named_and_the_others_answered() {
    let shell = shell(&[]);
    let good = sketch(&shell, &[]).out;
    let lines: Vec<&str> = good.lines().collect();
    let mut foreign: Value = serde_json::from_str(lines[4]).unwrap();
    foreign["colour"] = "blue".into();
    let mut short: Value = serde_json::from_str(lines[4]).unwrap();
    short["sample"] = "00".into();
    let file = ["{", lines[0], "", &foreign.to_string(), "no json", &short.to_string(), lines[4]].join("\n");
    shell.write("broken", file);
    let ran = shell.run(&["--json", "query", "db", "--sketches", "broken", "--self"]).exits(3);
    assert_eq!(ran.column("query"), ["d0", "same"]);
    ran.says("broken:1").says("broken:4").says("broken:5").says("broken:6").keeps_silent_of("broken:7");
    shell.run(&["query", "db", "--sketches", "missing"]).exits(3).says("missing");
    shell.run(&["query", "db", "ask.jsonl", "--sketches", "sketches"]).exits(2);
    shell.run(&["query", "db"]).exits(2);
}
