//! JSON lines have one reader: no answer depends on how much of a line the memory holds.

use crate::run::{Ran, Shell};
use proptest::prelude::*;

/// What all differ in: how long a line is held.
const MEMORIES: [&str; 4] = ["1M", "8M", "64M", "1G"];

/// Values that are well-formed, odd, or no JSON at all.
const VALUES: [&str; 26] = [
    "\"\"",
    "\"a\"",
    "\"t t t\"",
    "null",
    "true",
    "[]",
    "{\"id\":{}}",
    "[1,]",
    "0",
    "-0",
    "17",
    "01",
    "1.5",
    "1e999",
    "NaN",
    "18446744073709551616",
    "123456789012345678901234567890",
    "\"\\ud800\"",
    "\"\\udc00\\ud83d\\ude00\"",
    "\"\\u0000\"",
    "\"\\u12\"",
    "\"\\x\"",
    "\"\t\"",
    "\u{feff}",
    "\u{c}",
    "\"a\" \"b\"",
];

/// Lengths beside which a line is held by none, one, two or three of the memories.
const LENGTHS: [usize; 5] = [0, 60_000, 70_000, 300_000, 2_200_000];

#[derive(Clone, Debug)]
struct Line {
    fields: Vec<(&'static str, &'static str)>,
    filled: Filled,
    length: usize,
    end: &'static str,
}

/// What makes a line long.
#[derive(Clone, Copy, Debug)]
enum Filled {
    Text,
    Other,
    Name,
    Blanks,
    Number,
    IllFormed,
    Halves,
    Arrays,
}

impl Line {
    fn bytes(&self) -> Vec<u8> {
        let fields = self.fields.iter().map(|(name, value)| format!("{name}:{value},"));
        let fill = |unit: &[u8]| unit.repeat(self.length / unit.len());
        let (before, filling, after): (&str, Vec<u8>, &str) = match self.filled {
            Filled::Text => ("\"text\":\"", fill(b"all work "), "\""),
            Filled::Other => ("\"text\":\"t\",\"o\":\"", fill(b"\\\\ud800"), "\""),
            Filled::Name => ("\"text\":\"t\",\"", fill(b"name"), "\":1"),
            Filled::Blanks => ("\"text\":", fill(b" \t\r"), "\"t\""),
            Filled::Number => ("\"text\":\"t\",\"o\":1", fill(b"2"), ""),
            Filled::IllFormed => ("\"text\":\"", fill(b"\xFF\xE2\x82 x"), "\""),
            Filled::Halves => ("\"text\":\"", fill(b"\\ud83d\\ude00\\ud800 "), "\""),
            Filled::Arrays => ("\"text\":\"t\",\"o\":", fill(b"["), ""),
        };
        let fields: String = fields.collect();
        [b"{", fields.as_bytes(), before.as_bytes(), &filling, after.as_bytes(), self.end.as_bytes(), b"\n"]
            .concat()
    }
}

fn line() -> impl Strategy<Value = Line> {
    let name = prop::sample::select(&["\"id\"", "\"o\"", "\"text\"", "\"o\\udfff\"", "id"][..]);
    let fields = prop::collection::vec((name, prop::sample::select(&VALUES[..])), 0..3);
    let filled = prop::sample::select(
        &[
            Filled::Text,
            Filled::Other,
            Filled::Name,
            Filled::Blanks,
            Filled::Number,
            Filled::IllFormed,
            Filled::Halves,
            Filled::Arrays,
        ][..],
    );
    let end = prop::sample::select(&["}", "}", "}", "} \r", "", ",}", "} x", "}\u{c}", "]"][..]);
    (fields, filled, prop::sample::select(&LENGTHS[..]), end).prop_map(|(fields, filled, length, end)| Line {
        fields,
        filled,
        length,
        end,
    })
}

/// Stdout, the exit code, and stderr without the time that it took.
fn told(ran: Ran) -> (String, i32, Vec<String>) {
    let said = ran.err.lines().filter(|line| !line.ends_with("documents/s")).map(str::to_owned).collect();
    (ran.out, ran.code, said)
}

/// Runs `sketch` in each of the memories: what all of them tell.
fn sketched(shell: &Shell) -> (String, i32, Vec<String>) {
    let run = |memory| {
        told(shell.run(&["--memory", memory, "--threads", "1", "sketch", "--sample", "16", "in.jsonl"]))
    };
    let first = run(MEMORIES[0]);
    for memory in &MEMORIES[1..] {
        let other = run(memory);
        assert!(first == other, "{memory}: {:?} but {:?}", (first.1, &first.2), (other.1, &other.2));
    }
    first
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 30, ..ProptestConfig::default() })]

    #[test]
    fn one_input_gives_one_answer_under_any_memory(lines in prop::collection::vec(line(), 1..6)) {
        let shell = Shell::new();
        shell.write("in.jsonl", lines.iter().map(Line::bytes).collect::<Vec<_>>().concat());
        sketched(&shell);
    }
}

#[test]
fn half_a_pair_in_another_field_is_passed_over_under_any_memory() {
    let shell = Shell::new();
    let text = "all work and no play ".repeat(30_000);
    shell.write("in.jsonl", format!("{{\"id\":\"b\",\"other\":\"\\ud800\",\"text\":\"{text}\"}}\n"));
    let (out, code, said) = sketched(&shell);
    assert_eq!((out.lines().count(), code), (1, 0), "{said:?}");
    assert_eq!(said, ["sketchdb: b: 1 ill-formed sequences replaced"]);
    let verdicts = MEMORIES.map(|memory| {
        let _ = std::fs::remove_file(shell.path("db"));
        shell.run(&["--json", "--memory", memory, "add", "db", "in.jsonl"]).exits(0).out
    });
    assert!(verdicts[0].contains("\"new\"") && verdicts.iter().all(|verdict| *verdict == verdicts[0]));
}

#[test]
fn a_line_that_holds_no_json_is_no_blank_under_any_memory() {
    let shell = Shell::new();
    for length in LENGTHS {
        shell.write("in.jsonl", format!("{}\n{}\n", " \t\r".repeat(length), "\u{c}".repeat(length + 1)));
        let (_, code, said) = sketched(&shell);
        assert_eq!((code, said.len()), (3, 1), "{said:?}");
        assert!(said[0].contains("in.jsonl:2: not JSON"), "{said:?}");
    }
}
