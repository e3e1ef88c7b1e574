//! What a reader holds: one snapshot of the file, the runs in it, and the memtable that belongs to it.
//!
//! A view is made whole and never changes; writers put the next one in its place. A row that the counters or runs imply
//! and the snapshot lacks is damage, never absence.

use super::cache::{Cache, Place};
use super::clusters::ClusterRows;
use super::document::StoredDocument;
use super::file::{COUNTERS, StoreFile};
use super::frame::{Frame, Kind};
use super::marks::Marks;
use super::postings::{self, IdSet};
use super::record::{Amendment, ContentRecord, Counters, DocumentRecord, RunRecord};
use super::run::{FilterBudget, OpenRun, Run, open_rows};
use super::strays;
use super::tables::{self, Doing};
use crate::error::{Error, Result};
use crate::id::{ContentId, DatabaseId, DocId};
use crate::index::filter::Probe;
use crate::index::memtable::{MOST_NUMBERS, Memtable};
use crate::index::run::Directory;
use crate::index::term::{Address, Prefixes, Space};
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

type Rows<K> = ReadOnlyTable<K, &'static [u8]>;

/// A consistent state of the database.
pub(crate) struct View {
    id: DatabaseId,
    pub counters: Counters,
    contents: Rows<u64>,
    documents: Rows<u64>,
    amendments: Rows<u64>,
    holders: Rows<(u64, u64)>,
    pub clusters: ClusterRows,
    /// Ordered by what they index, oldest first.
    pub runs: Vec<OpenRun>,
    pub memtable: Memtable,
    pub marks: Marks,
    prefixes: Prefixes,
    cache: Arc<Cache>,
    /// No other view has it.
    number: u64,
}

/// What all views of a file have in common.
struct Shared {
    id: DatabaseId,
    prefixes: Prefixes,
    cache: Arc<Cache>,
}

/// A run that a merge was building when the file was closed.
pub(crate) struct Unfinished {
    pub number: u64,
    pub record: RunRecord,
    pub directory: Directory,
}

impl View {
    /// The view of a file just opened, with an empty memtable, and the merge that was under way.
    pub fn load(
        file: &StoreFile,
        prefixes: Prefixes,
        filters: &Arc<FilterBudget>,
        cache: Arc<Cache>,
    ) -> Result<(Self, Option<Unfinished>)> {
        let snapshot = file.snapshot()?;
        let counters = Counters::decode(&file.meta(COUNTERS)?).map_err(|e| e.within("meta row counters"))?;
        let (mut runs, mut unfinished) = (Vec::new(), None);
        let rows = snapshot.open_table(tables::RUNS).doing("read the runs")?;
        for row in rows.iter().doing("read the runs")? {
            let (number, record) = row.doing("read the runs")?;
            let number = number.value();
            let record =
                RunRecord::decode(record.value()).map_err(|e| e.within(format!("row {number} of runs")))?;
            record.check(number, &counters)?;
            let directory = Run::load_directory(number, record.groups, &open_rows(&snapshot, number)?)?;
            match record.building {
                Some(_) if unfinished.is_some() => {
                    return Err(Error::corrupt(format!("run {number}"), "two runs are being built"));
                }
                Some(_) => unfinished = Some(Unfinished { number, record, directory }),
                None => runs.push(Arc::new(Run::new(number, record, directory, prefixes, filters.clone()))),
            }
        }
        runs.sort_by_key(|run| (run.record.contents, run.record.documents));
        check_adjacent(&runs, &counters)?;
        let marks = Marks::load(&snapshot)?;
        strays::check(&snapshot, file.id(), &counters, &marks)?;
        let memtable = Memtable::new(prefixes);
        let shared = Shared { id: file.id(), prefixes, cache };
        let view = View::open(shared, &snapshot, counters, runs, memtable, marks)?;
        Ok((view, unfinished))
    }

    /// The view after a commit.
    pub fn next(
        &self,
        file: &StoreFile,
        counters: Counters,
        runs: Vec<Arc<Run>>,
        memtable: Memtable,
        marks: Marks,
    ) -> Result<Self> {
        let shared = Shared { id: self.id, prefixes: self.prefixes, cache: self.cache.clone() };
        View::open(shared, &file.snapshot()?, counters, runs, memtable, marks)
    }

