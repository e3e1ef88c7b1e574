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
            let says = format!("{db} was made with --{name} {value}, not {other}: leave the option out, or ");
            let remedy = match rebuilt(&shell, db, option, other) {
                true => format!("`sketchdb rebuild {db} {option} {other}`"),
                false => "make another database".into(),
            };
            refused.says(&says).says(&remedy);
            assert_eq!(plain(&shell.json(&["stats", db])[0][*field]), *value, "{db} {option}");
        }
    }
}

/// Whether a rebuild takes the option.
fn rebuilt(shell: &Shell, db: &str, option: &str, value: &str) -> bool {
    std::fs::copy(shell.path(db), shell.path("copy")).unwrap();
    shell.run(&["rebuild", "copy", option, value]).code == 0
}

#[test]
fn options_without_a_value_are_named_as_they_are_given() {
    let shell = Shell::new();
    shell.write("a.txt", "one");
    shell.run(&["create", "db"]).exits(0);
    for (option, remedy) in [
        ("--labelled", "make another database"),
        ("--no-containment", "`sketchdb rebuild db --no-containment`"),
    ] {
        let ran = shell.run(&["add", "db", "a.txt", option]).exits(4).gives_nothing();
        ran.says(&format!("db was made without {option}: ")).says(remedy);
    }
    shell
        .run(&["add", "db", "a.txt", "--shingle", "bytes:8"])
        .exits(4)
        .says("--shingle words:5, not bytes:8");
    shell.run(&["create", "bytes", "--shingle", "bytes:8"]).exits(0);
    shell
        .run(&["add", "bytes", "a.txt", "--shingle", "words:5"])
        .exits(4)
        .says("--shingle bytes:8, not words:5");
}

#[test]
fn a_file_that_finds_equal_texts_only_is_made_with_a_warning() {
    let shell = Shell::new();
    shell.write("a.txt", "one");
    for args in
        [&["create", "x", "--keep-sketches", "edit"][..], &["add", "y", "a.txt", "--keep-sketches", "edit"]]
    {
        shell.run(args).exits(0).says("only equal texts are found");
    }
    let sample = ["create", "s", "--keep-sketches", "sample", "--no-containment"];
    shell.run(&sample).exits(0).says("only equal texts are found");
    shell.run(&["add", "y", "a.txt"]).exits(0).keeps_silent_of("only equal texts");
    shell.run(&["create", "z", "--keep-sketches", "edit,signature"]).exits(0).keeps_silent_of("only equal");
    shell.run(&["--quiet", "create", "q", "--keep-sketches", "edit"]).exits(0).keeps_silent_of("only equal");
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
