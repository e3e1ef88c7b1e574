//! What a commit does: the work of a group, and upkeep.
//!
//! A commit may also flush the memtable and go on with a merge for a while, in proportion to what was added, so that merges
//! keep up and no commit waits for a whole one. A commit that failed acknowledges nothing and latches the handle: whether
//! it took effect is known only after reopening.

use super::add::Durability;
use super::batch::{Batch, Written};
use super::database::Database;
use super::group::{Failure, GroupCommit, Outcome};
use crate::error::{Error, Result};
use crate::index::memtable::{MOST_NUMBERS, Memtable};
use crate::store::commit::Commit;
use crate::store::flush::flush;
use crate::store::merging::Merging;
use crate::store::remnants::Remnants;
use crate::store::run::Run;
use crate::store::view::View;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The most documents of one commit.
pub(crate) const GROUP: usize = 8192;
/// What a commit may wait for others to share it: a fraction of what it takes itself.
pub(crate) const PATIENCE: Duration = Duration::from_micros(400);
/// A memtable is flushed at this many contents, unless the options say fewer.
pub(crate) const FLUSH_CONTENTS: u64 = 32 * 1024;
/// A memtable is flushed at this many documents: one commit more still fits its numbers.
const FLUSH_DOCUMENTS: u64 = MOST_NUMBERS - GROUP as u64;
/// Entries merged for each entry added: more than the levels that an entry passes through.
const MERGE_FACTOR: u64 = 8;
/// Entries merged in one commit for each entry that it adds: what a commit that flushes left is made up for.
const MOST_FACTOR: u64 = 10;
/// Entries added for each row of a merged run that is dropped: a row has some 900 entries, each of which is merged up to
/// [`MERGE_FACTOR`] times, so that rows go faster than they come.
const ENTRIES_FOR_ROW: u64 = 64;
/// Rows of merged runs that closing waits for: those of the merges that it waits for, and more.
const DROP_ON_CLOSE: u64 = 8192;

/// How much is flushed and merged at a time: everything in proportion to a full memtable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    flush_contents: u64,
}

impl Pace {
    pub fn new(flush_contents: u64) -> Self {
        Pace { flush_contents: flush_contents.clamp(1, FLUSH_CONTENTS) }
    }

    /// A memtable is flushed on close when rebuilding it would take longer than some 50 ms.
    fn flush_on_close(self) -> u64 {
        self.flush_contents.div_ceil(4)
    }

    /// Fewer entries than this are not worth a slice.
    fn least_slice(self) -> u64 {
        self.flush_contents * 3
    }

    /// Entries of unfinished merges that closing waits for: some four full memtables.
    fn merge_on_close(self) -> u64 {
        self.flush_contents * 128
    }
}

/// What is to be done in a commit.
type Work = Box<dyn FnOnce(&mut Batch) -> Result<()> + Send>;

/// Work that waits for a commit.
pub(crate) struct Job {
    weight: usize,
    /// Whether it looks for sample values that the batch added.
    samples: bool,
    durability: Durability,
    work: Work,
}

/// The writer, and what waits for it.
pub(crate) type Commits = GroupCommit<Writer, Job, Error>;

/// Work that was begun: how its commit ends, and what it gives.
pub(crate) struct Begun<T> {
    outcome: Outcome<Error>,
    done: Receiver<T>,
}

impl Failure for Error {
    fn earlier(what: String) -> Self {
        Error::Failed(what)
    }
}

/// What only the holder of the writer's lock touches.
pub(crate) struct Writer {
    pub merging: Option<Merging>,
    /// Entries that may be merged for those added since the last slice.
    credit: u64,
    /// Whether the last commit flushed and left merging out.
    rested: bool,
    /// What is left of merged runs, and how many entries were added since some of it was dropped.
    remnants: Remnants,
    undropped: u64,
}

impl Writer {
    pub fn new(merging: Option<Merging>, remnants: Remnants) -> Self {
        Writer { merging, credit: 0, rested: false, remnants, undropped: 0 }
    }
}

