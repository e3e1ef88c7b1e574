//! `verify`, and `rebuild --salvage` of what it finds damaged.

use crate::run::{Shell, plain};
use crate::stock::{Document, assert_fields, stock};
use sketchdb::{Database, Options};
use std::collections::BTreeSet;

const FIELDS: [&str; 11] = [
    "ok",
    "deep",
    "pages",
    "contents",
    "documents",
    "entries",
    "clusters",
    "damaged",
    "damage",
    "intact_contents",
    "intact_documents",
];

fn shell() -> (Shell, Vec<Document>) {
    let (shell, documents) = (Shell::new(), stock(70, 60));
    shell.stocked("db", &documents, &[]);
    shell.run(&["compact", "db"]).exits(0);
    (shell, documents)
}

fn flip(shell: &Shell, name: &str, at: usize) {
    let mut bytes = shell.bytes("db");
    bytes[at] ^= 0x10;
    shell.write(name, bytes);
}

#[test]
fn a_whole_file_is_0() {
    let (shell, _) = shell();
    for deep in [&[][..], &["--deep"]] {
        let lines = shell.json(&[&["verify", "db"], deep].concat());
        assert_eq!(lines.len(), 1);
        assert_fields(&lines[0], &FIELDS);
        let line = &lines[0];
        assert_eq!((&line["ok"], &line["deep"]), (&true.into(), &(!deep.is_empty()).into()));
        assert_eq!((&line["documents"], &line["damaged"]), (&240.into(), &0.into()));
        assert_eq!(line["contents"], 180);
    }
    assert!(shell.run(&["verify", "db"]).exits(0).out.starts_with("whole"));
}

#[test]
fn a_flipped_byte_is_4_and_its_place_is_named() {
    let (shell, _) = shell();
    let len = shell.bytes("db").len();
    let mut named = 0;
    for part in 1..12 {
        let at = len * part / 12;
        flip(&shell, "damaged", at);
        let ran = shell.run(&["--json", "verify", "damaged"]);
        if ran.code == 0 {
            // A page that nothing was ever written to holds nothing that could be wrong.
            continue;
        }
        let line = &ran.exits(4).json()[0];
        assert_fields(line, &FIELDS);
        assert_eq!(line["ok"], false);
        let places: String = line["damage"].as_array().unwrap().iter().map(|d| plain(&d["at"])).collect();
        assert!(!places.is_empty() && line["damaged"].as_u64().unwrap() > 0, "{line}");
        named += usize::from(places.contains(&format!("{}", at / 4096 * 4096)));
        let mut named_once = std::collections::HashSet::new();
        for place in line["damage"].as_array().unwrap() {
            assert!(named_once.insert((plain(&place["at"]), plain(&place["what"]))), "named twice: {line}");
        }
    }
    assert!(named >= 6, "the page was named {named} times");
}

#[test]
fn a_damaged_file_is_left_as_it_is() {
    let (shell, _) = shell();
    let at = shell.bytes("db").len() / 2;
    flip(&shell, "damaged", at);
    let before = shell.bytes("damaged");
    shell.run(&["verify", "damaged", "--deep"]).exits(4).says("--salvage");
    assert!(shell.bytes("damaged") == before);
}

#[test]
fn what_is_no_database_is_4_and_what_is_not_there_2() {
    let (shell, _) = shell();
    let bytes = shell.bytes("db");
    for (name, bytes) in [
        ("empty", vec![]),
        ("text", b"hello".to_vec()),
        ("zeros", vec![0; 1 << 16]),
        ("half", bytes[..bytes.len() / 2].to_vec()),
    ] {
        shell.write(name, &bytes);
        shell.run(&["verify", name]).exits(4);
        assert!(shell.bytes(name) == bytes, "{name}");
    }
    shell.run(&["verify", "missing"]).exits(2).gives_nothing();
    shell.run(&["verify", "."]).exits(2).gives_nothing();
}

