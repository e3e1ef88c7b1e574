//! Runs as tables: one redb table a run, its blocks, directories and filters as rows.

use super::cache::{Cache, Place};
use super::flush::number_width;
use super::record::RunRecord;
use super::tables::{Doing, RunRows, run_name};
use crate::error::{Error, Result};
use crate::index::block::{Block, Entry};
use crate::index::filter::{self, Probe};
use crate::index::run::{Cursor, Directory, Position, RunSink, RunSource};
use crate::index::term::{Address, Prefixes, Space};
use redb::{ReadOnlyTable, ReadTransaction, ReadableTableMetadata, Table, TableDefinition};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Rows from here on are directories of groups.
const DIRECTORIES: u32 = 1 << 30;
/// Rows from here on are filters of groups.
const FILTERS: u32 = 1 << 31;

/// How many bytes of filters may stay in memory; beyond it, blocks are read without asking a filter.
#[derive(Debug)]
pub(crate) struct FilterBudget {
    left: AtomicUsize,
}

impl FilterBudget {
    pub fn new(bytes: usize) -> Arc<Self> {
        Arc::new(FilterBudget { left: AtomicUsize::new(bytes) })
    }

    #[cfg(test)]
    pub fn left(&self) -> usize {
        self.left.load(Ordering::Relaxed)
    }

    /// Whether there is room for so many bytes at the moment.
    fn has(&self, bytes: u64) -> bool {
        self.left.load(Ordering::Relaxed) as u64 >= bytes
    }

    fn take(&self, bytes: usize) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

/// A finished run: what of it is in memory.
#[derive(Debug)]
pub(crate) struct Run {
    pub number: u64,
    pub record: RunRecord,
    pub directory: Directory,
    prefixes: Prefixes,
    filters: Vec<OnceLock<Box<[u8]>>>,
    budget: Arc<FilterBudget>,
}

impl Run {
    pub fn new(
        number: u64,
        record: RunRecord,
        directory: Directory,
        prefixes: Prefixes,
        budget: Arc<FilterBudget>,
    ) -> Self {
        let filters = (0..directory.groups()).map(|_| OnceLock::new()).collect();
        let directory = directory.with_jump();
        Run { number, record, directory, prefixes, filters, budget }
    }

    /// How many rows its table has.
    pub fn rows(&self) -> u64 {
        rows_of(&self.directory)
    }

    /// Bytes of its filters that are in memory.
    pub fn loaded_filters(&self) -> usize {
        self.filters.iter().filter_map(OnceLock::get).map(|filter| filter.len()).sum()
    }

    /// Reads a run's directory: all of it must be there.
    pub fn load_directory(number: u64, groups: u32, rows: &RunTable) -> Result<Directory> {
        let mut directory = Directory::default();
        for group in 0..groups {
            let row = row(rows, DIRECTORIES + group, number)?;
            directory.push_group(row.value()).map_err(|e| e.within(place(number, DIRECTORIES + group)))?;
        }
        // Fewer groups than there are would hide what is in the others.
        match rows.len().doing("count the rows of a run")? == rows_of(&directory) {
            true => Ok(directory),
            false => Err(Error::corrupt(format!("run {number}"), "it has other rows than its record says")),
        }
    }
}

/// Rows of a run with this directory: its blocks, and two for each group of them.
fn rows_of(directory: &Directory) -> u64 {
    (directory.blocks() + 2 * directory.groups()) as u64
}

impl Drop for Run {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.loaded_filters(), Ordering::Relaxed);
    }
}

/// A run's rows in a snapshot.
pub(crate) type RunTable = ReadOnlyTable<u32, &'static [u8]>;

pub(crate) fn open_rows(transaction: &ReadTransaction, number: u64) -> Result<RunTable> {
    let name = run_name(number);
    let definition: RunRows = TableDefinition::new(&name);
    transaction.open_table(definition).doing(&format!("open run {number}"))
}

fn place(run: u64, key: u32) -> String {
    format!("run {run}, row {key}")
}

fn row(rows: &RunTable, key: u32, run: u64) -> Result<redb::AccessGuard<'_, &'static [u8]>> {
    rows.get(key)
        .doing(&format!("read run {run}"))?
        .ok_or_else(|| Error::corrupt(place(run, key), "it is missing"))
}

