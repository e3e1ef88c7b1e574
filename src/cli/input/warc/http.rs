//! An HTTP response as it was on the wire: its head, and its body without transfer and content codings (RFC 9110, 9112).
//!
//! What crawlers store does not always fit what the head says: a coding that the body does not begin with was taken off
//! before.

use super::buffered::Buffered;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::{self, BufRead, Cursor, Read};

/// Bytes and fields of a head.
const MOST_HEAD: usize = 1 << 18;
const MOST_FIELDS: usize = 512;
/// Codings within each other.
const MOST_CODINGS: usize = 4;
/// Bytes that a body in codings may have without them.
const MOST_UNPACKED: u64 = 256 << 20;
/// The largest window of zstd and bytes of it: what RFC 9659 lets a content coding have.
const ZSTD_WINDOW: u32 = 23;
/// The first seven bits of a stream of brotli with a window of up to 1 GB; RFC 7932, section 9.1, has no such stream.
const LARGE_WINDOW: u8 = 0x11;
/// Bytes of the line in front of a chunk.
const MOST_LINE: usize = 4096;

/// The head of a response.
pub struct Response {
    pub status: u16,
    pub content_type: String,
    chunked: bool,
    /// In the order in which they were applied.
    codings: Vec<String>,
}

/// Reads a response: its head, and what follows.
pub fn read(mut block: impl Read) -> io::Result<(Response, impl Read)> {
    let mut bytes = Vec::new();
    loop {
        let began = bytes.len();
        block.by_ref().take(4096).read_to_end(&mut bytes)?;
        let ended = bytes.len() == began || bytes.len() > MOST_HEAD;
        if let Some((response, length)) = head(&bytes)? {
            let mut rest = Cursor::new(bytes);
            rest.set_position(length as u64);
            return Ok((response, rest.chain(block)));
        }
        if ended {
            return Err(wrong("the head of a response that does not end"));
        }
    }
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// The head that a block begins with, and how many bytes it has; `None` when there must be more. Of later versions some crawlers
/// write a head of this form.
fn head(bytes: &[u8]) -> io::Result<Option<(Response, usize)>> {
    for later in [b"HTTP/2 ", b"HTTP/3 "] {
        if let Some(rest) = bytes.strip_prefix(later) {
            let found = head(&[b"HTTP/1.1 ", rest].concat())?;
            return Ok(found.map(|(response, length)| (response, length - 2)));
        }
    }
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    let parsed = httparse::ParserConfig::default()
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .ignore_invalid_headers_in_responses(true)
        .parse_response(&mut head, bytes)
        .map_err(|error| wrong(format!("the head of a response: {error}")))?;
    let httparse::Status::Complete(length) = parsed else { return Ok(None) };
    let fields = head.headers.iter();
    let value = |name: &str| -> Vec<String> {
        let named = fields.clone().filter(|field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| String::from_utf8_lossy(field.value).trim().to_owned()).collect()
    };
    let listed = |name: &str| -> Vec<String> {
        let values = value(name).join(",").to_ascii_lowercase();
        values.split(',').map(|part| part.trim().to_owned()).collect()
    };
    let response = Response {
        status: head.code.unwrap_or_default(),
        content_type: value("content-type").into_iter().next_back().unwrap_or_default(),
        chunked: listed("transfer-encoding").iter().any(|coding| coding == "chunked"),
        codings: listed("content-encoding"),
    };
    Ok(Some((response, length)))
}

/// Whether a page may be seen again by this response, which a revisit holds instead of it: what else was revisited is not a
/// page. A block that cannot be read says nothing.
pub fn may_be_seen_again(block: impl Read) -> bool {
    read(block).map_or(true, |(response, _)| response.is_page() || response.status == 304)
}

impl Response {
    /// Whether it carries a page: those of 2xx but 206, which is a part of one.
    pub fn is_page(&self) -> bool {
        (200..300).contains(&self.status) && self.status != 206
    }

    /// The body without its codings.
    pub fn body<'a>(&self, wire: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        let mut body = buffered(wire);
        if self.chunked && begins_with_chunk(body.peek(MOST_LINE)?) {
            body = buffered(Chunked { inner: body, left: 0, begun: false, ended: false });
        }
        if self.codings.len() > MOST_CODINGS {
            return Err(wrong(format!(
                "a body in {} codings: it may have {MOST_CODINGS}",
                self.codings.len()
            )));
        }
        let mut coded = false;
        for coding in self.codings.iter().rev() {
            let start = body.peek(4)?;
            body = match coding.as_str() {
                "gzip" | "x-gzip" if start.starts_with(b"\x1F\x8B") => buffered(MultiGzDecoder::new(body)),
                "deflate" if is_zlib(start) => buffered(ZlibDecoder::new(body)),
                "deflate" if !start.is_empty() => buffered(DeflateDecoder::new(body)),
                "br" if start.first().is_some_and(|first| first & 0x7F == LARGE_WINDOW) => {
                    return Err(wrong("a body in brotli with a larger window than RFC 7932 has"));
                }
                "br" if !start.is_empty() => buffered(brotli_decompressor::Decompressor::new(body, 1 << 16)),
                "zstd" if start.starts_with(b"\x28\xB5\x2F\xFD") => {
                    let mut decoder = zstd::stream::read::Decoder::with_buffer(body)?;
                    decoder.window_log_max(ZSTD_WINDOW)?;
                    buffered(decoder)
                }
                _ => continue,
            };
            coded = true;
        }
        Ok(if coded { Box::new(Limited { inner: body, left: MOST_UNPACKED }) } else { Box::new(body) })
    }
}

