//! `dedup`: what it reads and writes, byte for byte.

use crate::run::Shell;

const SAME: &str = "one two three four five six";

/// Lines of odd form, each a text of its own, then one of them again.
fn odd() -> Vec<Vec<u8>> {
    vec![
        b"{ \"id\" : 1 ,\t\"text\" : \"alpha beta gamma\" , \"more\" : { \"id\" : [ 1, 2.50, null ] } }  "
            .to_vec(),
        b"{\"text\":\"caf\\u00e9 \\ud83d\\ude00 \\/ \\n\",\"id\":\"a\\u0062\"}\r".to_vec(),
        b"{\"id\":\"bytes\",\"text\":\"delta \xFF\xFE epsilon zeta\",\"other\":\"\xC0\"}".to_vec(),
        b"  {\"id\":\"big\",\"text\":\"eta theta iota\",\"n\":123456789012345678901234567890}".to_vec(),
        b"{\"text\":\"no id at all here\"}\r".to_vec(),
    ]
}

fn joined(lines: &[Vec<u8>]) -> Vec<u8> {
    lines.iter().flat_map(|line| [&line[..], b"\n"].concat()).collect()
}

#[test]
fn lines_come_out_byte_for_byte() {
    let shell = Shell::new();
    shell.write("in.jsonl", joined(&odd()));
    for keep in ["first", "longest"] {
        shell.run(&["dedup", "in.jsonl", "--output", "kept", "--keep", keep]).exits(0);
        assert_eq!(
            String::from_utf8_lossy(&shell.bytes("kept")),
            String::from_utf8_lossy(&joined(&odd())),
            "{keep}"
        );
        assert!(shell.bytes("kept") == joined(&odd()), "{keep}");
    }
}

#[test]
fn removed_lines_gain_two_fields_and_lose_nothing() {
    let shell = Shell::new();
    shell.write("in.jsonl", joined(&[odd(), odd()].concat()));
    shell.run(&["dedup", "in.jsonl", "--output", "kept", "--removed", "removed"]).exits(0);
    assert!(shell.bytes("kept") == joined(&odd()));
    let keys = ["1", "ab", "bytes", "big", "in.jsonl:5"];
    let expected = odd().into_iter().zip(keys).map(|(line, key)| {
        let end = line.iter().rposition(|&byte| byte == b'}').unwrap();
        let reason = format!(",\"duplicate_of\":\"{key}\",\"resemblance\":1.0");
        [&line[..end], reason.as_bytes(), &line[end..]].concat()
    });
    let expected = joined(&expected.collect::<Vec<_>>());
    assert_eq!(String::from_utf8_lossy(&shell.bytes("removed")), String::from_utf8_lossy(&expected));
    assert!(shell.bytes("removed") == expected);
}

#[test]
fn files_come_out_as_their_ids() {
    let shell = Shell::new();
    shell.write("docs/a.txt", SAME);
    shell.write("docs/b.txt", SAME);
    shell.write("docs/c \"q\".txt", "something else");
    let ran = shell.run(&["dedup", "docs", "--removed", "removed"]).exits(0);
    assert_eq!(ran.out, "{\"id\":\"docs/a.txt\"}\n{\"id\":\"docs/c \\\"q\\\".txt\"}\n");
    let removed = "{\"id\":\"docs/b.txt\",\"duplicate_of\":\"docs/a.txt\",\"resemblance\":1.0}\n";
    assert_eq!(String::from_utf8(shell.bytes("removed")).unwrap(), removed);
}

#[test]
fn stdin_is_read_and_stdout_written() {
    let shell = Shell::new();
    let lines = format!("{{\"id\":1,\"text\":\"{SAME}\"}}\n{{\"id\":2,\"text\":\"{SAME}\"}}");
    let ran = shell.feed(&["dedup", "-", "--format", "jsonl"], &lines).exits(0);
    assert_eq!(ran.out, format!("{}\n", lines.lines().next().unwrap()));
}

#[test]
fn nothing_in_is_nothing_out() {
    let shell = Shell::new();
    shell.write("in.jsonl", "");
    shell.run(&["dedup", "in.jsonl", "--output", "kept", "--removed", "removed"]).exits(0);
    assert!(shell.bytes("kept").is_empty() && shell.bytes("removed").is_empty());
    shell.run(&["dedup"]).exits(2).gives_nothing();
}

#[test]
fn the_output_may_be_the_input() {
    let shell = Shell::new();
    let (first, second) =
        (format!("{{\"id\":1,\"text\":\"{SAME}\"}}\n"), format!("{{\"id\":2,\"text\":\"{SAME}\"}}\n"));
    shell.write("in.jsonl", format!("{first}{second}"));
    shell.run(&["dedup", "in.jsonl", "--output", "in.jsonl"]).exits(0).gives_nothing();
    assert_eq!(String::from_utf8(shell.bytes("in.jsonl")).unwrap(), first);
    assert_eq!(shell.files(), ["in.jsonl"]);
}

