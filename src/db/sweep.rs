//! Many simhashes looked for at once: the permuted tables are read once from end to end beside the simhashes in the same order
//! (Manku, Jain, Das Sarma 2007, section 4, batch queries).
//!
//! Both sides are sorted by the prefix, so that nothing is looked up: each stored simhash is compared with those asked for that
//! share its prefix, first on the 40 bits of its term, then, what is left, on the record. A pair is told at the first table
//! that brings it together.

use super::database::Database;
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::{ContentId, DocId};
use crate::index::TableDesign;
use crate::index::term::{Address, Space};
use crate::sketch::Simhash;
use crate::store::view::View;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::Builder;

/// Candidates that are collected before they are verified, in the order of the contents.
const AT_ONCE: usize = 1 << 16;

/// A stored document whose simhash is close to one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    /// Which of those asked for, counted from 0.
    pub asked: usize,
    /// The lowest document that holds the text.
    pub id: DocId,
    /// In how many bits the simhashes differ.
    pub hamming: u32,
}

impl Database {
    /// Finds every stored simhash within `max_distance` of any of many, in one pass over the permuted tables: for some
    /// thousands and more it is quicker than as many queries. `max_distance` must not exceed that of the file. Takes 16 bytes
    /// a simhash for each core at work. Closes come in no particular order, each pair of texts once.
    pub fn sweep(&self, simhashes: &[Simhash], max_distance: u32) -> Result<Vec<Close>> {
        let tables = &self.indexing().tables;
        self.params().check_kept("a sweep by Hamming distance", self.params().keep_sketches.simhash)?;
        if max_distance > tables.max_distance() {
            let most = format!("the tables of this database find up to {}", tables.max_distance());
            return Err(Error::invalid(format!("distance {max_distance}"), most));
        }
        let view = self.view();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut sweep = Sweep { view: &view, tables, simhashes, max_distance, found: Vec::new() };
            loop {
                match next.fetch_add(1, Relaxed) {
                    table if table < tables.tables() => sweep.table(table)?,
                    _ => return Ok(sweep.found),
                }
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(tables.tables());
        std::thread::scope(|scope| {
            // Where there is no thread to be had, the others do it.
            let others: Vec<_> =
                (1..cores).filter_map(|_| Builder::new().spawn_scoped(scope, work).ok()).collect();
            let mut all = work()?;
            for other in others {
                all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            }
            Ok(all)
        })
    }
}

/// One worker's part.
struct Sweep<'a> {
    view: &'a View,
    tables: &'a TableDesign,
    simhashes: &'a [Simhash],
    max_distance: u32,
    found: Vec<Close>,
}

impl Sweep<'_> {
    /// Reads one table.
    fn table(&mut self, table: usize) -> Result<()> {
        let space = Space::simhash(table);
        let mut asked: Vec<(u64, u32)> = (0..)
            .zip(self.simhashes)
            .map(|(number, &simhash)| (self.tables.address(table, simhash).bits(), number))
            .collect();
        asked.sort_unstable();
        let terms: Vec<u64> = asked.iter().map(|asked| asked.0).collect();
        let mut near = 0..0;
        let mut candidates: Vec<(u64, u32)> = Vec::new();
        let view = self.view;
        view.walk(Address::first(space), |stored, id| {
            if stored.space() != space {
                return Ok(false);
            }
            let prefix = self.tables.prefix_of(stored);
            let other = |term: &u64| self.tables.prefix_of(Address::from_bits(*term));
            if terms.get(near.clone()).and_then(|some| some.first()).is_none_or(|term| other(term) != prefix)
            {
                let start = near.end + terms[near.end..].partition_point(|term| other(term) < prefix);
                near = start..start + terms[start..].partition_point(|term| other(term) == prefix);
            }
            let bits = stored.bits();
            let close = |term: u64| within(term ^ bits, self.max_distance);
            if terms[near.clone()].iter().fold(false, |any, &term| any | close(term)) {
                let own = near.clone().filter(|&at| close(terms[at]));
                candidates.extend(own.map(|at| (id, asked[at].1)));
            }
            if candidates.len() >= AT_ONCE {
                self.verify(table, &mut candidates)?;
            }
            Ok(true)
        })?;
        self.verify(table, &mut candidates)
    }

    /// Compares candidates by their records.
    fn verify(&mut self, table: usize, candidates: &mut Vec<(u64, u32)>) -> Result<()> {
        candidates.sort_unstable();
        for some in candidates.chunk_by(|a, b| a.0 == b.0) {
            let content = ContentId(some[0].0);
            let (stored, founder) =
                self.view.content(content, |record| Ok((record.simhash, DocId(record.founder))))?;
            let lacks =
                || Error::corrupt(format!("content {content}"), "it is indexed by a simhash it has not");
            let stored = Simhash(stored.ok_or_else(lacks)?);
            let mut id = None;
            for &(_, number) in some {
                let asked = self.simhashes[number as usize];
                let hamming = asked.distance(stored);
                if hamming > self.max_distance || self.tables.first_shared(asked, stored) != Some(table) {
                    continue;
                }
                let id = match id {
                    Some(id) => id,
                    None => {
                        let holder = Reader::holders(self.view, content, founder, |holders| holders.min())?;
                        *id.insert(holder.map_or(founder, DocId))
                    }
                };
                self.found.push(Close { asked: number as usize, id, hamming });
            }
        }
        candidates.clear();
        Ok(())
    }
}

