//! `compact`: a smaller file that answers as before.

use crate::run::Shell;
use crate::stock::{Document, assert_fields, stock};
use sketchdb::{Database, Options};

/// A database that three of four families were removed from.
fn shell(options: &[&str]) -> (Shell, Vec<Document>) {
    let shell = Shell::new();
    let mut documents = stock(30, 120);
    shell.stocked("db", &documents, options);
    let keys: String = documents[80..].iter().map(|(key, _)| format!("{key}\n")).collect();
    shell.feed(&["remove", "db", "--keys-from", "-"], keys).exits(0);
    shell.run(&["remove", "db", "f2.0", "f3.1"]).exits(0);
    documents.truncate(80);
    (shell, documents)
}

#[test]
fn the_file_is_smaller_and_its_line_says_so() {
    let (shell, _) = shell(&[]);
    let before = shell.bytes("db").len();
    let lines = shell.json(&["compact", "db"]);
    assert_eq!(lines.len(), 1);
    assert_fields(&lines[0], &["documents", "contents", "bytes_before", "bytes_after"]);
    let after = shell.bytes("db").len();
    assert!(after < before * 2 / 3, "{before} -> {after}");
    assert_eq!((&lines[0]["bytes_before"], &lines[0]["bytes_after"]), (&before.into(), &after.into()));
    assert_eq!(lines[0]["documents"], 78);
    assert_eq!(shell.files(), ["db"], "nothing is left beside it");
}

#[test]
fn the_answers_are_the_same() {
    for options in [&[][..], &["--clusters", "greedy"], &["--no-containment"]] {
        let (shell, documents) = shell(options);
        let before = shell.answers("db", &documents);
        shell.run(&["compact", "db"]).exits(0);
        assert_eq!(shell.answers("db", &documents), before, "{options:?}");
        shell.run(&["verify", "db", "--deep"]).exits(0);
        let once = shell.bytes("db").len();
        shell.run(&["compact", "db"]).exits(0);
        assert!(shell.bytes("db").len() <= once, "{options:?}");
        assert_eq!(shell.answers("db", &documents), before, "{options:?}, twice");
    }
}

#[test]
fn nothing_dead_is_left() {
    let (shell, _) = shell(&[]);
    let dead = |shell: &Shell| {
        let stats = &shell.json(&["stats", "db"])[0];
        [stats["removed_documents"].as_u64().unwrap(), stats["dead_contents"].as_u64().unwrap()]
    };
    assert!(dead(&shell)[0] > 0);
    shell.run(&["compact", "db"]).exits(0);
    assert_eq!(dead(&shell), [0, 0]);
}

#[test]
fn numbers_go_on_where_they_were() {
    let shell = Shell::new();
    shell.database("db", &[("a", "one two three"), ("b", "four five six")]);
    shell.run(&["remove", "db", "b"]).exits(0);
    shell.run(&["compact", "db"]).exits(0);
    shell.write_lines("in.jsonl", &[("b", "four five six")]);
    assert_eq!(shell.json(&["add", "db", "in.jsonl"])[0]["id"], 2);
}

#[test]
fn a_locked_database_is_6_and_stays() {
    let (shell, _) = shell(&[]);
    let before = shell.bytes("db");
    let read_only = Options { read_only: true, ..Options::default() };
    let reader = Database::open(shell.path("db"), read_only).unwrap();
    shell.run(&["compact", "db"]).exits(6).gives_nothing().says("in use");
    shell.run(&["rebuild", "db"]).exits(6).gives_nothing().says("in use");
    shell.run(&["rebuild", "db", "--salvage"]).exits(6).gives_nothing().says("in use");
    drop(reader);
    assert!(shell.bytes("db") == before);
    shell.run(&["compact", "missing"]).exits(2).gives_nothing();
    shell.write("text", "text");
    shell.run(&["compact", "text"]).exits(4).gives_nothing();
}

#[cfg(unix)]
#[test]
fn permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let (shell, _) = shell(&[]);
    for mode in [0o600, 0o640, 0o664] {
        std::fs::set_permissions(shell.path("db"), PermissionsExt::from_mode(mode)).unwrap();
        for verb in [&["compact", "db"][..], &["rebuild", "db"], &["rebuild", "db", "--salvage"]] {
            shell.run(verb).exits(0);
            let now = std::fs::metadata(shell.path("db")).unwrap().permissions().mode();
            assert_eq!(now & 0o777, mode, "{verb:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let (shell, documents) = shell(&[]);
    std::fs::create_dir(shell.path("folder")).unwrap();
    std::fs::rename(shell.path("db"), shell.path("folder/real")).unwrap();
    std::os::unix::fs::symlink("folder/real", shell.path("db")).unwrap();
    let (answers, before) = (shell.answers("db", &documents), shell.bytes("folder/real").len());
    shell.run(&["compact", "db"]).exits(0);
    assert!(std::fs::symlink_metadata(shell.path("db")).unwrap().is_symlink());
    assert!(shell.bytes("folder/real").len() < before);
    assert_eq!(shell.answers("db", &documents), answers);
}
