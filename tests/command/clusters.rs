//! `clusters`: which documents belong together.

use crate::common::texts::{Draw, edited, text};
use crate::run::{Ran, Shell, plain};
use crate::stock::{assert_fields, stock};
use sketchdb::{Database, Options};
use std::collections::{BTreeMap, BTreeSet};

fn shell(options: &[&str]) -> Shell {
    let shell = Shell::new();
    shell.stocked("db", &stock(8, 10), options);
    shell
}

fn members(line: &serde_json::Value) -> BTreeSet<String> {
    line["members"].as_array().unwrap().iter().map(plain).collect()
}

fn groups(ran: &Ran) -> BTreeSet<BTreeSet<String>> {
    ran.json().iter().map(members).collect()
}

/// The connected components of pairs.
fn components(pairs: &Ran) -> BTreeSet<BTreeSet<String>> {
    let mut of: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in pairs.json() {
        let ends = [plain(&line["a"]), plain(&line["b"])];
        let mut joined: BTreeSet<String> = ends.iter().cloned().collect();
        for end in &ends {
            joined.extend(of.get(end).cloned().unwrap_or_default());
        }
        for member in joined.clone() {
            of.insert(member, joined.clone());
        }
    }
    of.into_values().collect()
}

/// Three texts: the second is near the first and the third, which are not near each other.
fn chain(draw: &mut Draw) -> [String; 3] {
    let words: Vec<String> = text(draw, 240).split(' ').map(str::to_owned).collect();
    [0, 15, 30].map(|at| words[at..at + 200].join(" "))
}

#[test]
fn lines_have_their_fields_and_the_largest_come_first() {
    let shell = shell(&[]);
    let draw = &mut Draw::new(3);
    let large = text(draw, 200);
    let copies = [("c0", large.as_str()), ("c1", &large), ("c2", &large), ("c3", &large), ("c4", &large)];
    shell.database("db", &copies);
    let ran = shell.run(&["--json", "clusters", "db"]).exits(0);
    for line in ran.json() {
        assert_fields(&line, &["cluster", "size", "representative", "members", "cohesion", "bounded"]);
        assert_eq!(line["size"].as_u64().unwrap(), members(&line).len() as u64, "{line}");
        assert!(members(&line).contains(line["representative"].as_str().unwrap()), "{line}");
        let cohesion = line["cohesion"].as_f64().unwrap();
        assert!(cohesion > 0.0 && cohesion <= 1.0, "{line}");
    }
    let sizes: Vec<u64> = ran.json().iter().map(|line| line["size"].as_u64().unwrap()).collect();
    assert_eq!(sizes[0], 5);
    assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes.iter().all(|&size| size >= 2), "{sizes:?}");
}

#[test]
fn they_are_the_connected_components_of_pairs() {
    let shell = shell(&[]);
    let pairs = shell.run(&["--json", "pairs", "db", "--copies"]).exits(0);
    assert_eq!(groups(&shell.run(&["--json", "clusters", "db"]).exits(0)), components(&pairs));
}

#[test]
fn after_removals_they_are_the_components_of_the_pairs_left() {
    let shell = shell(&[]);
    let mut chained = chain(&mut Draw::new(5)).map(String::from);
    chained.rotate_left(1);
    shell.database("db", &[("middle", &chained[0]), ("right", &chained[1]), ("left", &chained[2])]);
    let together = &shell.json(&["clusters", "db", "--of", "left"])[0];
    assert_eq!(together["size"], 3);
    shell.run(&["remove", "db", "middle", "f0.0", "f1.3", "f2.1"]).exits(0);
    let pairs = shell.run(&["--json", "pairs", "db", "--copies"]).exits(0);
    assert_eq!(groups(&shell.run(&["--json", "clusters", "db"]).exits(0)), components(&pairs));
    assert_eq!(shell.json(&["clusters", "db", "--of", "left"])[0]["size"], 1);
}

#[test]
fn the_least_size_is_as_asked() {
    let shell = shell(&[]);
    let count = |size| shell.run(&["--json", "clusters", "db", "--min-size", size]).column("size");
    let large = count("3");
    assert!(!large.is_empty() && large.iter().all(|size| size.parse::<u64>().unwrap() >= 3), "{large:?}");
    let all: u64 = count("1").iter().map(|size| size.parse::<u64>().unwrap()).sum();
    assert_eq!(all, 40, "each document is in one");
    shell.run(&["clusters", "db", "--min-size", "41"]).exits(1).gives_nothing();
    shell.run(&["clusters", "db", "--min-size", "-1"]).exits(2).gives_nothing();
}