impl Database {
    /// Does work in a commit, together with what other threads want done, and waits until it is durable.
    pub(crate) fn commit<T: Send + 'static>(
        &self,
        weight: usize,
        samples: bool,
        work: impl FnOnce(&mut Batch) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.end(self.begin(weight, samples, Durability::Durable, work)?)
    }

    /// Puts work in the queue for the next commit.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        weight: usize,
        samples: bool,
        durability: Durability,
        work: impl FnOnce(&mut Batch) -> Result<T> + Send + 'static,
    ) -> Result<Begun<T>> {
        if self.is_read_only() {
            return Err(Error::invalid("a database opened read-only", "open it for writing to change it"));
        }
        let (done_in, done) = std::sync::mpsc::channel();
        let work: Work = Box::new(move |batch| {
            // Whoever gave the work may have gone.
            let _ = done_in.send(work(batch)?);
            Ok(())
        });
        Ok(Begun { outcome: self.commits().enqueue(weight, Job { weight, samples, durability, work }), done })
    }

    /// Waits until work is committed.
    pub(crate) fn end<T>(&self, begun: Begun<T>) -> Result<T> {
        self.commits().wait(&begun.outcome, |writer, group| self.commit_group(writer, group))?;
        begun.done.try_recv().map_err(|_| Error::Failed("work was left undone".into()))
    }

    fn commit_group(&self, writer: &mut Writer, group: Vec<Job>) -> Result<()> {
        let view = self.view();
        let samples = group.iter().any(|job| job.samples);
        let weight = group.iter().map(|job| job.weight as u64).sum();
        let durable = group.iter().any(|job| job.durability == Durability::Durable)
            || self.counts().now().buffered + weight >= GROUP as u64;
        let mut batch = Batch::new(&view, self.params(), self.indexing(), samples);
        group.into_iter().try_for_each(|job| (job.work)(&mut batch))?;
        let begin = if durable { Commit::begin } else { Commit::begin_buffered };
        let commit = begin(self.file(), view.counters.epoch)?;
        let written = batch.write(&commit)?;
        let counters = &written.counters;
        let full = counters.next_content - counters.unflushed_content >= self.pace().flush_contents
            || written.memtable.bytes() as u64 >= self.shares().memtable
            || counters.next_document - counters.unflushed_document >= FLUSH_DOCUMENTS;
        self.finish(writer, &view, commit, written, full)?;
        self.counts().committed(weight, durable);
        Ok(())
    }

    /// Flushes when told, merges a little, commits, and shows the new state to readers.
    fn finish(
        &self,
        writer: &mut Writer,
        view: &View,
        commit: Commit,
        written: Written,
        full: bool,
    ) -> Result<()> {
        let Written { mut counters, mut memtable, marks, entries } = written;
        let mut runs: Vec<Arc<Run>> = view.runs.iter().map(|run| run.run.clone()).collect();
        let known = runs.len();
        if full {
            runs.push(flush(&memtable, view.prefixes(), &commit, &mut counters, self.filters())?);
            memtable = Memtable::new(view.prefixes());
        }
        writer.credit += entries * MERGE_FACTOR;
        // Taken out until the commit has succeeded: what a failed one merged is not in the file.
        let mut merging =
            writer.merging.take().or_else(|| Merging::plan(&runs[..known], view.prefixes(), &mut counters));
        if merging.is_none() {
            writer.credit = writer.credit.min(self.pace().least_slice());
        }
        // A commit that flushes is long enough as it is, unless all of them flush.
        let due = writer.credit >= self.pace().least_slice();
        let rests = full && !writer.rested;
        writer.rested = rests;
        if let Some(under_way) = merging.as_mut().filter(|_| due && !rests) {
            let most = (entries * MOST_FACTOR).max(self.pace().least_slice());
            let budget = if entries == 0 { writer.credit } else { writer.credit.min(most) };
            writer.credit -= budget;
            if let Some(merged) = under_way.slice(budget, view, &commit, self.filters())? {
                merging = None;
                let gone = |run: &Arc<Run>| merged.inputs.contains(&run.number);
                runs.iter()
                    .filter(|run| gone(run))
                    .for_each(|run| writer.remnants.push(run.number, run.rows()));
                let at = runs.iter().position(gone).unwrap_or(0);
                runs.retain(|run| !gone(run));
                runs.insert(at, merged.run);
            }
        }
        writer.undropped += entries;
        writer.remnants.drop_some(&commit, writer.undropped / ENTRIES_FOR_ROW)?;
        writer.undropped %= ENTRIES_FOR_ROW;
        commit.finish(&counters)?;
        writer.merging = merging;
        self.show(view.next(self.file(), counters, runs, memtable, marks)?);
        Ok(())
    }

    /// Leaves the file so that opening it is quick: a large memtable flushed, short merges finished, a few rows of merged runs
    /// dropped.
    pub(crate) fn settle(&self) -> Result<()> {
        let mut writer = self.commits().state();
        self.commits().usable()?;
        let view = self.view();
        if view.counters.next_content - view.counters.unflushed_content >= self.pace().flush_on_close() {
            self.step(&mut writer, true)?;
        } else if self.counts().now().buffered > 0 {
            self.step(&mut writer, false)?;
        }
        self.finish_merges(&mut writer)?;
        let rows = writer.remnants.rows();
        if rows == 0 || rows > DROP_ON_CLOSE {
            return Ok(());
        }
        writer.undropped = (rows + 1) * ENTRIES_FOR_ROW;
        self.step(&mut writer, false)
    }

    /// Finishes merges that are short.
    fn finish_merges(&self, writer: &mut Writer) -> Result<()> {
        let most = self.pace().merge_on_close();
        loop {
            let view = self.view();
            let rest = match &writer.merging {
                Some(merging) => merging.remaining(&view.runs)?,
                None if plannable(&view, most) => 0,
                None => return Ok(()),
            };
            if rest > most {
                return Ok(());
            }
            writer.credit = most;
            self.step(writer, false)?;
        }
    }

    /// Marks what is written from now on as newer than whatever was written and not committed before.
    pub(crate) fn begin_epoch(&self) -> Result<()> {
        self.commit(0, false, |batch| {
            batch.counters.epoch = batch.counters.epoch.wrapping_add(1);
            Ok(())
        })
    }

    /// A commit that adds nothing.
    pub(super) fn step(&self, writer: &mut Writer, full: bool) -> Result<()> {
        let view = self.view();
        let commit = Commit::begin(self.file(), view.counters.epoch)?;
        let written = Batch::new(&view, self.params(), self.indexing(), false).write(&commit)?;
        let finished = self.finish(writer, &view, commit, written, full);
        finished.map(|()| self.counts().committed(0, true)).inspect_err(|error| {
            self.commits().fail(error);
        })
    }
}

