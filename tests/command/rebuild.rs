//! `rebuild`: index and clusters again, with other parameters.

use crate::common::texts::{Draw, edited, text};
use crate::common::version::set_version;
use crate::run::Shell;
use crate::stock::{Document, stock};

fn shell(options: &[&str]) -> (Shell, Vec<Document>) {
    let (shell, documents) = (Shell::new(), stock(40, 20));
    shell.stocked("db", &documents, options);
    (shell, documents)
}

fn parameter(shell: &Shell, name: &str) -> String {
    shell.run(&["--json", "stats", "db"]).exits(0).column(name).concat()
}

#[test]
fn without_options_the_answers_are_the_same() {
    for options in [&[][..], &["--clusters", "greedy"], &["--hamming", "5"]] {
        let (shell, documents) = shell(options);
        shell.run(&["remove", "db", "f1.0", "f4.1"]).exits(0);
        let before = shell.answers("db", &documents);
        shell.run(&["rebuild", "db"]).exits(0);
        assert_eq!(shell.answers("db", &documents), before, "{options:?}");
        shell.run(&["verify", "db", "--deep"]).exits(0);
    }
}

#[test]
fn a_lower_threshold_finds_more() {
    let shell = Shell::new();
    let draw = &mut Draw::new(41);
    let mut documents = Vec::new();
    for family in 0..40 {
        let first = text(draw, 200);
        documents.push((format!("{family}.b"), edited(draw, &first, 14)));
        documents.push((format!("{family}.a"), first));
    }
    shell.stocked("db", &documents, &["--threshold", "0.9"]);
    let pairs = |more: &[&str]| shell.run(&[&["--json", "pairs", "db"], more].concat()).json().len();
    let before = pairs(&["--threshold", "0.5"]);
    shell.run(&["rebuild", "db", "--threshold", "0.5"]).exits(0);
    assert_eq!(parameter(&shell, "threshold"), "0.5");
    let after = pairs(&[]);
    assert!(after > before && after >= 30, "{before} -> {after}");
    assert!(shell.json(&["stats", "db"])[0]["clusters"].as_u64().unwrap() <= 50);
}

#[test]
fn what_the_texts_are_needed_for_is_2_and_says_why() {
    let (shell, _) = shell(&[]);
    let before = shell.run(&["export", "db"]).exits(0).out;
    for option in [
        ["--shingle", "words:3"],
        ["--sample", "128"],
        ["--minhashes", "64"],
        ["--simhash", "words:1"],
        ["--weights", "one"],
        ["--edit", "50:4"],
        ["--seed", "7"],
    ] {
        let ran = shell.run(&["rebuild", "db", option[0], option[1]]).exits(2).gives_nothing();
        ran.says(&option[0][2..]).says("without the texts");
    }
    shell.run(&["rebuild", "db", "--labelled"]).exits(2).gives_nothing().says("labelled");
    for wrong in [["--threshold", "2"], ["--recall", "1"], ["--hamming", "9"], ["--clusters", "bogus"]] {
        shell.run(&["rebuild", "db", wrong[0], wrong[1]]).exits(2).gives_nothing();
    }
    assert!(shell.run(&["export", "db"]).exits(0).out == before && shell.files() == ["db"]);
}

#[test]
fn the_help_lists_what_can_be_changed() {
    let help = Shell::new().run(&["rebuild", "--help"]).exits(0).out;
    assert!(help.contains("Parameters (the file's own unless given") && !help.contains("Creation"), "{help}");
    for own in ["--threshold", "--recall", "--hamming ", "--hamming-tables", "--clusters", "--keep-sketches"]
    {
        assert!(help.contains(own), "{own}: {help}");
    }
    for refused in ["--shingle", "--sample", "--minhashes", "--simhash", "--edit", "--seed", "[default: 0.8]"]
    {
        assert!(!help.contains(refused), "{refused}: {help}");
    }
    for verb in ["create", "add"] {
        let help = Shell::new().run(&[verb, "--help"]).exits(0).out;
        let (own, kept) = help.split_once("Creation options (kept in the file):").unwrap();
        assert!(kept.contains("--threshold") && kept.contains("[default: 0.8]"), "{help}");
        assert!(verb != "add" || own.contains("--seen-at") && own.contains("--contained"), "{help}");
    }
    for verb in ["compare", "sketch", "dedup"] {
        let help = Shell::new().run(&[verb, "--help"]).exits(0).out;
        assert!(help.contains("\nParameters:") && !help.contains("kept in the file"), "{help}");
    }
}

