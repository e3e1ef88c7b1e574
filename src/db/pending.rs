//! The index entries of a batch under way, found by exact address.

use crate::index::memtable::packed;
use crate::index::term::{Address, Space};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

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

/// Entries in the order they came, chained by address.
#[derive(Debug, Default)]
pub(crate) struct PendingEntries {
    last: HashMap<Address, u32, BuildHasherDefault<Uniform>>,
    entries: Vec<(u64, u32)>,
}

const NONE: u32 = u32::MAX;

impl PendingEntries {
    /// Adds an entry; permuted simhashes are only ever looked up by prefix, after the commit.
    pub fn push(&mut self, address: Address, number: u16) {
        let searched = address.space() < Space::simhash(0);
        let earlier = match searched {
            true => self.last.insert(address, self.entries.len() as u32).unwrap_or(NONE),
            false => NONE,
        };
        self.entries.push((packed(address, number), earlier));
    }

    /// The numbers at an address, ascending.
    pub fn numbers(&self, address: Address) -> Vec<u16> {
        let mut at = self.last.get(&address).copied().unwrap_or(NONE);
        let mut numbers = Vec::new();
        while let Some(&(entry, earlier)) = self.entries.get(at as usize) {
            numbers.push(entry as u16);
            at = earlier;
        }
        numbers.reverse();
        numbers
    }

    /// The packed entries, for a part of the memtable.
    pub fn into_packed(self) -> Vec<u64> {
        self.entries.into_iter().map(|entry| entry.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::term::Term;

    #[test]
    fn numbers_come_back_in_order() {
        let mut pending = PendingEntries::default();
        let address = |hash: u64| Address::new(Space::CONTENTS, Term::of_hash(hash << 24));
        for number in 0..100u16 {
            pending.push(address(u64::from(number % 7)), number);
            pending.push(Address::new(Space::simhash(1), Term::of_hash(5)), number);
        }
        assert_eq!(pending.numbers(address(3)), (0..100).filter(|n| n % 7 == 3).collect::<Vec<_>>());
        assert!(pending.numbers(address(9)).is_empty());
        assert_eq!(pending.into_packed().len(), 200);
    }
}
