//! Lines of any length: the same answers whether a line is held or read as it comes, and memory that does not grow.
//!
//! `SKETCHDB_LONG=1000` makes the longest ones so many megabytes; 150 without it.

use crate::common::texts::{Draw, edited, text};
use crate::run::{Ran, Shell};
use serde_json::json;
use std::io::{BufWriter, Write};
use std::process::Stdio;

/// What holds every line of these tests, and what holds none.
const HELD: [&str; 2] = ["--memory", "1G"];
const STREAMED: [&str; 2] = ["--memory", "1M"];

/// Documents of some 100 KB, good and bad ones, with fields in any order.
fn documents() -> String {
    let mut draw = Draw::new(5);
    let long = text(&mut draw, 9000);
    let near = edited(&mut draw, &long, 30);
    let odd = format!("\u{0}\u{1}\"\\/\u{1F600}é{long}");
    let broken = |tail: &str| format!("{{\"id\":\"broken\",\"text\":\"{long}{tail}");
    let lines = [
        json!({"id": "short", "text": "one two three four five six"}).to_string(),
        json!({"id": "long", "text": long}).to_string(),
        format!(
            " {{ \"text\" : \"{near}\" , \"seen_at\" : 17, \"more\" : [{{}}, 1e999, null], \"id\" : \"near\" }} "
        ),
        json!({"id": 12, "text": odd, "seen_at": "2026-01-01T00:00:00Z"}).to_string(),
        format!("{{\"text\":\"{}\"}}", long.replace('b', "\\u0062")),
        format!(
            "{{\"id\":\"deep\",\"x\":{}{},\"text\":\"deep {near}\"}}",
            "[".repeat(70_000),
            "]".repeat(70_000)
        ),
        broken(""),
        format!("{{\"id\":\"half\",\"other\":\"\\ud800\",\"text\":\"{long}\\udc00\"}}"),
        broken("\"} more"),
        broken("\",\"text\":\"again\"}"),
        broken("\t\"}"),
        json!({"id": true, "text": long}).to_string(),
        json!({"id": "none", "texts": long}).to_string(),
        json!({"id": "null", "text": null, "x": long}).to_string(),
        json!({"id": long, "text": "the key is long"}).to_string(),
        " \t\r".repeat(50_000),
        json!({"id": "last", "text": "six five four three two one"}).to_string(),
    ];
    lines.join("\n")
}

fn shell() -> Shell {
    let shell = Shell::new();
    let ill_formed =
        [&b"{\"id\":\"ill-formed\",\"text\":\"\xFF "[..], &b"word \xE2\x82 ".repeat(20_000), b"\"}\n"]
            .concat();
    shell.write("in.jsonl", [b"\xEF\xBB\xBF", documents().as_bytes(), b"\n", &ill_formed].concat());
    shell
}

/// What went to stdout, and what was said about lines.
fn told(ran: &Ran) -> (&str, Vec<&str>) {
    (&ran.out, ran.err.lines().filter(|line| line.starts_with("sketchdb: in.jsonl:")).collect())
}

#[test]
fn a_line_is_the_same_document_held_or_streamed() {
    let shell = shell();
    shell.run(&["add", "stock", "in.jsonl"]).exits(3);
    for verb in [&["add", "db"][..], &["query", "stock", "--self"], &["sketch"]] {
        let run = |memory: [&str; 2]| {
            let _ = std::fs::remove_file(shell.path("db"));
            shell.run(&[&memory[..], &["--json"], verb, &["in.jsonl"]].concat()).exits(3)
        };
        let [held, streamed] = [run(HELD), run(STREAMED)];
        let (out, places) = told(&held);
        assert!(out.lines().count() >= 4 && places.len() >= 8, "{verb:?}: {:?}", held.err);
        assert!(
            !["IO error", "line 0", "data pos"].iter().any(|words| streamed.err.contains(words)),
            "{streamed:?}"
        );
        assert!((out, places) == told(&streamed), "{verb:?}: {:?} but {:?}", held.err, streamed.err);
    }
}

#[test]
fn long_lines_come_out_of_dedup_as_they_came() {
    let shell = shell();
    for options in
        [&["--keep", "first"][..], &["--keep", "oldest"], &["--keep", "longest"], &["--transitive"]]
    {
        let run = |memory: [&str; 2]| {
            let files = ["in.jsonl", "--output", "kept", "--removed", "removed"];
            shell.run(&[&memory[..], &["dedup"], &files, options].concat()).exits(3);
            ["kept", "removed"].map(|name| std::fs::read(shell.path(name)).unwrap())
        };
        let [held, streamed] = [run(HELD), run(STREAMED)];
        assert!(held == streamed, "{options:?}");
        let removed = String::from_utf8(streamed[1].clone()).unwrap();
        assert!(removed.lines().any(|line| line.len() > 50_000 && line.contains("\"duplicate_of\"")));
    }
}

