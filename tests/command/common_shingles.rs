//! `stats --common` and `--ignore-common`: boilerplate is learnt and left out of estimates.

use crate::common::texts::{Draw, text};
use crate::run::Shell;
use sketchdb::{SketchParams, Sketcher};
use std::collections::BTreeSet;

const PAGES: usize = 40;

/// Pages of one template with something of their own; the own part of the last but one is that of the last, with one word
/// more.
fn shell() -> (Shell, String) {
    let shell = Shell::new();
    let mut draw = Draw::new(811);
    let template = text(&mut draw, 250);
    let mut own: Vec<String> = (1..PAGES).map(|_| text(&mut draw, 50)).collect();
    own.push(format!("{} more", own[PAGES - 2]));
    let pages: Vec<(String, String)> =
        own.iter().enumerate().map(|(i, own)| (format!("page{i:02}"), format!("{template} {own}"))).collect();
    let lines: Vec<(&str, &str)> = pages.iter().map(|(key, text)| (&key[..], &text[..])).collect();
    shell.write_lines("pages.jsonl", &lines);
    shell.write("template.txt", &template);
    shell.write("last.txt", &pages[PAGES - 1].1);
    shell.run(&["add", "db", "pages.jsonl", "--threshold", "0.6"]).exits(0);
    (shell, template)
}

#[test]
fn what_all_pages_have_is_listed() {
    let (shell, _) = shell();
    let sample = |file: &str| -> BTreeSet<u64> {
        let mut sketcher = Sketcher::new(&SketchParams::default()).unwrap();
        let sketch = sketcher.sketch(&std::fs::read(shell.path(file)).unwrap());
        sketch.sample.values().iter().copied().collect()
    };
    let stats = &shell.json(&["stats", "db", "--common", "0.5"])[0];
    let common = stats["common"].as_array().unwrap();
    let listed: BTreeSet<u64> = common.iter().map(|shingle| shingle["value"].as_u64().unwrap()).collect();
    assert!(listed.len() > 150 && listed.is_subset(&sample("template.txt")), "{} values", listed.len());
    let shares: Vec<f64> = common.iter().map(|shingle| shingle["share"].as_f64().unwrap()).collect();
    assert!(shares.is_sorted_by(|a, b| a >= b) && shares.iter().all(|&share| share > 0.5), "{shares:?}");
    assert!(shares.iter().filter(|&&share| share == 1.0).count() > 150, "{shares:?}");
    let both: BTreeSet<u64> = sample("last.txt").intersection(&sample("template.txt")).copied().collect();
    assert_eq!(both.difference(&listed).count(), 0, "what the template has is common");
    assert!(shell.json(&["stats", "db"])[0]["common"].is_null(), "only when asked for");
    shell.run(&["stats", "db", "--common", "0.5"]).exits(0);
    assert_eq!(shell.json(&["stats", "db", "--common", "1"])[0]["common"], serde_json::json!([]));
    for verb in ["stats", "query", "pairs"] {
        let help = shell.run(&[verb, "--help"]).exits(0).out;
        assert!(!help.contains("(0, 1)"), "{help}");
    }
    shell.run(&["stats", "db", "--common", "1.5"]).exits(2).says("share of common shingles 1.5");
}

#[test]
fn without_what_is_common_only_pages_alike_in_their_own_part_are_alike() {
    let (shell, _) = shell();
    let all = shell.json(&["pairs", "db"]).len();
    assert!(all > PAGES * (PAGES - 1) / 4, "{all} pairs by their template");
    let pairs = shell.run(&["--json", "pairs", "db", "--ignore-common", "0.5"]).exits(0);
    let names = [["page38"], ["page39"]];
    assert_eq!([pairs.column("a"), pairs.column("b")], names, "{pairs:?}");
    let found = |options: &[&str]| {
        shell.run(&[&["--json", "query", "db", "last.txt"], options].concat()).exits(0).column("match")
    };
    assert!(found(&[]).len() > PAGES / 2);
    assert_eq!(found(&["--ignore-common", "0.5"]), ["page39", "page38"]);
    let contained = ["--by", "containment", "--threshold", "0.5"];
    assert!(found(&contained).len() > PAGES / 2);
    assert_eq!(found(&[&contained[..], &["--ignore-common", "0.5"]].concat()), ["page39", "page38"]);
    shell.run(&["pairs", "db", "--ignore-common", "0"]).exits(2).gives_nothing();
}

#[test]
fn few_texts_have_nothing_in_common() {
    let shell = Shell::new();
    let page = text(&mut Draw::new(5), 100);
    let pages: Vec<(String, String)> = (0..15).map(|i| (i.to_string(), format!("{page} {i}"))).collect();
    let lines: Vec<(&str, &str)> = pages.iter().map(|(key, text)| (&key[..], &text[..])).collect();
    shell.database("db", &lines);
    assert_eq!(shell.json(&["stats", "db", "--common", "0.1"])[0]["common"], serde_json::json!([]));
}
