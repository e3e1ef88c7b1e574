//! `dedup`: which documents stay, and why the others go.

use crate::common::texts::{Draw, edited, text};
use crate::run::{Ran, Shell, plain};
use crate::stock::{borrowed, stock};
use serde_json::Value;
use std::collections::BTreeMap;

const OUT: [&str; 4] = ["--output", "kept.jsonl", "--removed", "removed.jsonl"];

fn shell() -> Shell {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &borrowed(&stock(20, 15)));
    shell
}

fn dedup(shell: &Shell, options: &[&str]) -> Ran {
    shell.run(&[&["dedup", "in.jsonl"], &OUT[..], options].concat()).gives_nothing()
}

fn lines(shell: &Shell, name: &str) -> Vec<Value> {
    let text = String::from_utf8(shell.bytes(name)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(lines: &[Value]) -> Vec<String> {
    lines.iter().map(|line| plain(&line["id"])).collect()
}

fn kept(shell: &Shell, options: &[&str]) -> Vec<String> {
    dedup(shell, options).exits(0);
    ids(&lines(shell, "kept.jsonl"))
}

/// Asserts that every reason names a kept document and the resemblance to it.
fn assert_reasons(shell: &Shell, least: f64) {
    let texts: BTreeMap<String, String> =
        lines(shell, "in.jsonl").iter().map(|line| (plain(&line["id"]), plain(&line["text"]))).collect();
    let kept = ids(&lines(shell, "kept.jsonl"));
    for line in lines(shell, "removed.jsonl") {
        let of = plain(&line["duplicate_of"]);
        assert!(kept.contains(&of), "{of} is not kept: {line}");
        shell.write("a", &texts[&of]);
        shell.write("b", &texts[&plain(&line["id"])]);
        let compared = &shell.json(&["compare", "a", "b"])[0];
        let resemblance = line["resemblance"].as_f64().unwrap();
        assert!(resemblance >= least, "{line}");
        if compared["exact"] == true {
            assert_eq!(resemblance, 1.0);
        }
        let (low, high) = (compared["low"].as_f64().unwrap(), compared["high"].as_f64().unwrap());
        assert!(low - 1e-3 <= resemblance && resemblance <= high + 1e-3, "{line}: {low}..{high}");
    }
}

#[test]
fn everything_is_kept_or_removed_in_the_order_of_the_input() {
    let shell = shell();
    for keep in ["first", "longest", "oldest", "shortest-key"] {
        dedup(&shell, &["--keep", keep]).exits(0);
        let all = ids(&lines(&shell, "in.jsonl"));
        let (kept, removed) = (ids(&lines(&shell, "kept.jsonl")), ids(&lines(&shell, "removed.jsonl")));
        assert!(kept.len() >= 15 && removed.len() >= 15);
        for some in [&kept, &removed] {
            let places: Vec<usize> =
                some.iter().map(|id| all.iter().position(|other| other == id).unwrap()).collect();
            assert!(places.is_sorted_by(|a, b| a < b), "{keep}: {places:?}");
        }
        assert_eq!(kept.len() + removed.len(), all.len());
        assert!(kept.iter().all(|id| !removed.contains(id)), "{keep}");
    }
}

#[test]
fn each_that_goes_matches_one_that_stays() {
    let shell = shell();
    for keep in ["first", "longest", "shortest-key"] {
        dedup(&shell, &["--keep", keep]).exits(0);
        assert_reasons(&shell, 0.8);
    }
}

#[test]
fn what_stays_matches_nothing_that_stays() {
    let shell = shell();
    dedup(&shell, &[]).exits(0);
    shell.run(&["add", "db", "kept.jsonl"]).exits(0);
    shell.run(&["pairs", "db"]).exits(1).gives_nothing();
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let shell = shell();
    for options in [&["--keep", "longest"][..], &["--transitive"], &[]] {
        let with = |threads| {
            dedup(&shell, &[options, &["--threads", threads]].concat()).exits(0);
            (shell.bytes("kept.jsonl"), shell.bytes("removed.jsonl"))
        };
        assert!(with("1") == with("2"), "{options:?}");
    }
}

#[test]
fn each_preference_keeps_its_own() {
    let shell = Shell::new();
    let draw = &mut Draw::new(21);
    let first = text(draw, 200);
    let (near, long) = (edited(draw, &first, 1), format!("{first} and more of it"));
    let line = |id: &str, text: &str, seen: Value| {
        serde_json::json!({"id": id, "text": text, "seen_at": seen, "when": "1999-01-01T00:00:00Z"})
            .to_string()
            + "\n"
    };
    shell.write(
        "in.jsonl",
        [
            line("in order", &first, "2024-01-01T00:00:00Z".into()),
            line("shortish", &near, 1_500_000_000.into()),
            line("the longest", &long, Value::Null),
            line("key", &first, 1_600_000_000.5.into()),
        ]
        .concat(),
    );
    for (keep, id) in
        [("first", "in order"), ("longest", "the longest"), ("oldest", "shortish"), ("shortest-key", "key")]
    {
        assert_eq!(kept(&shell, &["--keep", keep]), [id], "{keep}");
    }
    // All of one time: the first of them.
    assert_eq!(kept(&shell, &["--keep", "oldest", "--time-field", "when"]), ["in order"]);
}

#[test]
fn a_part_goes_when_that_is_asked_for() {
    let shell = Shell::new();
    let draw = &mut Draw::new(22);
    let words: Vec<String> = text(draw, 300).split(' ').map(str::to_owned).collect();
    let (whole, part) = (words.join(" "), words[100..200].join(" "));
    shell.write_lines("in.jsonl", &[("whole", &whole), ("part", &part)]);
    assert_eq!(kept(&shell, &[]), ["whole", "part"]);
    assert_eq!(kept(&shell, &["--contained", "0.8"]), ["whole"]);
    assert_reasons(&shell, 0.1);
    shell.write_lines("in.jsonl", &[("part", &part), ("whole", &whole)]);
    assert_eq!(kept(&shell, &["--contained", "0.8"]), ["part", "whole"], "the whole is in no part");
    assert_eq!(kept(&shell, &["--contained", "0.8", "--keep", "longest"]), ["whole"]);
    for wrong in ["0", "1.1", "x"] {
        dedup(&shell, &["--contained", wrong]).exits(2);
    }
    dedup(&shell, &["--contained", "0.8", "--transitive"]).exits(2);
}

/// Fifty short texts of which .6 is in a long one of 20,000 words, and one that is all in one of 1,000.
fn parts() -> Vec<(String, String)> {
    let draw = &mut Draw::new(25);
    let mut long = Vec::new();
    let mut short = Vec::new();
    for number in 0..51 {
        let (size, common) = if number == 50 { (1000, 300) } else { (20_000, 180) };
        let words: Vec<String> = text(draw, size).split(' ').map(str::to_owned).collect();
        short.push((
            format!("short {number}"),
            [words[100..100 + common].join(" "), text(draw, 300 - common)].join(" "),
        ));
        long.push((format!("long {number}"), words.join(" ")));
    }
    [long, short].concat()
}

#[test]
fn a_part_goes_on_evidence_only() {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &borrowed(&parts()));
    let removed = |more: &[&str]| {
        dedup(&shell, &[&["--contained", "0.8"], more].concat()).exits(0);
        lines(&shell, "removed.jsonl")
    };
    for more in [&[][..], &["--accept", "low"], &["--keep", "longest"]] {
        let removed = removed(more);
        assert_eq!(ids(&removed), ["short 50"], "{more:?}");
        let [share, low, high] =
            ["", "_low", "_high"].map(|end| removed[0][format!("containment{end}")].as_f64().unwrap());
        assert!(share == 1.0 && high == 1.0 && (0.8..1.0).contains(&low), "{}", removed[0]);
        assert!(removed[0]["values"].as_u64().unwrap() >= 16);
    }
    for accept in ["estimate", "high"] {
        for line in removed(&["--accept", accept]) {
            assert!(line["values"].as_u64().unwrap() >= 16, "{accept}: {line}");
        }
    }
    dedup(&shell, &["--accept", "most"]).exits(2);
    shell.write_lines(
        "in.jsonl",
        &[("a", "one two three four five six"), ("b", "one two three four five six")],
    );
    let same = removed(&[]).remove(0);
    assert_eq!(same["containment"], Value::Null, "it is another reason: {same}");
}

#[test]
fn the_end_that_decides_can_be_told() {
    let shell = Shell::new();
    let draw = &mut Draw::new(26);
    let first = text(draw, 2000);
    let head = first.split(' ').take(1640).collect::<Vec<_>>().join(" ");
    shell.write_lines("in.jsonl", &[("a", &first), ("b", &head)]);
    for (accept, stay) in [("low", 2), ("estimate", 1), ("high", 1)] {
        assert_eq!(kept(&shell, &["--accept", accept]).len(), stay, "{accept}");
        assert_eq!(kept(&shell, &["--accept", accept, "--transitive"]).len(), stay, "{accept}");
        assert_eq!(kept(&shell, &["--accept", accept, "--keep", "longest"]).len(), stay, "{accept}");
    }
    assert_eq!(kept(&shell, &[]).len(), 1, "the estimate by default");
}

#[test]
fn chains_go_as_a_whole_only_when_that_is_asked_for() {
    let shell = Shell::new();
    let words: Vec<String> = text(&mut Draw::new(23), 240).split(' ').map(str::to_owned).collect();
    let texts = [0, 15, 30].map(|at| words[at..at + 200].join(" "));
    shell.write_lines("in.jsonl", &[("a", &texts[0]), ("b", &texts[1]), ("c", &texts[2])]);
    assert_eq!(kept(&shell, &[]), ["a", "c"]);
    assert_eq!(kept(&shell, &["--transitive"]), ["a"]);
    let removed = lines(&shell, "removed.jsonl");
    assert_eq!(removed.iter().map(|line| plain(&line["duplicate_of"])).collect::<Vec<_>>(), ["a", "a"]);
    assert!(removed[1]["resemblance"].as_f64().unwrap() < 0.8, "of that very pair: {}", removed[1]);
    assert_reasons(&shell, 0.5);
}

#[test]
fn a_database_counts_as_kept_and_stays_as_it_is() {
    let shell = shell();
    let documents = stock(20, 15);
    shell.stocked("db", &documents[..20], &[]);
    let before = shell.bytes("db");
    for options in [&[][..], &["--keep", "longest"], &["--transitive"]] {
        let kept = kept(&shell, &[&["--against", "db"], options].concat());
        assert!(kept.iter().all(|id| !documents[..20].iter().any(|(key, _)| key == id)), "{kept:?}");
        for family in 5..15 {
            assert!(kept.iter().any(|id| id.starts_with(&format!("f{family}."))), "{kept:?}");
        }
        for line in &lines(&shell, "removed.jsonl")[..20] {
            let of = plain(&line["duplicate_of"]);
            assert!(documents[..20].iter().any(|(key, _)| *key == of), "{line}");
        }
    }
    assert!(shell.bytes("db") == before, "the database was changed");
    dedup(&shell, &["--against", "missing"]).exits(2);
    dedup(&shell, &["--against", "db", "--threshold", "0.7"]).exits(4);
    shell.write("no database", "text");
    dedup(&shell, &["--against", "no database"]).exits(4);
    assert!(!shell.path("missing").exists());
}

#[test]
fn an_id_may_come_twice() {
    let shell = Shell::new();
    shell.write_lines(
        "in.jsonl",
        &[("a", "one two three"), ("a", "four five six"), ("a", "one two three"), ("b", "four five six")],
    );
    for keep in ["first", "longest", "shortest-key"] {
        assert_eq!(kept(&shell, &["--keep", keep]), ["a", "a"], "{keep}");
        assert_eq!(ids(&lines(&shell, "removed.jsonl")), ["a", "b"], "{keep}");
    }
}

#[test]
fn options_that_make_sketches_decide_too() {
    let shell = Shell::new();
    let draw = &mut Draw::new(24);
    let first = text(draw, 200);
    shell.write_lines("in.jsonl", &[("a", &first), ("b", &edited(draw, &first, 8))]);
    assert_eq!(kept(&shell, &["--threshold", "0.95"]), ["a", "b"]);
    assert_eq!(kept(&shell, &["--threshold", "0.4"]), ["a"]);
    dedup(&shell, &["--threshold", "7"]).exits(2);
}

#[test]
fn lines_that_have_no_time_are_told_when_the_oldest_is_to_be_kept() {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &[("a", "one two three"), ("b", "one two three")]);
    dedup(&shell, &["--keep", "oldest"]).exits(0).says("0 of 2 lines have seen_at");
    dedup(&shell, &["--keep", "oldest", "--time-field", "when"]).exits(0).says("0 of 2 lines have when");
    dedup(&shell, &["--keep", "oldest", "--quiet"]).exits(0).keeps_silent_of("lines have");
    dedup(&shell, &["--keep", "first"]).exits(0).keeps_silent_of("lines have");
    let line =
        |id: &str, time: &str| format!("{{\"id\":\"{id}\",\"text\":\"one two three\",\"seen_at\":{time}}}\n");
    shell.write("in.jsonl", [line("a", "\"soon\""), line("b", "17")].concat());
    dedup(&shell, &["--keep", "oldest"]).exits(0).says("1 of 2 lines have seen_at");
    shell.write("in.jsonl", [line("a", "16"), line("b", "17")].concat());
    dedup(&shell, &["--keep", "oldest"]).exits(0).keeps_silent_of("lines have");
}