/// Whether at most so many bits are set: without counting them, which takes longer where there is no instruction for it.
fn within(mut bits: u64, most: u32) -> bool {
    for _ in 0..most {
        bits &= bits.wrapping_sub(1);
    }
    bits == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Document, Measure, Options, Params, Policy, Query};
    use crate::id::ContentHash;
    use crate::sketch::Sketch;
    use crate::text::rabin::mix;

    /// A simhash near one of few, so that many are close to each other.
    fn simhash(number: u64) -> Simhash {
        let flips = (0..mix(number) % 4).fold(0, |flips, i| flips | 1 << (mix(number << 3 | i) % 64));
        Simhash(mix(number % 97) ^ flips)
    }

    #[test]
    fn a_sweep_finds_what_queries_find() {
        for tables in [4, 10, 16] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("lean.sketchdb");
            let keep_sketches = "simhash".parse().unwrap();
            let params = Params { keep_sketches, hamming_tables: tables, ..Params::default() };
            Database::create(&path, &params).unwrap();
            let options = Options { flush_contents: 300, ..Options::default() };
            let db = Database::open(&path, options).unwrap();
            let blank = db.sketch("").unwrap();
            let sketch = |number: u64| {
                let hash = ContentHash([mix(number).to_le_bytes(), [7; 8]].concat().try_into().unwrap());
                Sketch { hash, simhash: Some(simhash(number)), ..blank.clone() }
            };
            for numbers in [0..700u64, 700..1000] {
                let document =
                    |number| Document { key: format!("{number}"), sketch: sketch(number), seen_at: None };
                db.add_batch(numbers.map(document).collect(), Policy::Everything).unwrap();
            }
            db.remove(["5", "102", "999"]).unwrap();
            let asked: Vec<Simhash> = (2000..2300).map(simhash).collect();
            for distance in [0, 1, 3] {
                let mut swept: Vec<(usize, u64, u32)> = db
                    .sweep(&asked, distance)
                    .unwrap()
                    .iter()
                    .map(|c| (c.asked, c.id.0, c.hamming))
                    .collect();
                swept.sort_unstable();
                let query = Query { by: Some(Measure::Hamming(distance)), ..Query::default() };
                let mut queried = Vec::new();
                for (number, &simhash) in asked.iter().enumerate() {
                    let sketch = Sketch { simhash: Some(simhash), ..blank.clone() };
                    let answer = db.query(&sketch, &query).unwrap();
                    queried.extend(answer.matches.iter().map(|m| (number, m.id.0, m.hamming.unwrap())));
                }
                queried.sort_unstable();
                assert!(queried.len() > 100, "{}", queried.len());
                assert_eq!(swept, queried, "{tables} tables, distance {distance}");
            }
            assert!(db.sweep(&asked, 4).is_err());
        }
    }

    #[test]
    fn bits_are_counted_without_counting() {
        for number in 0..5000u64 {
            let bits = mix(number) & mix(number ^ 1 << 40) & mix(number ^ 1 << 41) & mix(number ^ 1 << 42);
            for most in 0..8 {
                assert_eq!(within(bits, most), bits.count_ones() <= most);
            }
        }
    }
}
