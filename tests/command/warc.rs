//! Archives of the web: which records become documents, how they are read, and what is damaged named.

use crate::archive::{gz, http, plain, record, response, words, zst};
use crate::common::skipped::skipped_without;
use crate::run::{Ran, Shell};
use std::path::{Path, PathBuf};

/// Adds an archive to a new database.
fn add(name: &str, archive: impl AsRef<[u8]>) -> (Shell, Ran) {
    let shell = Shell::new();
    shell.write(name, archive);
    let ran = shell.run(&["--json", "add", "db", name]);
    (shell, ran)
}

/// The content of a document as `--html raw` has it must be this.
fn same(shell: &Shell, key: &str, text: &str) {
    shell.write("same.txt", text);
    let found = shell.json(&["query", "db", "same.txt", "--copies"]);
    assert!(found.iter().any(|line| line["match"] == key && line["exact"] == true), "{key}: {found:?}");
    std::fs::remove_file(shell.path("same.txt")).unwrap();
}

/// The archives among the corpora.
fn archives() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpora/warc");
    if !folder.is_dir() {
        skipped_without("warc");
        return None;
    }
    Some(folder)
}

#[test]
fn records_of_every_archive_that_there_is_are_counted() {
    let Some(folder) = archives() else { return };
    for (name, records, documents) in [
        ("iana.warc.gz", "records: 48 response, 123 revisit, 171 request, 1 warcinfo;", 16),
        ("dupes.warc.gz", "records: 3 response, 9 revisit, 12 request, 1 warcinfo;", 2),
        ("whirlwind.warc", "records: 1 response, 1 request, 1 warcinfo, 1 metadata;", 1),
        ("whirlwind.warc.gz", "records: 1 response, 1 request, 1 warcinfo, 1 metadata;", 1),
        ("whirlwind.warc.wet", "records: 1 conversion, 1 warcinfo;", 1),
        ("whirlwind.warc.wet.gz", "records: 1 conversion, 1 warcinfo;", 1),
        ("example.warc", "records: 1 response, 1 revisit, 2 request, 2 warcinfo;", 2),
        ("example-iana.org-chunked.warc", "records: 1 response, 1 request, 1 warcinfo;", 1),
    ] {
        let shell = Shell::new();
        let path = folder.join(name);
        let ran = shell.run(&["--json", "add", "db", path.to_str().unwrap()]).exits(0).says(records);
        assert_eq!(ran.json().len(), documents, "{name}");
    }
}

#[test]
fn the_duplicates_of_one_crawl_in_another_are_named() {
    let Some(folder) = archives() else { return };
    let shell = Shell::new();
    let [iana, dupes] = ["iana.warc.gz", "dupes.warc.gz"].map(|name| folder.join(name).display().to_string());
    shell.run(&["add", "db", &iana]).exits(0);
    let ran =
        shell.run(&["--json", "add", "db", &dupes]).exits(0).says("7 revisits of pages that are not stored");
    assert_eq!(ran.column("key"), ["http://example.com", "http://www.iana.org/", "http://example.com"]);
    assert_eq!(ran.column("verdict"), ["new", "unchanged", "unchanged"]);
    let seen = &shell.json(&["get", "db", "http://www.iana.org/"])[0];
    assert_eq!(seen["first_seen"], "2014-01-26T20:06:24Z");
    assert!(seen["last_seen"].as_str().unwrap() > "2014-01-26T20:06:24Z", "{seen}");
}

#[test]
fn archives_are_read_however_they_are_packed() {
    let records = [
        plain("http://a.example/", "one two"),
        plain("<http://b.example/>", "three"),
        plain("http://c.example/", "four"),
    ];
    let each = |pack: fn(Vec<u8>) -> Vec<u8>| records.clone().map(pack).concat();
    let keys = ["http://a.example/", "http://b.example/", "http://c.example/"];
    for (name, archive) in [
        ("a.warc", records.concat()),
        ("a.warc.gz", each(gz)),
        ("a.warc.gz", gz(records.concat())),
        ("a.warc.zst", each(zst)),
        ("a.wet.gz", each(gz)),
        // Told by its bytes, not its name.
        ("a.warc", each(gz)),
        ("a.warc", records.concat().strip_suffix(b"\r\n\r\n").unwrap().to_vec()),
    ] {
        let (shell, ran) = add(name, &archive);
        assert_eq!(ran.exits(0).column("key"), keys, "{name}");
        same(&shell, keys[2], "four");
        let ran = shell.feed(&["--json", "add", "db", "-", "--format", "warc"], &archive).exits(0);
        assert_eq!(ran.column("verdict"), ["unchanged"; 3], "{name}");
    }
}

