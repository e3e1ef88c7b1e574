//! `add`: verdict lines, their order, and what is stored.

use crate::common::texts::{Draw, edited, text};
use crate::run::Shell;

/// Documents of every verdict under keys that repeat, as JSON lines.
fn mixture(seed: u64, count: usize) -> String {
    let mut draw = Draw::new(seed);
    let mut texts = vec![text(&mut draw, 60)];
    let mut line = |number: usize| {
        let earlier = draw.one_of(&texts).clone();
        let text = match number % 3 {
            0 => text(&mut draw, 60),
            1 => edited(&mut draw, &earlier, 1),
            _ => earlier,
        };
        texts.push(text.clone());
        serde_json::json!({"id": draw.below(count), "text": text}).to_string() + "\n"
    };
    (0..count).map(&mut line).collect()
}

#[test]
fn lines_are_the_same_for_any_number_of_threads() {
    let shell = Shell::new();
    shell.write("in.jsonl", mixture(1, 6000));
    for (number, short) in (0..30).map(|number| (number, mixture(100 + number, 3))) {
        shell.write(&format!("folder/{number}.jsonl"), short);
        shell.write(&format!("folder/{number}.txt"), text(&mut Draw::new(number / 2), 50));
    }
    for policy in [&[][..], &["--only-new"]] {
        let add = |threads: &str| {
            let db = format!("db{threads}{}", policy.len());
            let args =
                ["--json", "--threads", threads, "add", &db, "in.jsonl", "folder", "missing.txt", "in.jsonl"];
            shell.run(&[&args, policy].concat()).exits(3)
        };
        let one = add("1");
        assert_eq!(one.out.lines().count(), 6000 + 30 * 4 + 6000);
        for threads in ["2", "5"] {
            let many = add(threads);
            assert!(many.out == one.out, "{threads} threads say something else");
        }
    }
    let query = |threads: &str| {
        shell.run(&["--json", "--threads", threads, "query", "db10", "in.jsonl"]).exits(0).out
    };
    let one = query("1");
    assert!(query("2") == one && query("5") == one);
}

#[test]
fn lines_come_in_the_order_of_the_inputs() {
    let shell = Shell::new();
    let lines = |name: &str| {
        (0..500).map(|n| format!("{{\"id\":\"{name}{n}\",\"text\":\"{name} {n}\"}}\n")).collect::<String>()
    };
    shell.write("x.jsonl", lines("x"));
    shell.write("m.txt", "word ".repeat(400_000));
    shell.write("a.jsonl", lines("a"));
    let ran = shell.run(&["--json", "add", "db", "x.jsonl", "m.txt", "a.jsonl"]).exits(0);
    let expected =
        (0..500).map(|n| format!("x{n}")).chain(["m.txt".into()]).chain((0..500).map(|n| format!("a{n}")));
    assert_eq!(ran.column("key"), expected.collect::<Vec<_>>());
}

#[test]
fn a_repeated_id_is_an_update() {
    let shell = Shell::new();
    let (first, second) = ("one two three four five six", "seven eight nine ten eleven twelve");
    shell.write_lines("in.jsonl", &[("a", first), ("b", first), ("a", second), ("a", second), ("b", second)]);
    let ran = shell.run(&["--json", "add", "db", "in.jsonl"]).exits(0);
    assert_eq!(ran.column("verdict"), ["new", "exact", "updated", "unchanged", "updated"]);
    assert_eq!(ran.column("id"), ["0", "1", "0", "0", "1"]);
    assert_eq!(ran.column("of"), ["null", "a", "null", "null", "a"]);
    assert_eq!(shell.json(&["stats", "db"])[0]["contents"], 1);
}