    fn open(
        Shared { id, prefixes, cache }: Shared,
        snapshot: &ReadTransaction,
        counters: Counters,
        runs: Vec<Arc<Run>>,
        memtable: Memtable,
        marks: Marks,
    ) -> Result<Self> {
        let doing = "open the tables";
        Ok(View {
            id,
            counters,
            contents: snapshot.open_table(tables::CONTENTS).doing(doing)?,
            documents: snapshot.open_table(tables::DOCUMENTS).doing(doing)?,
            amendments: snapshot.open_table(tables::AMENDMENTS).doing(doing)?,
            holders: snapshot.open_table(tables::HOLDERS).doing(doing)?,
            clusters: ClusterRows::open(snapshot, counters.next_content)?,
            runs: runs.into_iter().map(|run| OpenRun::new(run, snapshot)).collect::<Result<_>>()?,
            memtable,
            marks,
            prefixes,
            number: cache.next_view(),
            cache,
        })
    }

    pub fn prefixes(&self) -> Prefixes {
        self.prefixes
    }

    /// A number that no other view of the file has.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Reads the record of a content that was given out.
    pub fn content<T>(&self, id: ContentId, read: impl FnOnce(ContentRecord) -> Result<T>) -> Result<T> {
        self.content_if_there(id, read)?.ok_or_else(|| missing(Kind::Contents, id.0))
    }

    /// Reads the record of a content that may have been dropped since it died.
    pub fn content_if_there<T>(
        &self,
        id: ContentId,
        read: impl FnOnce(ContentRecord) -> Result<T>,
    ) -> Result<Option<T>> {
        self.framed(Kind::Contents, id.0, |bytes| read(ContentRecord::decode(id.0, bytes)?))
    }

    /// A document that was given out, in its newest state.
    pub fn document(&self, id: DocId) -> Result<StoredDocument> {
        let document = self.framed(Kind::Documents, id.0, |bytes| {
            Ok(StoredDocument::recorded(DocumentRecord::decode(id.0, bytes)?))
        })?;
        let document = document.ok_or_else(|| missing(Kind::Documents, id.0))?;
        match self.amendment(id)? {
            Some(amendment) => Ok(document.amended(&amendment)),
            None => Ok(document),
        }
    }

    /// What changed of a document since its record was written.
    fn amendment(&self, id: DocId) -> Result<Option<Amendment>> {
        let unamended = Place::Unamended(self.number, id.0);
        if self.cache.get(unamended).is_some() {
            return Ok(None);
        }
        let row = self.amendments.get(id.0).doing("read the amendments")?;
        if row.is_none() {
            self.cache.put(unamended, &[]);
        }
        row.map(|row| amendment(id.0, row.value())).transpose()
    }

    /// Calls `each` with every living document from `first` on, in its newest state, until it returns false.
    pub fn living_documents(
        &self,
        first: u64,
        mut each: impl FnMut(DocId, StoredDocument) -> Result<bool>,
    ) -> Result<()> {
        let reading = "read the amendments";
        let mut amendments = self.amendments.range(first..).doing(reading)?;
        let mut next = amendments.next().transpose().doing(reading)?;
        self.framed_from(Kind::Documents, &self.documents, first, |id, bytes| {
            while next.as_ref().is_some_and(|row| row.0.value() < id) {
                next = amendments.next().transpose().doing(reading)?;
            }
            if self.marks.is_removed(id) {
                return Ok(true);
            }
            let record =
                DocumentRecord::decode(id, bytes).map_err(|e| e.within(place(Kind::Documents, id)))?;
            let document = StoredDocument::recorded(record);
            match &next {
                Some(row) if row.0.value() == id => {
                    each(DocId(id), document.amended(&amendment(id, row.1.value())?))
                }
                _ => each(DocId(id), document),
            }
        })
    }

    /// The documents that hold a living content founded by `founder`.
    pub fn holders(&self, content: ContentId, founder: DocId) -> Result<IdSet> {
        let mut set = IdSet::new();
        let alone = Place::Alone(self.number, content.0);
        if self.cache.get(alone).is_none() {
            for row in self.holders.range((content.0, 0)..=(content.0, u64::MAX)).doing("read the holders")? {
                let (key, bitmap) = row.doing("read the holders")?;
                postings::decode_into(&mut set, key.value().1, bitmap.value())
                    .map_err(|e| e.within(format!("row {:?} of holders", key.value())))?;
            }
        }
        if set.is_empty() {
            self.cache.put(alone, &[]);
            set.insert(self.lone_holder(content, founder)?.0);
        }
        Ok(set)
    }

