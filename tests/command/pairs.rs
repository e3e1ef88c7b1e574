//! `pairs`: every near-duplicate pair, once.

use crate::common::texts::{Draw, edited, text};
use crate::run::{Ran, Shell, plain};
use crate::stock::{assert_fields, borrowed, stock};
use std::collections::BTreeSet;

const FAMILIES: usize = 12;

fn shell() -> Shell {
    let shell = Shell::new();
    let documents = stock(7, FAMILIES);
    shell.stocked("db", &documents, &[]);
    shell.write_lines("all.jsonl", &borrowed(&documents));
    shell
}

fn pairs(shell: &Shell, options: &[&str]) -> Ran {
    shell.run(&[&["--json", "pairs", "db"], options].concat())
}

/// Unordered pairs of two fields; none may come twice.
fn unordered(ran: &Ran, a: &str, b: &str) -> Vec<[String; 2]> {
    let sorted = |mut pair: [String; 2]| {
        pair.sort_unstable();
        pair
    };
    ran.json().iter().map(|line| sorted([plain(&line[a]), plain(&line[b])])).collect()
}

/// The pairs that queries of every document find.
fn queried(shell: &Shell, options: &[&str]) -> BTreeSet<[String; 2]> {
    let ask = ["--json", "query", "db", "all.jsonl", "--limit", "0", "--copies"];
    unordered(&shell.run(&[&ask, options].concat()), "query", "match").into_iter().collect()
}

#[test]
fn lines_have_their_fields() {
    let ran = pairs(&shell(), &[]).exits(0);
    for line in ran.json() {
        assert_fields(&line, &["a", "b", "resemblance", "low", "high", "hamming", "exact", "bounded"]);
        let share = |field: &str| line[field].as_f64().unwrap();
        assert!(share("low") <= share("resemblance") && share("resemblance") <= share("high"), "{line}");
        assert!(share("resemblance") >= 0.8 && line["hamming"].as_u64().unwrap() <= 64, "{line}");
        assert_eq!(
            line["exact"].as_bool().unwrap(),
            line["a"].as_str().unwrap().ends_with(".0") && line["b"].as_str().unwrap().ends_with(".3"),
            "{line}"
        );
    }
}

#[test]
fn with_copies_they_are_what_queries_find_each_once() {
    let shell = shell();
    for options in [
        &[][..],
        &["--by", "hamming"],
        &["--by", "hamming", "--threshold", "1"],
        &["--by", "agreement"],
        &["--threshold", "0.9"],
        &["--accept", "low"],
        &["--accept", "high"],
        &["--confirm", "simhash:2"],
        &["--confirm", "edit:0.02", "--confirm", "simhash"],
        &["--by", "hamming", "--threshold", "3", "--confirm", "edit:0.05"],
    ] {
        let listed = unordered(&pairs(&shell, &[options, &["--copies"]].concat()), "a", "b");
        let set: BTreeSet<[String; 2]> = listed.iter().cloned().collect();
        assert_eq!(set.len(), listed.len(), "{options:?}: a pair came twice");
        assert!(listed.iter().all(|[a, b]| a != b), "{options:?}: a document is no pair with itself");
        assert_eq!(set, queried(&shell, options), "{options:?}");
        assert!(set.len() >= FAMILIES, "{options:?}: {} pairs", set.len());
    }
}

#[test]
fn without_copies_a_copy_is_paired_with_the_first_of_its_text_only() {
    let shell = shell();
    let listed: BTreeSet<_> = unordered(&pairs(&shell, &[]), "a", "b").into_iter().collect();
    let all: BTreeSet<_> = unordered(&pairs(&shell, &["--copies"]), "a", "b").into_iter().collect();
    let expected: BTreeSet<_> =
        all.iter().filter(|[a, b]| !b.ends_with(".3") || a.ends_with(".0")).cloned().collect();
    assert!(expected.len() < all.len());
    assert_eq!(listed, expected);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let shell = shell();
    let with = |threads| pairs(&shell, &["--copies", "--threads", threads]).exits(0).out;
    let one = with("1");
    for threads in ["2", "3"] {
        assert_eq!(with(threads), one);
    }
}

