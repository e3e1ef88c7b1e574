//! Creation options: kept, accepted when equal, refused when they differ.

use crate::run::{Shell, plain};

/// Options, the values that stats tells of them, and other values.
const OPTIONS: &[(&str, &str, &str, &str)] = &[
    ("--shingle", "shingle", "words:3", "words:4"),
    ("--threshold", "threshold", "0.7", "0.75"),
    ("--recall", "recall", "0.95", "0.9"),
    ("--sample", "sample", "64", "65"),
    ("--minhashes", "minhashes", "64", "96"),
    ("--simhash", "simhash", "words:1", "words:2"),
    ("--hamming", "hamming", "2", "4"),
    ("--hamming-tables", "hamming_tables", "10", "4"),
    ("--weights", "weights", "one", "tf"),
    ("--edit", "edit", "50:8", "100:4"),
    ("--passages", "passages", "100", "200"),
    ("--html", "html", "text", "raw"),
    ("--seed", "seed", "18446744073709551615", "1"),
];

#[test]
fn options_are_kept_and_equal_ones_accepted() {
    for (option, field, value, other) in OPTIONS {
        let shell = Shell::new();
        shell.write("a.txt", "one two three");
        shell.run(&["create", "db", option, value]).exits(0);
        shell.run(&["add", "made", "a.txt", option, value]).exits(0);
        for db in ["db", "made"] {
            assert_eq!(plain(&shell.json(&["stats", db])[0][*field]), *value, "{db} {option}");
            shell.run(&["add", db, "a.txt", option, value]).exits(0);
            shell.run(&["add", db, "a.txt"]).exits(0);
            let refused = shell.run(&["add", db, "a.txt", option, other]).exits(4).gives_nothing();
            let name = &option[2..];
            assert!(refused.err.contains(name), "{refused:?}");
            refused.says(value).says(other);
            assert_eq!(plain(&shell.json(&["stats", db])[0][*field]), *value, "{db} {option}");
        }
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    let shell = Shell::new();
    shell.run(&["create", "db"]).exits(0);
    let stats = &shell.json(&["stats", "db"])[0];
    for (field, value) in [
        ("shingle", "words:5"),
        ("threshold", "0.8"),
        ("recall", "0.99"),
        ("sample", "256"),
        ("minhashes", "128"),
        ("simhash", "words:2"),
        ("hamming", "3"),
    ] {
        assert_eq!(plain(&stats[field]), value, "{field}");
    }
    shell.write("a.txt", "one");
    shell
        .run(&["add", "db", "a.txt", "--shingle", "words:5", "--threshold", "0.8", "--recall", "0.99"])
        .exits(0);
    shell.run(&["add", "db", "a.txt", "--threshold", "0.80", "--hamming", "3"]).exits(0);
}

#[test]
fn a_random_seed_is_drawn_once() {
    let shell = Shell::new();
    shell.write("a.txt", "one two three");
    let seeds: Vec<String> = ["x", "y"]
        .iter()
        .map(|db| {
            shell.run(&["add", db, "a.txt", "--seed", "random"]).exits(0);
            let again = shell.run(&["--json", "add", db, "a.txt", "--seed", "random"]).exits(0);
            assert_eq!(again.column("verdict"), ["unchanged"]);
            plain(&shell.json(&["stats", db])[0]["seed"])
        })
        .collect();
    assert_ne!(seeds[0], seeds[1]);
}

#[test]
fn create_refuses_what_exists() {
    let shell = Shell::new();
    shell.write("notes.txt", "mine");
    shell.run(&["create", "notes.txt"]).exits(2).says("exists");
    assert_eq!(std::fs::read(shell.path("notes.txt")).unwrap(), b"mine");
}

#[test]
fn wrong_options_leave_no_file() {
    let shell = Shell::new();
    shell.write("a.txt", "one");
    shell.run(&["add", "db", "a.txt", "--threshold", "2"]).exits(2);
    shell.run(&["create", "db", "--hamming-tables", "5"]).exits(2).says("hamming-tables");
    assert_eq!(std::fs::read_dir(shell.path("")).unwrap().count(), 1);
}