/// A run together with its rows in a snapshot.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub run: Arc<Run>,
    rows: RunTable,
}

impl OpenRun {
    pub fn new(run: Arc<Run>, transaction: &ReadTransaction) -> Result<Self> {
        let rows = open_rows(transaction, run.number)?;
        Ok(OpenRun { run, rows })
    }

    /// Calls `each` with the id of every posting within the range at an address that is wanted, ascending for one address,
    /// until it returns false; whether it never did.
    pub fn scan(
        &self,
        cache: &Cache,
        range: &RangeInclusive<Address>,
        probe: Probe,
        wanted: &impl Fn(Address) -> bool,
        each: &mut impl FnMut(Address, u64) -> bool,
    ) -> Result<bool> {
        let source = Cached { run: self, cache };
        let mut astray = None;
        let finished = self.run.directory.scan(range, probe, &source, &mut |entry| {
            if !wanted(entry.address) {
                return true;
            }
            match self.id(entry) {
                Ok(id) => each(entry.address, id),
                Err(error) => {
                    astray = Some(error);
                    false
                }
            }
        })?;
        astray.map_or(Ok(finished), Err)
    }

    /// Reads what filters will be asked about an address: see [`filter::touch`].
    pub fn touch(&self, address: Address, probe: Probe) -> u8 {
        let filter = self.run.filters.get(self.run.directory.locate(address)).and_then(OnceLock::get);
        filter.map_or(0, |bytes| filter::touch(bytes, probe))
    }

    /// The last entry of a block, `None` of one that is not there.
    pub fn last_of(&self, block: u32) -> Result<Option<Entry>> {
        if block as usize >= self.run.directory.blocks() {
            return Ok(None);
        }
        self.block(block, |bytes| {
            let mut last = None;
            Block::parse(bytes)?.scan_from(Address::from_bits(0), |entry| {
                last = Some(entry);
                true
            });
            Ok(last)
        })
    }

    /// What an entry of this run names.
    pub fn id(&self, entry: Entry) -> Result<u64> {
        let RunRecord { contents, documents, .. } = &self.run.record;
        let (first, end) = if entry.address.space() == Space::KEYS { documents } else { contents };
        match first + u64::from(entry.number) {
            id if id < *end => Ok(id),
            _ => Err(Error::corrupt(format!("run {}", self.run.number), "an entry lies beyond its ranges")),
        }
    }
}

impl RunSource for OpenRun {
    fn block<T>(&self, number: u32, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let Run { number: run, record, directory, .. } = &*self.run;
        let row = row(&self.rows, number, *run)?;
        let read = || {
            let (first, width) = Block::parse(row.value())?.shape();
            // A block of another run or place would be searched for what is not in it.
            let own = directory.first(number as usize) == Some(first)
                && width == number_width(record.contents, record.documents);
            if own { read(row.value()) } else { Err(Error::corrupt("index block", "it belongs elsewhere")) }
        };
        read().map_err(|e| e.within(place(*run, number)))
    }

    fn may_hold(&self, group: u32, probe: Probe) -> Result<bool> {
        let run = &*self.run;
        let Some(slot) = run.filters.get(group as usize) else { return Ok(true) };
        if let Some(loaded) = slot.get() {
            return Ok(filter::passes(loaded, probe));
        }
        // Reading what cannot be kept would cost more than the block that it may spare.
        if !run.budget.has(run.record.filter_bytes / u64::from(run.record.groups.max(1))) {
            return Ok(true);
        }
        let stored = row(&self.rows, FILTERS + group, run.number)?;
        self.check_filter(group, stored.value())?;
        if !run.budget.take(stored.value().len()) {
            return Ok(true);
        }
        let mut unused = Some(Box::from(stored.value()));
        let loaded = slot.get_or_init(|| unused.take().unwrap_or_default());
        if let Some(unused) = unused {
            run.budget.left.fetch_add(unused.len(), Ordering::Relaxed);
        }
        Ok(filter::passes(loaded, probe))
    }
}

/// A run whose blocks are asked for one here, one there, and some again: not one that is read from end to end.
struct Cached<'r> {
    run: &'r OpenRun,
    cache: &'r Cache,
}

