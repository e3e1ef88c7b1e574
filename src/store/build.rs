//! A whole file from beginning to end: records in the order of their ids, then one run over all of them.

use super::commit::Commit;
use super::file::StoreFile;
use super::flush::number_width;
use super::frame::Kind;
use super::postings::{self, IdSet};
use super::record::{ContentRecord, Counters, DocumentRecord, RunRecord};
use crate::error::{Error, Result};
use crate::id::ContentId;
use crate::index::block::Entry;
use crate::index::memtable::MOST_NUMBERS;
use crate::index::run::{Directory, RunBuilder};
use crate::index::term::{Address, Prefixes, Space};
use crate::index::tier::{FAN_OUT, TOP_LEVEL};

/// Bytes of records, and entries of the run, that are written with one commit.
const RECORD_BYTES: usize = 16 << 20;
const ENTRIES: u64 = 4 << 20;

/// Fills a new file.
pub(crate) struct Builder<'f> {
    file: &'f StoreFile,
    pub counters: Counters,
    contents: Records,
    documents: Records,
    holders: Vec<(ContentId, IdSet)>,
    /// Documents in them.
    held: usize,
}

/// Records that wait to be written, and the first id of all.
#[derive(Default)]
struct Records {
    waiting: Vec<(u64, Vec<u8>)>,
    bytes: usize,
    first: Option<u64>,
    written: u64,
}

impl Records {
    fn push(&mut self, id: u64, record: Vec<u8>) {
        self.first.get_or_insert(id);
        self.bytes += record.len();
        self.written += record.len() as u64;
        self.waiting.push((id, record));
    }

    fn take(&mut self) -> Vec<(u64, Vec<u8>)> {
        self.bytes = 0;
        std::mem::take(&mut self.waiting)
    }
}

impl<'f> Builder<'f> {
    /// Numbers go on where those of `before` end; what is counted is counted anew.
    pub fn new(file: &'f StoreFile, before: &Counters) -> Self {
        let counters = Counters {
            next_document: before.next_document,
            next_content: before.next_content,
            epoch: before.epoch,
            bounded: before.bounded,
            ..Counters::default()
        };
        let (contents, documents, holders, held) = Default::default();
        Builder { file, counters, contents, documents, holders, held }
    }

    /// The next content. Ids ascend.
    pub fn content(&mut self, id: ContentId, record: &ContentRecord) -> Result<()> {
        self.counters.contents += 1;
        self.counters.next_content = self.counters.next_content.max(id.0 + 1);
        self.contents.push(id.0, record.encode(id.0));
        self.write(RECORD_BYTES)
    }

    /// The documents that hold a content; its founder is the first of them.
    pub fn hold(&mut self, content: ContentId, holders: IdSet) -> Result<()> {
        if holders.len() > 1 {
            self.held += holders.len() as usize;
            self.holders.push((content, holders));
        }
        self.write(RECORD_BYTES)
    }

    /// The next document. Ids ascend.
    pub fn document(&mut self, id: u64, record: &DocumentRecord) -> Result<()> {
        self.counters.documents += 1;
        self.counters.next_document = self.counters.next_document.max(id + 1);
        self.documents.push(id, record.encode(id));
        self.write(RECORD_BYTES)
    }

    /// Writes the records that wait when they are so many bytes.
    fn write(&mut self, least: usize) -> Result<()> {
        if self.contents.bytes + self.documents.bytes + self.held < least {
            return Ok(());
        }
        let commit = Commit::begin(self.file, self.counters.epoch)?;
        commit.append(Kind::Contents, &self.contents.take())?;
        commit.append(Kind::Documents, &self.documents.take())?;
        self.held = 0;
        for (content, holders) in self.holders.drain(..) {
            let mut rows: Vec<u64> = holders.iter().map(postings::row_of).collect();
            rows.dedup();
            commit.set_holders(content, &holders, rows.into_iter())?;
        }
        // The counters follow when everything is there: till then the file is empty to whoever opens it.
        commit.finish(&Counters::default())
    }

    /// Writes the index: every posting by address and id, ascending.
    pub fn index(
        mut self,
        prefixes: Prefixes,
        postings: impl Iterator<Item = Result<(Address, u64)>>,
    ) -> Result<Counters> {
        self.write(0)?;
        let Counters { next_content, next_document, .. } = self.counters;
        let contents = (self.contents.first.unwrap_or(next_content), next_content);
        let documents = (self.documents.first.unwrap_or(next_document), next_document);
        let level = level(self.counters.contents);
        let mut run = RunRecord::empty(level, contents, documents);
        if [contents, documents].iter().any(|(first, end)| end - first > u64::from(u32::MAX)) {
            return Err(Error::invalid(
                "ids that span more than 2^32",
                "make a new database with `sketchdb create` and the same options, and `sketchdb merge` this one into it: it counts anew",
            ));
        }
        let mut builder = RunBuilder::new(number_width(contents, documents), prefixes, Directory::default());
        let mut postings = postings.peekable();
        self.counters.next_run = 1;
        while postings.peek().is_some() {
            let commit = Commit::begin(self.file, self.counters.epoch)?;
            commit.write_run(0, |rows| {
                for posting in postings.by_ref().take(ENTRIES as usize) {
                    let (address, id) = posting?;
                    let first = if address.space() == Space::KEYS { documents.0 } else { contents.0 };
                    builder.push(Entry { address, number: (id - first) as u32 }, rows)?;
                    run.entries += 1;
                }
                if postings.peek().is_none() {
                    builder.pause(rows)?;
                }
                run.block_bytes += rows.block_bytes;
                run.filter_bytes += rows.filter_bytes;
                Ok(())
            })?;
            commit.finish(&Counters::default())?;
        }
        run.groups = builder.directory().groups() as u32;
        self.counters.content_bytes = self.contents.written;
        self.counters.document_bytes = self.documents.written;
        self.counters.unflushed_content = self.counters.next_content;
        self.counters.unflushed_document = self.counters.next_document;
        let commit = Commit::begin(self.file, self.counters.epoch)?;
        commit.write_run(0, |_| Ok(()))?;
        commit.list_run(0, &run)?;
        commit.finish(&self.counters)?;
        Ok(self.counters)
    }
}

/// The level at which the tiers would have a run of so many contents.
fn level(contents: u64) -> u32 {
    let memtables = contents / (MOST_NUMBERS / 2);
    memtables.checked_ilog(FAN_OUT as u64).map_or(0, |level| level.min(TOP_LEVEL))
}
