//! Permuted simhash tables (Manku, Jain, Das Sarma 2007, section 3).
//!
//! The 64 bits are cut into m blocks. Two simhashes at distance ≤ k differ in at most k blocks, so they agree in some
//! choice of m - k blocks: one table for each of the C(m, k) choices holds all simhashes with the chosen blocks moved to the
//! front. A look-up compares that prefix exactly and the rest by Hamming distance: first on the 40 bits that a term holds,
//! then on the simhash itself. For k = 3: 4 tables of 16-bit prefixes, 10 of 25 or 26, 20 of 31 to 33.

use super::term::{Address, Space, TERM_BITS, Term};
use crate::error::{Error, Result};
use crate::sketch::Simhash;
use crate::text::rabin::mix;

/// The most tables of a design.
const MOST_TABLES: usize = 84;

/// Microseconds for a block that is read and for an entry that is compared (`benches/record/2026-11-scale.md`): ten million
/// simhashes in 4 and in 10 tables, a hundred million in 4.
const BLOCK: f64 = 8.0;
const ENTRY: f64 = 0.005;
/// Entries of a block.
const BLOCK_ENTRIES: f64 = 770.0;
/// More tables take more room, 5 to 8 bytes a simhash each, and more time to add to: they must halve that of a query.
const WORTH: f64 = 0.5;

/// The tables that find every simhash within a distance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDesign {
    max_distance: u32,
    prefix_bits: u32,
    /// For each table, its blocks as (lowest bit, width), in the order in which they are put together from the top.
    tables: Vec<Vec<(u32, u32)>>,
}

impl TableDesign {
    /// The design with `tables` tables for `max_distance`, or with the fewest when `tables` is `None`.
    pub fn new(max_distance: u32, tables: Option<usize>) -> Result<Self> {
        if !(1..=7).contains(&max_distance) {
            return Err(Error::invalid(format!("hamming {max_distance}"), "must lie in 1..=7"));
        }
        let mut designs = Self::all(max_distance);
        let wanted = tables.or(designs.first().map(Self::tables)).unwrap_or(0);
        match designs.iter().position(|design| design.tables() == wanted) {
            Some(found) => Ok(designs.swap_remove(found)),
            None => {
                let possible: Vec<String> =
                    designs.iter().map(|design| design.tables().to_string()).collect();
                Err(Error::invalid(
                    format!("hamming-tables {wanted} for distance {max_distance}"),
                    format!("use one of {}", possible.join(", ")),
                ))
            }
        }
    }

    /// The design that answers a query among so many simhashes soonest; others with more tables only where they are much sooner.
    pub(crate) fn suited(max_distance: u32, simhashes: u64) -> Result<Self> {
        let fewest = Self::new(max_distance, None)?;
        let designs = Self::all(max_distance).into_iter();
        Ok(designs.fold(fewest, |best, design| {
            if design.query_cost(simhashes) < WORTH * best.query_cost(simhashes) { design } else { best }
        }))
    }

    /// What a query among so many simhashes takes, in microseconds: in each table the blocks that its prefix reaches into
    /// are read, and the entries of the prefix compared.
    pub(crate) fn query_cost(&self, simhashes: u64) -> f64 {
        let entries = simhashes as f64 / (1u64 << self.prefix_bits) as f64;
        self.tables() as f64 * (BLOCK * (1.0 + entries / BLOCK_ENTRIES) + ENTRY * entries)
    }

    /// Every design for a distance of 1 to 7, fewest tables first.
    pub(crate) fn all(max_distance: u32) -> Vec<Self> {
        let k = max_distance as usize;
        let blocks = (k + 1..=16).filter(|&blocks| choose(blocks, k) <= MOST_TABLES);
        let mut designs: Vec<Self> = blocks.map(|blocks| Self::with_blocks(max_distance, blocks)).collect();
        if max_distance == 3 {
            designs.push(Self::nested());
        }
        designs.sort_by_key(Self::tables);
        designs
    }

