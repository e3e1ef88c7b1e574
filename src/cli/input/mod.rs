//! What to read: files, directories, JSON lines, compressed or not, stdin → documents in order.
//!
//! One thread walks the inputs and cuts them into *pieces*; what is costly about a piece (parsing, reading a whole file) is
//! left to the worker that takes it. A piece that cannot be read is a [`Problem`] with its place and harms no other.

mod archive;
mod bounded;
mod lines;
mod long;
mod lossy;
mod outside;
mod plain;
mod stream;
mod surrogates;
mod tally;
mod walk;
mod warc;

pub use bounded::{Line, bounded_lines};
pub use long::Long;
pub use tally::Tally;
pub use walk::{Walk, overwritten};

use crate::compressed;
use crate::interrupt::Interrupt;
use crate::say::visible;
use sketchdb::web::{self, Extraction, MediaType};
use sketchdb::{Error, Visit};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// One document to be, as the walk found it.
pub enum Piece {
    /// A file that is one document.
    File { key: String, path: PathBuf, len: u64 },
    /// The document on stdin.
    Stdin(Long),
    /// A line of a file of JSON lines.
    Line { bytes: Vec<u8>, place: Place },
    /// A line too long to hold.
    Long { line: Long, place: Place },
    /// A record of an archive that may be a document.
    Record { head: Box<warc::Head>, body: warc::Body, place: Place },
    /// A record of an archive which says that a page was seen again.
    Revisit(Visit),
    /// An input that cannot be read.
    Problem(Problem),
    /// A reason to stop.
    Refused(Error),
}

impl Piece {
    /// Bytes that the piece keeps in memory.
    pub fn bytes(&self) -> usize {
        match self {
            Piece::Line { bytes, .. } => bytes.len(),
            Piece::Long { line, .. } | Piece::Stdin(line) => line.held(),
            Piece::Record { head, body: warc::Body::Held(bytes), .. } => head.bytes() + bytes.get_ref().len(),
            Piece::Record { head, body: warc::Body::Long(bytes), .. } => head.bytes() + bytes.held(),
            Piece::Revisit(visit) => visit.key.len() + visit.of.as_ref().map_or(0, String::len),
            _ => 0,
        }
    }

    /// Bytes that will be read for it, as far as is known.
    pub fn weight(&self) -> usize {
        match self {
            Piece::File { len, .. } => usize::try_from(*len).unwrap_or(usize::MAX >> 8),
            other => other.bytes(),
        }
    }

    /// Whether it comes a part at a time, and what comes after it waits.
    pub fn passes(&self) -> bool {
        matches!(self, Piece::Long { .. } | Piece::Stdin(_) | Piece::Record { body: warc::Body::Long(_), .. })
    }

    /// Where the piece is from.
    pub fn place(&self) -> String {
        match self {
            Piece::File { path, .. } => path.display().to_string(),
            Piece::Stdin(_) => "-".into(),
            Piece::Line { place, .. } | Piece::Long { place, .. } | Piece::Record { place, .. } => {
                place.to_string()
            }
            Piece::Revisit(visit) => visit.key.clone(),
            Piece::Problem(problem) => problem.place.clone(),
            Piece::Refused(error) => error.to_string(),
        }
    }
}

/// A line of a file, or, of an archive, a byte of it when it is unpacked.
#[derive(Clone, Debug)]
pub struct Place {
    pub file: Arc<str>,
    pub at: u64,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.at)
    }
}

/// An input that could not be read, and why.
#[derive(Debug)]
pub struct Problem {
    pub place: String,
    pub what: String,
}

impl Problem {
    pub fn new(place: impl ToString, what: impl ToString) -> Self {
        Problem { place: place.to_string(), what: what.to_string() }
    }
}

/// As people read it: what the input has in it cannot forge lines or move the cursor.
impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", visible(&self.place), visible(&self.what))
    }
}

/// The fields of a JSON line.
#[derive(Clone, Debug)]
pub struct Fields {
    pub id: String,
    pub text: String,
    /// Where it says when the document was seen; `None` when nobody asks.
    pub time: Option<String>,
}

/// What is read, and how.
#[derive(Clone, Debug)]
pub struct Reading {
    pub fields: Fields,
    /// What becomes of pages and charsets; `None` when bytes are taken as they are.
    pub extraction: Option<Extraction>,
}

/// A document that was read; its text was handed on.
pub struct Read {
    pub key: String,
    /// Ill-formed byte sequences that were replaced already.
    pub replaced: u64,
    /// When it was seen, in seconds since 1970; of a file, when it was last changed.
    pub seen_at: Option<u64>,
}

