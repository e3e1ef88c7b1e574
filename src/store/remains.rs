//! What can still be read of the tables of a damaged file: removals and what changed of documents.

use super::disk::Disk;
use super::document::StoredDocument;
use super::file::{COUNTERS, KNOWN_ANSWER, StoreFile};
use super::marks::Marks;
use super::record::{Amendment, Counters};
use super::tables::{self, Doing};
use crate::error::Result;
use redb::ReadableTable;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The tables that are not frames, as far as redb can read them.
#[derive(Default)]
pub(crate) struct Remains {
    marks: Marks,
    /// What changed, 40 bytes a document.
    amendments: BTreeMap<u64, Amendment>,
    counters: Option<Counters>,
    known_answer: Option<Vec<u8>>,
    /// Whether everything could be read.
    whole: bool,
}

impl Remains {
    /// What redb can read of a disk, on which nothing is written.
    pub fn of(disk: Arc<dyn Disk>, cache: usize) -> Self {
        let mut remains = Remains::default();
        // redb believes what it reads and may panic at what the seals do not cover: what was never written by it.
        let read = catch_unwind(AssertUnwindSafe(|| remains.read(disk, cache)));
        remains.whole = matches!(read, Ok(Ok(())));
        remains
    }

    /// Reads until something cannot be read: redb reads nothing more after that.
    fn read(&mut self, disk: Arc<dyn Disk>, cache: usize) -> Result<()> {
        let file = StoreFile::open_damaged(Box::new(disk), cache)?;
        let counters = Counters::decode(&file.meta(COUNTERS)?)?;
        counters.check()?;
        self.counters = Some(counters);
        self.known_answer = Some(file.meta(KNOWN_ANSWER)?);
        let snapshot = file.snapshot()?;
        self.marks = Marks::load(&snapshot)?;
        let doing = "read the amendments";
        let amendments = snapshot.open_table(tables::AMENDMENTS).doing(doing)?;
        for row in amendments.iter().doing(doing)? {
            let (id, amendment) = row.doing(doing)?;
            self.amendments.insert(id.value(), Amendment::decode(amendment.value())?);
        }
        Ok(())
    }

    /// Whether everything that changed since documents were added could be read.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    pub fn counters(&self) -> Option<Counters> {
        self.counters
    }

    /// What the build that made the file made of a known text.
    pub fn known_answer(&self) -> Option<&[u8]> {
        self.known_answer.as_deref()
    }

    /// A document with what changed since its record, `None` when it was removed or never committed. What cannot be read did
    /// not change.
    pub fn newest(&self, id: u64, document: StoredDocument) -> Option<StoredDocument> {
        let committed = self.counters.is_none_or(|counters| id < counters.next_document);
        if !committed || self.marks.is_removed(id) {
            return None;
        }
        Some(match self.amendments.get(&id) {
            Some(amendment) => document.amended(amendment),
            None => document,
        })
    }
}