#[test]
fn of_what_has_lost_its_parameters_nothing_is_promised() {
    let (shell, _) = shell();
    let mut cut = shell.bytes("db");
    cut.truncate(12_288);
    shell.write("cut", &cut);
    shell.run(&["verify", "cut"]).exits(4).says("nothing of it can be saved").keeps_silent_of("--salvage");
    let ran = shell.run(&["rebuild", "cut", "--salvage"]).exits(4).gives_nothing();
    ran.says("nothing of the file can be saved").says("backup").keeps_silent_of("--salvage");
}

#[test]
fn readers_do_not_hinder_it_and_a_writer_does() {
    let (shell, _) = shell();
    let reader = Database::open(shell.path("db"), Options { read_only: true, ..Options::default() }).unwrap();
    shell.run(&["verify", "db"]).exits(0);
    drop(reader);
    let writer = Database::open(shell.path("db"), Options::default()).unwrap();
    shell.run(&["verify", "db"]).exits(6).gives_nothing();
    drop(writer);
}

#[test]
fn salvage_of_a_whole_file_loses_nothing() {
    let (shell, documents) = shell();
    shell.run(&["remove", "db", "f1.0", "f5.2"]).exits(0);
    let before = shell.answers("db", &documents);
    let lines = shell.json(&["rebuild", "db", "--salvage"]);
    assert_fields(
        &lines[0],
        &["documents", "contents", "lost_keys", "lost_documents", "changes_known", "damaged_file"],
    );
    assert_eq!(lines[0]["documents"], 238);
    assert_eq!((&lines[0]["lost_documents"], &lines[0]["changes_known"]), (&0.into(), &true.into()));
    assert_eq!(shell.answers("db", &documents), before);
    let people = shell.run(&["rebuild", "db", "--salvage"]).exits(0).out;
    assert_eq!(people, "238 documents, 179 distinct texts saved\n", "what is not lost is not told");
}

#[test]
fn salvage_keeps_what_is_whole_and_lists_the_rest() {
    let (shell, documents) = shell();
    let len = shell.bytes("db").len();
    let all: BTreeSet<&str> = documents.iter().map(|(key, _)| key.as_str()).collect();
    let (mut lost_some, mut lossy) = (0, 0);
    for part in 1..12 {
        flip(&shell, "damaged", len * part / 12);
        if shell.run(&["--quiet", "verify", "damaged"]).code == 0 {
            continue;
        }
        let ran = shell.run(&["--json", "rebuild", "damaged", "--salvage"]);
        let line = ran.json().remove(0);
        let lossless = line["damaged_file"].is_null();
        assert_eq!(ran.code, if lossless { 0 } else { 3 }, "{line}");
        lossy += usize::from(!lossless);
        let known = line["changes_known"].as_bool().unwrap();
        assert_eq!(known, !line["lost_documents"].is_null(), "{line}");
        let lost: BTreeSet<String> = line["lost_keys"].as_array().unwrap().iter().map(plain).collect();
        shell.run(&["verify", "damaged", "--deep"]).exits(0);
        let mut unlisted = 0;
        for key in &all {
            let there = shell.run(&["--quiet", "get", "damaged", key]).code == 0;
            assert!(!(there && lost.contains(*key)), "{key} is there and listed as lost");
            unlisted += u64::from(!there && !lost.contains(*key));
        }
        let saved = line["documents"].as_u64().unwrap();
        assert_eq!(saved + lost.len() as u64 + unlisted, 240, "{line}");
        assert!(line["lost_documents"].as_u64().is_none_or(|lost| unlisted <= lost), "{line}");
        assert!(saved > 200, "one byte cost {} documents: {line}", 240 - saved);
        lost_some += usize::from(!lost.is_empty());
        // What is listed comes back by adding it.
        let again: Vec<(&str, &str)> = documents
            .iter()
            .filter(|(key, _)| lost.contains(key))
            .map(|(key, text)| (key.as_str(), text.as_str()))
            .collect();
        if !again.is_empty() {
            shell.database("damaged", &again);
            shell.run(&["get", "damaged", again[0].0]).exits(0);
        }
        std::fs::remove_file(shell.path("damaged")).unwrap();
    }
    assert!(lost_some > 0 && lossy > 0, "no flip hit a record");
}
