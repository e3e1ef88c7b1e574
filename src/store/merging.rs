//! Adjacent runs → one run, in slices that belong to one commit each.
//!
//! How far a merge has come is part of the run's record, written in the same commit as the slice's blocks: a merge goes on
//! where it was after a restart, and no commit waits for a whole one. Postings of dead contents and of removed documents
//! are left behind.

use super::commit::Commit;
use super::flush::number_width;
use super::record::{Counters, Input, MOST_IDS, RunRecord};
use super::run::{FilterBudget, OpenRun, Run};
use super::view::{Unfinished, View};
use crate::error::{Error, Result};
use crate::index::block::Entry;
use crate::index::run::{Cursor, Directory, Position, RunBuilder};
use crate::index::term::{Prefixes, Space};
use crate::index::tier;
use std::ops::Range;
use std::sync::Arc;

/// A merge under way.
pub(crate) struct Merging {
    number: u64,
    record: RunRecord,
    inputs: Vec<(u64, Cursor)>,
    builder: RunBuilder,
}

/// What a finished merge puts in place of its inputs.
pub(crate) struct Merged {
    pub run: Arc<Run>,
    /// Numbers of the runs that are gone.
    pub inputs: Vec<u64>,
}

impl Merging {
    /// The merge that the tiers call for, if any.
    pub fn plan(runs: &[Arc<Run>], prefixes: Prefixes, counters: &mut Counters) -> Option<Self> {
        Self::next(runs).map(|range| Self::begin(runs, range, prefixes, counters))
    }

    /// The runs that the tiers would have merged next.
    pub fn next(runs: &[Arc<Run>]) -> Option<Range<usize>> {
        let levels: Vec<u32> = runs.iter().map(|run| run.record.level).collect();
        tier::next_merge(&levels, |range| {
            let (first, last) = (&runs[range.start].record, &runs[range.end - 1].record);
            let spans = [(first.contents.0, last.contents.1), (first.documents.0, last.documents.1)];
            spans.iter().all(|(from, to)| to - from <= MOST_IDS)
        })
    }

    fn begin(runs: &[Arc<Run>], range: Range<usize>, prefixes: Prefixes, counters: &mut Counters) -> Self {
        let inputs = &runs[range];
        let (first, last) = (&inputs[0].record, &inputs[inputs.len() - 1].record);
        let contents = (first.contents.0, last.contents.1);
        let documents = (first.documents.0, last.documents.1);
        let number = counters.next_run;
        counters.next_run += 1;
        Merging {
            number,
            record: RunRecord::empty(first.level + 1, contents, documents),
            inputs: inputs
                .iter()
                .map(|run| (run.number, Cursor::new(Position::default(), run.directory.blocks() as u32)))
                .collect(),
            builder: RunBuilder::new(number_width(contents, documents), prefixes, Directory::default()),
        }
    }

    /// Goes on with a merge that was under way when the file was closed.
    pub fn resume(unfinished: Unfinished, runs: &[OpenRun], prefixes: Prefixes) -> Result<Self> {
        let Unfinished { number, record, directory } = unfinished;
        check_inputs(number, &record, runs)?;
        check_positions(number, &record, runs)?;
        let inputs = record.building.iter().flatten().map(|input| {
            let run = find(runs, input.run)?;
            Ok((input.run, Cursor::new(input.position(), run.run.directory.blocks() as u32)))
        });
        Ok(Merging {
            inputs: inputs.collect::<Result<_>>()?,
            builder: RunBuilder::new(number_width(record.contents, record.documents), prefixes, directory),
            number,
            record,
        })
    }

    /// Merges up to `budget` entries; the new run when that was the rest.
    pub fn slice(
        &mut self,
        budget: u64,
        view: &View,
        commit: &Commit,
        filters: &Arc<FilterBudget>,
    ) -> Result<Option<Merged>> {
        let sources: Vec<&OpenRun> =
            self.inputs.iter().map(|(number, _)| find(&view.runs, *number)).collect::<Result<_>>()?;
        let Merging { number, record, inputs, builder } = self;
        let firsts = (record.contents.0, record.documents.0);
        let finished = commit.write_run(*number, |rows| {
            let mut finished = true;
            let heads =
                inputs.iter_mut().zip(&sources).map(|(input, source)| head(&mut input.1, source, firsts));
            let mut heads: Vec<Option<Entry>> = heads.collect::<Result<_>>()?;
            for merged in 0.. {
                let Some((least, entry)) = least(&heads) else { break };
                if merged >= budget {
                    finished = false;
                    break;
                }
                inputs[least].1.advance();
                heads[least] = head(&mut inputs[least].1, sources[least], firsts)?;
                let gone = match entry.address.space() {
                    Space::KEYS => view.marks.is_removed(record.documents.0 + u64::from(entry.number)),
                    _ => view.marks.is_dead(record.contents.0 + u64::from(entry.number)),
                };
                if !gone {
                    builder.push(entry, rows)?;
                    record.entries += 1;
                }
            }
            builder.pause(rows)?;
            record.block_bytes += rows.block_bytes;
            record.filter_bytes += rows.filter_bytes;
            Ok(finished)
        })?;
        record.groups = builder.directory().groups() as u32;
        record.building = (!finished).then(|| {
            let at = |(run, cursor): &(u64, Cursor)| {
                let Position { block, entry } = cursor.position();
                Input { run: *run, block, entry }
            };
            inputs.iter().map(at).collect()
        });
        commit.list_run(*number, record)?;
        if !finished {
            return Ok(None);
        }
        let inputs: Vec<u64> = inputs.iter().map(|input| input.0).collect();
        inputs.iter().try_for_each(|&input| commit.unlist_run(input))?;
        let run =
            Run::new(*number, record.clone(), builder.directory().clone(), view.prefixes(), filters.clone());
        Ok(Some(Merged { run: Arc::new(run), inputs }))
    }

