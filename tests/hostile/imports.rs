//! Proves that lines which are no export are refused, that nothing is made of them, and that they never panic.

use super::common::disk::MemoryDisk;
use super::common::place::{document, exported};
use sketchdb::{Database, Error, Options, Params, Policy};

const MEMORY: usize = 4 << 20;

/// An export of a few documents, some of them copies and near duplicates.
pub(super) fn lines() -> Vec<String> {
    let disk = MemoryDisk::of(Vec::new());
    Database::create_on(disk.clone(), &Params::default()).unwrap();
    let db = Database::open_on(disk, Options::default()).unwrap();
    let text = |number: usize| (0..40).map(|word| format!("w{} ", word * 7 + number)).collect::<String>();
    let texts = [text(0), text(0), text(0) + "more", text(500), text(900)];
    let documents = texts.iter().enumerate().map(|(n, text)| document(&db, &format!("key {n}"), text));
    db.add_batch(documents.collect(), Policy::Everything).unwrap();
    exported(&db).unwrap()
}

/// The lines with the checksum that they should have: so that what is wrong in them is not found by it alone.
pub(super) fn sealed(mut lines: Vec<String>) -> Vec<String> {
    let mut hasher = blake3::Hasher::new();
    for line in &mut lines {
        if let Ok(mut end) = serde_json::from_str::<serde_json::Value>(line)
            && let Some(checksum) = end.get_mut("end").and_then(|end| end.get_mut("blake3"))
        {
            *checksum = hasher.finalize().to_hex()[..32].into();
            *line = end.to_string();
        }
        hasher.update(line.as_bytes()).update(b"\n");
    }
    lines
}

fn import(lines: Vec<String>) -> Result<u64, Error> {
    let mut lines = lines.into_iter().map(Ok);
    Database::import_onto(MemoryDisk::of(Vec::new()), &mut lines, MEMORY, &mut |_, _, _| {})
}

/// Changes the first line of a kind.
fn changed(kind: &str, change: impl FnOnce(&mut serde_json::Value)) -> Vec<String> {
    let mut lines = lines();
    let at = lines.iter().position(|line| line.starts_with(&format!("{{\"{kind}\""))).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&lines[at]).unwrap();
    change(&mut value[kind]);
    lines[at] = value.to_string();
    lines
}

fn set(kind: &str, name: &str, value: impl Into<serde_json::Value>) -> Vec<String> {
    changed(kind, |line| line[name] = value.into())
}

fn missing(kind: &str, name: &str) -> Vec<String> {
    changed(kind, |line| drop(line.as_object_mut().unwrap().remove(name).unwrap()))
}

/// The other digit that differs in one bit.
fn flipped(digit: u8) -> char {
    char::from_digit((digit as char).to_digit(16).unwrap() ^ 1, 16).unwrap()
}

#[test]
fn a_changed_digit_of_an_export_is_refused() {
    let whole = lines();
    assert!(import(whole.clone()).is_ok() && import(sealed(whole.clone())).is_ok());
    let mut changes = 0;
    for number in 1..whole.len() {
        for field in [
            "\"hash\":\"",
            "\"sample\":\"",
            "\"signature\":\"",
            "\"simhash\":\"",
            "\"edit\":\"",
            "\"blake3\":\"",
        ] {
            let mut lines = whole.clone();
            let Some(at) = lines[number].find(field).map(|at| at + field.len() + 9) else { continue };
            let digit = flipped(lines[number].as_bytes()[at]);
            lines[number].replace_range(at..=at, digit.encode_utf8(&mut [0]));
            assert!(matches!(import(lines), Err(Error::Invalid { .. })), "{field} of line {number}");
            changes += 1;
        }
    }
    assert!(changes > 15, "{changes}");
}

#[test]
fn an_export_without_a_checksum_says_what_to_do() {
    let error = import(set("sketchdb", "export", 2)).unwrap_err().to_string();
    assert!(error.contains("version 2") && error.contains("export it again"), "{error}");
}

