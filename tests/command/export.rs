//! `export` and `import`: everything as lines, and back.

use crate::run::Shell;
use crate::stock::{Document, stock};

fn shell(options: &[&str]) -> (Shell, Vec<Document>) {
    let (shell, documents) = (Shell::new(), stock(60, 10));
    shell.stocked("db", &documents, options);
    shell.run(&["remove", "db", "f0.0", "f1.1", "f9.3"]).exits(0);
    (shell, documents)
}

fn export(shell: &Shell, db: &str) -> String {
    shell.run(&["export", db]).exits(0).out
}

#[test]
fn the_export_of_an_import_is_the_export() {
    for options in [
        &[][..],
        &["--clusters", "greedy"],
        &["--clusters", "greedy", "--representative", "popular"],
        &["--shingle", "bytes:8", "--labelled", "--seed", "99"],
        &["--keep-sketches", "simhash"],
        &["--seen-at", "12345"],
    ] {
        let (shell, documents) = shell(options);
        if options.contains(&"popular") {
            // What stands for a cluster that lost a member is known when it was formed anew.
            shell.run(&["compact", "db"]).exits(0);
        }
        let lines = export(&shell, "db");
        shell.write("lines", &lines);
        shell.run(&["import", "copy", "lines"]).exits(0);
        assert!(export(&shell, "copy") == lines, "{options:?}");
        assert_eq!(shell.answers("copy", &documents), shell.answers("db", &documents), "{options:?}");
        shell.run(&["verify", "copy", "--deep"]).exits(0);
        let next = |db| shell.feed(&["--json", "add", db, "-"], "something new").exits(0).column("id");
        assert_eq!(next("copy"), next("db"), "{options:?}");
    }
}

#[test]
fn an_empty_database_goes_round() {
    let shell = Shell::new();
    shell.run(&["create", "db"]).exits(0);
    shell.feed(&["import", "copy", "-"], export(&shell, "db")).exits(0);
    assert_eq!(export(&shell, "copy"), export(&shell, "db"));
}

#[test]
fn every_line_is_json_without_a_text() {
    let (shell, documents) = shell(&[]);
    let lines = shell.run(&["export", "db"]).exits(0);
    assert!(lines.json().len() > 37);
    let text = documents[8].1.split(' ').next().unwrap();
    assert!(!lines.out.contains(text));
}

#[test]
fn an_import_merges_into_a_database_that_is_there() {
    let (shell, _) = shell(&[]);
    let lines = export(&shell, "db");
    shell.database("other", &[("own", "one two three")]);
    let merged = shell.feed(&["--json", "import", "other", "-"], &lines).exits(0);
    assert_eq!(merged.json()[0], serde_json::json!({"added": 37, "updated": 0, "kept": 0, "bounded": 0}));
    let again = shell.feed(&["--json", "import", "other", "-"], &lines).exits(0);
    assert_eq!(again.json()[0], serde_json::json!({"added": 0, "updated": 0, "kept": 37, "bounded": 0}));
    assert_eq!(shell.json(&["stats", "other"])[0]["documents"], 38);
    shell.write_lines("in.jsonl", &[("a", "text")]);
    shell.run(&["add", "unlike", "in.jsonl", "--threshold", "0.7"]).exits(0);
    shell.feed(&["import", "unlike", "-"], &lines).exits(4).gives_nothing().says("threshold");
    assert_eq!(shell.json(&["stats", "unlike"])[0]["documents"], 1);
}

