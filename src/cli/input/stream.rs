//! The reader of JSON lines: it decides about every line, of any length, from bytes that pass by once.
//!
//! Ill-formed bytes and escapes of half a surrogate pair are replaced by U+FFFD and counted, wherever in the line they are;
//! but an id that has any is refused.

use super::lines::{Found, is_id, no_id, no_text, number, seconds};
use super::lossy::Lossy;
use super::outside::{Outside, is_blank};
use super::{Fields, Place, Problem, Read};
use serde_json::Value;
use std::cell::Cell;
use std::io;
use struson::reader::{
    JsonReader, JsonStreamReader, JsonSyntaxError, ReaderError, ReaderSettings, SyntaxErrorKind, ValueType,
};

/// Bytes of a name, and of a value that is no text.
const MOST_HELD: usize = 1 << 20;
/// Bytes of JSON that may be read for one: each may be an escape, and some more are read ahead.
const MOST_READ: u64 = 6 * MOST_HELD as u64 + (1 << 16);
const TOO_LONG: &str = "a name or a value too long to hold";
/// Arrays and objects within each other, at most.
pub const MOST_DEEP: u32 = 1 << 20;

/// The document of a line, its text handed to `take` while it is read; `None` of a line that holds blanks only.
pub fn read(
    line: impl io::Read,
    place: &Place,
    fields: &Fields,
    take: &mut dyn FnMut(&[u8]),
) -> Result<Option<Read>, Problem> {
    let (allowed, nothing) = (Cell::new(u64::MAX), Cell::new(false));
    let mut lossy = Lossy::new(line);
    let settings = ReaderSettings {
        track_path: false,
        max_nesting_depth: Some(MOST_DEEP),
        restrict_number_values: false,
        ..ReaderSettings::default()
    };
    let reader = Sparing {
        inner: &mut lossy,
        outside: Outside::default(),
        allowed: &allowed,
        blank: true,
        nothing: &nothing,
    };
    let object = Object { json: JsonStreamReader::new_custom(reader, settings), fields, allowed: &allowed };
    match object.read(take) {
        Err(_) if nothing.get() => Ok(None),
        Err(what) => Err(Problem::new(place, what)),
        Ok(found) => found.read(place, fields, lossy.replaced()).map(Some),
    }
}

/// A reader that gives only so many bytes besides blanks, until it is told that it may give more.
struct Sparing<'a, R> {
    inner: R,
    outside: Outside,
    allowed: &'a Cell<u64>,
    /// Whether there were only blanks so far, and whether there are no more.
    blank: bool,
    nothing: &'a Cell<bool>,
}

impl<R: io::Read> io::Read for Sparing<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.allowed.get() == 0 {
            return Err(io::Error::other(TOO_LONG));
        }
        let most = into.len().min(usize::try_from(self.allowed.get()).unwrap_or(usize::MAX));
        let n = self.inner.read(&mut into[..most])?;
        self.nothing.set(self.blank && n == 0 && most > 0);
        let held = into[..n].iter().filter(|&&byte| !(self.outside.next(byte) && is_blank(byte))).count();
        self.blank &= held == 0;
        self.allowed.set(self.allowed.get().saturating_sub(held as u64));
        Ok(n)
    }
}

struct Object<'a, R: io::Read> {
    json: JsonStreamReader<Sparing<'a, R>>,
    fields: &'a Fields,
    allowed: &'a Cell<u64>,
}

/// What is wrong with a line, in words of what it must be.
fn said(error: ReaderError) -> String {
    match error {
        ReaderError::SyntaxError(error) => no_json(&error),
        ReaderError::MaxNestingDepthExceeded { .. } => {
            format!("more than {MOST_DEEP} arrays and objects within each other")
        }
        ReaderError::IoError { error, .. } => error.to_string(),
        other => format!("not JSON: {other}"),
    }
}