    fn with_blocks(max_distance: u32, blocks: usize) -> Self {
        let all: Vec<(u32, u32)> = (0..blocks as u32)
            .map(|block| {
                let edge = |i: u32| 64 * i / blocks as u32;
                (edge(block), edge(block + 1) - edge(block))
            })
            .collect();
        let exact = blocks - max_distance as usize;
        let tables: Vec<Vec<(u32, u32)>> = (0u32..1 << blocks)
            .filter(|chosen| chosen.count_ones() as usize == exact)
            .map(|chosen| {
                let (front, back): (Vec<usize>, Vec<usize>) =
                    (0..blocks).partition(|block| chosen >> block & 1 == 1);
                front.into_iter().chain(back).map(|block| all[block]).collect()
            })
            .collect();
        let prefix = |table: &Vec<(u32, u32)>| table[..exact].iter().map(|block| block.1).sum();
        let prefix_bits = tables.iter().map(prefix).min().unwrap_or(0).min(TERM_BITS);
        TableDesign { max_distance, prefix_bits, tables }
    }

    /// The paper's 16 tables for distance 3: one of four blocks of 16 bits matches, and of the 48 other bits one of four
    /// pieces of 12 does: prefixes of 28 bits.
    fn nested() -> Self {
        let table = |block: u32, piece: u32| {
            let others: Vec<u32> = (0..64).filter(|bit| bit / 16 != block).collect();
            let (front, back): (Vec<u32>, Vec<u32>) = others.into_iter().partition(|bit| {
                let place = if bit / 16 > block { bit - 16 } else { *bit };
                place / 12 == piece
            });
            // Segments never reach from the prefix into the rest.
            let segments = |bits: &[u32]| -> Vec<(u32, u32)> {
                bits.chunk_by(|a, b| a + 1 == *b).map(|run| (run[0], run.len() as u32)).collect()
            };
            [vec![(16 * block, 16)], segments(&front), segments(&back)].concat()
        };
        let tables = (0..16).map(|number| table(number / 4, number % 4)).collect();
        TableDesign { max_distance: 3, prefix_bits: 28, tables }
    }

    /// The greatest distance that every pair within it is found at.
    pub fn max_distance(&self) -> u32 {
        self.max_distance
    }

    /// Leading bits that are compared exactly.
    pub fn prefix_bits(&self) -> u32 {
        self.prefix_bits
    }

    /// The share of the pairs at `distance` that agree in the prefix of a table, for distances beyond
    /// [`max_distance`](Self::max_distance): by throwing that many differing bits 2,000 times, with fixed draws.
    pub fn recall_at(&self, distance: u32) -> f64 {
        const DRAWS: u64 = 2000;
        let found = (0..DRAWS).filter(|&draw| {
            let mut bits: Vec<u32> = (0..64).collect();
            bits.sort_by_key(|&bit| mix(draw << 6 | u64::from(bit)));
            let flips = bits.iter().take(distance as usize).fold(0, |flips, bit| flips | 1u64 << bit);
            (0..self.tables())
                .any(|table| self.permute(table, Simhash(flips)).leading_zeros() >= self.prefix_bits)
        });
        found.count() as f64 / DRAWS as f64
    }

    /// For each table its blocks as (lowest bit, width), those that are compared exactly first.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = &[(u32, u32)]> {
        self.tables.iter().map(Vec::as_slice)
    }

    /// How many tables there are.
    pub fn tables(&self) -> usize {
        self.tables.len()
    }

    /// The simhash with the blocks of a table in the table's order.
    fn permute(&self, table: usize, simhash: Simhash) -> u64 {
        self.tables[table].iter().fold(0, |out, &(lowest, width)| {
            let block = simhash.0 >> lowest & (u64::MAX >> (64 - width));
            if width == 64 { block } else { out << width | block }
        })
    }

    /// The addresses of a simhash, one in each table.
    pub(crate) fn addresses(&self, simhash: Simhash) -> impl Iterator<Item = Address> {
        (0..self.tables.len()).map(move |table| self.address(table, simhash))
    }

    fn term(&self, table: usize, simhash: Simhash) -> Term {
        Term::of_hash(self.permute(table, simhash))
    }

    /// The address of a simhash in one table.
    pub(crate) fn address(&self, table: usize, simhash: Simhash) -> Address {
        Address::new(Space::simhash(table), self.term(table, simhash))
    }

    /// The addresses in each table that share the prefix of `simhash`.
    pub(crate) fn ranges(&self, simhash: Simhash) -> impl Iterator<Item = std::ops::RangeInclusive<Address>> {
        (0..self.tables.len()).map(move |table| {
            Address::sharing(Space::simhash(table), self.term(table, simhash), self.prefix_bits)
        })
    }

    /// Whether two addresses lie in one table and agree in its prefix.
    pub(crate) fn share_prefix(&self, a: Address, b: Address) -> bool {
        (a.bits() ^ b.bits()) >> (TERM_BITS - self.prefix_bits) == 0
    }

    /// Whether the 40 stored bits already tell that two simhashes are farther apart than `max_distance`.
    pub(crate) fn is_apart(query: Address, stored: Address, max_distance: u32) -> bool {
        // Without counting the bits, which takes longer where there is no instruction for it.
        let mut differing = query.term_bits() ^ stored.term_bits();
        for _ in 0..max_distance {
            differing &= differing.wrapping_sub(1);
        }
        differing != 0
    }
}

