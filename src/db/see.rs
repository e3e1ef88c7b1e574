//! `see`: pages that were seen again, of which nobody has the text.

use super::add::{Added, Durability, Verdict, check_key};
use super::batch::Batch;
use super::database::{Database, jobs};
use super::reader::Reader;
use super::writer::Begun;
use crate::error::Result;

/// A page that was seen again and found to be the same as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The document's key.
    pub key: String,
    /// The key of another document that it is the same as.
    pub of: Option<String>,
    /// When it was seen, in seconds since 1970.
    pub seen_at: Option<u64>,
}

/// Visits on their way into a database.
#[must_use = "nothing is durable before it was waited for"]
pub struct Seeing<'d> {
    db: &'d Database,
    begun: Vec<Begun<Vec<Option<Added>>>>,
}

impl Seeing<'_> {
    /// What each visit was of, in order, once all are durable; `None` of what is not stored.
    pub fn wait(self) -> Result<Vec<Option<Added>>> {
        let mut all = Vec::new();
        for begun in self.begun {
            all.extend(self.db.end(begun)?);
        }
        Ok(all)
    }
}

impl Database {
    /// Begins to move the last-seen time of each document forward, or, when it is not stored, that of the one it is the same
    /// as, after all that was begun before. The verdict is [`Verdict::Unchanged`] of the first, [`Verdict::Exact`] of the
    /// second, whose copy is not stored.
    pub fn see_later(&self, visits: Vec<Visit>) -> Result<Seeing<'_>> {
        visits
            .iter()
            .flat_map(|visit| visit.of.iter().chain([&visit.key]))
            .try_for_each(|key| check_key(key))?;
        let begin = |job: Vec<Visit>| {
            self.begin(job.len(), false, Durability::Durable, move |batch| {
                job.iter().map(|visit| batch.visit(visit)).collect()
            })
        };
        let begun = jobs(visits, |_| 1).into_iter().map(begin).collect::<Result<_>>()?;
        Ok(Seeing { db: self, begun })
    }
}

impl Batch<'_> {
    fn visit(&mut self, visit: &Visit) -> Result<Option<Added>> {
        if let Some((id, state)) = self.find_document(&visit.key)? {
            self.see(id, &state, visit.seen_at);
            return Ok(Some(Added::unchanged(id, self.cluster(state.content)?)));
        }
        let Some(of) = &visit.of else { return Ok(None) };
        let Some((id, state)) = self.find_document(of)? else { return Ok(None) };
        self.see(id, &state, visit.seen_at);
        Ok(Some(Added {
            id: None,
            verdict: Verdict::Exact,
            of: Some(of.clone()),
            resemblance: Some(1.0),
            containment: None,
            cluster: Some(self.cluster(state.content)?),
            bounded: false,
        }))
    }
}