#[test]
fn frames_of_zstd_may_share_a_dictionary() {
    let texts: Vec<Vec<u8>> =
        (0..200).map(|n| plain(&format!("http://{n}.example/"), &words(n, 50))).collect();
    let dictionary = zstd::dict::from_samples(&texts, 4096).unwrap();
    for packed in [dictionary.clone(), zst(&dictionary)] {
        let mut archive = [b"\x5D\x2A\x4D\x18", &(packed.len() as u32).to_le_bytes()[..], &packed].concat();
        for text in &texts[..3] {
            archive.extend(
                zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap().compress(text).unwrap(),
            );
        }
        assert_eq!(add("a.warc.zst", archive).1.exits(0).json().len(), 3);
    }
}

#[test]
fn records_that_hold_no_page_are_passed_over_and_counted() {
    let (html, image) = (["Content-Type: text/html"], ["Content-Type: image/png"]);
    let redirect = "HTTP/1.1 301 Moved\r\nContent-Type: text/html\r\n\r\n<p>moved";
    let part = "HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\n\r\n<p>part";
    let target = "WARC-Target-URI: http://r.example/";
    let archive = [
        record("warcinfo", &[], "software: x"),
        record("request", &["WARC-Target-URI: http://a.example/"], "GET / HTTP/1.1\r\n\r\n"),
        response("http://a.example/", http(&html, "<p>a page")),
        response("http://b.example/", redirect),
        response("http://b.example/", part),
        response("http://c.example/", http(&image, "\u{1}")),
        response("http://d.example/", http(&["Content-Type: text/css"], "p {}")),
        response("http://e.example/", http(&[], "\u{1}\u{2}")),
        response("http://f.example/", http(&[], "text of no type")),
        record("metadata", &[target], "x: y"),
        record("resource", &[target, "Content-Type: text/plain"], "a resource"),
        record(
            "conversion",
            &["WARC-Target-URI: http://s.example/", "Content-Type: text/plain"],
            "a conversion",
        ),
        record(
            "response",
            &["WARC-Target-URI: dns:a.example", "Content-Type: text/dns"],
            "a.example. 1 IN A 127.0.0.1",
        ),
        record("continuation", &[target], "more"),
        record("own", &[target], "?"),
    ];
    let (_, ran) = add("a.warc", archive.concat());
    let ran = ran.exits(0).says(
        "records: 8 response, 1 resource, 1 conversion, 1 request, 1 warcinfo, 1 metadata, 1 continuation, 1 other; \
         passed over: 2 without a page by their status, 4 no text",
    );
    assert_eq!(
        ran.column("key"),
        ["http://a.example/", "http://f.example/", "http://r.example/", "http://s.example/"]
    );
}

#[test]
fn codings_are_taken_off_when_they_are_there() {
    let text = words(7, 3000);
    let chunked = |body: &[u8]| -> Vec<u8> {
        let chunks =
            body.chunks(1000).map(|c| [format!("{:x};x=y\r\n", c.len()).as_bytes(), c, b"\r\n"].concat());
        chunks.chain([b"0\r\nTrailer: x\r\n\r\n".to_vec()]).collect::<Vec<_>>().concat()
    };
    let deflate = |zlib: bool| -> Vec<u8> {
        let (mut raw, mut framed) = (Vec::new(), Vec::new());
        let level = flate2::Compression::default();
        std::io::Read::read_to_end(&mut flate2::read::DeflateEncoder::new(text.as_bytes(), level), &mut raw)
            .unwrap();
        std::io::Read::read_to_end(&mut flate2::read::ZlibEncoder::new(text.as_bytes(), level), &mut framed)
            .unwrap();
        if zlib { framed } else { raw }
    };
    // One block that is not compressed, and the end (RFC 7932, section 9).
    let header = ((text.len() as u32 - 1) << 4 | 1 << 20).to_le_bytes();
    let brotli = [&header[..3], text.as_bytes(), &[3]].concat();
    for (lines, body) in [
        (vec!["Transfer-Encoding: chunked"], chunked(text.as_bytes())),
        (vec!["Transfer-Encoding: chunked"], text.clone().into_bytes()),
        (vec!["Content-Encoding: gzip"], gz(&text)),
        (vec!["Content-Encoding: gzip"], text.clone().into_bytes()),
        (vec!["Content-Encoding: X-GZIP", "Transfer-Encoding: chunked"], chunked(&gz(&text))),
        (vec!["Content-Encoding: deflate"], deflate(true)),
        (vec!["Content-Encoding: deflate"], deflate(false)),
        (vec!["Content-Encoding: br"], brotli),
        (vec!["Content-Encoding: zstd"], zst(&text)),
        (vec!["Content-Encoding: zstd, gzip"], gz(zst(&text))),
        (vec!["Content-Encoding: utf-8"], text.clone().into_bytes()),
    ] {
        let all = [&lines[..], &["Content-Type: text/plain"]].concat();
        let (shell, ran) = add("a.warc", response("http://a.example/", http(&all, body)));
        assert_eq!(ran.exits(0).column("key"), ["http://a.example/"], "{lines:?}");
        same(&shell, "http://a.example/", &text);
    }
}