fn choose(n: usize, k: usize) -> usize {
    (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_designs_of_the_paper_are_there() {
        for (tables, prefix) in [(4, 16), (10, 25), (16, 28), (20, 31)] {
            let design = TableDesign::new(3, Some(tables)).unwrap();
            assert_eq!((design.tables(), design.prefix_bits()), (tables, prefix));
        }
        assert!(TableDesign::new(3, Some(5)).is_err());
        assert!(TableDesign::new(0, None).is_err() && TableDesign::new(8, None).is_err());
    }

    #[test]
    fn bits_are_counted_without_counting() {
        let address = |term| Address::new(Space::simhash(1), Term::of_value(term));
        for number in 0..5000u64 {
            let bits = mix(number) & mix(number ^ 1 << 40) & mix(number ^ 1 << 41) & mix(number ^ 1 << 42);
            let (own, other) = (address(mix(number)), address(mix(number) ^ bits));
            for most in 0..8 {
                let apart = (own.bits() ^ other.bits()).count_ones() > most;
                assert_eq!(TableDesign::is_apart(own, other, most), apart);
            }
        }
    }

    #[test]
    fn many_simhashes_have_more_tables() {
        let tables = |simhashes| TableDesign::suited(3, simhashes).unwrap().tables();
        assert_eq!([0, 1_000_000, 10_000_000, 100_000_000].map(tables), [4, 4, 4, 4]);
        assert_eq!([200_000_000, 1_000_000_000].map(tables), [10, 10]);
        for distance in 1..=7 {
            let mut before = 0;
            for simhashes in (0..34).map(|bits| 1 << bits) {
                let tables = TableDesign::suited(distance, simhashes).unwrap().tables();
                assert!(tables >= before, "{tables} tables for {simhashes} within {distance}");
                before = tables;
            }
        }
        assert!(TableDesign::suited(8, 1).is_err());
    }

    #[test]
    fn tables_permute_and_nothing_else() {
        for design in [16, 20].map(|tables| TableDesign::new(3, Some(tables)).unwrap()) {
            for table in 0..design.tables() {
                let bits: u64 =
                    (0..64).map(|bit| design.permute(table, Simhash(1 << bit))).fold(0, |a, b| a ^ b);
                assert_eq!(bits, u64::MAX, "table {table}");
            }
        }
    }

    #[test]
    fn everything_within_the_distance_shares_a_prefix() {
        for (distance, tables) in
            [(1, 2), (2, 3), (3, 4), (3, 10), (3, 16), (3, 20), (4, 5), (5, 6), (6, 7), (7, 8)]
        {
            let design = TableDesign::new(distance, Some(tables)).unwrap();
            for trial in 0..3000u64 {
                let simhash = Simhash(mix(trial));
                let flips = (0..distance).fold(0, |f, i| f | 1 << (mix(trial << 8 | u64::from(i)) % 64));
                let near = Simhash(simhash.0 ^ flips);
                let found = design
                    .ranges(simhash)
                    .zip(design.addresses(near).zip(design.addresses(simhash)))
                    .any(|(range, (near, own))| {
                        range.contains(&near) && !TableDesign::is_apart(own, near, distance)
                    });
                assert!(found, "distance {distance}, {tables} tables, trial {trial}");
            }
        }
    }
}
