//! A block: at most 4,060 bytes of index entries of one space, so that it fills exactly one leaf page of the store.
//!
//! Terms are Elias-Fano coded relative to the first; the run-local numbers of the contents are bit-packed behind them.
//! Bytes: `schema/format.md`, "Block".

use super::term::Address;
use crate::bits::{BitWriter, EliasFano, field};
use crate::error::{Error, Result};

/// The most bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 4060;
/// The most entries that are tried for one block.
pub(crate) const MOST_ENTRIES: usize = 4096;
const HEADER: usize = 14;

/// One index entry: the content (or document) with this run-local number has this term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub address: Address,
    pub number: u32,
}

fn size(entries: &[Entry], number_width: u32) -> usize {
    let span = entries[entries.len() - 1].address.bits() - entries[0].address.bits();
    let bits = EliasFano::new(entries.len(), span).bits() + entries.len() * number_width as usize;
    HEADER + bits.div_ceil(8)
}

/// Packs as many of `entries` (ascending, not empty) as one block takes; how many, and the bytes.
pub(crate) fn pack(entries: &[Entry], number_width: u32) -> (usize, Vec<u8>) {
    let space = entries[0].address.space();
    let most = entries[..entries.len().min(MOST_ENTRIES)].partition_point(|e| e.address.space() == space);
    let (mut fits, mut too_many) = (1, most + 1);
    while fits + 1 < too_many {
        let middle = fits.midpoint(too_many);
        if size(&entries[..middle], number_width) <= BLOCK_BYTES {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    (fits, encode(&entries[..fits], number_width))
}

fn encode(entries: &[Entry], number_width: u32) -> Vec<u8> {
    let first = entries[0].address;
    let span = entries[entries.len() - 1].address.bits() - first.bits();
    let mut out = BitWriter::default();
    out.push(entries.len() as u64, 16);
    out.push(u64::from(number_width), 8);
    out.push(first.bits(), 48);
    out.push(span, 40);
    let terms = entries.iter().map(|entry| entry.address.bits() - first.bits());
    EliasFano::new(entries.len(), span).encode(terms, &mut out);
    entries.iter().for_each(|entry| out.push(u64::from(entry.number), number_width));
    out.finish()
}

/// A block's bytes, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    first: u64,
    terms: EliasFano,
    count: usize,
    number_width: u32,
    code: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads the header; the length must be that of the counts it states.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let wrong = |what: &str| Error::corrupt("index block", what);
        let (head, code) = bytes.split_at_checked(HEADER).ok_or_else(|| wrong("shorter than its header"))?;
        let count = field(head, 0, 16) as usize;
        let number_width = field(head, 16, 8) as u32;
        let terms = EliasFano::new(count, field(head, 72, 40));
        let bits = terms.bits() + count * number_width as usize;
        if count == 0 || number_width > 32 || code.len() != bits.div_ceil(8) {
            return Err(wrong("its length is not that of its count"));
        }
        Ok(Block { first: field(head, 24, 48), terms, count, number_width, code })
    }

    /// The first address, and the bits of a number.
    pub fn shape(&self) -> (Address, u32) {
        (Address::from_bits(self.first), self.number_width)
    }

    /// How many entries the block has.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Calls `each` for every entry from the first one at or after `from`, until it returns false.
    pub fn scan_from(&self, from: Address, mut each: impl FnMut(Entry) -> bool) {
        let numbers = self.terms.bits();
        self.terms.scan_from(self.code, from.bits().saturating_sub(self.first), |index, term| {
            let at = numbers + index * self.number_width as usize;
            let number = field(self.code, at, self.number_width) as u32;
            each(Entry { address: Address::from_bits(self.first + term), number })
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::term::{Space, Term};
    use crate::text::rabin::mix;
    use proptest::prelude::*;

    fn entries(count: u64, spread: u64) -> Vec<Entry> {
        let address = |i: u64| Address::new(Space::CONTENTS, Term::of_hash(mix(i % spread)));
        let mut entries: Vec<Entry> =
            (0..count).map(|i| Entry { address: address(i), number: (i % 30_000) as u32 }).collect();
        entries.sort_unstable();
        entries
    }

    fn unpack(bytes: &[u8], from: Address) -> Vec<Entry> {
        let mut out = Vec::new();
        Block::parse(bytes).unwrap().scan_from(from, |entry| {
            out.push(entry);
            true
        });
        out
    }

    #[test]
    fn blocks_fill_a_leaf_and_come_back() {
        for spread in [1, 7, 1000, u64::MAX] {
            let all = entries(100_000, spread);
            let (count, bytes) = pack(&all, 15);
            assert!(bytes.len() <= BLOCK_BYTES);
            assert!(count == MOST_ENTRIES || bytes.len() > BLOCK_BYTES - 8, "{} bytes", bytes.len());
            assert_eq!(unpack(&bytes, all[0].address), all[..count]);
        }
    }

    #[test]
    fn an_entry_of_a_full_run_takes_less_than_five_bytes() {
        let all = entries(880_000, u64::MAX);
        let (count, bytes) = pack(&all, 15);
        assert!((bytes.len() as f64 / count as f64) < 4.8, "{}", bytes.len() as f64 / count as f64);
    }

    #[test]
    fn a_block_holds_one_space() {
        let entry = |space| Entry { address: Address::new(space, Term::of_hash(1 << 40)), number: 1 };
        assert_eq!(pack(&[entry(Space::KEYS), entry(Space::CONTENTS)], 1).0, 1);
    }

    proptest! {
        #[test]
        fn scans_start_at_the_address(count in 1u64..500, spread in 1u64..600, from in any::<u64>()) {
            let all = entries(count, spread);
            let (count, bytes) = pack(&all, 15);
            let from = if from % 3 == 0 { all[from as usize % count].address } else { Address::new(Space::CONTENTS, Term::of_hash(from)) };
            let expected: Vec<Entry> = all[..count].iter().copied().filter(|entry| entry.address >= from).collect();
            prop_assert_eq!(unpack(&bytes, from), expected);
        }

        #[test]
        fn arbitrary_bytes_are_an_error_or_bounded(mut bytes in prop::collection::vec(any::<u8>(), 0..300), count in 0u16..200) {
            if bytes.len() > 2 {
                bytes[..2].copy_from_slice(&count.to_le_bytes());
            }
            if let Ok(block) = Block::parse(&bytes) {
                let mut seen = 0;
                block.scan_from(Address::from_bits(0), |_| { seen += 1; true });
                prop_assert!(seen <= block.len());
            }
        }
    }
}
