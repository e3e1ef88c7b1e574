//! Archives that are damaged, cut, or made to be: what is whole is there, what is not is named, memory stays bounded.

use crate::archive::{gz, http, plain, response, words, zst};
use crate::run::{Ran, Shell};

fn add(name: &str, archive: impl AsRef<[u8]>) -> Ran {
    let shell = Shell::new();
    shell.write(name, archive);
    shell.run(&["--json", "add", "db", name])
}

fn uri(number: u64) -> String {
    format!("http://{number}.example/")
}

fn good(number: u64) -> Vec<u8> {
    plain(&uri(number), &words(number, 400))
}

/// A record whose block is longer, or shorter, than its head says.
fn misjudged(number: u64, by: i64) -> Vec<u8> {
    let record = String::from_utf8(good(number)).unwrap();
    let (_, rest) = record.split_once("Content-Length: ").unwrap();
    let (length, _) = rest.split_once("\r\n").unwrap();
    let wrong = length.parse::<i64>().unwrap() + by;
    record.replacen(&format!("Content-Length: {length}"), &format!("Content-Length: {wrong}"), 1).into_bytes()
}

fn corrupt(mut member: Vec<u8>) -> Vec<u8> {
    let middle = member.len() / 2;
    member[middle..middle + 20].fill(0x55);
    member
}

#[test]
fn a_member_that_was_cut_does_not_take_the_next_one_along() {
    for (name, pack) in [("a.warc.gz", gz as fn(Vec<u8>) -> Vec<u8>), ("a.warc.zst", zst)] {
        for left in [1, 10, 11, 200, 700] {
            let cut = pack(good(2))[..left].to_vec();
            let archive = [pack(good(1)), cut, pack(good(3)), pack(good(4))].concat();
            let keys = [1, 3, 4].map(uri);
            assert_eq!(add(name, archive).exits(3).column("key"), keys, "{name}, {left} bytes left");
        }
    }
}

#[test]
fn records_that_stand_before_a_damaged_member_are_there() {
    for by in [-100, 100] {
        let mut archive = gz(misjudged(0, by));
        (1..100).for_each(|number| archive.extend(gz(good(number))));
        archive.extend(corrupt(gz(good(100))));
        archive.extend(gz(good(101)));
        let ran = add("a.warc.gz", archive).exits(3).says("corrupt");
        let keys: Vec<String> = (1..100).chain([101]).map(uri).collect();
        assert_eq!(ran.column("key"), keys, "by {by}");
    }
}

#[test]
fn a_long_record_that_is_cut_is_named_whether_it_is_a_page_or_not() {
    for kind in ["text/plain", "image/png"] {
        let long = words(1, 900_000);
        let cut = response("http://long.example/", http(&[&format!("Content-Type: {kind}")], &long));
        let shell = Shell::new();
        shell.write("a.warc", [&good(1), &cut[..100_000]].concat());
        let ran = shell.run(&["--memory", "32M", "--json", "add", "db", "a.warc"]).exits(3);
        assert_eq!(ran.says("the record is cut").says("1 unreadable").column("key"), [uri(1)], "{kind}");
    }
}

#[test]
fn a_coding_is_seen_wherever_the_head_ends() {
    let text = words(1, 400);
    let chunked = |first: usize| {
        let packed = gz(&text);
        let (one, other) = packed.split_at(first);
        [
            format!("{first:x}\r\n").as_bytes(),
            one,
            format!("\r\n{:x}\r\n", other.len()).as_bytes(),
            other,
            b"\r\n0\r\n\r\n",
        ]
        .concat()
    };
    let padded = |head: usize| {
        let lines = ["Content-Type: text/plain", "Content-Encoding: gzip", "X-Pad: "].map(String::from);
        let short = http(&lines.each_ref().map(String::as_str), "").len();
        let lines = [&lines[..2], &[format!("X-Pad: {}", "p".repeat(head - short))]].concat();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        http(&lines, gz(&text))
    };
    let coded = ["Content-Type: text/plain", "Content-Encoding: gzip", "Transfer-Encoding: chunked"];
    let mut archive = plain("http://plain.example/", &text);
    archive.extend(response(&uri(1), http(&coded, chunked(1))));
    archive.extend(response(&uri(2), padded(4095)));
    archive.extend(response(&uri(3), padded(8191)));
    assert_eq!(add("a.warc", archive).exits(0).column("verdict"), ["new", "exact", "exact", "exact"]);
}

#[test]
fn a_status_line_may_be_of_a_later_version() {
    let block = http(&["Content-Type: text/plain"], words(1, 400));
    let later = String::from_utf8(block.clone()).unwrap().replacen("HTTP/1.1", "HTTP/2", 1);
    let archive = [response(&uri(1), block), response(&uri(2), later)].concat();
    assert_eq!(add("a.warc", archive).exits(0).column("verdict"), ["new", "exact"]);
}

#[test]
fn a_window_that_brotli_has_not_is_refused() {
    let coded = ["Content-Type: text/plain", "Content-Encoding: br"];
    let archive = [response(&uri(1), http(&coded, [0x11, 0x1E, 0x03])), good(2)].concat();
    let ran = add("a.warc", archive).exits(3).says("a larger window than RFC 7932 has");
    assert_eq!(ran.column("key"), [uri(2)]);
}

#[test]
fn a_key_that_is_too_long_is_named() {
    let too_long = plain(&format!("http://{}/", "k".repeat(5000)), "a text");
    let ran = add("a.warc", [good(1), too_long, good(2)].concat());
    let ran = ran.exits(3).says("a key of 5008 bytes").says("1 unreadable");
    assert_eq!(ran.column("key"), [1, 2].map(uri));
}