#[test]
fn the_ends_of_the_interval_accept_fewer_and_more() {
    let shell = Shell::new();
    shell.stocked("db", &stock(70, 40), &["--sample", "32"]);
    let count = |accept| pairs(&shell, &["--accept", accept]).json().len();
    let [low, estimate, high] = ["low", "estimate", "high"].map(count);
    assert!(low < estimate && estimate < high, "{low}, {estimate}, {high}");
}

#[test]
fn no_pair_is_1() {
    let shell = Shell::new();
    shell.run(&["create", "db"]).exits(0);
    pairs(&shell, &[]).exits(1).gives_nothing();
    shell.database("two", &[("a", "one two three four five"), ("b", "six seven eight nine ten")]);
    shell.run(&["--json", "pairs", "two"]).exits(1).gives_nothing();
}

#[test]
fn texts_without_tokens_are_pairs_of_their_copies_only() {
    let shell = Shell::new();
    shell.database("db", &[("a", "..."), ("b", "!!!"), ("c", "..."), ("d", "")]);
    assert_eq!(unordered(&pairs(&shell, &[]).exits(0), "a", "b"), [["a".to_owned(), "c".to_owned()]]);
    pairs(&shell, &["--by", "hamming"]).exits(0);
}

#[test]
fn below_the_threshold_the_recall_is_told() {
    let shell = shell();
    let told = |options: &[&str]| pairs(&shell, options).exits(0).err.contains("not made for this threshold");
    assert!(told(&["--threshold", "0.5"]));
    assert!(told(&["--by", "hamming", "--threshold", "9"]));
    assert!(!told(&["--threshold", "0.8"]) && !told(&["--by", "hamming", "--threshold", "3"]));
    assert!(!told(&["--threshold", "0.5", "--quiet"]));
}

#[test]
fn measures_that_pairs_cannot_be_listed_by_are_2() {
    let shell = shell();
    for by in ["containment", "contained", "edit", "any", "bogus"] {
        pairs(&shell, &["--by", by]).exits(2).gives_nothing();
    }
    let help = shell.run(&["pairs", "--help"]).exits(0).out;
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("[possible values: resemblance, agreement, hamming]"), "{help}");
    assert!(!help.contains("--by edit"), "{help}");
    for threshold in ["0", "1.5", "x"] {
        pairs(&shell, &["--threshold", threshold]).exits(2).gives_nothing();
    }
    shell.run(&["pairs", "missing"]).exits(2).gives_nothing();
}

#[test]
fn what_is_not_kept_lists_no_pairs_and_says_so() {
    let shell = Shell::new();
    shell.stocked("db", &stock(7, 2), &["--keep-sketches", "edit"]);
    let ran = shell
        .run(&["pairs", "db"])
        .exits(2)
        .gives_nothing()
        .says("by resemblance: this database keeps only edit");
    ran.keeps_silent_of("a query").keeps_silent_of("documents");
}

#[test]
fn an_updated_document_is_paired_by_its_newest_text() {
    let shell = Shell::new();
    let draw = &mut Draw::new(71);
    let (first, other) = (text(draw, 200), text(draw, 200));
    shell.database("db", &[("a", &first), ("b", &edited(draw, &first, 1)), ("c", &other)]);
    shell.database("db", &[("b", &edited(draw, &other, 1))]);
    assert_eq!(unordered(&pairs(&shell, &[]).exits(0), "a", "b"), [["b".to_owned(), "c".to_owned()]]);
}

#[test]
fn people_see_the_same_pairs() {
    let shell = shell();
    let people = shell.run(&["--quiet", "pairs", "db"]).exits(0).out;
    assert_eq!(people.lines().count(), pairs(&shell, &[]).json().len());
    assert!(people.contains("same text") && people.contains("f0.0"), "{people}");
}