#[test]
fn containment_goes_and_comes_back() {
    let (shell, documents) = shell(&[]);
    let before = shell.answers("db", &documents);
    shell.write("q.txt", &documents[0].1);
    let contained = ["query", "db", "q.txt", "--by", "contained"];
    shell.run(&["rebuild", "db", "--no-containment"]).exits(0);
    shell.run(&contained).exits(2).gives_nothing().says("--no-containment");
    shell.run(&["rebuild", "db"]).exits(0);
    shell.run(&contained).exits(2);
    shell.run(&["rebuild", "db", "--containment"]).exits(0);
    shell.run(&contained).exits(0);
    std::fs::remove_file(shell.path("q.txt")).unwrap();
    assert_eq!(shell.answers("db", &documents), before);
    shell.run(&["rebuild", "db", "--containment", "--no-containment"]).exits(2);
}

#[test]
fn a_wider_distance_has_its_tables() {
    let (shell, documents) = shell(&["--hamming", "1", "--seen-at", "1000"]);
    shell.run(&["rebuild", "db", "--hamming", "6"]).exits(0).says("7 permuted tables for");
    assert_eq!((parameter(&shell, "hamming"), parameter(&shell, "hamming_tables")), ("6".into(), "7".into()));
    shell.run(&["pairs", "db", "--by", "hamming"]).exits(0).keeps_silent_of("not made for");
    shell.run(&["rebuild", "db", "--hamming-tables", "28"]).exits(0);
    assert_eq!(parameter(&shell, "hamming_tables"), "28");
    let (other, _) = self::shell(&["--hamming", "6", "--hamming-tables", "28", "--seen-at", "1000"]);
    assert_eq!(shell.answers("db", &documents), other.answers("db", &documents));
    // Without a number it has those that suit so few.
    shell.run(&["rebuild", "db"]).exits(0).says("7 permuted tables for").says("28 before");
    assert_eq!(parameter(&shell, "hamming_tables"), "7");
    shell.run(&["rebuild", "db"]).exits(0).keeps_silent_of("permuted tables");
}

#[test]
fn clusters_are_formed_by_the_new_rule() {
    let words: Vec<String> = text(&mut Draw::new(42), 240).split(' ').map(str::to_owned).collect();
    let texts = [0, 15, 30].map(|at| words[at..at + 200].join(" "));
    let shell = Shell::new();
    shell.database("db", &[("a", &texts[0]), ("b", &texts[1]), ("c", &texts[2])]);
    let sizes = || shell.run(&["--json", "clusters", "db", "--min-size", "1"]).exits(0).column("size");
    for (rule, expected) in [("greedy", vec!["2", "1"]), ("components", vec!["3"])] {
        shell.run(&["rebuild", "db", "--clusters", rule]).exits(0);
        assert_eq!(sizes(), expected, "{rule}");
        assert_eq!(parameter(&shell, "cluster_rule"), rule);
    }
}

#[test]
fn salvaging_takes_no_parameters() {
    let (shell, _) = shell(&[]);
    for more in [&["--threshold", "0.5"][..], &["--containment"], &["--no-containment"], &["--hamming", "4"]]
    {
        shell.run(&[&["rebuild", "db", "--salvage"], more].concat()).exits(2).gives_nothing();
    }
}

#[test]
fn a_database_must_be_there() {
    let shell = Shell::new();
    shell.run(&["rebuild", "missing"]).exits(2).gives_nothing();
    shell.run(&["rebuild", "missing", "--salvage"]).exits(2).gives_nothing();
    shell.write("text", "hello");
    shell.run(&["rebuild", "text"]).exits(4).gives_nothing();
    shell.run(&["rebuild", "text", "--salvage"]).exits(4).gives_nothing();
    assert_eq!(shell.bytes("text"), b"hello");
    assert_eq!(shell.files(), ["text"]);
}

#[test]
fn a_file_of_another_format_version_is_left_alone() {
    let (shell, _) = shell(&[]);
    shell.database("other", &[("a", "one two three")]);
    let whole = std::fs::read(shell.path("db")).unwrap();
    for (number, draft, remedy) in [(2, 0, "add its texts to a new database"), (3, 0, "a newer build")] {
        let mut bytes = whole.clone();
        set_version(&mut bytes, number, draft);
        std::fs::write(shell.path("db"), &bytes).unwrap();
        let says = format!("sketchdb: db: the file has format version {number}");
        for line in [
            "stats db",
            "pairs db",
            "compact db",
            "rebuild db",
            "verify db",
            "export db",
            "get db f1.0",
            "remove db f1.0",
            "merge other db",
            "sketch --like=db missing",
            "dedup --against=db missing",
        ] {
            let line: Vec<&str> = line.split(' ').collect();
            shell.run(&line).exits(4).gives_nothing().says(&says).says(remedy);
        }
        let lines = shell.run(&["export", "other"]).out;
        shell.feed(&["import", "db", "-"], lines).exits(4).says(&says);
        assert_eq!(std::fs::read(shell.path("db")).unwrap(), bytes);
    }
}