    /// The founder, of a content without rows of holders: a dead one has none either.
    fn lone_holder(&self, content: ContentId, founder: DocId) -> Result<DocId> {
        let left = self.amendment(founder)?.is_some_and(|amended| amended.content != content.0);
        match left || self.marks.is_removed(founder.0) {
            true => Err(Error::corrupt(
                format!("content {content}"),
                "it is not marked dead, and nobody holds it",
            )),
            false => Ok(founder),
        }
    }

    /// Has filters at hand for look-ups of these addresses, which wait for memory together instead of one by one.
    pub fn foresee(&self, addresses: &[Address]) {
        let mut read = 0;
        for &address in addresses {
            let probe = Probe::new(self.prefixes.filter_key(address));
            self.runs.iter().for_each(|run| read ^= run.touch(address, probe));
            read ^= self.memtable.touch(probe);
        }
        std::hint::black_box(read);
    }

    /// Calls `each` with the address and id of every posting within the range at an address that is wanted until it returns
    /// false; whether it never did. Ids of one address come in ascending order; dead contents and removed documents are left out.
    pub fn scan(
        &self,
        range: &RangeInclusive<Address>,
        wanted: impl Fn(Address) -> bool,
        mut each: impl FnMut(Address, u64) -> bool,
    ) -> Result<bool> {
        let keys = range.start().space() == Space::KEYS;
        let gone = |id| if keys { self.marks.is_removed(id) } else { self.marks.is_dead(id) };
        let mut each = |address, id| gone(id) || each(address, id);
        let probe = Probe::new(self.prefixes.filter_key(*range.start()));
        for run in &self.runs {
            if !run.scan(&self.cache, range, probe, &wanted, &mut each)? {
                return Ok(false);
            }
        }
        let counters = &self.counters;
        let base = if keys { counters.unflushed_document } else { counters.unflushed_content };
        Ok(self.memtable.scan(range, &mut |entry| {
            !wanted(entry.address) || each(entry.address, base + u64::from(entry.number))
        }))
    }

    /// Calls `each` with every living content of these numbers that has a simhash, and with that.
    pub fn simhashes_of(&self, ids: Range<u64>, mut each: impl FnMut(ContentId, u64)) -> Result<()> {
        let all_live = self.marks.dead.is_empty();
        self.framed_from(Kind::Contents, &self.contents, ids.start, |id, bytes| {
            let simhash = ContentRecord::simhash_of(bytes).filter(|_| id < ids.end);
            if let Some(simhash) = simhash.filter(|_| all_live || !self.marks.is_dead(id)) {
                each(ContentId(id), simhash);
            }
            Ok(id < ids.end)
        })
    }

    /// Calls `each` with every content record from `first` on.
    pub fn contents_from(
        &self,
        first: u64,
        mut each: impl FnMut(u64, ContentRecord) -> Result<()>,
    ) -> Result<()> {
        self.framed_from(Kind::Contents, &self.contents, first, |id, bytes| {
            let record = ContentRecord::decode(id, bytes).map_err(|e| e.within(place(Kind::Contents, id)))?;
            each(id, record).map(|()| true)
        })
    }

    /// Calls `each` with every document record from `first` on, as first added.
    pub fn documents_from(
        &self,
        first: u64,
        mut each: impl FnMut(u64, DocumentRecord) -> Result<()>,
    ) -> Result<()> {
        self.framed_from(Kind::Documents, &self.documents, first, |id, bytes| {
            let record =
                DocumentRecord::decode(id, bytes).map_err(|e| e.within(place(Kind::Documents, id)))?;
            each(id, record).map(|()| true)
        })
    }

    /// Calls `each` with every document that something is noted to have changed of.
    pub fn each_amended(&self, each: &mut impl FnMut(u64)) -> Result<()> {
        let reading = "read the amendments";
        for row in self.amendments.iter().doing(reading)? {
            each(row.doing(reading)?.0.value());
        }
        Ok(())
    }

    /// Calls `each` with every content that other documents than its founder alone hold, or held.
    pub fn each_held(&self, each: &mut impl FnMut(u64) -> Result<()>) -> Result<()> {
        let mut last = None;
        for row in self.holders.iter().doing("read the holders")? {
            let (content, _) = row.doing("read the holders")?.0.value();
            if last.replace(content) != Some(content) {
                each(content)?;
            }
        }
        Ok(())
    }