#[test]
fn a_long_line_that_is_cut_off_while_compressed_is_named_once() {
    let shell = Shell::new();
    let line = format!(
        "{{\"id\":\"short\",\"text\":\"one\"}}\n{{\"text\":\"{}\"}}",
        text(&mut Draw::new(5), 90_000)
    );
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(line.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    shell.write("in.jsonl.gz", &packed[..packed.len() / 2]);
    for memory in [HELD, STREAMED] {
        let ran = shell.run(&[&memory[..], &["--json", "sketch", "in.jsonl.gz"]].concat()).exits(3);
        assert_eq!(
            (ran.column("key"), told_places(&ran)),
            (vec!["short".into()], vec!["in.jsonl.gz:2"]),
            "{ran:?}"
        );
    }
}

/// Which lines were named.
fn told_places(ran: &Ran) -> Vec<&str> {
    ran.err.lines().filter_map(|line| line.strip_prefix("sketchdb: ")?.split(": ").next()).collect()
}

/// Megabytes of the longest lines.
fn megabytes() -> usize {
    std::env::var("SKETCHDB_LONG").ok().and_then(|size| size.parse().ok()).unwrap_or(150)
}

/// Runs `sketchdb add db` on what `write` writes to its stdin, with 64 MB for all its data.
#[cfg(target_os = "linux")]
fn add_in_little_memory(shell: &Shell, format: &str, write: impl FnOnce(&mut dyn Write) + Send) -> Ran {
    let script = "ulimit -d 65536 && exec \"$0\" --threads 2 --memory 8M --json add db - --format \"$1\"";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_sketchdb"), format]).current_dir(shell.path("."));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = BufWriter::new(child.stdin.take().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(move || write(&mut pipe));
        Ran::of(child.wait_with_output().unwrap())
    })
}

#[test]
#[cfg(target_os = "linux")]
fn no_line_takes_memory_in_proportion_to_its_length() {
    let million = "all work and no play makes jack a dull boy\\n ".repeat(1 << 14);
    let many = |out: &mut dyn Write, part: &str| {
        (0..megabytes()).for_each(|_| drop(out.write_all(&part.as_bytes()[..1 << 19])))
    };
    let cases: [(&str, &str, &str, bool); 6] = [
        ("{\"text\":\"", &million, "\",\"id\":\"it\"}", true),
        ("{\"id\":\"it\",\"n\":", &"1".repeat(1 << 20), ",\"text\":\"t\"}", true),
        ("{\"id\":\"it\",\"text\":\"t\",\"x\":\"", &million, "\"}", true),
        ("{\"id\":\"it\",\"text\":\"t\",\"", &million, "\":1}", false),
        ("{\"text\":\"t\",\"id\":\"", &million, "\"}", false),
        ("{\"id\":\"it\",\"text\":\"t\",\"x\":", &"[{\"a\":".repeat(1 << 18), "}", false),
    ];
    for (before, part, after, good) in cases {
        let shell = Shell::new();
        let ran = add_in_little_memory(&shell, "jsonl", |out| {
            let _ = out.write_all(b"{\"id\":\"before\",\"text\":\"one two three\"}\n");
            let _ = out.write_all(before.as_bytes());
            many(out, part);
            let _ = writeln!(out, "{after}\n{{\"id\":\"after\",\"text\":\"four five six\"}}");
        });
        let ran = ran.exits(if good { 0 } else { 3 });
        let keys: &[&str] = if good { &["before", "it", "after"] } else { &["before", "after"] };
        assert_eq!(ran.column("key"), keys, "{before}");
        assert!(good || ran.err.contains("-:2: "), "{}", ran.err);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_token_or_path_takes_memory_in_proportion_to_its_length() {
    let shell = Shell::new();
    let long = |out: &mut dyn Write| (0..megabytes()).for_each(|_| drop(out.write_all(&[b'x'; 1 << 20])));
    let ran = add_in_little_memory(&shell, "text", |out| long(out)).exits(0);
    assert_eq!(ran.column("verdict"), ["new"]);
    shell.write("a.txt", "one");
    let ran = add_in_little_memory(&shell, "paths", |out| {
        long(out);
        let _ = out.write_all(b"\na.txt");
    });
    assert_eq!(ran.exits(3).says("-:1: a line of ").column("key"), ["a.txt"]);
}

#[test]
fn long_lines_of_keys_and_sketches_are_named() {
    let shell = Shell::new();
    shell.database("db", &[("a", "one two three four five six"), ("b", "two")]);
    shell.write("keys", [&[b'k'; 1 << 20][..], b"\na\r\nno\n", &[b'm'; 5000], b"\nb"].concat());
    let ran = shell
        .run(&["--json", "remove", "db", "--keys-from", "keys"])
        .exits(3)
        .says("keys:1: ")
        .says("keys:4: ");
    assert_eq!((ran.column("removed"), ran.column("missing")), (vec!["2".into()], vec!["1".into()]));
    shell.database("db", &[("a", "one two three four five six")]);
    shell.write("a.txt", "one two three four five six");
    let sketch = shell.run(&["sketch", "--like", "db", "a.txt"]).exits(0).out;
    shell.write("sketches", [&[b'x'; 17 << 20][..], b"\n", sketch.as_bytes()].concat());
    let ran = shell
        .run(&["--json", "query", "db", "--sketches", "sketches"])
        .exits(3)
        .says("sketches:1: a line of");
    assert_eq!(ran.column("match"), ["a"]);
}