#[test]
fn lines_that_are_no_export_are_refused() {
    assert_eq!(import(lines()).unwrap(), 5);
    let edited = |edit: &dyn Fn(&mut Vec<String>)| {
        let mut lines = lines();
        edit(&mut lines);
        lines
    };
    let hash = "ab".repeat(16);
    let cases = [
        ("nothing", Vec::new()),
        ("no header", edited(&|lines| drop(lines.remove(0)))),
        ("two headers", edited(&|lines| lines.insert(1, lines[0].clone()))),
        ("no end", edited(&|lines| drop(lines.pop()))),
        ("lines behind the end", edited(&|lines| lines.push(lines[1].clone()))),
        ("a line twice", edited(&|lines| lines.insert(2, lines[1].clone()))),
        ("a line missing", edited(&|lines| drop(lines.remove(1)))),
        ("contents out of order", edited(&|lines| lines.swap(1, 2))),
        ("the end in between", edited(&|lines| lines.rotate_right(1))),
        ("no JSON", edited(&|lines| lines[2] = "}{".into())),
        ("NUL alone", edited(&|lines| lines[2] = "\0".into())),
        ("a deep line", edited(&|lines| lines[2] = "[".repeat(1 << 20))),
        ("a huge line", edited(&|lines| lines[2] = format!("{{\"content\":\"{}\"}}", "a".repeat(8 << 20)))),
        ("half a line", edited(&|lines| lines[2].truncate(40))),
        ("an unknown field", set("content", "more", 1)),
        ("a number never given", set("content", "id", u64::MAX)),
        ("a negative number", set("document", "id", -1)),
        ("next numbers beyond all", set("sketchdb", "next_content", u64::MAX)),
        ("next numbers too far away", set("sketchdb", "next_document", 1u64 << 50)),
        ("another version", set("sketchdb", "export", 2)),
        ("no parameters", set("sketchdb", "params", serde_json::json!({}))),
        ("a younger cluster", set("content", "cluster", 3)),
        ("a cluster far away", set("content", "cluster", u64::MAX)),
        ("a short hash", set("content", "hash", "ab")),
        ("a hash that is no number", set("content", "hash", "zz".repeat(16))),
        ("a hash with signs", set("content", "hash", "+a".repeat(16))),
        ("a hash beyond ASCII", set("content", "hash", "é".repeat(16))),
        ("an odd number of digits", set("content", "sample", "abc")),
        ("a sample of noise", set("content", "sample", hash.clone())),
        ("a sample of a million values", set("content", "sample", "ff".repeat(1 << 20))),
        ("a signature too long", set("content", "signature", "ab".repeat(4096))),
        ("a signature too short", set("content", "signature", "")),
        ("an edit signature of noise", set("content", "edit", hash)),
        ("a simhash of nine bytes", set("content", "simhash", "123456789abcdef012")),
        ("a simhash with a sign", set("content", "simhash", "+12")),
        ("a document of no content", set("document", "content", 4)),
        ("a content of another document", set("content", "document", 3)),
        ("a key twice", set("document", "key", "key 1")),
        ("an empty key", set("document", "key", "")),
        ("a key of 5,000 bytes", set("document", "key", "k".repeat(5000))),
        ("a sketch missing", missing("content", "simhash")),
        ("a time missing", missing("document", "last_seen")),
        ("a checksum missing", missing("end", "blake3")),
        ("an end that counts others", set("end", "documents", 6)),
    ];
    for (name, lines) in cases {
        match import(sealed(lines)) {
            Err(Error::Invalid { remedy, .. }) if remedy.contains("checksum") => {
                panic!("{name}: only the checksum tells")
            }
            Err(Error::Invalid { .. } | Error::Corrupt { .. } | Error::Incompatible { .. }) => {}
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn numbers_that_do_not_ascend_are_named() {
    let whole = lines();
    for kind in ["content", "document"] {
        let of_kind = |line: &String| line.starts_with(&format!("{{\"{kind}\""));
        let first = whole.iter().position(of_kind).unwrap();
        let mut swapped = whole.clone();
        swapped.swap(first, first + 1);
        let mut again = whole.clone();
        again.insert(first + 1, whole[first].clone());
        for lines in [swapped, again] {
            let error = import(sealed(lines)).unwrap_err().to_string();
            let named = error.contains(&format!("line {} ", first + 2)) && error.contains("does not ascend");
            assert!(named, "{kind}: {error}");
        }
    }
}

#[test]
fn numbers_that_are_odd_and_allowed_make_a_whole_database() {
    let cases = [("a key with NUL", set("document", "key", "a\0b"))];
    for (name, lines) in cases {
        let (disk, mut lines) = (MemoryDisk::of(Vec::new()), sealed(lines).into_iter().map(Ok));
        Database::import_onto(disk.clone(), &mut lines, MEMORY, &mut |_, _, _| {}).unwrap();
        let db = Database::open_on(disk, Options::default()).unwrap();
        assert_eq!(db.verify(true).unwrap().damage, [], "{name}");
    }
}
