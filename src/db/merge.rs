//! `merge`: the documents of one database into another.

use super::copy::Progress;
use super::database::Database;
use super::restore::{Outcome, Restored, TakenOver};
use crate::error::Result;

/// Documents that are taken over in one commit.
const AT_ONCE: usize = 4096;

/// What became of the documents of the other database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Keys that were not there.
    pub added: u64,
    /// Keys that were there with another text, which had been seen earlier: they hold the other's text now.
    pub updated: u64,
    /// Keys that were there with the same text, or with one that was seen later.
    pub kept: u64,
    /// Of the texts that are new here, those for which a term shared by too many contents was not followed to its end: they may
    /// lack near duplicates in their clusters. [`Stats::bounded`](super::Stats::bounded) counts them too.
    pub bounded: u64,
}

impl Database {
    /// Takes over the documents of a database with the same parameters. Of a key that both have, the text that was seen last
    /// stays, of two texts seen at the same time the one with the greater content hash, so that it does not matter which of the
    /// two is merged into the other; the key was first seen at the earlier time of both. Numbers are given anew; what is
    /// alike across both joins clusters. When this is cancelled, what was taken over stays, and merging again goes on.
    pub fn merge(&self, from: &Database, progress: Progress) -> Result<Merged> {
        self.params().check_same(from.params())?;
        let view = from.view();
        let mut merged = Merged::default();
        let (mut waiting, mut done) = (Vec::new(), 0);
        view.living_documents(0, |_, document| {
            waiting.push(Restored::of(&view, from.sketch_params(), document)?);
            if waiting.len() >= AT_ONCE {
                self.cancel().check()?;
                done += waiting.len() as u64;
                self.take_over(std::mem::take(&mut waiting), &mut merged)?;
                progress("merge", done, view.counters.documents);
            }
            Ok(true)
        })?;
        self.take_over(waiting, &mut merged)?;
        Ok(merged)
    }

    fn take_over(&self, some: Vec<Restored>, merged: &mut Merged) -> Result<()> {
        self.view().counters.check_room()?;
        let outcomes = self.commit(some.len(), false, move |batch| {
            some.iter().map(|restored| batch.restore(restored)).collect::<Result<Vec<TakenOver>>>()
        })?;
        for TakenOver { outcome, bounded } in outcomes {
            merged.bounded += u64::from(bounded);
            match outcome {
                Outcome::Added => merged.added += 1,
                Outcome::Updated => merged.updated += 1,
                Outcome::Kept => merged.kept += 1,
            }
        }
        Ok(())
    }
}
