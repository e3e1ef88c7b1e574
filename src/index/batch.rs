//! Many simhashes that are looked for at once: permuted tables of them in memory, past which the stored ones go one after the
//! other (Manku, Jain, Das Sarma 2007, section 4: the batch in memory, the fingerprints read once from end to end).
//!
//! A stored simhash is compared with those of the batch that share a prefix with it, in every table: with 2^20 of them and
//! distance 3, 16 in each of four. A pair is told at the first table that brings it together.

use super::permute::TableDesign;
use crate::error::Result;
use crate::sketch::Simhash;
use crate::sketch::kernel::near::{Buckets, Found};

/// What a simhash takes by itself, in each table (half of it, and its number), and what each bucket of a table takes.
const WHOLE: usize = 8;
const HALF: usize = 8;
const BUCKET: usize = 4;
/// The least that is looked for in one pass, however little memory there is.
const LEAST: usize = 1024;

/// What it takes to read a stored simhash, to go to one bucket, and to compare with one simhash there, in nanoseconds; as
/// measured with AVX-512 and a batch of a million, of which a pass over ten million takes a second on two cores.
const READ: f64 = 60.0;
const GO: f64 = 8.0;
const COMPARE: f64 = 0.3;

/// How a batch is divided.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    design: TableDesign,
    /// How many simhashes are looked for in one pass.
    pub at_once: usize,
}

impl Plan {
    /// The quickest way to find all stored simhashes within a distance of so many, with so many bytes of memory.
    pub fn new(max_distance: u32, simhashes: usize, memory: usize) -> Result<Self> {
        let plan = |design: TableDesign| {
            let tables = design.tables();
            // No more buckets than prefixes, and no more than simhashes.
            let by_prefixes = memory.saturating_sub((tables * BUCKET) << design.prefix_bits().min(40));
            let (by_prefixes, by_simhashes) =
                (by_prefixes / (WHOLE + tables * HALF), memory / (WHOLE + tables * (HALF + BUCKET)));
            let most = by_prefixes.max(by_simhashes).max(LEAST);
            Plan { at_once: simhashes.clamp(1, most), design }
        };
        let fewest = plan(TableDesign::new(max_distance.max(1), None)?);
        let plans = TableDesign::all(max_distance.max(1)).into_iter().map(plan);
        Ok(plans
            .fold(fewest, |best, plan| if plan.cost(simhashes) < best.cost(simhashes) { plan } else { best }))
    }

    /// The bits of a prefix that tell buckets apart: about one simhash for each bucket, or more.
    fn bits(&self) -> u32 {
        self.design.prefix_bits().min(self.at_once.ilog2())
    }

    /// Nanoseconds a stored simhash.
    fn cost(&self, simhashes: usize) -> f64 {
        let in_bucket = self.at_once as f64 / (1u64 << self.bits()) as f64;
        let pass = READ + self.design.tables() as f64 * (GO + COMPARE * in_bucket);
        simhashes.div_ceil(self.at_once) as f64 * pass
    }
}

/// Some of the simhashes that are looked for, by each table.
#[derive(Debug)]
pub(crate) struct Batch {
    simhashes: Vec<u64>,
    tables: Vec<Buckets>,
    max_distance: u32,
}

/// Of a stored simhash that one of the batch is close, both by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Near {
    pub stored: u32,
    pub asked: u32,
    pub distance: u32,
}

impl Batch {
    pub fn new(plan: &Plan, simhashes: &[Simhash], max_distance: u32) -> Self {
        let simhashes: Vec<u64> = simhashes.iter().map(|simhash| simhash.0).collect();
        let table = |blocks: &[(u32, u32)]| Buckets::new(blocks, plan.bits(), &simhashes);
        Batch { tables: plan.design.blocks().map(table).collect(), simhashes, max_distance }
    }

    /// Appends every pair of a stored simhash and one of the batch that are close, each once. `found` is room to work in.
    pub fn near(&self, stored: &[u64], found: &mut Vec<Found>, out: &mut Vec<Near>) {
        for (number, table) in self.tables.iter().enumerate() {
            found.clear();
            table.near(stored, self.max_distance, found);
            for &(at, place) in found.iter() {
                let asked = table.numbers[place as usize];
                let differing = stored[at as usize] ^ self.simhashes[asked as usize];
                let distance = differing.count_ones();
                let first = || self.tables[..number].iter().all(|earlier| earlier.of(differing) != 0);
                if distance <= self.max_distance && first() {
                    out.push(Near { stored: at, asked, distance });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn every_pair_within_the_distance_is_found_once() {
        for distance in 0..=7 {
            for (memory, count) in [(0, 300), (1 << 20, 3000), (1 << 30, 3000)] {
                // Pairs at the distance itself, and one beyond it, by differing bits anywhere.
                let apart = |i: u64, bits: u64| (0..bits).fold(0, |f, b| f | 1 << (mix(i << 8 | b) % 64));
                let asked: Vec<Simhash> = (0..count).map(|i| Simhash(mix(i))).collect();
                let stored: Vec<u64> =
                    (0..2000).map(|i| mix(i % count) ^ apart(i, u64::from(distance) + 2 - i % 3)).collect();
                let plan = Plan::new(distance, asked.len(), memory).unwrap();
                let (mut found, mut near) = (Vec::new(), Vec::new());
                for (first, some) in (0..).step_by(plan.at_once).zip(asked.chunks(plan.at_once)) {
                    let begun = near.len();
                    Batch::new(&plan, some, distance).near(&stored, &mut found, &mut near);
                    near[begun..].iter_mut().for_each(|near: &mut Near| near.asked += first);
                }
                near.sort_unstable();
                let mut expected = Vec::new();
                for (number, &simhash) in (0..).zip(&stored) {
                    let distances = (0..).zip(&asked).map(|(i, other)| (i, other.distance(Simhash(simhash))));
                    let close = distances.filter(|&(_, apart)| apart <= distance);
                    expected.extend(close.map(|(asked, distance)| Near { stored: number, asked, distance }));
                }
                assert!(expected.len() > 300, "{}", expected.len());
                assert!(expected.iter().any(|near| near.distance == distance));
                assert_eq!(near, expected, "distance {distance}, {memory} bytes");
            }
        }
    }

    #[test]
    fn a_batch_is_divided_where_memory_does_not_hold_it() {
        let plan = |simhashes, memory| Plan::new(3, simhashes, memory).unwrap();
        assert_eq!((plan(1 << 20, 48 << 20).at_once, plan(1 << 20, 48 << 20).design.tables()), (1 << 20, 4));
        assert_eq!(plan(1 << 20, 11 << 20).at_once, 1 << 18);
        assert_eq!(plan(1 << 20, 0).at_once, LEAST);
        assert_eq!(plan(0, 0).at_once, 1);
        assert!(Plan::new(8, 1, 0).is_err());
    }
}
