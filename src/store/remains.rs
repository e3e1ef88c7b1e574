//! What can still be read of the tables of a damaged file: removals and what changed of documents.

use super::disk::Disk;
use super::file::{COUNTERS, StoreFile};
use super::marks::Marks;
use super::record::{Amendment, Counters};
use super::tables::{self, Doing};
use super::view::StoredDocument;
use crate::error::Result;
use redb::ReadOnlyTable;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// The tables that are not frames, as far as redb can read them.
#[derive(Default)]
pub(crate) struct Remains {
    tables: Option<Tables>,
    counters: Option<Counters>,
    /// Whether a row could not be read.
    broken: Cell<bool>,
}

struct Tables {
    marks: Marks,
    amendments: ReadOnlyTable<u64, &'static [u8]>,
    // Last: it closes after what reads it.
    _file: StoreFile,
}

impl Remains {
    /// What redb can read of a disk, on which nothing is written.
    pub fn of(disk: Arc<dyn Disk>, cache: usize) -> Self {
        // redb believes what it reads and may panic at what the seals do not cover: what was never written by it.
        let opened = catch_unwind(AssertUnwindSafe(|| {
            let file = StoreFile::open_damaged(Box::new(disk), cache, Path::new("the damaged file")).ok()?;
            let counters = file.meta(COUNTERS).and_then(|row| Counters::decode(&row)).ok();
            Some((Tables::open(file).ok(), counters))
        }));
        let (tables, counters) = opened.ok().flatten().unwrap_or_default();
        Remains { tables, counters, broken: Cell::new(false) }
    }

    /// Whether everything could be opened and every row asked for could be read so far.
    pub fn is_whole(&self) -> bool {
        self.tables.is_some() && !self.broken.get()
    }

    pub fn counters(&self) -> Option<Counters> {
        self.counters
    }

    /// A document with what changed since its record, `None` when it was removed or never committed. What cannot be read did not change.
    pub fn newest(&self, id: u64, document: StoredDocument) -> Option<StoredDocument> {
        if self.counters.is_some_and(|counters| id >= counters.next_document) {
            // It was written and never committed.
            return None;
        }
        let Some(tables) = &self.tables else { return Some(document) };
        if tables.marks.is_removed(id) {
            return None;
        }
        let row = tables.amendments.get(id).doing("read an amendment");
        let amendment = row.and_then(|row| row.map(|row| Amendment::decode(row.value())).transpose());
        match amendment {
            Ok(Some(amendment)) => Some(document.amended(&amendment)),
            Ok(None) => Some(document),
            Err(_) => {
                self.broken.set(true);
                Some(document)
            }
        }
    }
}

impl Tables {
    fn open(file: StoreFile) -> Result<Self> {
        let snapshot = file.snapshot()?;
        let marks = Marks::load(&snapshot)?;
        let amendments = snapshot.open_table(tables::AMENDMENTS).doing("read the amendments")?;
        Ok(Tables { marks, amendments, _file: file })
    }
}
