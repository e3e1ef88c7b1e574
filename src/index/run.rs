//! A run: all index entries of a range of contents and documents, sorted, cut into blocks, never changed.
//!
//! Every 32 blocks form a *group* with a directory (the first address of each block, kept in memory) and a filter over its
//! entries (loaded when first asked), so that a run is written from beginning to end, however long it gets.

use super::block::{self, Block, Entry};
use super::filter::{self, Probe};
use super::jump::Jump;
use super::term::{Address, Prefixes};
use crate::bits::field;
use crate::error::{Error, Result};
use std::ops::RangeInclusive;

/// Blocks in a group.
pub(crate) const GROUP: usize = 32;
const ADDRESS_BYTES: usize = 6;

/// Where the rows of a run are written to.
pub(crate) trait RunSink {
    /// Block number `number`.
    fn block(&mut self, number: u32, bytes: &[u8]) -> Result<()>;
    /// Directory and filter of group `number`.
    fn group(&mut self, number: u32, directory: &[u8], filter: &[u8]) -> Result<()>;
}

/// Where the rows of a run are read from.
pub(crate) trait RunSource {
    /// Calls `read` with the bytes of a block.
    fn block<T>(&self, number: u32, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T>;
    /// False when the group holds no entry with the filter key of this probe.
    fn may_hold(&self, group: u32, probe: Probe) -> Result<bool>;
}

/// Cuts sorted entries into blocks and groups.
#[derive(Debug)]
pub(crate) struct RunBuilder {
    number_width: u32,
    prefixes: Prefixes,
    waiting: Vec<Entry>,
    firsts: Vec<Address>,
    keys: Vec<u64>,
    directory: Directory,
}

impl RunBuilder {
    /// A builder that goes on after the blocks of `directory` (an empty one for a new run).
    pub fn new(number_width: u32, prefixes: Prefixes, directory: Directory) -> Self {
        let (waiting, firsts, keys) = Default::default();
        RunBuilder { number_width, prefixes, waiting, firsts, keys, directory }
    }

    /// Takes the next entry, in ascending order: what a damaged run gives may not be.
    pub fn push(&mut self, entry: Entry, sink: &mut impl RunSink) -> Result<()> {
        let last = self.waiting.last().map(|last| last.address).max(self.directory.firsts.last().copied());
        if last.is_some_and(|last| entry.address < last) {
            return Err(Error::corrupt("runs", "their entries do not ascend"));
        }
        let full = self.waiting.len() == block::MOST_ENTRIES;
        if full || self.waiting.last().is_some_and(|last| last.address.space() != entry.address.space()) {
            self.cut(if full { 1 } else { self.waiting.len() }, sink)?;
        }
        self.waiting.push(entry);
        Ok(())
    }

    /// Writes all entries so far and ends the group: from here the run can be gone on with by another builder.
    pub fn pause(&mut self, sink: &mut impl RunSink) -> Result<()> {
        self.cut(self.waiting.len(), sink)?;
        self.end_group(sink)
    }

    /// The directory of what was written.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Packs blocks until at least `least` of the waiting entries are written.
    fn cut(&mut self, least: usize, sink: &mut impl RunSink) -> Result<()> {
        let mut done = 0;
        while done < least {
            let (count, bytes) = block::pack(&self.waiting[done..], self.number_width);
            sink.block(self.directory.blocks() as u32, &bytes)?;
            let packed = &self.waiting[done..done + count];
            let first = packed[0].address;
            self.directory.push(first);
            self.firsts.push(first);
            for entry in packed {
                let key = self.prefixes.filter_key(entry.address);
                if self.keys.last() != Some(&key) {
                    self.keys.push(key);
                }
            }
            done += count;
            if self.firsts.len() == GROUP {
                self.end_group(sink)?;
            }
        }
        self.waiting.drain(..done);
        Ok(())
    }

    fn end_group(&mut self, sink: &mut impl RunSink) -> Result<()> {
        if self.firsts.is_empty() {
            return Ok(());
        }
        let rows: Vec<u8> = self
            .firsts
            .iter()
            .flat_map(|first| first.bits().to_le_bytes().into_iter().take(ADDRESS_BYTES))
            .collect();
        sink.group(self.directory.groups.len() as u32, &rows, &filter::build(&self.keys))?;
        self.directory.groups.push(self.directory.blocks() as u32);
        self.firsts.clear();
        self.keys.clear();
        Ok(())
    }
}

/// The first address of every block, and where groups end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Directory {
    firsts: Vec<Address>,
    /// For each group, one more than the number of its last block.
    groups: Vec<u32>,
    /// The first address of each group: a search looks here first, in a thirty-second of the memory.
    heads: Vec<Address>,
    jump: Jump,
}

impl PartialEq for Directory {
    fn eq(&self, other: &Self) -> bool {
        (&self.firsts, &self.groups) == (&other.firsts, &other.groups)
    }
}

