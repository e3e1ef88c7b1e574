//! How the memory that a process may take is shared out.

use super::keep::Kept;
use serde::Serialize;

/// The parts of [`Options::memory`](super::Options::memory) of a process that writes, as planned: bytes. What is left of the
/// whole is for everything that is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shares {
    /// All of it.
    pub memory: u64,
    /// Pages of the file, redb's: an eighth. Those that it does not hold are read again, mostly from the system's memory.
    pub pages: u64,
    /// Index blocks and records that were read lately: a sixteenth.
    pub rows: u64,
    /// Filters of runs: five sixteenths. What adding asks takes 28 bytes a content; a run without its filter is asked for a
    /// block by every term.
    pub filters: u64,
    /// Index entries that are in no run yet: an eighth, and 2 MiB at least. It is exceeded by one commit at most.
    pub memtable: u64,
    /// Documents under way, a quarter: lines that were read (an eighth), sketches, and what a commit makes of them.
    pub documents: u64,
}

impl Shares {
    /// The parts of so many bytes.
    pub fn of(memory: usize) -> Self {
        let memory = memory as u64;
        Shares {
            memory,
            pages: memory / 8,
            rows: memory / 16,
            filters: memory / 16 * 5,
            memtable: (memory / 8).max(2 << 20),
            documents: memory / 4,
        }
    }

    /// What of the rows is for records, the rest for blocks: a quarter, as a record is a tenth of a block or less; where
    /// nothing but simhashes is kept it is a hundredth.
    pub(crate) fn records(&self, kept: Kept) -> u64 {
        if kept.sample || kept.signature || kept.edit { self.rows / 4 } else { self.rows / 16 }
    }

    /// The parts of so many bytes when nothing is written: most of what is read lies above the pages. A quarter is left for
    /// a [`sweep`](super::Database::sweep).
    pub fn of_reader(memory: usize) -> Self {
        let memory = memory as u64;
        Shares {
            memory,
            pages: memory / 8,
            rows: memory / 8 * 3,
            filters: memory / 8,
            memtable: 0,
            documents: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_leave_something_of_the_whole() {
        for memory in [0, 1 << 20, 64 << 20, 256 << 20, 1 << 40] {
            let Shares { pages, rows, filters, memtable, documents, .. } = Shares::of(memory);
            let sum = pages + rows + filters + memtable.min(memory as u64 / 8) + documents;
            assert!(sum <= memory as u64 / 8 * 7, "{memory}");
        }
    }
}