fn no_json(error: &JsonSyntaxError) -> String {
    let what = match error.kind {
        SyntaxErrorKind::IncompleteDocument => "it ends too early",
        SyntaxErrorKind::TrailingData => "there is more behind the object",
        SyntaxErrorKind::NotEscapedControlCharacter => "a control character that is not escaped",
        SyntaxErrorKind::UnknownEscapeSequence | SyntaxErrorKind::MalformedEscapeSequence => {
            "a malformed escape"
        }
        SyntaxErrorKind::TrailingCommaNotEnabled | SyntaxErrorKind::UnexpectedComma => {
            "a comma that is not expected"
        }
        SyntaxErrorKind::MissingComma => "a comma is missing",
        SyntaxErrorKind::MissingColon => "a colon is missing",
        SyntaxErrorKind::MalformedNumber | SyntaxErrorKind::TrailingDataAfterNumber => "a malformed number",
        SyntaxErrorKind::ExpectingMemberNameOrObjectEnd => "a name or the end of the object is missing",
        _ => "a value is missing or malformed",
    };
    let column = error.location.line_pos.map_or(0, |at| at.column);
    format!("not JSON: {what} (column {})", column + 1)
}

/// What went wrong while a string was read.
fn unread(error: io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(error) => no_json(error),
        None => error.to_string(),
    }
}

/// Checks what was held.
fn held(value: String) -> Result<String, String> {
    if value.len() > MOST_HELD { Err(TOO_LONG.into()) } else { Ok(value) }
}

impl<R: io::Read> Object<'_, R> {
    fn read(mut self, take: &mut dyn FnMut(&[u8])) -> Result<Found<()>, String> {
        let mut found = Found::default();
        if self.json.peek().map_err(said)? != ValueType::Object {
            return Err("a line must be a JSON object".into());
        }
        self.json.begin_object().map_err(said)?;
        while self.json.has_next().map_err(said)? {
            self.hold();
            let name = self.json.next_name_owned().map_err(said).and_then(held)?;
            self.hold();
            if name == self.fields.id {
                found.id(self.id()?)?;
            } else if name == self.fields.text {
                found.text(self.text(take)?)?;
            } else if Some(name.as_str()) == self.fields.time.as_deref() {
                found.time(self.time()?)?;
            } else {
                self.skip()?;
            }
            self.hold();
        }
        self.json.end_object().map_err(said)?;
        self.allowed.set(u64::MAX);
        self.json.consume_trailing_whitespace().map_err(said)?;
        Ok(found)
    }

    /// What is read next is held in memory.
    fn hold(&self) {
        self.allowed.set(MOST_READ);
    }

    fn skip(&mut self) -> Result<(), String> {
        self.allowed.set(u64::MAX);
        self.json.skip_value().map_err(said)
    }

    /// A string or an integer; null is none.
    fn id(&mut self) -> Result<Option<String>, String> {
        match self.json.peek().map_err(said)? {
            ValueType::Null => self.json.next_null().map(|()| None).map_err(said),
            ValueType::String => self.json.next_string().map_err(said).and_then(held).map(Some),
            ValueType::Number => {
                let number = self.json.next_number_as_string().map_err(said).and_then(held)?;
                if is_id(&number) { Ok(Some(number)) } else { Err(no_id(self.fields)) }
            }
            _ => Err(no_id(self.fields)),
        }
    }

    fn text(&mut self, take: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        if self.json.peek().map_err(said)? != ValueType::String {
            return Err(no_text(self.fields));
        }
        self.allowed.set(u64::MAX);
        let mut text = self.json.next_string_reader().map_err(said)?;
        let mut chunk = vec![0; 1 << 16];
        loop {
            match io::Read::read(&mut text, &mut chunk).map_err(unread)? {
                0 => return Ok(()),
                n => take(&chunk[..n]),
            }
        }
    }

    fn time(&mut self) -> Result<Option<u64>, String> {
        let value = match self.json.peek().map_err(said)? {
            ValueType::String => Value::String(self.json.next_string().map_err(said).and_then(held)?),
            ValueType::Number => number(&self.json.next_number_as_string().map_err(said).and_then(held)?),
            _ => return self.skip().map(|()| None),
        };
        Ok(seconds(&value))
    }
}