    /// Reads a record that was read lately, or out of the frame that holds it; `None` when there is none.
    fn framed<T>(&self, kind: Kind, id: u64, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>> {
        let (table, cached) = match kind {
            Kind::Documents => (&self.documents, Place::Document(id)),
            _ => (&self.contents, Place::Content(id)),
        };
        let within = |error: Error| error.within(place(kind, id));
        if let Some(record) = self.cache.get(cached) {
            return read(&record).map(Some).map_err(within);
        }
        let row = table.range(..=id).doing("read a record")?.next_back();
        let Some(row) = row.transpose().doing("read a record")? else { return Ok(None) };
        let record =
            Frame::of_row(kind, self.id, row.0.value(), row.1.value()).and_then(|frame| frame.record(id));
        let Some(record) = record.map_err(within)? else { return Ok(None) };
        self.cache.put(cached, record);
        read(record).map(Some).map_err(within)
    }

    fn framed_from(
        &self,
        kind: Kind,
        table: &Rows<u64>,
        first: u64,
        mut each: impl FnMut(u64, &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let start = table.range(..=first).doing("read frames")?.next_back();
        let start = start.transpose().doing("read frames")?.map_or(first, |row| row.0.value());
        for row in table.range(start..).doing("read frames")? {
            let row = row.doing("read frames")?;
            let key = row.0.value();
            let astray = |error: Error| error.within(format!("frame {key} of {kind:?}"));
            let frame = Frame::of_row(kind, self.id, key, row.1.value()).map_err(astray)?;
            frame.check().map_err(astray)?;
            for record in frame.records() {
                let (id, bytes) = record.map_err(astray)?;
                if id >= first && !each(id, bytes)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Postings in runs and memory.
    pub fn entries(&self) -> u64 {
        self.runs.iter().map(|run| run.run.record.entries).sum::<u64>() + self.memtable.len() as u64
    }

    /// Bytes of the pages that the tables occupy: walks all of them.
    pub fn live_bytes(&self) -> Result<u64> {
        let size = |stats: std::result::Result<redb::TableStats, redb::StorageError>| {
            stats
                .doing("measure the tables")
                .map(|s| s.stored_bytes() + s.metadata_bytes() + s.fragmented_bytes())
        };
        let tables = [
            size(self.contents.stats())?,
            size(self.documents.stats())?,
            size(self.amendments.stats())?,
            size(self.holders.stats())?,
        ];
        let clusters = self.clusters.stats().into_iter().map(size).sum::<Result<u64>>()?;
        let runs = self.runs.iter().map(|run| size(run.stats())).sum::<Result<u64>>()?;
        Ok(tables.iter().sum::<u64>() + clusters + runs)
    }
}

fn place(kind: Kind, id: u64) -> String {
    format!("record {id} of {kind:?}")
}

fn missing(kind: Kind, id: u64) -> Error {
    Error::corrupt(place(kind, id), "it is missing")
}

fn amendment(id: u64, bytes: &[u8]) -> Result<Amendment> {
    Amendment::decode(bytes).map_err(|e| e.within(format!("row {id} of amendments")))
}

/// Runs and memtable must index every id once.
fn check_adjacent(runs: &[Arc<Run>], counters: &Counters) -> Result<()> {
    counters.check()?;
    let unflushed = [
        (counters.unflushed_content, counters.next_content),
        (counters.unflushed_document, counters.next_document),
    ];
    if unflushed.iter().any(|(from, to)| to.checked_sub(*from).is_none_or(|n| n > MOST_NUMBERS)) {
        return Err(Error::corrupt("meta row counters", "they leave more to the memtable than it takes"));
    }
    let mut next = (0, 0);
    // What was dropped by compaction lies before the first run.
    if let Some(first) = runs.first() {
        next = (first.record.contents.0, first.record.documents.0);
    }
    for run in runs {
        if (run.record.contents.0, run.record.documents.0) != next {
            return Err(Error::corrupt(
                format!("run {}", run.number),
                "it does not begin where the one before ends",
            ));
        }
        let RunRecord { contents, documents, .. } = run.record;
        let sizes = run.record.entries | run.record.block_bytes | run.record.filter_bytes;
        if sizes >> 48 != 0 {
            return Err(Error::corrupt(format!("run {}", run.number), "it is larger than a file can be"));
        }
        let spans = [contents, documents].map(|(from, to)| to.checked_sub(from));
        if spans.contains(&None) {
            return Err(Error::corrupt(
                format!("run {}", run.number),
                "a range of its ids ends before it begins",
            ));
        }
        next = (contents.1, documents.1);
    }
    match next == (counters.unflushed_content, counters.unflushed_document) {
        true => Ok(()),
        false => Err(Error::corrupt("runs", "they do not end where the memtable begins")),
    }
}