#[test]
fn the_cluster_of_a_document_is_the_one_it_is_in() {
    let shell = shell(&[]);
    let of = shell.json(&["clusters", "db", "--of", "f3.3"]);
    assert_eq!(of.len(), 1);
    assert!(members(&of[0]).contains("f3.3") && members(&of[0]).contains("f3.0"));
    assert_eq!(of[0]["cluster"], shell.json(&["get", "db", "f3.3"])[0]["cluster"]);
    let listed = shell.run(&["--json", "clusters", "db"]).exits(0);
    assert!(listed.json().contains(&of[0]));
    shell.run(&["clusters", "db", "--of", "nobody"]).exits(1).gives_nothing();
}

#[test]
fn greedy_ones_hold_what_is_near_their_first_only() {
    for (rule, sizes) in [("components", vec!["3"]), ("greedy", vec!["2", "1"])] {
        let shell = Shell::new();
        let texts = chain(&mut Draw::new(9));
        shell.write_lines("in.jsonl", &[("a", &texts[0]), ("b", &texts[1]), ("c", &texts[2])]);
        shell.run(&["add", "db", "in.jsonl", "--clusters", rule]).exits(0);
        let ran = shell.run(&["--json", "clusters", "db", "--min-size", "1"]).exits(0);
        assert_eq!(ran.column("size"), sizes, "{rule}");
        assert_eq!(ran.column("representative")[0], "a", "{rule}");
    }
}

#[test]
fn none_is_1() {
    let shell = Shell::new();
    shell.database("db", &[("a", "one two three"), ("b", "four five six")]);
    shell.run(&["--json", "clusters", "db"]).exits(1).gives_nothing();
    shell.run(&["clusters", "missing"]).exits(2).gives_nothing();
}

#[test]
fn people_see_their_first_members() {
    let shell = Shell::new();
    let draw = &mut Draw::new(13);
    let first = text(draw, 200);
    let documents: Vec<(String, String)> = (0..14)
        .map(|at| (format!("k{at}"), if at < 12 { first.clone() } else { edited(draw, &first, 1) }))
        .collect();
    shell.stocked("db", &documents, &[]);
    let out = shell.run(&["clusters", "db"]).exits(0).out;
    assert!(out.starts_with("cluster 0: 14 documents") && out.contains("and 4 more"), "{out}");
}

#[test]
fn a_cluster_that_lost_a_member_is_formed_once() {
    let shell = Shell::new();
    let draw = &mut Draw::new(77);
    let whole = text(draw, 200);
    let edits: Vec<String> = (0..6).map(|_| edited(draw, &whole, 2)).collect();
    for verb in [&["get", "db", "k1"][..], &["clusters", "db"], &["stats", "db"], &["export", "db"]] {
        let _ = std::fs::remove_file(shell.path("db"));
        let documents: Vec<(String, &String)> =
            edits.iter().enumerate().map(|(n, t)| (format!("k{n}"), t)).collect();
        let documents: Vec<(&str, &str)> = documents.iter().map(|(k, t)| (k.as_str(), t.as_str())).collect();
        shell.database("db", &documents);
        shell.run(&["remove", "db", "k3"]).exits(0);
        let unformed = || {
            let options = Options { read_only: true, ..Options::default() };
            Database::open(shell.path("db"), options).unwrap().unformed_clusters()
        };
        assert_eq!(unformed(), 1, "{verb:?}");
        // Who may only read gets the same.
        let reader =
            Database::open(shell.path("db"), Options { read_only: true, ..Options::default() }).unwrap();
        let meanwhile = shell.run(verb).exits(0).out;
        assert_eq!(unformed(), 1, "{verb:?}");
        drop(reader);
        assert!(shell.run(verb).exits(0).out == meanwhile || verb[0] == "stats", "{verb:?}");
        assert_eq!(unformed(), 0, "{verb:?}");
        assert!(shell.run(verb).exits(0).out == meanwhile || verb[0] == "stats", "{verb:?}");
    }
}
