//! The index entries of a batch under way, found by what an index is searched by: the address, of a simhash its prefix.

use crate::index::memtable::packed;
use crate::index::term::{Address, Prefixes, Space};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::RangeInclusive;

/// Which entries of a batch are looked up before it is committed, besides keys, texts and bands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sought {
    /// Sample values.
    pub samples: bool,
    /// Permuted simhashes.
    pub simhashes: bool,
}

/// Addresses are uniformly distributed already: no need to hash them.
#[derive(Clone, Copy, Debug, Default)]
struct Uniform(u64);

impl Hasher for Uniform {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0.rotate_left(8) ^ u64::from(byte));
    }

    fn write_u64(&mut self, address: u64) {
        // The map takes its control bits from the top, addresses have theirs at the bottom.
        self.0 = address ^ address << 40;
    }
}

/// Entries in the order they came, chained by what they are searched by.
#[derive(Debug)]
pub(crate) struct PendingEntries {
    sought: Sought,
    prefixes: Prefixes,
    /// The first and last entry of each chain.
    chains: HashMap<u64, (u32, u32), BuildHasherDefault<Uniform>>,
    /// Each with the next one of its chain.
    entries: Vec<(u64, u32)>,
    /// Those that nobody looks for.
    unsought: Vec<u64>,
}

const NONE: u32 = u32::MAX;

impl PendingEntries {
    pub fn new(sought: Sought, prefixes: Prefixes) -> Self {
        PendingEntries {
            sought,
            prefixes,
            chains: HashMap::default(),
            entries: Vec::new(),
            unsought: Vec::new(),
        }
    }

    /// Adds an entry.
    pub fn push(&mut self, address: Address, number: u16) {
        let space = address.space();
        let searched = match space {
            Space::SAMPLES => self.sought.samples,
            _ => self.sought.simhashes || !space.is_simhash(),
        };
        if !searched {
            return self.unsought.push(packed(address, number));
        }
        let own = self.entries.len() as u32;
        self.entries.push((packed(address, number), NONE));
        let chain = self.chains.entry(self.prefixes.filter_key(address)).or_insert((own, own));
        let before = std::mem::replace(&mut chain.1, own);
        if before != own {
            self.entries[before as usize].1 = own;
        }
    }

    /// The entries within a range of what is searched by one key, numbers ascending.
    pub fn within(&self, range: &RangeInclusive<Address>) -> impl Iterator<Item = (Address, u16)> {
        let first = self.chains.get(&self.prefixes.filter_key(*range.start())).map_or(NONE, |chain| chain.0);
        let at = |at: u32| self.entries.get(at as usize);
        std::iter::successors(at(first), move |entry| at(entry.1))
            .map(|&(entry, _)| (Address::from_bits(entry >> 16), entry as u16))
            .filter(|entry| range.contains(&entry.0))
    }

    /// The packed entries, for a part of the memtable.
    pub fn into_packed(self) -> Vec<u64> {
        let PendingEntries { entries, mut unsought, .. } = self;
        unsought.reserve_exact(entries.len());
        unsought.extend(entries.into_iter().map(|entry| entry.0));
        unsought
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::term::Term;

    const PREFIXES: Prefixes = Prefixes { simhash: 16 };

    fn numbers(pending: &PendingEntries, range: RangeInclusive<Address>) -> Vec<u16> {
        pending.within(&range).map(|entry| entry.1).collect()
    }

    #[test]
    fn numbers_come_back_in_order() {
        let mut pending = PendingEntries::new(Sought::default(), PREFIXES);
        let address = |hash: u64| Address::new(Space::CONTENTS, Term::of_hash(hash << 24));
        for number in 0..100u16 {
            pending.push(address(u64::from(number % 7)), number);
            pending.push(Address::new(Space::simhash(1), Term::of_hash(5)), number);
        }
        let at = |hash| numbers(&pending, address(hash)..=address(hash));
        assert_eq!(at(3), (0..100).filter(|n| n % 7 == 3).collect::<Vec<_>>());
        assert!(at(9).is_empty());
        assert_eq!(pending.into_packed().len(), 200);
    }

    #[test]
    fn simhashes_are_found_by_their_prefix_when_they_are_sought() {
        let term = |number: u64| Term::of_hash((number % 3) << 48 | number << 30);
        for (simhashes, expected) in [(true, 34), (false, 0)] {
            let mut pending = PendingEntries::new(Sought { simhashes, samples: false }, PREFIXES);
            for number in 0..100u16 {
                pending.push(Address::new(Space::simhash(0), term(number.into())), number);
                pending.push(Address::new(Space::simhash(1), term(number.into())), number);
            }
            let found = numbers(&pending, Address::sharing(Space::simhash(1), term(0), PREFIXES.simhash));
            assert_eq!(found, (0..100).filter(|n| n % 3 == 0).take(expected).collect::<Vec<_>>());
        }
    }
}