impl RunSource for Cached<'_> {
    fn block<T>(&self, number: u32, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let run = self.run.run.number;
        if let Some(block) = self.cache.get(Place::Block(run, number)) {
            return read(&block).map_err(|e| e.within(place(run, number)));
        }
        self.run.block(number, |bytes| {
            self.cache.put(Place::Block(run, number), bytes);
            read(bytes)
        })
    }

    fn may_hold(&self, group: u32, probe: Probe) -> Result<bool> {
        self.run.may_hold(group, probe)
    }
}

/// Writes a run's rows and counts their bytes.
pub(crate) struct RunWriter<'t> {
    pub rows: Table<'t, u32, &'static [u8]>,
    pub block_bytes: u64,
    pub filter_bytes: u64,
}

impl<'t> RunWriter<'t> {
    pub fn new(rows: Table<'t, u32, &'static [u8]>) -> Self {
        RunWriter { rows, block_bytes: 0, filter_bytes: 0 }
    }

    fn put(&mut self, key: u32, bytes: &[u8]) -> Result<()> {
        self.rows.insert(key, bytes).doing("write a run").map(|_| ())
    }
}

impl RunSink for RunWriter<'_> {
    fn block(&mut self, number: u32, bytes: &[u8]) -> Result<()> {
        self.block_bytes += bytes.len() as u64;
        self.put(number, bytes)
    }

    fn group(&mut self, number: u32, directory: &[u8], filter: &[u8]) -> Result<()> {
        self.block_bytes += directory.len() as u64;
        self.filter_bytes += filter.len() as u64;
        self.put(DIRECTORIES + number, directory)?;
        self.put(FILTERS + number, filter)
    }
}

impl OpenRun {
    /// Reads every block and compares it with the directory, the record and the ranges: how many entries there are.
    pub fn check(&self) -> Result<u64> {
        let wrong = |what: &str| Error::corrupt(format!("run {}", self.run.number), what);
        let Run { record, directory, prefixes, .. } = &*self.run;
        let mut cursor = Cursor::new(Position::default(), directory.blocks() as u32);
        let (mut entries, mut last): (u64, Option<Entry>) = (0, None);
        let mut filter = None;
        while let Some(entry) = cursor.peek(self)? {
            let Position { block, .. } = cursor.position();
            self.id(entry)?;
            if !self.filter_holds(block, prefixes.filter_key(entry.address), &mut filter)? {
                return Err(wrong("a filter denies an entry"));
            }
            let order = |entry: &Entry| (entry.address, entry.number);
            if last.replace(entry).is_some_and(|last| order(&last) > order(&entry)) {
                return Err(wrong("its entries do not ascend"));
            }
            entries += 1;
            cursor.advance();
        }
        match entries == record.entries {
            true => Ok(entries),
            false => Err(wrong("it has another number of entries than its record says")),
        }
    }

    /// A filter must pass what the directory of its group names.
    fn check_filter(&self, group: u32, filter: &[u8]) -> Result<()> {
        let Run { number, directory, prefixes, .. } = &*self.run;
        let mut firsts = directory.firsts_of(group as usize).iter();
        match firsts.all(|&first| filter::may_hold(filter, prefixes.filter_key(first))) {
            true => Ok(()),
            false => Err(Error::corrupt(place(*number, FILTERS + group), "it denies what is there")),
        }
    }

    /// Whether the filter of a block's group passes a key; `filter` keeps that of the last group.
    fn filter_holds(&self, block: u32, key: u64, filter: &mut Option<(usize, Vec<u8>)>) -> Result<bool> {
        let group = self.run.directory.group_of(block as usize);
        if filter.as_ref().is_none_or(|filter| filter.0 != group) {
            let stored = row(&self.rows, FILTERS + group as u32, self.run.number)?;
            *filter = Some((group, stored.value().to_vec()));
        }
        Ok(filter.as_ref().is_some_and(|(_, bytes)| filter::may_hold(bytes, key)))
    }

    /// How many pages the run takes: walks all of them.
    pub fn stats(&self) -> std::result::Result<redb::TableStats, redb::StorageError> {
        redb::ReadableTableMetadata::stats(&self.rows)
    }
}
