//! `query`: which matches are told, and in which order.

use crate::common::texts::{Draw, text};
use crate::run::{Ran, Shell};

/// Holds a text (`a`, copies `b` and `c`), one word more (`d`), and another text (`e`).
fn shell() -> (Shell, String) {
    let shell = Shell::new();
    let mut draw = Draw::new(1);
    let first = text(&mut draw, 104);
    let (near, other) = (format!("{first} more"), text(&mut draw, 104));
    shell.database("db", &[("a", &first), ("b", &first), ("c", &first), ("d", &near), ("e", &other)]);
    (shell, first)
}

fn query(shell: &Shell, stdin: &str, more: &str) -> Ran {
    let more: Vec<&str> = more.split(' ').filter(|word| !word.is_empty()).collect();
    shell.feed(&[&["--json", "query", "db", "-"][..], &more].concat(), stdin)
}

#[test]
fn copies_are_counted_or_told() {
    let (shell, first) = shell();
    let found = query(&shell, &first, "").exits(0);
    assert_eq!(
        (found.column("match"), found.column("copies")),
        (vec!["a".into(), "d".into()], vec!["2".into(), "0".into()])
    );
    let found = query(&shell, &first, "--copies").exits(0);
    assert_eq!(found.column("match"), ["a", "b", "c", "d"]);
    assert_eq!(found.column("copies"), ["2", "2", "2", "0"]);
    let table = |more: &[&str]| shell.feed(&[&["query", "db", "-"], more].concat(), &first).exits(0).out;
    assert!(table(&[]).contains("a  (+2 copies)"));
    assert!(!table(&["--copies"]).contains("copies)"), "each has a line of its own");
}

#[test]
fn the_best_come_first_up_to_the_limit() {
    let (shell, first) = shell();
    for (limit, matches) in [("1", 1), ("2", 2), ("3", 3), ("0", 4), ("100", 4)] {
        let found = query(&shell, &first, &format!("--copies --limit {limit}")).exits(0);
        assert_eq!(found.column("match"), ["a", "b", "c", "d"][..matches]);
    }
}

#[test]
fn a_hundred_matches_are_told_by_default() {
    let shell = Shell::new();
    let keys: Vec<String> = (0..150).map(|number| number.to_string()).collect();
    shell.database("db", &keys.iter().map(|key| (key.as_str(), "one two three")).collect::<Vec<_>>());
    assert_eq!(query(&shell, "one two three", "--copies").exits(0).json().len(), 100);
    assert_eq!(query(&shell, "one two three", "--copies --limit 0").exits(0).json().len(), 150);
}

#[test]
fn a_list_that_is_cut_says_how_many_there_are() {
    let shell = Shell::new();
    let keys: Vec<String> = (0..148).map(|number| number.to_string()).collect();
    shell.database("db", &keys.iter().map(|key| (key.as_str(), "one two three")).collect::<Vec<_>>());
    for (more, head, lines) in [
        ("--copies", "-: 148 matches, showing 100", 100),
        ("--copies --limit 0", "-: 148 matches", 148),
        ("--copies --limit 148", "-: 148 matches", 148),
        ("--copies --limit 3", "-: 148 matches, showing 3", 3),
        ("", "-: 1 match", 1),
    ] {
        let more: Vec<&str> = more.split_whitespace().collect();
        let people = shell.feed(&[&["query", "db", "-"], &more[..]].concat(), "one two three").exits(0);
        assert_eq!(people.out.lines().next(), Some(head), "{people:?}");
        let told = query(&shell, "one two three", &more.join(" ")).exits(0);
        let all = head.split(' ').nth(1).unwrap();
        assert_eq!(told.column("matches"), vec![all; lines], "each line has it");
        assert!(told.column("bounded").iter().all(|bounded| bounded == "false"));
    }
    shell.write_lines("q.jsonl", &[("7", "one two three")]);
    let own = shell.json(&["query", "db", "q.jsonl", "--copies", "--limit", "1"]);
    assert_eq!((own.len(), &own[0]["matches"]), (1, &147.into()), "but the document itself");
    let answer = query(&shell, "one two three", "--yes-no").exits(0).json();
    assert_eq!(answer, [serde_json::json!({"query": "-", "found": true})]);
}

