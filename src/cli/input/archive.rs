//! The walk through an archive: its records in order, each a piece, and what is damaged named.

use super::long::Long;
use super::tally::Passed;
use super::walk::Walk;
use super::warc::{Again, Body, Head, Kind, Next, Records, may_be_seen_again};
use super::{Piece, Place, checked};
use sketchdb::Visit;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

/// Bytes that are looked at of a revisit: the head of a response.
const MOST_REVISIT: u64 = 1 << 16;

/// Whether more pieces are wanted, or what is wrong with a record.
type Done = Result<bool, String>;

impl Walk<'_> {
    /// The records of an archive; whether more pieces are wanted.
    pub fn archive(&mut self, file: &str, reader: impl Read) -> bool {
        match Records::new(reader) {
            Err(error) => self.problem(file, error),
            Ok(records) => {
                let again = Again::default();
                Archive { walk: self, file: file.into(), records, counted: 0, again }.walk()
            }
        }
    }
}

struct Archive<'w, 'a, R: Read> {
    walk: &'w mut Walk<'a>,
    file: Arc<str>,
    records: Records<R>,
    /// Bytes that were counted as read.
    counted: u64,
    again: Again,
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
                    match self.recover() {
                        Some(more) => wanted && more,
                        None => return wanted,
                    }
                }
            };
            if !wanted {
                return false;
            }
        }
    }

    /// Goes to the next record and names what is damaged on the way: whether more pieces are wanted, `None` when there is no
    /// other record.
    fn recover(&mut self) -> Option<bool> {
        let mut wanted = true;
        while wanted {
            match self.records.recover() {
                Ok(true) => return Some(true),
                Ok(false) => return None,
                Err(error) if self.records.has_failed_member() => {
                    wanted = self.walk.problem(self.place(self.records.position()), error);
                }
                Err(error) => {
                    self.walk.problem(self.file.clone(), error);
                    return None;
                }
            }
        }
        Some(false)
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
        if head.kind == Kind::Revisit {
            return self.revisit(head, at);
        }
        let key = match &head.uri {
            Some(uri) if head.kind.is_document() => checked(uri.clone(), self.place(at)).map(|_| ()),
            _ => Ok(()),
        };
        if head.kind.is_document() && !head.segmented && head.uri.is_some() && key.is_ok() {
            return match usize::try_from(head.length).is_ok_and(|length| length <= self.walk.held) {
                true => self.held(head, at),
                false => self.long(head, at),
            };
        }
        self.records.block(&head).skip().map_err(|error| error.to_string())?;
        let what = match (head.kind.is_document(), key, &head.uri) {
            (false, ..) => return Ok(true),
            (true, Err(problem), _) => problem.what,
            (true, Ok(()), None) => "a record without WARC-Target-URI".into(),
            (true, Ok(()), Some(_)) => "a record in segments: they are not put together".into(),
        };
        Ok(self.walk.problem(self.place(at), what))
    }

    /// A record which says that a page was the same as before.
    fn revisit(&mut self, head: Head, at: u64) -> Done {
        let mut response = Vec::new();
        let mut block = self.records.block(&head);
        let read = block.by_ref().take(MOST_REVISIT).read_to_end(&mut response);
        read.and_then(|_| block.skip()).map_err(|error| error.to_string())?;
        let Some(key) = head.uri.filter(|key| (1..=4096).contains(&key.len())) else {
            return Ok(self
                .walk
                .problem(self.place(at), "a revisit without a WARC-Target-URI of 1 to 4,096 bytes"));
        };
        if !may_be_seen_again(&response[..]) {
            self.walk.tally.passed(Passed::Status);
            return Ok(true);
        }
        let of = head.refers_to.filter(|of| of.len() <= 4096);
        let visit = Visit { key, of, of_date: head.refers_to_date, seen_at: head.date };
        Ok((self.walk.sink)(Some(Piece::Revisit(visit)), false))
    }

    /// A record that is held in memory.
    fn held(&mut self, head: Head, at: u64) -> Done {
        let mut bytes = Vec::new();
        if let Err(error) = self.records.block(&head).read_to_end(&mut bytes) {
            if self.again.allows(bytes.len() as u64, self.counted) {
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
