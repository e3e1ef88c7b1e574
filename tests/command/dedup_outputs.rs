//! `dedup`: nothing that it did not read is replaced, and a file is what its name says.

use crate::run::Shell;
use flate2::read::MultiGzDecoder;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;

const SAME: &str = "one two three four five six";

fn line(id: u32, text: &str) -> String {
    format!("{{\"id\":{id},\"text\":\"{text}\"}}\n")
}

/// A folder with two files of documents, one of which is to be an output.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.write("d/a.jsonl", line(1, SAME));
    shell.write("d/sub/kept.jsonl", line(2, "something else"));
    shell.write("outside.jsonl", line(3, "more"));
    std::fs::hard_link(shell.path("d/sub/kept.jsonl"), shell.path("hard.jsonl")).unwrap();
    symlink("d/sub/kept.jsonl", shell.path("soft.jsonl")).unwrap();
    symlink("../outside.jsonl", shell.path("d/out.jsonl")).unwrap();
    symlink("d", shell.path("linked")).unwrap();
    shell
}

#[test]
fn a_file_below_an_input_is_never_replaced() {
    let shell = shell();
    let absolute = shell.path("d/sub/kept.jsonl").to_str().unwrap().to_owned();
    for output in [
        "d/sub/kept.jsonl",
        "./d/sub/kept.jsonl",
        "d/../d/sub/kept.jsonl",
        "linked/sub/kept.jsonl",
        "soft.jsonl",
        "hard.jsonl",
        "outside.jsonl",
        &absolute,
    ] {
        for option in ["--output", "--removed"] {
            for inputs in [&["d"][..], &["d", "d"], &["./d/"], &["linked/"], &["d/a.jsonl", "d/sub/../../d"]]
            {
                let ran = shell.run(&[&["dedup"], inputs, &[option, output]].concat()).exits(2);
                let ran = ran.says("its documents would be lost").says(inputs[inputs.len() - 1]);
                ran.says(output);
            }
        }
    }
    assert_eq!(shell.bytes("d/sub/kept.jsonl"), line(2, "something else").as_bytes());
    assert_eq!(shell.bytes("outside.jsonl"), line(3, "more").as_bytes());
    assert_eq!(shell.files(), ["d", "hard.jsonl", "linked", "outside.jsonl", "soft.jsonl"]);
    assert_eq!(std::fs::read_dir(shell.path("d")).unwrap().count(), 3, "a temporary file is left");
    // One that the command itself makes is no document of it.
    shell.run(&["dedup", "d", "--output", "d/new.jsonl", "--removed", "d/gone.jsonl"]).exits(0);
    assert_eq!(shell.bytes("d/new.jsonl").iter().filter(|byte| **byte == b'\n').count(), 3);
}

#[test]
fn a_file_that_a_list_names_is_never_replaced() {
    let shell = shell();
    for list in ["d/sub/kept.jsonl\n", "d/a.jsonl\nsoft.jsonl\n", "d/a.jsonl\nd\n"] {
        let args = ["dedup", "-", "--format", "paths", "--output", "d/sub/kept.jsonl"];
        shell.feed(&args, list).exits(2).says("its documents would be lost").says("d/sub/kept.jsonl");
        assert_eq!(shell.bytes("d/sub/kept.jsonl"), line(2, "something else").as_bytes());
    }
    let args = ["dedup", "-", "--format", "paths", "--output", "d/sub/kept.jsonl"];
    shell.feed(&args, "d/a.jsonl\n").exits(0);
    assert_eq!(shell.bytes("d/sub/kept.jsonl"), line(1, SAME).as_bytes());
}

#[test]
fn what_stdin_comes_from_is_an_input() {
    let shell = Shell::new();
    let run = |args: &[&str]| {
        let mut command = shell.command(args);
        command.stdin(std::fs::File::open(shell.path("in.jsonl")).unwrap());
        crate::run::Ran::of(command.output().unwrap())
    };
    let broken = format!("{}broken\n", line(1, SAME));
    shell.write("in.jsonl", &broken);
    let args = ["dedup", "-", "--format", "jsonl", "--output", "in.jsonl"];
    run(&args).exits(3).says("stays as it is");
    assert_eq!(shell.bytes("in.jsonl"), broken.as_bytes());
    run(&["dedup", "-", "--output", "in.jsonl"]).exits(2).says("it is an input");
    shell.write("in.jsonl", [line(1, SAME), line(2, SAME)].concat());
    run(&args).exits(0);
    assert_eq!(shell.bytes("in.jsonl"), line(1, SAME).as_bytes());
}

