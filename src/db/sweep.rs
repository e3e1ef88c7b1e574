//! Many simhashes looked for at once: the records of the contents are read once from end to end beside tables of those asked for
//! ([`Batch`]), so that nothing is looked up.

use super::database::Database;
use crate::error::{Error, Result};
use crate::id::{ContentId, DocId};
use crate::index::batch::{Batch, Near, Plan};
use crate::sketch::Simhash;
use crate::store::view::View;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::Builder;

/// Numbers of contents that are read at a time: their simhashes stay in the caches of a core while table after table is asked.
const PIECE: u64 = 1 << 15;

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

/// What a sweep found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// In no particular order, each pair of texts once.
    pub close: Vec<Close>,
    /// How many times all that is stored was read: as often as parts of what was asked for fit into memory.
    pub passes: u64,
}

impl Database {
    /// Finds every stored simhash within `max_distance` (0 to 7, whatever the tables of the file find) of any of many, in one
    /// pass over all that is stored: for some ten thousands and more it is quicker than as many queries. Three
    /// sixteenths of the memory hold what is asked for; where it does not fit, there are several passes.
    pub fn sweep(&self, simhashes: &[Simhash], max_distance: u32) -> Result<Swept> {
        self.sweep_by(PIECE, simhashes, max_distance)
    }

    fn sweep_by(&self, piece: u64, simhashes: &[Simhash], max_distance: u32) -> Result<Swept> {
        self.params().check_kept("a sweep by Hamming distance", self.params().keep_sketches.simhash)?;
        let plan = Plan::new(max_distance, simhashes.len(), self.memory() / 16 * 3)?;
        let view = self.view();
        let mut swept = Swept::default();
        for (first, some) in (0..).step_by(plan.at_once).zip(simhashes.chunks(plan.at_once)) {
            swept.passes += 1;
            let batch = Batch::new(&plan, some, max_distance);
            swept.close.extend(pass(&view, piece, &batch, first)?);
        }
        Ok(swept)
    }
}

/// Reads all that is stored once, for a part of what is asked for that begins with number `first`.
fn pass(view: &View, piece: u64, batch: &Batch, first: usize) -> Result<Vec<Close>> {
    let next = AtomicU64::new(0);
    let work = || {
        let mut pass = Pass { view, batch, first, stored: Stored::default(), close: Vec::new() };
        loop {
            match next.fetch_add(piece, Relaxed) {
                start if start < view.counters.next_content => pass.piece(start..start + piece)?,
                _ => return Ok(pass.close),
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        // Where there is no thread to be had, the others do it.
        let others: Vec<_> =
            (1..cores).filter_map(|_| Builder::new().spawn_scoped(scope, work).ok()).collect();
        let mut all: Vec<Close> = work()?;
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok::<_, Error>(all)
    })
}

/// One worker's part of a pass.
struct Pass<'a> {
    view: &'a View,
    batch: &'a Batch,
    first: usize,
    stored: Stored,
    close: Vec<Close>,
}

/// The living contents of a piece that have a simhash, with what is near them.
#[derive(Default)]
struct Stored {
    simhashes: Vec<u64>,
    contents: Vec<ContentId>,
    found: Vec<(u32, u32)>,
    near: Vec<Near>,
}

impl Pass<'_> {
    /// Reads the contents of these numbers.
    fn piece(&mut self, ids: Range<u64>) -> Result<()> {
        let Pass { view, batch, first, stored, close } = self;
        stored.simhashes.clear();
        stored.contents.clear();
        stored.near.clear();
        view.simhashes_of(ids, |content, simhash| {
            stored.simhashes.push(simhash);
            stored.contents.push(content);
        })?;
        batch.near(&stored.simhashes, &mut stored.found, &mut stored.near);
        stored.near.sort_unstable();
        for near in stored.near.chunk_by(|a, b| a.stored == b.stored) {
            let content = stored.contents[near[0].stored as usize];
            let founder = view.content(content, |record| Ok(DocId(record.founder)))?;
            let id = view.holders(content, founder)?.min().map_or(founder, DocId);
            let told =
                |near: &Near| Close { asked: *first + near.asked as usize, id, hamming: near.distance };
            close.extend(near.iter().map(told));
        }
        Ok(())
    }
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

    fn triples(swept: &Swept) -> Vec<(usize, u64, u32)> {
        let mut triples: Vec<_> = swept.close.iter().map(|c| (c.asked, c.id.0, c.hamming)).collect();
        triples.sort_unstable();
        triples
    }

    #[test]
    fn a_sweep_finds_what_queries_find() {
        for tables in [4, 10, 16, 20] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("lean.sketchdb");
            let keep_sketches = "simhash".parse().unwrap();
            let params = Params { keep_sketches, hamming_tables: tables, ..Params::default() };
            Database::create(&path, &params).unwrap();
            let options = Options { flush_contents: 300, ..Options::default() };
            let db = Database::open(&path, options.clone()).unwrap();
            let blank = db.sketch("").unwrap();
            let hash = |number: u64| [mix(number).to_le_bytes(), [7; 8]].concat().try_into().unwrap();
            let document = |key: u64, number: u64| {
                let sketch = Sketch {
                    hash: ContentHash(hash(number)),
                    simhash: Some(simhash(number)),
                    ..blank.clone()
                };
                Document { key: format!("{key}"), sketch, seen_at: None }
            };
            // The last hundred are copies: of what two hold, the first goes.
            for numbers in [0..700u64, 700..1000, 1000..1100] {
                let documents = numbers.map(|number| document(number, number % 1000)).collect();
                db.add_batch(documents, Policy::Everything).unwrap();
            }
            db.add_batch(vec![document(200, 5000)], Policy::Everything).unwrap();
            db.remove(["5", "102", "999"]).unwrap();
            let asked: Vec<Simhash> = (2000..5300).map(simhash).collect();
            let mut queried = [0, 1, 3].map(|distance| {
                let query = Query { by: Some(Measure::Hamming(distance)), ..Query::default() };
                let mut queried = Vec::new();
                for (number, &simhash) in asked.iter().enumerate() {
                    let sketch = Sketch { simhash: Some(simhash), ..blank.clone() };
                    let answer = db.query(&sketch, &query).unwrap();
                    queried.extend(answer.matches.iter().map(|m| (number, m.id.0, m.hamming.unwrap())));
                }
                queried.sort_unstable();
                assert!(queried.len() > 100, "{}", queried.len());
                (distance, queried)
            });
            db.close().unwrap();
            for (memory, passes) in [(64 << 20, 1), (1 << 10, 4)] {
                let db = Database::open(&path, Options { memory, read_only: true, ..options.clone() });
                let db = db.unwrap();
                for (distance, queried) in &mut queried {
                    for piece in [PIECE, 100, 7] {
                        let swept = db.sweep_by(piece, &asked, *distance).unwrap();
                        assert_eq!(swept.passes, passes);
                        let name =
                            format!("{tables} tables, distance {distance}, {memory} bytes, by {piece}");
                        assert_eq!(triples(&swept), *queried, "{name}");
                    }
                }
                assert!(db.sweep(&asked, 8).is_err());
            }
        }
    }
}
