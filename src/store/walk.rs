//! All living postings of a view, in the order of the index: runs and memtable merged, read from end to end.

use super::run::OpenRun;
use super::view::View;
use crate::error::Result;
use crate::index::block::Entry;
use crate::index::run::{Cursor, Position};
use crate::index::term::{Address, Space};

impl View {
    /// Calls `each` with the address and id of every posting from `from` on, until it returns false. Addresses ascend, ids of
    /// one address too; dead contents and removed documents are left out.
    pub fn walk(&self, from: Address, mut each: impl FnMut(Address, u64) -> Result<bool>) -> Result<()> {
        let mut runs: Vec<Source> = self.runs.iter().map(|run| Source::new(run, from)).collect();
        let mut memtable = self.memtable.entries().skip_while(|entry| entry.address < from).peekable();
        loop {
            let mut least: Option<(Address, usize)> = None;
            for (number, source) in runs.iter_mut().enumerate() {
                let address = source.peek(from)?.map(|entry| entry.address);
                // Of equal addresses the one of the earlier run comes first: its ids are lower.
                if let Some(address) = address.filter(|&address| least.is_none_or(|least| address < least.0))
                {
                    least = Some((address, number));
                }
            }
            let waiting = memtable.peek().filter(|entry| least.is_none_or(|least| entry.address < least.0));
            let (address, id) = match (waiting, least) {
                (Some(_), _) => match memtable.next() {
                    Some(entry) => (entry.address, self.unflushed(entry)),
                    None => return Ok(()),
                },
                (None, Some((address, number))) => (address, runs[number].take()?),
                (None, None) => return Ok(()),
            };
            let gone = match address.space() {
                Space::KEYS => self.marks.is_removed(id),
                _ => self.marks.is_dead(id),
            };
            if !gone && !each(address, id)? {
                return Ok(());
            }
        }
    }

    fn unflushed(&self, entry: Entry) -> u64 {
        let counters = &self.counters;
        let keys = entry.address.space() == Space::KEYS;
        let base = if keys { counters.unflushed_document } else { counters.unflushed_content };
        base + u64::from(entry.number)
    }
}

/// A run that is read from a place on.
struct Source<'v> {
    run: &'v OpenRun,
    cursor: Cursor,
    head: Option<Entry>,
}

impl<'v> Source<'v> {
    fn new(run: &'v OpenRun, from: Address) -> Self {
        let directory = &run.run.directory;
        let start = Position { block: directory.block_of(from) as u32, entry: 0 };
        Source { run, cursor: Cursor::new(start, directory.blocks() as u32), head: None }
    }

    fn peek(&mut self, from: Address) -> Result<Option<Entry>> {
        while self.head.is_none() {
            let Some(entry) = self.cursor.peek(self.run)? else { return Ok(None) };
            self.cursor.advance();
            self.head = Some(entry).filter(|entry| entry.address >= from);
        }
        Ok(self.head)
    }

    /// The id of the entry that was looked at.
    fn take(&mut self) -> Result<u64> {
        self.head.take().map_or(Ok(0), |entry| self.run.id(entry))
    }
}