#[test]
fn a_database_is_never_replaced() {
    let shell = Shell::new();
    shell.write("in.jsonl", line(1, SAME));
    for name in ["db", "against"] {
        shell.database(name, &[("a", SAME)]);
    }
    symlink("db", shell.path("link")).unwrap();
    let before = shell.bytes("db");
    shell.write("damaged", &before[..5000]);
    for output in ["db", "link", "damaged"] {
        for option in ["--output", "--removed"] {
            for more in [&[][..], &["--against", "against"]] {
                let ran = shell.run(&[&["dedup", "in.jsonl", option, output], more].concat()).exits(2);
                ran.gives_nothing().says(&format!("{output}: it is a database")).says("name another file");
            }
        }
    }
    assert!(shell.bytes("db") == before);
    assert_eq!(shell.files(), ["against", "damaged", "db", "in.jsonl", "link"]);
}

fn unpacked(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match name.to_ascii_lowercase().ends_with("gz") {
        true => drop(MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap()),
        false => zstd::stream::copy_decode(bytes, &mut out).unwrap(),
    }
    out
}

#[test]
fn an_output_is_packed_as_its_name_says() {
    let shell = Shell::new();
    let odd = "{ \"text\" : \"caf\\u00e9 \\/ \u{e9}\" ,\"id\":7 }  \r\n";
    let many: String = (10..3000).map(|id| line(id, &format!("text {id} of many"))).collect();
    shell.write("in.jsonl", [odd, &many, &line(8, "café / é")].concat());
    for (kept, removed) in
        [("kept.jsonl.gz", "gone.jsonl.zst"), ("kept.GZ", "gone.ZST"), ("k.zst", "g.gz"), ("k.Zst", "g.gZ")]
    {
        for keep in ["first", "longest"] {
            let args = ["dedup", "in.jsonl", "--output", kept, "--removed", removed, "--keep", keep];
            shell.run(&args).exits(0).gives_nothing();
            assert!(unpacked(kept, &shell.bytes(kept)) == [odd, &many].concat().as_bytes(), "{kept}");
            let gone = String::from_utf8(unpacked(removed, &shell.bytes(removed))).unwrap();
            assert!(gone.starts_with("{\"id\":8,") && gone.contains("\"duplicate_of\":\"7\""), "{gone}");
        }
        // What it wrote it reads.
        if kept.contains("jsonl") {
            let again = shell.run(&["dedup", kept]).exits(0);
            assert_eq!(again.out, [odd, &many].concat());
        }
    }
    shell.write("empty.jsonl", "");
    shell.run(&["dedup", "empty.jsonl", "--output", "none.gz", "--removed", "none.zst"]).exits(0);
    for name in ["none.gz", "none.zst"] {
        assert!(unpacked(name, &shell.bytes(name)).is_empty() && !shell.bytes(name).is_empty());
    }
}

#[test]
fn a_packed_input_may_be_replaced() {
    let shell = Shell::new();
    let lines = [line(1, SAME), line(2, SAME), line(3, "else")].concat();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(lines.as_bytes()).unwrap();
    let packed = [
        ("in.jsonl.gz", gzip.finish().unwrap()),
        ("in.jsonl.zst", zstd::encode_all(lines.as_bytes(), 1).unwrap()),
    ];
    for (name, bytes) in packed {
        shell.write(name, &bytes);
        shell.run(&["dedup", name, "--output", name]).exits(0).gives_nothing();
        let kept = unpacked(name, &shell.bytes(name));
        assert_eq!(String::from_utf8(kept).unwrap(), [line(1, SAME), line(3, "else")].concat());
        // One that is cut off stays as it is.
        let cut = &bytes[..bytes.len() - 4];
        shell.write(name, cut);
        shell.run(&["dedup", name, "--output", name]).exits(3).says("stays as it is");
        assert!(shell.bytes(name) == cut, "{name}");
    }
}

#[test]
fn an_output_of_another_kind_is_2() {
    let shell = Shell::new();
    shell.write("in.jsonl", line(1, SAME));
    for suffix in ["bz2", "xz", "7z", "zip", "lz4", "br", "BZ2", "Z", "tgz", "parquet"] {
        for option in ["--output", "--removed"] {
            let name = format!("kept.jsonl.{suffix}");
            let ran = shell.run(&["dedup", "in.jsonl", option, &name]).exits(2).gives_nothing();
            ran.says(&name).says("cannot be written").says("use .gz, .zst");
        }
    }
    assert_eq!(shell.files(), ["in.jsonl"]);
}