impl Directory {
    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.firsts.len()
    }

    fn push(&mut self, first: Address) {
        if self.firsts.len() == self.groups.last().map_or(0, |&end| end as usize) {
            self.heads.push(first);
        }
        self.firsts.push(first);
    }

    /// The first block that may hold `address` or what comes after it.
    pub fn block_of(&self, address: Address) -> usize {
        let group = self.locate(address);
        let (start, _) = self.blocks_of(group);
        start + self.firsts_of(group).partition_point(|&first| first < address).saturating_sub(1)
    }

    /// Makes searches quick when all blocks are there.
    pub fn with_jump(mut self) -> Self {
        self.jump = Jump::new(&self.heads);
        self
    }

    /// The first group that may hold `address` or what comes after it.
    pub fn locate(&self, address: Address) -> usize {
        self.jump.less(&self.heads, address).saturating_sub(1)
    }

    /// The first block of a group, and the first behind it.
    fn blocks_of(&self, group: usize) -> (usize, usize) {
        let end = |group: usize| self.groups.get(group).map_or(self.firsts.len(), |&end| end as usize);
        (group.checked_sub(1).map_or(0, end), end(group))
    }

    /// The first address of a block.
    pub fn first(&self, block: usize) -> Option<Address> {
        self.firsts.get(block).copied()
    }

    /// The first addresses of the blocks of a group.
    pub fn firsts_of(&self, group: usize) -> &[Address] {
        let (start, end) = self.blocks_of(group);
        self.firsts.get(start..end).unwrap_or_default()
    }

    /// The group of a block.
    pub fn group_of(&self, block: usize) -> usize {
        self.groups.partition_point(|&end| end as usize <= block)
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        8 * (self.firsts.len() + self.heads.len()) + 4 * self.groups.len() + self.jump.bytes()
    }

    /// Appends the stored directory of the next group.
    pub fn push_group(&mut self, row: &[u8]) -> Result<()> {
        let addresses = row.chunks_exact(ADDRESS_BYTES);
        if row.is_empty() || !addresses.remainder().is_empty() || row.len() > GROUP * ADDRESS_BYTES {
            return Err(Error::corrupt("run directory", "its length is not that of 1 to 32 addresses"));
        }
        for address in addresses {
            let address = Address::from_bits(field(address, 0, 48));
            if self.firsts.last().is_some_and(|&last| address < last) {
                return Err(Error::corrupt("run directory", "its addresses are not ascending"));
            }
            self.push(address);
        }
        self.groups.push(self.firsts.len() as u32);
        Ok(())
    }

    /// Calls `each` for every entry within the range, ascending by number for one address, until it returns false;
    /// whether it never did. `probe` is for the filter key of the whole range.
    pub fn scan(
        &self,
        range: &RangeInclusive<Address>,
        probe: Probe,
        source: &impl RunSource,
        each: &mut impl FnMut(Entry) -> bool,
    ) -> Result<bool> {
        let first = self.locate(*range.start());
        for group in first..self.heads.len() {
            if self.heads[group] > *range.end() {
                return Ok(true);
            }
            if !source.may_hold(group as u32, probe)? {
                continue;
            }
            let (start, end) = self.blocks_of(group);
            let start = if group == first { self.block_of(*range.start()) } else { start };
            for block in start..end {
                if self.firsts[block] > *range.end() {
                    return Ok(true);
                }
                if !scan_block(block as u32, range, source, each)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

fn scan_block(
    number: u32,
    range: &RangeInclusive<Address>,
    source: &impl RunSource,
    each: &mut impl FnMut(Entry) -> bool,
) -> Result<bool> {
    source.block(number, |bytes| {
        let mut go_on = true;
        Block::parse(bytes)?.scan_from(*range.start(), |entry| {
            if entry.address > *range.end() {
                return false;
            }
            go_on = each(entry);
            go_on
        });
        Ok(go_on)
    })
}

/// A place in a run: the next entry to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub block: u32,
    pub entry: u32,
}

/// Reads a run from a position to its end.
#[derive(Debug)]
pub(crate) struct Cursor {
    position: Position,
    blocks: u32,
    loaded: Vec<Entry>,
}

impl Cursor {
    pub fn new(position: Position, blocks: u32) -> Self {
        Cursor { position, blocks, loaded: Vec::new() }
    }

    /// Where [`peek`](Self::peek) stands.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next entry, `None` at the end.
    pub fn peek(&mut self, source: &impl RunSource) -> Result<Option<Entry>> {
        while self.position.block < self.blocks {
            if self.loaded.is_empty() {
                self.loaded = source.block(self.position.block, |bytes| {
                    let block = Block::parse(bytes)?;
                    let mut entries = Vec::with_capacity(block.len());
                    block.scan_from(Address::from_bits(0), |entry| {
                        entries.push(entry);
                        true
                    });
                    Ok(entries)
                })?;
            }
            if let Some(&entry) = self.loaded.get(self.position.entry as usize) {
                return Ok(Some(entry));
            }
            self.loaded.clear();
            self.position = Position { block: self.position.block + 1, entry: 0 };
        }
        Ok(None)
    }

    /// Steps over the entry that [`peek`](Self::peek) showed.
    pub fn advance(&mut self) {
        self.position.entry += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::term::{Space, Term};
    use crate::text::rabin::mix;

    #[derive(Default)]
    struct Rows {
        blocks: Vec<Vec<u8>>,
        directories: Vec<Vec<u8>>,
        filters: Vec<Vec<u8>>,
    }

    impl RunSink for Rows {
        fn block(&mut self, number: u32, bytes: &[u8]) -> Result<()> {
            assert_eq!(number as usize, self.blocks.len());
            self.blocks.push(bytes.to_vec());
            Ok(())
        }

        fn group(&mut self, number: u32, directory: &[u8], filter: &[u8]) -> Result<()> {
            assert_eq!(number as usize, self.filters.len());
            self.directories.push(directory.to_vec());
            self.filters.push(filter.to_vec());
            Ok(())
        }
    }

    impl RunSource for Rows {
        fn block<T>(&self, number: u32, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
            read(&self.blocks[number as usize])
        }

        fn may_hold(&self, group: u32, probe: Probe) -> Result<bool> {
            Ok(filter::passes(&self.filters[group as usize], probe))
        }
    }

    const PREFIXES: Prefixes = Prefixes { simhash: 16 };

    fn entries(count: u64) -> Vec<Entry> {
        let mut entries: Vec<Entry> = (0..count)
            .map(|i| {
                let space =
                    [Space::KEYS, Space::CONTENTS, Space::simhash(0), Space::simhash(3)][i as usize % 4];
                let hash = if i.is_multiple_of(5) { mix(i % 35) } else { mix(i) };
                Entry { address: Address::new(space, Term::of_hash(hash)), number: i as u32 }
            })
            .collect();
        entries.sort_unstable();
        entries
    }

    fn written(all: &[Entry], pauses: usize) -> (Rows, Directory) {
        let mut rows = Rows::default();
        let mut builder = RunBuilder::new(20, PREFIXES, Directory::default());
        for part in all.chunks(all.len().div_ceil(pauses).max(1)) {
            part.iter().for_each(|&entry| builder.push(entry, &mut rows).unwrap());
            builder.pause(&mut rows).unwrap();
        }
        let mut read = Directory::default();
        rows.directories.iter().for_each(|row| read.push_group(row).unwrap());
        assert_eq!(&read, builder.directory());
        (rows, read)
    }

    #[test]
    fn a_range_yields_what_a_scan_of_everything_yields() {
        let all = entries(150_000);
        for pauses in [1, 3] {
            let (rows, directory) = written(&all, pauses);
            for i in 0..600u64 {
                let (space, bits) =
                    [(Space::KEYS, 40), (Space::CONTENTS, 40), (Space::simhash(3), 16)][i as usize % 3];
                let range = Address::sharing(space, Term::of_hash(mix(i % 200)), bits);
                let mut found = Vec::new();
                directory
                    .scan(&range, Probe::new(PREFIXES.filter_key(*range.start())), &rows, &mut |entry| {
                        found.push(entry);
                        true
                    })
                    .unwrap();
                let expected: Vec<Entry> =
                    all.iter().copied().filter(|entry| range.contains(&entry.address)).collect();
                assert_eq!(found, expected, "range {i}, {pauses} pauses");
            }
        }
    }

    #[test]
    fn a_cursor_reads_everything_from_where_it_stood() {
        let all = entries(20_000);
        let (rows, directory) = written(&all, 2);
        let mut cursor = Cursor::new(Position::default(), directory.blocks() as u32);
        for (index, &entry) in all.iter().enumerate() {
            if index % 997 == 0 {
                cursor = Cursor::new(cursor.position(), directory.blocks() as u32);
            }
            assert_eq!(cursor.peek(&rows).unwrap(), Some(entry));
            cursor.advance();
        }
        assert_eq!(cursor.peek(&rows).unwrap(), None);
    }

    #[test]
    fn a_scan_stops_when_told() {
        let (rows, directory) = written(&entries(50_000), 1);
        let range = Address::from_bits(0)..=Address::END;
        let mut seen = 0;
        let finished = directory.scan(
            &range,
            Probe::new(0),
            &Rows { filters: vec![Vec::new(); 99], ..rows },
            &mut |_| {
                seen += 1;
                seen < 10
            },
        );
        assert_eq!((seen, finished.unwrap()), (10, false));
    }
}