/// Whether a merge is called for whose inputs have few enough entries to be merged while closing.
fn plannable(view: &View, most: u64) -> bool {
    let runs: Vec<Arc<Run>> = view.runs.iter().map(|run| run.run.clone()).collect();
    Merging::next(&runs)
        .is_some_and(|range| runs[range].iter().map(|run| run.record.entries).sum::<u64>() <= most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::database::Options;
    use crate::db::params::Params;

    #[test]
    fn of_merged_runs_nothing_is_left_when_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("merged.sketchdb");
        Database::create(&path, &Params::default()).unwrap();
        let options = || Options { flush_contents: 20, ..Options::default() };
        let db = Database::open(&path, options()).unwrap();
        for number in 0..400 {
            let text: String = (0..30).map(|word| format!("{number}x{word} ")).collect();
            db.add(format!("{number}"), text).unwrap();
        }
        db.close().unwrap();
        let db = Database::open(&path, options()).unwrap();
        let (view, left) = (db.view(), Remnants::load(&db.file().snapshot().unwrap()).unwrap());
        assert!(view.counters.next_run > 20 && view.runs.len() < 8, "{} runs", view.runs.len());
        assert_eq!(left.rows(), 0);
        assert_eq!(db.verify(true).unwrap().damage, []);
    }

    #[test]
    fn a_run_that_is_gone_gives_the_room_of_its_filters_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("filters.sketchdb");
        Database::create(&path, &Params::default()).unwrap();
        let db = Database::open(&path, Options { flush_contents: 20, ..Options::default() }).unwrap();
        let all = db.filters().left();
        let mut most = 0;
        for number in 0..600 {
            let text: String = (0..30).map(|word| format!("{number}x{word} ")).collect();
            db.add(format!("{number}"), text).unwrap();
            let loaded: usize = db.view().runs.iter().map(|run| run.run.loaded_filters()).sum();
            assert_eq!(db.filters().left() + loaded, all, "after {number}");
            most = most.max(loaded);
        }
        assert!(most > 0 && db.view().counters.next_run > 30, "{most} bytes of filters at most");
    }
}
