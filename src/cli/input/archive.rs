//! The walk through an archive: its records in order, each a piece, and what is damaged named.

use super::long::Long;
use super::walk::Walk;
use super::warc::{Body, Head, Kind, Next, Records};
use super::{Piece, Place};
use sketchdb::Visit;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

/// Bytes that may be read again after damage: so many, and so many for each byte that was passed. Else an archive of records
/// that all claim to be long would take time with the square of its length.
const AGAIN: u64 = 64 << 20;
const AGAIN_FACTOR: u64 = 8;

/// Whether more pieces are wanted, or what is wrong with a record.
type Done = Result<bool, String>;

impl Walk<'_> {
    /// The records of an archive; whether more pieces are wanted.
    pub(super) fn archive(&mut self, file: &str, reader: impl Read) -> bool {
        match Records::new(reader) {
            Err(error) => self.problem(file, error),
            Ok(records) => Archive { walk: self, file: file.into(), records, counted: 0, again: 0 }.walk(),
        }
    }
}

struct Archive<'w, 'a, R: Read> {
    walk: &'w mut Walk<'a>,
    file: Arc<str>,
    records: Records<R>,
    /// Bytes that were counted as read, and those that were read again.
    counted: u64,
    again: u64,
}

impl<R: Read> Archive<'_, '_, R> {
    fn walk(&mut self) -> bool {
        loop {
            // The next record may be long in coming.
            if self.records.is_drained() && !(self.walk.sink)(None, true) {
                return false;
            }
            let at = self.records.position();
            let (at, done) = match self.records.next() {
                Ok(Next::End) => return true,
                Ok(Next::Damaged { what, at }) => (at, Err(what)),
                Ok(Next::Record { head, at }) => (at, self.record(head, at)),
                Err(error) => (at, Err(error.to_string())),
            };
            self.count();
            let wanted = match done {
                Ok(wanted) => wanted,
                Err(what) => {
                    let wanted = what.is_empty() || self.walk.problem(self.place(at), what);
                    match self.records.recover() {
                        Ok(true) => wanted,
                        Ok(false) => return wanted,
                        Err(error) => return wanted && self.walk.problem(self.file.clone(), error),
                    }
                }
            };
            if !wanted {
                return false;
            }
        }
    }

    /// A byte of the unpacked archive.
    fn place(&self, at: u64) -> Place {
        Place { file: self.file.clone(), at }
    }

    fn count(&mut self) {
        let passed = self.records.position().saturating_sub(self.counted);
        self.counted += passed;
        (self.walk.read)(passed);
    }

    /// What is made of a record. An error without words was told already.
    fn record(&mut self, head: Head, at: u64) -> Done {
        self.walk.tally.record(head.kind);
        if head.kind.is_document() && !head.segmented && head.uri.is_some() {
            return match usize::try_from(head.length).is_ok_and(|length| length <= self.walk.held) {
                true => self.held(head, at),
                false => self.long(head, at),
            };
        }
        self.records.block(&head).skip().map_err(|error| error.to_string())?;
        match head.kind {
            Kind::Revisit => match head.uri {
                Some(key) if (1..=4096).contains(&key.len()) => {
                    let of = head.refers_to.filter(|of| *of != key && of.len() <= 4096);
                    let visit = Visit { key, of, seen_at: head.date };
                    Ok((self.walk.sink)(Some(Piece::Revisit(visit)), false))
                }
                _ => Ok(self
                    .walk
                    .problem(self.place(at), "a revisit without a WARC-Target-URI of 1 to 4,096 bytes")),
            },
            kind if kind.is_document() => {
                let what = match head.uri {
                    None => "a record without WARC-Target-URI",
                    Some(_) => "a record in segments: they are not put together",
                };
                Ok(self.walk.problem(self.place(at), what))
            }
            _ => Ok(true),
        }
    }

    /// A record that is held in memory.
    fn held(&mut self, head: Head, at: u64) -> Done {
        let mut bytes = Vec::new();
        if let Err(error) = self.records.block(&head).read_to_end(&mut bytes) {
            self.again += bytes.len() as u64;
            if self.again <= AGAIN + AGAIN_FACTOR * self.counted {
                self.records.take_back(bytes);
            }
            return Err(error.to_string());
        }
        let body = Body::Held(Cursor::new(bytes));
        let piece = Piece::Record { head: Box::new(head), body, place: self.place(at) };
        Ok((self.walk.sink)(Some(piece), false))
    }

    /// A record that passes by.
    fn long(&mut self, head: Head, at: u64) -> Done {
        let (body, rest) = Long::new(Vec::new(), self.walk.stopped.clone());
        let (head, place) = (Box::new(head), self.place(at));
        let piece = Piece::Record { head: head.clone(), body: Body::Long(body), place };
        if !(self.walk.sink)(Some(piece), true) {
            return Ok(false);
        }
        let mut block = self.records.block(&head);
        let told = |told: io::Result<bool>| match told {
            Ok(true) => Ok(()),
            Ok(false) => Err(String::new()),
            Err(error) => Err(error.to_string()),
        };
        told(rest.pass_all(&mut block, &|_| ()))?;
        // What nobody wants is still there.
        block.skip().map(|()| true).map_err(|error| error.to_string())
    }
}
