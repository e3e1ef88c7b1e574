//! A whole file from beginning to end: records in the order of their ids, then one run over all of them, or as many as their
//! ids take.

use super::commit::Commit;
use super::file::StoreFile;
use super::flush::number_width;
use super::frame::Kind;
use super::postings::{self, IdSet};
use super::record::{ContentRecord, Counters, DocumentRecord, MOST_IDS, RunRecord};
use super::run::RunWriter;
use crate::error::Result;
use crate::id::ContentId;
use crate::index::block::Entry;
use crate::index::memtable::MOST_NUMBERS;
use crate::index::run::{Directory, RunBuilder};
use crate::index::term::{Address, Prefixes, Space};
use crate::index::tier::{FAN_OUT, TOP_LEVEL};

/// Bytes of records, and entries of runs, that are written with one commit.
const RECORD_BYTES: usize = 16 << 20;
const ENTRIES: usize = 4 << 20;
/// Entries that are handed to the runs at a time.
const SOME: usize = 1 << 16;

/// Fills a new file.
pub(crate) struct Builder<'f> {
    file: &'f StoreFile,
    pub counters: Counters,
    contents: Records,
    documents: Records,
    holders: Vec<(ContentId, IdSet)>,
    /// Documents in them.
    held: usize,
    /// Ids of one run lie so close together.
    span: u64,
}

/// Records that wait to be written, and where the runs over them begin.
#[derive(Default)]
struct Records {
    waiting: Vec<(u64, Vec<u8>)>,
    bytes: usize,
    /// The first id of each run.
    starts: Vec<u64>,
    written: u64,
}

impl Records {
    fn push(&mut self, id: u64, record: Vec<u8>, span: u64) {
        if self.starts.last().is_none_or(|start| id - start >= span) {
            self.starts.push(id);
        }
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
        Builder { file, counters, contents, documents, holders, held, span: MOST_IDS }
    }

    /// The next content. Ids ascend.
    pub fn content(&mut self, id: ContentId, record: &ContentRecord) -> Result<()> {
        self.counters.contents += 1;
        self.counters.next_content = self.counters.next_content.max(id.0 + 1);
        self.contents.push(id.0, record.encode(id.0), self.span);
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
        self.documents.push(id, record.encode(id), self.span);
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
        let mut runs = self.runs(prefixes);
        let mut postings = postings.peekable();
        self.counters.next_run = runs.len() as u64;
        while postings.peek().is_some() {
            let commit = Commit::begin(self.file, self.counters.epoch)?;
            for _ in 0..ENTRIES / SOME {
                let some = postings.by_ref().take(SOME).collect::<Result<Vec<_>>>()?;
                runs.iter_mut().try_for_each(|run| run.take(&commit, &some))?;
            }
            if postings.peek().is_none() {
                runs.iter_mut().try_for_each(|run| run.end(&commit))?;
            }
            commit.finish(&Counters::default())?;
        }
        self.counters.content_bytes = self.contents.written;
        self.counters.document_bytes = self.documents.written;
        self.counters.unflushed_content = self.counters.next_content;
        self.counters.unflushed_document = self.counters.next_document;
        let commit = Commit::begin(self.file, self.counters.epoch)?;
        for run in &runs {
            commit.write_run(run.number, |_| Ok(()))?;
            commit.list_run(run.number, &run.record)?;
        }
        commit.finish(&self.counters)?;
        Ok(self.counters)
    }

    /// A run for each start, each up to where the next one begins.
    fn runs(&self, prefixes: Prefixes) -> Vec<NewRun> {
        let Counters { next_content, next_document, .. } = self.counters;
        let level = level(self.counters.contents);
        let range = |starts: &[u64], end: u64, number: usize| {
            let at = |number: usize| starts.get(number).copied().unwrap_or(end);
            (at(number), at(number + 1))
        };
        let runs = self.contents.starts.len().max(self.documents.starts.len()).max(1);
        (0..runs)
            .map(|number| {
                let contents = range(&self.contents.starts, next_content, number);
                let documents = range(&self.documents.starts, next_document, number);
                NewRun::new(number as u64, RunRecord::empty(level, contents, documents), prefixes)
            })
            .collect()
    }
}

/// A run that is being written.
struct NewRun {
    number: u64,
    record: RunRecord,
    builder: RunBuilder,
}

impl NewRun {
    fn new(number: u64, record: RunRecord, prefixes: Prefixes) -> Self {
        let width = number_width(record.contents, record.documents);
        NewRun { number, record, builder: RunBuilder::new(width, prefixes, Directory::default()) }
    }

    /// Takes those postings whose ids belong to the run.
    fn take(&mut self, commit: &Commit, postings: &[(Address, u64)]) -> Result<()> {
        let NewRun { record, builder, .. } = self;
        let rows = |rows: &mut RunWriter| {
            for &(address, id) in postings {
                let keys = address.space() == Space::KEYS;
                let (first, end) = if keys { record.documents } else { record.contents };
                if (first..end).contains(&id) {
                    builder.push(Entry { address, number: (id - first) as u32 }, rows)?;
                    record.entries += 1;
                }
            }
            record.block_bytes += rows.block_bytes;
            record.filter_bytes += rows.filter_bytes;
            Ok(())
        };
        commit.write_run(self.number, rows)
    }

    /// Writes what waits when all postings have come.
    fn end(&mut self, commit: &Commit) -> Result<()> {
        let NewRun { record, builder, .. } = self;
        commit.write_run(self.number, |rows| {
            builder.pause(rows)?;
            record.block_bytes += rows.block_bytes;
            record.filter_bytes += rows.filter_bytes;
            Ok(())
        })?;
        record.groups = builder.directory().groups() as u32;
        Ok(())
    }
}

/// The level at which the tiers would have a run of so many contents.
fn level(contents: u64) -> u32 {
    let memtables = contents / (MOST_NUMBERS / 2);
    memtables.checked_ilog(FAN_OUT as u64).map_or(0, |level| level.min(TOP_LEVEL))
}
