//! The index entries of what was added last, in memory: immutable sorted parts that readers share.
//!
//! A commit adds one part; parts of like size are merged up to a million entries, so there are about log₂ of them, and what
//! merging takes besides does not grow with the memtable. All of it can be rebuilt from the frames. Numbers count from the memtable's first content and first document.

use super::block::Entry;
use super::filter;
use super::term::{Address, Prefixes};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A memtable holds fewer contents and documents than this: numbers take 16 bits.
pub(crate) const MOST_NUMBERS: u64 = 1 << 16;
/// Parts with fewer entries have no filter: the search is as quick.
const FILTERED: usize = 2048;
/// Parts are merged into one of at most so many entries, 8 MB.
const MOST_MERGED: usize = 1 << 20;

/// Sorted entries, packed: 48 bits of address, 16 bits of number.
#[derive(Debug)]
struct Part {
    entries: Vec<u64>,
    filter: Option<Vec<u8>>,
}

impl Part {
    fn new(entries: Vec<u64>, prefixes: Prefixes) -> Self {
        let filter = (entries.len() >= FILTERED).then(|| {
            let mut keys: Vec<u64> =
                entries.iter().map(|&entry| prefixes.filter_key(unpack(entry).address)).collect();
            keys.dedup();
            filter::build(&keys)
        });
        Part { entries, filter }
    }

    fn scan(&self, range: &RangeInclusive<Address>, each: &mut impl FnMut(Entry) -> bool) -> bool {
        let start = self.entries.partition_point(|&entry| entry >> 16 < range.start().bits());
        self.entries[start..]
            .iter()
            .map(|&entry| unpack(entry))
            .take_while(|entry| entry.address <= *range.end())
            .all(each)
    }
}

fn unpack(entry: u64) -> Entry {
    Entry { address: Address::from_bits(entry >> 16), number: entry as u16 as u32 }
}

/// Packs an entry for [`Memtable::with_part`].
pub(crate) fn packed(address: Address, number: u16) -> u64 {
    address.bits() << 16 | u64::from(number)
}

/// The parts, oldest first. Cloning shares them.
#[derive(Clone, Debug)]
pub(crate) struct Memtable {
    parts: Vec<Arc<Part>>,
    prefixes: Prefixes,
}

impl Memtable {
    pub fn new(prefixes: Prefixes) -> Self {
        Memtable { parts: Vec::new(), prefixes }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.entries.len()).sum()
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| 8 * part.entries.len() + part.filter.as_ref().map_or(0, Vec::len)).sum()
    }

    /// This memtable and one part more, of packed entries in any order.
    pub fn with_part(&self, mut entries: Vec<u64>) -> Self {
        entries.sort_unstable();
        let mut parts = self.parts.clone();
        let like = |last: &Part, entries: &[u64]| {
            last.entries.len() < 2 * entries.len() && last.entries.len() + entries.len() <= MOST_MERGED
        };
        while let Some(last) = parts.pop_if(|last| like(last, &entries)) {
            entries = merge(&last.entries, &entries);
        }
        parts.push(Arc::new(Part::new(entries, self.prefixes)));
        Memtable { parts, prefixes: self.prefixes }
    }

    /// Reads what filters will be asked about an address: see [`filter::touch`].
    pub fn touch(&self, probe: filter::Probe) -> u8 {
        let filters = self.parts.iter().filter_map(|part| part.filter.as_deref());
        filters.fold(0, |read, bytes| read ^ filter::touch(bytes, probe))
    }

    /// Calls `each` for every entry within the range, ascending by number for one address, until it returns false;
    /// whether it never did.
    pub fn scan(&self, range: &RangeInclusive<Address>, each: &mut impl FnMut(Entry) -> bool) -> bool {
        let probe = filter::Probe::new(self.prefixes.filter_key(*range.start()));
        self.parts
            .iter()
            .filter(|part| part.filter.as_ref().is_none_or(|filter| filter::passes(filter, probe)))
            .all(|part| part.scan(range, each))
    }

    /// All entries in order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let head = |entries: &[u64], part: usize, at: usize| {
            entries.get(at).map(|&entry| Reverse((entry, part, at)))
        };
        let parts: Vec<&[u64]> = self.parts.iter().map(|part| &part.entries[..]).collect();
        let mut heads: BinaryHeap<_> =
            parts.iter().enumerate().filter_map(|(part, entries)| head(entries, part, 0)).collect();
        std::iter::from_fn(move || {
            let mut least = heads.peek_mut()?;
            let Reverse((entry, part, at)) = *least;
            match head(parts[part], part, at + 1) {
                Some(next) => *least = next,
                None => drop(PeekMut::pop(least)),
            }
            Some(unpack(entry))
        })
    }
}

fn merge(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    while let (Some(&x), Some(&y)) = (a.peek(), b.peek()) {
        out.extend(if x <= y { a.next() } else { b.next() });
    }
    out.extend(a);
    out.extend(b);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::term::{Space, Term};
    use crate::text::rabin::mix;

    #[test]
    fn finds_what_a_scan_of_everything_finds() {
        let mut memtable = Memtable::new(Prefixes { simhash: 16 });
        let mut all = Vec::new();
        for batch in 0..40u64 {
            let part: Vec<u64> = (0..mix(batch) % 400)
                .map(|i| {
                    packed(
                        Address::new(Space::CONTENTS, Term::of_hash(mix(i % 50))),
                        (batch * 400 + i) as u16,
                    )
                })
                .collect();
            all.extend(&part);
            memtable = memtable.with_part(part);
        }
        all.sort_unstable();
        assert_eq!(memtable.len(), all.len());
        assert_eq!(
            memtable.entries().collect::<Vec<_>>(),
            all.iter().map(|&e| unpack(e)).collect::<Vec<_>>()
        );
        assert!(memtable.parts.len() <= 14, "{} parts", memtable.parts.len());
        for term in 0..60 {
            let address = Address::new(Space::CONTENTS, Term::of_hash(mix(term)));
            let mut found = Vec::new();
            memtable.scan(&(address..=address), &mut |entry| {
                found.push(entry);
                true
            });
            let expected: Vec<Entry> =
                all.iter().map(|&e| unpack(e)).filter(|entry| entry.address == address).collect();
            assert_eq!(found, expected, "term {term}");
        }
    }
}
