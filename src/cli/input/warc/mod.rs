//! Archives of the web (WARC, and WET, which is WARC): records → documents.
//!
//! The thread that walks reads records one after the other; what an HTTP response holds is left to the worker that takes it.

mod again;
mod buffered;
mod head;
mod http;
mod members;
mod records;

pub use again::Again;
pub use head::{Head, Kind};
pub use http::may_be_seen_again;
pub use records::{Next, Records};

use super::long::Long;
use super::tally::{Passed, Tally};
use super::{Place, Problem, Read, Reading, copy};
use sketchdb::web::{self, MediaType};
use std::io::{self, Cursor};

/// The block of a record on its way.
pub enum Body {
    Held(Cursor<Vec<u8>>),
    Long(Long),
}

impl io::Read for Body {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Body::Held(bytes) => bytes.read(into),
            Body::Long(bytes) => bytes.read(into),
        }
    }
}

/// The document of a record, its text handed to `take`; `None` when it is none.
pub fn read(
    head: &Head,
    body: Body,
    place: &Place,
    reading: &Reading,
    tally: &Tally,
    take: &mut dyn FnMut(&[u8]),
) -> Result<Option<Read>, Problem> {
    let mut body = body;
    let key = head.uri.clone().ok_or_else(|| Problem::new(place, "a record without WARC-Target-URI"))?;
    let read = match is_http(&head.content_type) {
        true => response(head, &mut body, reading, take),
        false => {
            text(&mut body, &head.content_type, head, reading, take).map(|read| read.ok_or(Passed::Type))
        }
    };
    // Whoever walks relies on it that what is wrong with the rest is told here.
    let rest = copy(Cut { inner: body, allowed: head.truncated }, &mut |_| ());
    match read
        .and_then(|read| rest.map(|()| read))
        .map_err(|error| Problem::new(place, format!("{key}: {error}")))?
    {
        Ok(replaced) => Ok(Some(Read { key, replaced, seen_at: head.date })),
        Err(why) => {
            tally.passed(why);
            Ok(None)
        }
    }
}

fn is_http(content_type: &str) -> bool {
    content_type.get(..16).is_some_and(|start| start.eq_ignore_ascii_case("application/http"))
}

fn response(
    head: &Head,
    body: &mut Body,
    reading: &Reading,
    take: &mut dyn FnMut(&[u8]),
) -> io::Result<Result<u64, Passed>> {
    let (response, wire) = http::read(body)?;
    if !response.is_page() {
        return Ok(Err(Passed::Status));
    }
    let media = MediaType::parse(&response.content_type);
    if !media.is_unknown() && !media.is_text() {
        return Ok(Err(Passed::Type));
    }
    let body = response.body(wire)?;
    text(body, &response.content_type, head, reading, take).map(|read| read.ok_or(Passed::Type))
}

/// Hands on the text of a block or body: how many ill-formed sequences were replaced, `None` when it is no text.
fn text(
    body: impl io::Read,
    content_type: &str,
    head: &Head,
    reading: &Reading,
    take: &mut dyn FnMut(&[u8]),
) -> io::Result<Option<u64>> {
    let body = Cut { inner: body, allowed: head.truncated };
    let media = MediaType::parse(content_type);
    match reading.extraction {
        Some(extraction) => web::read_text(body, &media, extraction, take),
        None if media.is_unknown() || media.is_text() => copy(body, take).map(|()| Some(0)),
        None => Ok(None),
    }
}

/// What a crawler cut ends where it was cut.
struct Cut<R> {
    inner: R,
    allowed: bool,
}

impl<R: io::Read> io::Read for Cut<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(into) {
            Err(error) if self.allowed && error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read,
        }
    }
}