    /// Entries still to be read, at most.
    pub fn remaining(&self, runs: &[OpenRun]) -> Result<u64> {
        let mut rest = 0;
        for (number, cursor) in &self.inputs {
            let run = &find(runs, *number)?.run;
            let blocks = run.directory.blocks().max(1) as u64;
            rest += run.record.entries * blocks.saturating_sub(u64::from(cursor.position().block)) / blocks;
        }
        Ok(rest)
    }
}

/// A merge must read adjacent runs, all of them, and be of the ranges that they are of.
fn check_inputs(number: u64, record: &RunRecord, runs: &[OpenRun]) -> Result<()> {
    let inputs: Vec<u64> = record.building.iter().flatten().map(|input| input.run).collect();
    let first = runs.iter().position(|run| Some(&run.run.number) == inputs.first());
    let read = first.and_then(|first| runs.get(first..first + inputs.len())).unwrap_or_default();
    let same = read.iter().map(|run| run.run.number).eq(inputs);
    let spans = read.first().zip(read.last()).is_some_and(|(first, last)| {
        let (first, last) = (&first.run.record, &last.run.record);
        record.contents == (first.contents.0, last.contents.1)
            && record.documents == (first.documents.0, last.documents.1)
    });
    match same && spans {
        true => Ok(()),
        false => Err(Error::corrupt(
            format!("run {number}"),
            "what it is merged from is not there, or not adjacent",
        )),
    }
}

/// A merge has read all that comes before some address and nothing behind it: what was read of one input is not above
/// what comes next in another.
fn check_positions(number: u64, record: &RunRecord, runs: &[OpenRun]) -> Result<()> {
    let wrong =
        || Error::corrupt(format!("run {number}"), "it was merged to places that do not fit together");
    let (mut read, mut next) = (None, None);
    for input in record.building.iter().flatten() {
        let source = find(runs, input.run)?;
        let blocks = source.run.directory.blocks() as u32;
        // Behind its last block a cursor stands at no entry.
        if input.block > blocks || (input.block == blocks && input.entry > 0) {
            return Err(wrong());
        }
        let mut cursor = Cursor::new(input.position(), blocks);
        let ahead = cursor.peek(source)?.map(|entry| entry.address);
        next = [next, ahead].into_iter().flatten().min();
        let behind = match (input.block, input.entry) {
            (0, 0) => None,
            (block, 0) => source.last_of(block - 1)?,
            (block, entry) => Cursor::new(Position { block, entry: entry - 1 }, blocks).peek(source)?,
        };
        read = read.max(behind.map(|entry| entry.address));
    }
    match read.zip(next).is_none_or(|(read, next)| read <= next) {
        true => Ok(()),
        false => Err(wrong()),
    }
}

fn find(runs: &[OpenRun], number: u64) -> Result<&OpenRun> {
    runs.iter()
        .find(|run| run.run.number == number)
        .ok_or_else(|| Error::corrupt(format!("run {number}"), "a merge reads it and it is missing"))
}

/// The next entry of an input, with its number as a run counts whose first content and first document are these.
fn head(cursor: &mut Cursor, source: &OpenRun, firsts: (u64, u64)) -> Result<Option<Entry>> {
    let Some(entry) = cursor.peek(source)? else { return Ok(None) };
    let first = if entry.address.space() == Space::KEYS { firsts.1 } else { firsts.0 };
    Ok(Some(Entry { number: (source.id(entry)? - first) as u32, ..entry }))
}

/// The input with the least next entry, and that entry.
fn least(heads: &[Option<Entry>]) -> Option<(usize, Entry)> {
    let mut least: Option<(usize, Entry)> = None;
    for (index, head) in heads.iter().enumerate() {
        // Of equal addresses the one of the earlier run comes first: its ids are lower.
        if let Some(entry) = head.filter(|entry| least.is_none_or(|least| entry.address < least.1.address)) {
            least = Some((index, entry));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::term::Address;

    #[test]
    fn of_equal_addresses_the_earlier_run_comes_first() {
        let head = |address, number| Some(Entry { address: Address::from_bits(address), number });
        let next = |heads: &[Option<Entry>]| least(heads).map(|(input, entry)| (input, entry.number));
        // Ids of a later run are higher, whatever order they would have by themselves.
        assert_eq!(next(&[head(7, 9), head(7, 1), head(7, 5)]), Some((0, 9)));
        assert_eq!(next(&[None, head(8, 1), head(7, 3), head(7, 2)]), Some((2, 3)));
        assert_eq!(next(&[head(9, 1), head(7, 1)]), Some((1, 1)));
        assert_eq!(next(&[None, None]), None);
    }
}
