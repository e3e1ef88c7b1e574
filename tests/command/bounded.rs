//! What is bounded by common terms is said by every verb that it concerns.

use crate::common::texts::{Draw, text};
use crate::run::Shell;

/// A database `db` of so many texts of one template.
fn shell(texts: usize) -> Shell {
    let shell = Shell::new();
    let template = text(&mut Draw::new(91), 30);
    let lines: String = (0..texts)
        .map(|number| {
            let marks: String = (0..12).map(|bit| if number >> bit & 1 == 1 { '!' } else { '?' }).collect();
            serde_json::json!({"id": number, "text": format!("{template}{marks}")}).to_string() + "\n"
        })
        .collect();
    shell.write("in.jsonl", lines);
    shell.write("q.txt", &template);
    shell.run(&["--quiet", "add", "db", "in.jsonl"]).exits(0);
    shell
}

fn counted(shell: &Shell, db: &str) -> u64 {
    shell.json(&["stats", db])[0]["bounded"].as_u64().unwrap()
}

#[test]
fn each_line_and_stderr_say_so() {
    for (texts, bounded) in [(256, false), (300, true)] {
        let shell = shell(texts);
        for (verb, words) in [
            (&["query", "db", "q.txt"][..], "bounded"),
            (&["pairs", "db"], "bounded"),
            (&["clusters", "db"], "bounded"),
            (&["clusters", "db", "--of", "7"], "bounded"),
        ] {
            let ran = shell.run(&[&["--json"], verb].concat()).exits(0);
            assert_eq!(ran.err.contains(words), bounded, "{ran:?}");
            let lines = ran.column("bounded");
            assert!(!lines.is_empty() && lines.iter().all(|line| *line == bounded.to_string()), "{verb:?}");
            let quiet = shell.run(&[&["--quiet"], verb].concat()).exits(0);
            assert!(!quiet.err.contains(words), "{quiet:?}");
        }
    }
}

#[test]
fn merge_and_rebuild_count_their_own() {
    let shell = shell(300);
    assert_eq!(counted(&shell, "db"), 43);
    shell.run(&["create", "into"]).exits(0);
    let merged = shell.run(&["--json", "merge", "into", "db"]).exits(0).says("43 texts were bounded");
    assert_eq!((merged.column("bounded"), counted(&shell, "into")), (vec!["43".into()], 43));
    let again = shell.run(&["--json", "merge", "into", "db"]).exits(0).keeps_silent_of("bounded");
    assert_eq!((again.column("bounded"), counted(&shell, "into")), (vec!["0".into()], 43));
    let rebuilt = shell.run(&["--json", "rebuild", "db", "--threshold", "0.7"]).exits(0);
    let rebuilt = rebuilt.says("43 texts were bounded");
    assert_eq!((rebuilt.column("bounded"), counted(&shell, "db")), (vec!["43".into()], 43));
    let keys: Vec<String> = (100..200).map(|key| key.to_string()).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    shell.run(&[&["remove", "db"], &keys[..]].concat()).exits(0);
    assert_eq!(shell.json(&["clusters", "db"])[0]["bounded"], true, "as long as it is not rebuilt");
    shell.run(&["compact", "db"]).exits(0);
    assert_eq!(counted(&shell, "db"), 43);
    let rebuilt = shell.run(&["--json", "rebuild", "db"]).exits(0).keeps_silent_of("bounded");
    assert_eq!((rebuilt.column("bounded"), counted(&shell, "db")), (vec!["0".into()], 0));
    assert_eq!(shell.json(&["clusters", "db"])[0]["bounded"], false);
}

#[test]
fn an_export_carries_it() {
    let shell = shell(300);
    let export = shell.run(&["export", "db"]).exits(0).out;
    shell.write("export", &export);
    shell.run(&["import", "new", "export"]).exits(0);
    assert_eq!(counted(&shell, "new"), 43);
    assert_eq!(shell.json(&["clusters", "new"])[0]["bounded"], true);
    assert!(shell.run(&["export", "new"]).exits(0).out == export);
}