fn buffered<'a>(reader: impl Read + 'a) -> Buffered<Box<dyn Read + 'a>> {
    Buffered::new(Box::new(reader))
}

fn is_zlib(start: &[u8]) -> bool {
    matches!(start, [first, second, ..] if first & 15 == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0)
}

/// Whether a line with the size of a chunk stands first.
fn begins_with_chunk(start: &[u8]) -> bool {
    let line = start.iter().position(|byte| *byte == b'\n').map(|end| &start[..end]);
    line.is_some_and(|line| size(line).is_some())
}

/// The size that a line in front of a chunk says.
fn size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().filter(|_| digits[0] != b'+')
}

/// A body in chunks, read without them.
struct Chunked<R> {
    inner: R,
    left: u64,
    begun: bool,
    ended: bool,
}

impl<R: BufRead> Chunked<R> {
    /// Goes to the next chunk.
    fn next(&mut self) -> io::Result<()> {
        let mut line = self.line()?;
        if std::mem::replace(&mut self.begun, true) {
            if !line.trim_ascii().is_empty() {
                return Err(wrong("a chunk that does not end where its size says"));
            }
            line = self.line()?;
        }
        self.left = size(&line).ok_or_else(|| wrong("a chunk without its size"))?;
        self.ended = self.left == 0;
        Ok(())
    }

    fn line(&mut self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        self.inner.by_ref().take(MOST_LINE as u64).read_until(b'\n', &mut line)?;
        match line.ends_with(b"\n") {
            true => Ok(line),
            false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a body in chunks that is cut")),
        }
    }
}

impl<R: BufRead> Read for Chunked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.ended {
            self.next()?;
        }
        let most = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let n = self.inner.read(&mut into[..most])?;
        if n == 0 && most > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a body in chunks that is cut"));
        }
        self.left -= n as u64;
        Ok(n)
    }
}

/// A body that must not become too large.
struct Limited<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.left = self.left.checked_sub(n as u64).ok_or_else(|| {
            wrong(format!("a body that is more than {} MB without its codings", MOST_UNPACKED >> 20))
        })?;
        Ok(n)
    }
}