#[test]
fn an_input_whose_lines_could_not_all_be_read_is_not_replaced() {
    let shell = Shell::new();
    let lines = format!("{{\"id\":1,\"text\":\"{SAME}\"}}\nbroken\n{{\"id\":2,\"text\":\"{SAME}\"}}\n");
    shell.write("in.jsonl", &lines);
    shell.write("other.jsonl", "{}\n");
    let args = ["dedup", "in.jsonl", "--output", "./in.jsonl", "--removed", "removed"];
    shell.run(&args).exits(3).gives_nothing().says("in.jsonl:2").says("in.jsonl stays as it is");
    assert_eq!(String::from_utf8(shell.bytes("in.jsonl")).unwrap(), lines);
    assert_eq!(shell.files(), ["in.jsonl", "other.jsonl"]);
}

#[test]
fn only_json_lines_may_be_replaced() {
    let shell = Shell::new();
    for name in ["a.txt", "a.txt.gz", "page.html"] {
        shell.write(name, SAME);
        let ran = shell.run(&["dedup", name, "--output", name]).exits(2).gives_nothing();
        ran.says("it is an input and no file of JSON lines").says("name another file");
        assert_eq!(shell.bytes(name), SAME.as_bytes());
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.txt", shell.path("link")).unwrap();
        shell.run(&["dedup", "a.txt", "--output", "link"]).exits(2).gives_nothing().says("it is an input");
    }
}

#[test]
fn an_output_below_the_input_is_no_document() {
    let shell = Shell::new();
    shell.write("docs/a.txt", SAME);
    shell.write("docs/b.txt", "something else");
    let out = ["--output", "docs/kept.jsonl", "--removed", "docs/removed.jsonl"];
    shell.run(&[&["dedup", "docs"], &out[..]].concat()).exits(0);
    let kept = String::from_utf8(shell.bytes("docs/kept.jsonl")).unwrap();
    assert_eq!(kept, "{\"id\":\"docs/a.txt\"}\n{\"id\":\"docs/b.txt\"}\n");
    assert_eq!(shell.bytes("docs/removed.jsonl"), b"");
}

#[test]
fn outputs_that_would_take_each_others_place_are_2() {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &[("a", SAME), ("b", SAME)]);
    shell.run(&["add", "db", "in.jsonl"]).exits(0);
    let before = shell.bytes("db");
    for (output, removed) in [("x", "x"), ("x", "./x"), ("db", "y"), ("y", "./db")] {
        let args = ["dedup", "in.jsonl", "--against", "db", "--output", output, "--removed", removed];
        shell.run(&args).exits(2).gives_nothing().says("files of their own");
    }
    assert!(shell.bytes("db") == before && shell.files() == ["db", "in.jsonl"]);
    if shell.path("/dev/null").exists() {
        shell.run(&["dedup", "in.jsonl", "--output", "/dev/null", "--removed", "/dev/null"]).exits(0);
    }
}

#[test]
fn an_output_that_cannot_be_written_is_5_and_named() {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &[("a", SAME)]);
    shell.write("folder/a", "");
    shell.run(&["dedup", "in.jsonl", "--output", "folder"]).exits(5).gives_nothing().says("folder");
    for (output, folder) in [("no/such/kept.jsonl", "no/such"), ("in.jsonl/kept", "in.jsonl")] {
        let ran = shell.run(&["dedup", "in.jsonl", "--output", output]).exits(2).gives_nothing();
        ran.says(&format!("sketchdb: {folder}: no such folder: make it first"));
    }
    assert_eq!(shell.files(), ["folder", "in.jsonl"]);
}

#[test]
fn unreadable_inputs_are_3_and_their_neighbours_are_done() {
    let shell = Shell::new();
    shell.write("in.jsonl", "{\"id\":1,\"text\":\"one\"}\n{\"id\":2\n{\"id\":3,\"text\":\"three\"}\n[]\n");
    for keep in ["first", "longest"] {
        let ran = shell.run(&["dedup", "missing", "in.jsonl", "--keep", keep]).exits(3);
        assert_eq!(ran.column("id"), ["1", "3"]);
        ran.says("missing").says("in.jsonl:2").says("in.jsonl:4");
    }
}

#[test]
fn a_time_that_is_none_makes_no_document_unreadable() {
    let shell = Shell::new();
    let line = |id: &str, time: &str| format!("{{\"id\":\"{id}\",\"text\":\"{SAME}\",\"seen_at\":{time}}}\n");
    let lines = [("a", "{}"), ("b", "\"soon\""), ("c", "17.5"), ("d", "-3"), ("e", "true")];
    shell.write("in.jsonl", lines.map(|(id, time)| line(id, time)).concat());
    let ran = shell.run(&["dedup", "in.jsonl", "--keep", "oldest"]).exits(0);
    assert_eq!(ran.column("id"), ["c"]);
}
