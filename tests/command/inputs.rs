//! Compressed files and stdin.

use crate::run::Shell;
use std::io::Write;

const LINES: [&str; 3] = [
    "{\"id\":\"a\",\"text\":\"one two\"}\n",
    "{\"id\":\"b\",\"text\":\"three\"}\n",
    "{\"id\":\"c\",\"text\":\"four\"}\n",
];

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

#[test]
fn all_members_of_compressed_files_are_read() {
    for (suffix, pack) in [("gz", gz as fn(&[u8]) -> Vec<u8>), ("zst", zst)] {
        let shell = Shell::new();
        // Members end at line ends and within lines.
        let (head, tail) = LINES[2].split_at(9);
        let members = [LINES[0], LINES[1], head, "", tail].map(|part| pack(part.as_bytes())).concat();
        shell.write(&format!("in.jsonl.{suffix}"), members);
        let parts = ["one two three ", "four five", " six"].map(|part| pack(part.as_bytes())).concat();
        shell.write(&format!("t.txt.{suffix}"), parts);
        shell.write("plain.txt", "one two three four five six");
        let names = [format!("in.jsonl.{suffix}"), format!("t.txt.{suffix}"), "plain.txt".into()];
        let files = names.each_ref().map(String::as_str);
        let ran = shell.run(&[&["--json", "add", "db"][..], &files].concat()).exits(0);
        assert_eq!(ran.column("key"), ["a", "b", "c", files[1], "plain.txt"]);
        assert_eq!((ran.column("verdict")[4].as_str(), ran.column("of")[4].as_str()), ("exact", files[1]));
    }
}

#[test]
fn compressed_files_in_a_directory_are_read() {
    let shell = Shell::new();
    shell.write("folder/a.jsonl.gz", gz(LINES.concat().as_bytes()));
    shell.write("folder/b.ndjson.zst", zst(b"{\"text\":\"five\"}\n"));
    shell.write("folder/c.md.zst", zst(b"six"));
    let ran = shell.run(&["--json", "add", "db", "folder"]).exits(0);
    assert_eq!(ran.column("key"), ["a", "b", "c", "folder/b.ndjson.zst:1", "folder/c.md.zst"]);
}

#[test]
fn broken_compression_is_a_bad_input_and_what_came_before_is_kept() {
    for (suffix, pack) in [("gz", gz as fn(&[u8]) -> Vec<u8>), ("zst", zst)] {
        let shell = Shell::new();
        let noise: String =
            (0u64..5000).map(|n| format!("{} ", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
        let whole = [
            pack(LINES.concat().as_bytes()),
            pack(format!("{{\"id\":\"d\",\"text\":\"{noise}\"}}\n").as_bytes()),
        ];
        let cut = whole[1].len() / 2;
        shell.write(&format!("cut.jsonl.{suffix}"), [&whole[0], &whole[1][..cut]].concat());
        shell.write(&format!("junk.txt.{suffix}"), "this is not compressed at all");
        shell.write("z.txt", "a good neighbour");
        let (lines, junk) = (format!("cut.jsonl.{suffix}"), format!("junk.txt.{suffix}"));
        let ran = shell.run(&["--json", "add", "db", &lines, &junk, "z.txt"]).exits(3);
        let ran = ran.says(&format!("{lines}:4: ")).says(&format!("{junk}: "));
        assert_eq!(ran.column("key"), ["a", "b", "c", "z.txt"]);
    }
}

#[test]
fn stdin_is_a_text_unless_told() {
    let shell = Shell::new();
    let ran = shell.feed(&["--json", "add", "db", "-"], LINES.concat()).exits(0);
    assert_eq!(ran.column("key"), ["-"]);
    let ran = shell.feed(&["--json", "add", "db", "-", "--format", "text"], LINES.concat()).exits(0);
    assert_eq!(ran.column("verdict"), ["unchanged"]);
}

#[test]
fn stdin_may_be_json_lines() {
    let shell = Shell::new();
    let lines = LINES.concat() + "{\"text\":\"five\"}\nbroken\n{\"id\":\"f\",\"text\":\"six\"}";
    let ran = shell.feed(&["--json", "add", "db", "-", "--format", "jsonl"], lines).exits(3).says("-:5: ");
    assert_eq!(ran.column("key"), ["a", "b", "c", "-:4", "f"]);
}

#[test]
fn stdin_may_be_paths() {
    let shell = Shell::new();
    shell.write("a.txt", "one");
    shell.write("b c.txt", "two");
    shell.write("folder/d.txt", "three");
    shell.write("in.jsonl", LINES[0]);
    let paths = b"a.txt\nmissing.txt\n\nb c.txt\r\nno\xFFname.txt\n-\nfolder\nin.jsonl";
    let ran = shell.feed(&["--json", "add", "db", "-", "--format", "paths"], paths).exits(3);
    let ran = ran.says("missing.txt: ").says("-:5: ").says("-:6: ");
    assert_eq!(ran.column("key"), ["a.txt", "b c.txt", "folder/d.txt", "a"]);
}

#[test]
fn stdin_is_one_input_among_others() {
    let shell = Shell::new();
    shell.write("a.txt", "one");
    shell.write("b.txt", "two");
    let ran = shell.feed(&["--json", "add", "db", "a.txt", "-", "b.txt"], "three").exits(0);
    assert_eq!(ran.column("key"), ["a.txt", "-", "b.txt"]);
}

#[test]
fn bytes_that_are_no_utf8_are_replaced_with_a_warning() {
    let shell = Shell::new();
    shell.write("a.txt", b"\xC3\xA9\xC3\xA9\xC3\xA9 one \xFF two \xFE");
    shell.write("b.jsonl", b"{\"id\":\"b\",\"text\":\"\xC3\xA9\xC3\xA9\xC3\xA9 one \xFF two\"}\n");
    shell.write("c.txt", "ééé one \u{FFFD} two \u{FFFD}");
    let ran = shell.run(&["--json", "add", "db", "a.txt", "b.jsonl", "c.txt"]).exits(0);
    let ran = ran.says("a.txt: 2 ill-formed").says("b: 1 ill-formed").keeps_silent_of("c.txt");
    assert_eq!(ran.column("of"), ["null", "a.txt", "a.txt"]);
}