/// A document whose text is handed to `take` in chunks; `None` of a line of blanks, and of what is no document.
pub fn read(
    piece: Piece,
    reading: &Reading,
    tally: &Tally,
    take: &mut dyn FnMut(&[u8]),
) -> Result<Option<Read>, Problem> {
    let fields = &reading.fields;
    match piece {
        Piece::Problem(problem) => Err(problem),
        Piece::Line { bytes, place } => with_key(lines::read(&bytes, &place, fields, take)?, &place),
        Piece::Long { line, place } => read_long(line, &place, fields, take),
        Piece::Record { head, body, place } => warc::read(&head, body, &place, reading, tally, take),
        Piece::Revisit(_) | Piece::Refused(_) => Ok(None),
        Piece::Stdin(text) => {
            let replaced = read_text(text, Path::new("-"), reading.extraction, take)?;
            Ok(Some(Read { key: "-".into(), replaced, seen_at: None }))
        }
        Piece::File { key, path, .. } => {
            let key = checked(key, path.display())?;
            let file = File::open(&path).map_err(|error| Problem::new(path.display(), error))?;
            let seen_at = fields.time.is_some().then(|| changed(&file)).flatten();
            let reader =
                compressed::reader(&path, file).map_err(|error| Problem::new(path.display(), error))?;
            let replaced = read_text(reader, &path, reading.extraction, take)?;
            Ok(Some(Read { key, replaced, seen_at }))
        }
    }
}

/// The document of a line that passes by; `None` when it holds blanks only.
pub fn read_long(
    line: impl io::Read,
    place: &Place,
    fields: &Fields,
    take: &mut dyn FnMut(&[u8]),
) -> Result<Option<Read>, Problem> {
    with_key(stream::read(line, place, fields, take)?, place)
}

/// A document of a line whose key can be stored.
fn with_key(read: Option<Read>, place: &Place) -> Result<Option<Read>, Problem> {
    read.map(|read| Ok(Read { key: checked(read.key, place)?, ..read })).transpose()
}

/// When a file was last changed, in seconds since 1970.
fn changed(file: &File) -> Option<u64> {
    let changed = file.metadata().ok()?.modified().ok()?;
    changed.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// One file as it is, decompressed as its name says; `-` is stdin.
pub fn open_file(path: &str) -> Result<Box<dyn io::Read + Send>, Problem> {
    if path == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let opened = File::open(path).and_then(|file| compressed::reader(path.as_ref(), file));
    opened.map_err(|error| Problem::new(path, error))
}

/// As [`open_file`], for a verb that must hear of a signal while it waits for stdin, or for a pipe.
pub fn open_awaited(path: &str, interrupt: &Interrupt) -> Result<Box<dyn io::Read + Send>, Problem> {
    if path == "-" {
        return Ok(Box::new(interrupt.awaited(io::stdin())));
    }
    if !std::fs::metadata(path).is_ok_and(|there| there.file_type().is_fifo()) {
        return open_file(path);
    }
    let opened = interrupt.open(path.as_ref(), OpenOptions::new().read(true));
    Ok(Box::new(interrupt.awaited(opened.map_err(|error| Problem::new(path, error))?)))
}

/// The text of one file, decompressed as its name says, handed to `take` in chunks: how many ill-formed sequences were
/// replaced already. `-` is stdin.
pub fn read_file(
    path: &str,
    extraction: Option<Extraction>,
    take: &mut dyn FnMut(&[u8]),
) -> Result<u64, Problem> {
    read_text(open_file(path)?, path.as_ref(), extraction, take)
}

fn read_text(
    reader: impl io::Read,
    path: &Path,
    extraction: Option<Extraction>,
    take: &mut dyn FnMut(&[u8]),
) -> Result<u64, Problem> {
    let read = match extraction {
        Some(extraction) => web::read_text(reader, &media(path), extraction, take),
        None => copy(reader, take).map(|()| None),
    };
    read.map(Option::unwrap_or_default).map_err(|error| Problem::new(path.display(), error))
}

/// What a file holds, by its name.
fn media(path: &Path) -> MediaType {
    let inner = compressed::inner(path);
    let extension = inner.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match ["html", "htm", "xhtml"].iter().any(|html| extension.eq_ignore_ascii_case(html)) {
        true => MediaType::html(),
        false => MediaType::plain(),
    }
}

/// A key that can be stored.
pub fn checked(key: String, place: impl ToString) -> Result<String, Problem> {
    match key.len() {
        1..=4096 => Ok(key),
        n => Err(Problem::new(place, format!("a key of {n} bytes: a key has 1 to 4,096"))),
    }
}

fn copy(mut reader: impl io::Read, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => take(&buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_says_of_itself_counts_and_is_cut() {
        let head = format!(
            "WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 5\r\nWARC-Target-URI: {}\r\nContent-Type: {}\r\n\r\n",
            "u".repeat(4000),
            "t".repeat(200_000),
        );
        let head = Box::new(warc::Head::parse(head.as_bytes()).unwrap());
        let body = warc::Body::Held(io::Cursor::new(b"block".to_vec()));
        let bytes = Piece::Record { head, body, place: Place { file: "a".into(), at: 0 } }.bytes();
        assert!((4005 + 1024..6000).contains(&bytes), "{bytes}");
    }
}