#[test]
fn damaged_records_are_named_and_lose_no_neighbour() {
    let good = |n: u64| plain(&format!("http://{n}.example/"), &words(n, 20));
    let tell = |record: &[u8], from: &str, to: &str| {
        String::from_utf8(record.to_vec()).unwrap().replacen(from, to, 1).into_bytes()
    };
    let length = format!("Content-Length: {}", http(&["Content-Type: text/plain"], words(2, 20)).len());
    let gzipped = ["Content-Type: text/plain", "Content-Encoding: gzip"];
    let cut = &gz(words(9, 900))[..500];
    let bad: [Vec<u8>; 10] = [
        b"nonsense\r\nthat is no record\r\n\r\n".to_vec(),
        tell(&good(2), &length, "Content-Length: 99"),
        tell(&good(2), &length, "Content-Length: 999999"),
        tell(&good(2), &length, "Content-Length: many"),
        tell(&good(2), "WARC/1.0", "WARC/7.0"),
        tell(&good(2), "WARC-Target-URI", "WARC-Target"),
        response("http://2.example/", "no head at all"),
        response("http://2.example/", http(&gzipped, cut)),
        response("http://2.example/", http(&["Transfer-Encoding: chunked"], "5\r\nhello\r\nzz\r\n")),
        tell(&good(2), "WARC-Target-URI", "WARC-Segment-Number: 1\r\nWARC-Target-URI"),
    ];
    for bad in &bad {
        let first = good(1);
        let archive = [&first[..], bad, &good(3)].concat();
        let (_, ran) = add("a.warc", archive);
        let ran = ran.exits(3).says(&format!("a.warc:{}: ", first.len())).says("1 unreadable");
        assert_eq!(
            ran.column("key"),
            ["http://1.example/", "http://3.example/"],
            "{}",
            String::from_utf8_lossy(bad)
        );
    }
    // What a crawler cut on purpose is a document.
    let truncated = tell(
        &response(
            "http://2.example/",
            http(&["Content-Type: text/plain", "Transfer-Encoding: chunked"], "6\r\nhello"),
        ),
        "WARC-Type",
        "WARC-Truncated: length\r\nWARC-Type",
    );
    let (shell, ran) = add("a.warc", [truncated, good(3)].concat());
    assert_eq!(ran.exits(0).column("key"), ["http://2.example/", "http://3.example/"]);
    same(&shell, "http://2.example/", "hello");
}

#[test]
fn a_damaged_member_loses_itself_only() {
    for (name, pack) in [("a.warc.gz", gz as fn(Vec<u8>) -> Vec<u8>), ("a.warc.zst", zst)] {
        let members: Vec<Vec<u8>> =
            (0..5).map(|n| pack(plain(&format!("http://{n}.example/"), &words(n, 5000)))).collect();
        let mut flipped = members.clone();
        let middle = flipped[2].len() / 2;
        flipped[2][middle..middle + 40].fill(0x55);
        let keys = |without: u64| {
            (0..5).filter(|n| *n != without).map(|n| format!("http://{n}.example/")).collect::<Vec<_>>()
        };
        let (_, ran) = add(name, flipped.concat());
        assert_eq!(ran.exits(3).column("key"), keys(2), "{name}");
        let cut = members.concat();
        let (_, ran) = add(name, &cut[..cut.len() - 20]);
        assert_eq!(ran.exits(3).says("1 unreadable").column("key"), keys(4), "{name}");
    }
}

#[test]
fn long_records_pass_by_and_bombs_are_bounded() {
    let shell = Shell::new();
    let long = words(1, 900_000);
    let types = ["Content-Type: text/plain", "Content-Encoding: gzip"];
    let bomb = gz(gz(vec![b' '; 300 << 20]));
    let twice = ["Content-Type: text/plain", "Content-Encoding: gzip, gzip"];
    let image = http(&["Content-Type: image/png"], &long);
    let cut = plain("http://cut.example/", &long);
    let archive = [
        plain("http://long.example/", &long),
        response("http://image.example/", image),
        response("http://gzip.example/", http(&types, gz(&long))),
        response("http://bomb.example/", http(&twice, bomb)),
        plain("http://small.example/", "small"),
        cut[..cut.len() / 2].to_vec(),
    ];
    shell.write("a.warc.gz", archive.map(gz).concat());
    shell.write("limited", "ulimit -d 131072 && exec \"$1\" --memory 32M --json add db a.warc.gz");
    let mut command = std::process::Command::new("sh");
    command.arg("limited").arg(env!("CARGO_BIN_EXE_sketchdb")).current_dir(shell.path(""));
    let ran = Ran::of(command.output().unwrap()).exits(3);
    let ran =
        ran.says("http://bomb.example/: a body that is more than 256 MB").says("cut").says("2 unreadable");
    assert_eq!(ran.column("key"), ["http://long.example/", "http://gzip.example/", "http://small.example/"]);
    assert_eq!(ran.column("verdict"), ["new", "exact", "new"]);
}