#[test]
fn only_new_stores_new_and_updated_documents() {
    let shell = Shell::new();
    let first = text(&mut Draw::new(2), 60);
    let near = format!("{first} more");
    shell.write_lines(
        "in.jsonl",
        &[("a", &first), ("b", &first), ("c", &near), ("a", &first), ("a", &near), ("d", "")],
    );
    let ran = shell.run(&["--json", "add", "db", "in.jsonl", "--only-new"]).exits(0);
    assert_eq!(ran.column("verdict"), ["new", "exact", "near", "unchanged", "updated", "new"]);
    assert_eq!(ran.column("id"), ["0", "null", "null", "0", "0", "1"]);
    assert_eq!(ran.column("of"), ["null", "a", "a", "null", "null", "null"]);
    shell.run(&["get", "db", "b"]).exits(1);
    shell.run(&["get", "db", "c"]).exits(1);
    assert_eq!(shell.json(&["stats", "db"])[0]["documents"], 2);
}

#[test]
fn what_was_told_stays_in_another_run() {
    let shell = Shell::new();
    for (number, verdict) in [(0, "new"), (1, "near"), (2, "near")] {
        let text = text(&mut Draw::new(3), 60) + &" more".repeat(number);
        shell.write(&format!("{number}.txt"), text);
        let ran = shell.run(&["--json", "add", "db", &format!("{number}.txt")]).exits(0);
        assert_eq!(ran.column("verdict"), [verdict]);
    }
    let again = shell.run(&["--json", "add", "db", "0.txt", "1.txt", "2.txt"]).exits(0);
    assert_eq!(again.column("verdict"), ["unchanged"; 3]);
}

#[test]
fn bounded_verdicts_and_answers_are_told() {
    let shell = Shell::new();
    let template = text(&mut Draw::new(4), 30);
    let lines: String = (0..332)
        .map(|number| {
            let marks: String = (0..12).map(|bit| if number >> bit & 1 == 1 { '!' } else { '?' }).collect();
            serde_json::json!({"id": number, "text": format!("{template}{marks}")}).to_string() + "\n"
        })
        .collect();
    shell.write("in.jsonl", lines);
    // The first to meet more than 256 is the 258th.
    shell.run(&["add", "db", "in.jsonl"]).exits(0).says("75 verdicts were bounded");
    assert_eq!(shell.json(&["stats", "db"])[0]["bounded"], 75);
    shell.write("q.txt", &template);
    let found = shell.run(&["--json", "query", "db", "q.txt"]).exits(0).says("1 answers were bounded");
    assert_eq!(found.json().len(), 16);
}

#[test]
fn what_is_contained_says_in_what_and_how_surely() {
    let shell = Shell::new();
    let words: Vec<String> = text(&mut Draw::new(5), 1000).split(' ').map(str::to_owned).collect();
    let documents =
        [("whole", words.join(" ")), ("part", words[100..400].join(" ")), ("same", words.join(" "))];
    let documents: Vec<(&str, &str)> = documents.iter().map(|(key, text)| (*key, text.as_str())).collect();
    shell.write_lines("in.jsonl", &documents);
    let lines = shell.json(&["add", "db", "in.jsonl", "--contained", "0.8"]);
    let [new, part, same] = &lines[..] else { panic!("{lines:?}") };
    for (line, verdict) in [(new, "new"), (same, "exact")] {
        assert_eq!(line["verdict"], verdict);
        for field in ["containment", "containment_low", "containment_high", "values"] {
            assert!(line[field].is_null(), "{field} of {line}");
        }
    }
    assert_eq!((&part["verdict"], &part["of"]), (&"contained".into(), &"whole".into()));
    assert!(part["containment"] == 1.0 && part["containment_high"] == 1.0, "{part}");
    assert!(
        part["containment_low"].as_f64().unwrap() >= 0.8 && part["values"].as_u64().unwrap() >= 16,
        "{part}"
    );
    let people = shell.run(&["add", "again", "in.jsonl", "--contained", "0.8"]).exits(0).out;
    assert!(people.contains("contained  part  1.000 in whole"), "{people}");
}
