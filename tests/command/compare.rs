//! `compare`: every measure between two files, as JSON and for people.

use crate::common::texts::{Draw, edited, text};
use crate::run::Shell;
use std::collections::BTreeSet;

const FIELDS: &[&str] = &[
    "a",
    "b",
    "exact",
    "resemblance",
    "low",
    "high",
    "values",
    "containment",
    "containment_low",
    "containment_high",
    "containment_values",
    "contained",
    "contained_low",
    "contained_high",
    "contained_values",
    "hamming",
    "agreement",
    "edit",
    "edit_raw",
    "edit_unrelated",
    "edit_raw_unrelated",
    "inclusion",
    "profile",
];

/// `a.txt`, `b.txt` that has it in its midst, and the same text once more.
fn shell() -> Shell {
    let shell = Shell::new();
    let mut draw = Draw::new(371);
    let first = text(&mut draw, 2000);
    shell.write("a.txt", &first);
    shell.write("same.txt", &first);
    shell.write("b.txt", format!("{} {first} {}", text(&mut draw, 900), text(&mut draw, 900)));
    shell.write("edited.txt", edited(&mut draw, &first, 20));
    shell
}

#[test]
fn every_measure_is_told() {
    let shell = shell();
    let lines = shell.json(&["compare", "a.txt", "b.txt"]);
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    let names: BTreeSet<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, FIELDS.iter().copied().collect());
    let share = |field: &str| line[field].as_f64().unwrap_or_else(|| panic!("{field} of {line}"));
    assert_eq!((share("containment"), &line["exact"]), (1.0, &false.into()));
    for (value, low, high, exact) in [
        ("resemblance", "low", "high", 1996.0 / 3796.0),
        ("contained", "contained_low", "contained_high", 1996.0 / 3796.0),
    ] {
        assert!((share(value) - exact).abs() < 0.15, "{line}");
        assert!(share(low) < share(value) && share(value) < share(high), "{line}");
    }
    assert!(share("inclusion") > 0.9 && share("edit") < share("edit_unrelated"), "{line}");
}

#[test]
fn the_profile_tells_where_the_first_text_differs() {
    let shell = Shell::new();
    let mut draw = Draw::new(372);
    let words: Vec<String> = (0..4).map(|_| text(&mut draw, 5000)).collect();
    shell.write("a.txt", words.join(" "));
    shell.write(
        "b.txt",
        [&words[0], &words[1], &text(&mut draw, 5000), &words[3]].map(String::as_str).join(" "),
    );
    let line = &shell.json(&["compare", "a.txt", "b.txt"])[0];
    let profile: Vec<f64> =
        line["profile"].as_array().unwrap().iter().map(|share| share.as_f64().unwrap()).collect();
    assert_eq!(profile.len(), 20);
    assert!((profile.iter().sum::<f64>() - 1.0).abs() < 1e-4, "{profile:?}");
    assert!(profile[9..16].iter().sum::<f64>() > 0.9, "the third quarter differs: {profile:?}");
}

#[test]
fn people_read_the_same() {
    let shell = shell();
    let out = shell.run(&["compare", "a.txt", "b.txt"]).exits(0).out;
    for words in
        ["A  a.txt", "B  b.txt", "resemblance", "A is in B         1.000", "of 64", "unrelated", "inclusion"]
    {
        assert!(out.contains(words), "{words:?} is not in {out}");
    }
    let same = shell.run(&["compare", "a.txt", "same.txt"]).exits(0).out;
    assert!(same.contains("the same text"), "{same}");
}

#[test]
fn of_short_texts_no_inclusion_is_told() {
    let shell = Shell::new();
    let mut draw = Draw::new(373);
    shell.write("short.txt", text(&mut draw, 40));
    shell.write("long.txt", text(&mut draw, 2000));
    for files in [["short.txt", "long.txt"], ["long.txt", "short.txt"]] {
        assert!(shell.json(&["compare", files[0], files[1]])[0]["inclusion"].is_null());
        let people = shell.run(&["compare", files[0], files[1]]).exits(0).out;
        assert!(people.contains("inclusion         -"), "{people}");
    }
}

#[test]
fn identical_files_are_alike_in_every_way() {
    let shell = shell();
    let line = &shell.json(&["compare", "a.txt", "same.txt"])[0];
    for field in ["resemblance", "high", "containment", "contained", "agreement", "inclusion"] {
        assert_eq!(line[field].as_f64(), Some(1.0), "{field}");
    }
    for field in ["hamming", "edit", "edit_raw"] {
        assert_eq!(line[field].as_f64(), Some(0.0), "{field}");
    }
    assert_eq!(line["exact"], true);
}

#[test]
fn empty_files_compare() {
    let shell = shell();
    shell.write("empty.txt", "");
    shell.write("void.txt", "");
    let line = &shell.json(&["compare", "empty.txt", "void.txt"])[0];
    assert_eq!((&line["exact"], line["resemblance"].as_f64()), (&true.into(), Some(1.0)));
    let line = &shell.json(&["compare", "empty.txt", "a.txt"])[0];
    assert_eq!((&line["exact"], line["resemblance"].as_f64()), (&false.into(), Some(0.0)));
    shell.run(&["compare", "empty.txt", "a.txt"]).exits(0);
}

#[test]
fn unreadable_files_are_named() {
    let shell = shell();
    for args in [["compare", "a.txt", "missing.txt"], ["compare", "missing.txt", "a.txt"]] {
        shell.run(&args).exits(3).gives_nothing().says("missing.txt");
    }
    shell.run(&["compare", "no.txt", "missing.txt"]).exits(3).says("no.txt").says("missing.txt");
    shell.run(&["compare", "a.txt"]).exits(2);
    shell.run(&["compare", "a.txt", "b.txt", "--edit", "7:4"]).exits(2);
}
