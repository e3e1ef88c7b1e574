//! Archives made by hand: records, HTTP responses, and how they are packed.

use std::io::Write;

pub fn gz(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

pub fn zst(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    zstd::encode_all(bytes.as_ref(), 3).unwrap()
}

/// A record with these lines in its head, besides its length.
pub fn record(kind: &str, lines: &[&str], block: impl AsRef<[u8]>) -> Vec<u8> {
    let block = block.as_ref();
    let mut head = format!("WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Length: {}\r\n", block.len());
    lines.iter().for_each(|line| head += &format!("{line}\r\n"));
    [head.as_bytes(), b"\r\n", block, b"\r\n\r\n"].concat()
}

/// The record of a response.
pub fn response(uri: &str, http: impl AsRef<[u8]>) -> Vec<u8> {
    record(
        "response",
        &[&format!("WARC-Target-URI: {uri}"), "Content-Type: application/http; msgtype=response"],
        http,
    )
}

/// A response with status 200, these lines in its head, and a body.
pub fn http(lines: &[&str], body: impl AsRef<[u8]>) -> Vec<u8> {
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    [format!("HTTP/1.1 200 OK\r\n{lines}\r\n").as_bytes(), body.as_ref()].concat()
}

/// The record of a plain text.
pub fn plain(uri: &str, text: &str) -> Vec<u8> {
    response(uri, http(&["Content-Type: text/plain"], text))
}

pub fn revisit(uri: &str, date: &str, refers_to: Option<&str>) -> Vec<u8> {
    let uri = format!("WARC-Target-URI: {uri}");
    let date = format!("WARC-Date: {date}");
    let refers_to = refers_to.map(|refers_to| format!("WARC-Refers-To-Target-URI: {refers_to}"));
    let lines: Vec<&str> = [&uri, &date].into_iter().chain(&refers_to).map(String::as_str).collect();
    record("revisit", &lines, "HTTP/1.1 304 Not Modified\r\n\r\n")
}

/// Text of so many words.
pub fn words(seed: u64, count: u64) -> String {
    let word = |i: u64| (seed * 1_000_003 + i).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    (0..count).map(|i| format!("w{} ", word(i))).collect()
}