#[test]
fn containment_comes_with_its_interval_and_the_values_it_is_of() {
    let shell = Shell::new();
    let draw = &mut Draw::new(31);
    let words: Vec<String> = text(draw, 2000).split(' ').map(str::to_owned).collect();
    let (whole, part) = (words.join(" "), words[500..900].join(" "));
    shell.database("db", &[("whole", &whole), ("part", &part)]);
    let ask = |text: &str, by: &str| -> serde_json::Value {
        let lines = query(&shell, text, &format!("--by {by} --threshold 0.5")).exits(0).json();
        lines.into_iter().find(|line| line["exact"] == false).unwrap()
    };
    shell.write("whole", &whole);
    shell.write("part", &part);
    let compared = &shell.json(&["compare", "part", "whole"])[0];
    let (found, back) = (ask(&part, "containment"), ask(&whole, "contained"));
    for end in ["", "_low", "_high"] {
        let share = &compared[format!("containment{end}")];
        assert_eq!(&found[format!("containment{end}")], share);
        assert_eq!(&back[format!("contained{end}")], share);
        assert_eq!(back[format!("containment{end}")], compared[format!("contained{end}")]);
    }
    let low = found["containment_low"].as_f64().unwrap();
    assert!(low > 0.8 && low < 1.0 && found["containment_high"] == 1.0, "{found}");
    // A fifth of 256 values are the part's.
    let values = found["values"].as_u64().unwrap();
    assert!((25..90).contains(&values), "{found}");
    assert_eq!((&found["values"], &back["values"]), (&compared["containment_values"], &values.into()));
    assert_eq!((&compared["values"], &compared["contained_values"]), (&256.into(), &256.into()));
}

#[test]
fn a_document_does_not_match_its_own_key_unless_told() {
    let (shell, first) = shell();
    shell.write_lines("q.jsonl", &[("a", &first), ("e", &first), ("d", &first)]);
    let ask = |more: &[&str]| {
        let found = shell.run(&[&["--json", "query", "db", "q.jsonl"][..], more].concat()).exits(0);
        found
            .column("query")
            .into_iter()
            .zip(found.column("match"))
            .map(|(q, m)| q + "→" + &m)
            .collect::<Vec<_>>()
    };
    assert_eq!(ask(&[]), ["a→b", "a→d", "e→a", "e→d", "d→a"]);
    assert_eq!(ask(&["--self"]), ["a→a", "a→d", "e→a", "e→d", "d→a", "d→d"]);
}

#[test]
fn thresholds_cut_and_low_ones_warn() {
    let (shell, first) = shell();
    assert_eq!(query(&shell, &first, "--threshold 1").exits(0).column("match"), ["a"]);
    assert_eq!(query(&shell, &first, "--threshold 0.99").exits(0).column("match"), ["a", "d"]);
    assert_eq!(query(&shell, &first, "--threshold 0.995").exits(0).column("match"), ["a"]);
    query(&shell, &first, "--threshold 0.8").exits(0).keeps_silent_of("not made for");
    // 1-(1-t^6)^21 at t = .5.
    let low = query(&shell, &first, "--threshold 0.5").exits(0).says("28.2 %");
    assert_eq!(low.column("match"), ["a", "d"]);
    assert_eq!(query(&shell, "nothing like it", "--threshold 0.5").exits(1).gives_nothing().json().len(), 0);
}

#[test]
fn distances_count_bits() {
    let (shell, first) = shell();
    let zero = query(&shell, &first, "--by hamming --threshold 0").exits(0);
    assert_eq!(zero.column("match")[0], "a");
    let exact = |bits: &String| bits == "0";
    assert!(zero.column("hamming").iter().all(exact), "{zero:?}");
    let near = query(&shell, &format!("{first} more"), "--by hamming").exits(0);
    assert_eq!(
        (near.column("match")[0].as_str(), near.column("found_by")[0].as_str()),
        ("d", "[\"content\",\"simhash\"]")
    );
    let within = |bits: &String| bits.parse::<u32>().unwrap() <= 3;
    assert!(near.column("hamming").iter().all(within), "{near:?}");
    query(&shell, &first, "--by hamming --threshold 3").exits(0).keeps_silent_of("not made for");
    query(&shell, &first, "--by hamming --threshold 9").exits(0).says("not made for");
}

#[test]
fn the_ends_of_the_interval_decide() {
    let shell = Shell::new();
    let first = text(&mut Draw::new(2), 2000);
    // Some 1,900 of 2,100 shingles are shared.
    let (head, _) = first.split_at(first.len() / 20 * 19);
    shell.database("db", &[("a", &first)]);
    let line = query(&shell, head, "").exits(0).json().remove(0);
    let [low, high] = ["low", "high"].map(|end| line[end].as_f64().unwrap());
    let between = |a: f64, b: f64| ((a + b) / 2.0).to_string();
    let resemblance = line["resemblance"].as_f64().unwrap();
    assert!(low < resemblance && resemblance < high, "{line}");
    for (threshold, accepted) in [
        (between(low, resemblance), [false, true, true]),
        (between(resemblance, high), [false, false, true]),
        (between(0.8, low), [true, true, true]),
        (between(high, 1.0), [false, false, false]),
    ] {
        for (accept, found) in ["low", "estimate", "high"].iter().zip(accepted) {
            let more = format!("--threshold {threshold} --accept {accept}");
            query(&shell, head, &more).exits(if found { 0 } else { 1 });
        }
    }
}

#[test]
fn queries_store_nothing() {
    let (shell, first) = shell();
    let before = std::fs::read(shell.path("db")).unwrap();
    query(&shell, &first, "").exits(0);
    query(&shell, "a new text", "").exits(1);
    assert_eq!(std::fs::read(shell.path("db")).unwrap(), before);
}