/// What was done to an export, and what it is then.
fn spoiled(lines: &str) -> Vec<(&'static str, Vec<u8>)> {
    let list: Vec<&str> = lines.lines().collect();
    let put = |list: &[&str]| list.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    let last = list.len() - 1;
    let twice = |at: usize| put(&[&list[..=at], &list[at..]].concat());
    let without = |at: usize| put(&[&list[..at], &list[at + 1..]].concat());
    let changed = |from: &str, to: &str| {
        assert!(lines.contains(from), "{from}");
        lines.replacen(from, to, 1).into_bytes()
    };
    let mut swapped = list.clone();
    swapped.swap(1, 2);
    vec![
        ("empty", Vec::new()),
        ("no export", b"hello\n".to_vec()),
        ("an object", b"{}\n".to_vec()),
        ("cut at a line", put(&list[..last])),
        ("cut in a line", lines.as_bytes()[..lines.len() / 2].to_vec()),
        ("headless", without(0)),
        ("a content fewer", without(1)),
        ("a document fewer", without(last - 1)),
        ("a header twice", twice(0)),
        ("a content twice", twice(1)),
        ("a document twice", twice(last - 1)),
        ("an end twice", twice(last)),
        ("contents in another order", put(&swapped)),
        ("more behind the end", put(&[&list[..], &list[1..2]].concat())),
        ("another digit", changed("\"hash\":\"", "\"hash\":\"0")),
        ("a key twice", changed("\"key\":\"f2.1\"", "\"key\":\"f2.0\"")),
        ("an empty key", changed("\"key\":\"f2.1\"", "\"key\":\"\"")),
        ("an unknown field", changed("\"key\":\"f2.1\"", "\"kei\":\"f2.1\"")),
        ("another version", changed("\"export\":3", "\"export\":2")),
        ("a parameter that cannot be", changed("\"threshold\":0.8", "\"threshold\":8")),
        ("a sketch that is none", changed("\"sample\":\"", "\"sample\":\"ff")),
        ("a digit that is none", changed("\"signature\":\"", "\"signature\":\"zz")),
        ("no UTF-8", [lines.as_bytes(), b"\xFF\n"].concat()),
    ]
}

#[test]
fn what_is_not_whole_is_3_and_makes_no_file() {
    let (shell, _) = shell(&[]);
    for (what, lines) in spoiled(&export(&shell, "db")) {
        shell.write("lines", &lines);
        let ran = shell.run(&["import", "new", "lines"]).gives_nothing();
        assert_eq!(ran.code, 3, "{what}: {ran:?}");
        assert!(ran.err.starts_with("sketchdb: lines: ") && ran.err.contains("export"), "{what}: {ran:?}");
        shell.write("lines.zst", zstd::encode_all(&lines[..], 1).unwrap());
        assert_eq!(shell.run(&["import", "new", "lines.zst"]).gives_nothing().code, 3, "{what}");
        assert_eq!(shell.files(), ["db", "lines", "lines.zst"], "{what}");
    }
}

#[test]
fn what_is_not_whole_changes_no_database() {
    let (shell, _) = shell(&[]);
    shell.database("own", &[("own", "one two three")]);
    let before = export(&shell, "own");
    for (what, lines) in spoiled(&export(&shell, "db")) {
        let ran = shell.feed(&["import", "own", "-"], lines).gives_nothing();
        assert_eq!(ran.code, 3, "{what}: {ran:?}");
        assert_eq!(export(&shell, "own"), before, "{what}");
    }
}

#[test]
fn an_export_that_is_cut_off_while_packed_is_3() {
    let (shell, _) = shell(&[]);
    let packed = zstd::encode_all(export(&shell, "db").as_bytes(), 1).unwrap();
    shell.write("cut.zst", &packed[..packed.len() / 2]);
    shell.run(&["import", "new", "cut.zst"]).exits(3).gives_nothing().says("sketchdb: cut.zst: ");
}

#[test]
fn exports_that_cannot_be_read_are_3() {
    let shell = Shell::new();
    shell.run(&["import", "new", "missing"]).exits(3).gives_nothing().says("missing");
    shell.run(&["import", "new", "."]).exits(3).gives_nothing().says("directory");
    assert_eq!(shell.files(), [""; 0]);
}

#[test]
fn databases_that_are_not_there_are_2() {
    let shell = Shell::new();
    shell.run(&["export", "missing"]).exits(2).gives_nothing();
    shell.feed(&["import", "no/such/new", "-"], "").exits(2).gives_nothing();
    assert_eq!(shell.files(), [""; 0]);
}
