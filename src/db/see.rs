//! `see`: pages that were seen again, of which nobody has the text.

use super::add::{AddOptions, Added, Document, check_key};
use super::batch::Batch;
use super::database::{Database, jobs};
use super::reader::Reader;
use super::writer::Begun;
use crate::error::Result;
use crate::sketch::Sketch;

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
    /// Begins to move the last-seen time of each document forward; one that is not stored is added with the text of the one
    /// it is the same as. All this after what was begun before, and as if the texts had come.
    pub fn see_later(&self, visits: Vec<Visit>, options: impl Into<AddOptions>) -> Result<Seeing<'_>> {
        let options = options.into();
        options.check(self.params())?;
        visits
            .iter()
            .flat_map(|visit| visit.of.iter().chain([&visit.key]))
            .try_for_each(|key| check_key(key))?;
        let begin = |job: Vec<Visit>| {
            self.begin(job.len(), false, options.durability, move |batch| {
                job.into_iter().map(|visit| batch.visit(visit, options)).collect()
            })
        };
        let begun = jobs(visits, |_| 1).into_iter().map(begin).collect::<Result<_>>()?;
        Ok(Seeing { db: self, begun })
    }
}

impl Batch<'_> {
    fn visit(&mut self, visit: Visit, options: AddOptions) -> Result<Option<Added>> {
        let Visit { key, of, seen_at } = visit;
        if let Some((id, state)) = self.find_document(&key)? {
            self.see(id, &state, seen_at);
            return Ok(Some(Added::unchanged(id, self.cluster(state.content)?)));
        }
        let Some(of) = of else { return Ok(None) };
        let Some((_, state)) = self.find_document(&of)? else { return Ok(None) };
        let sketch = self.content(state.content, Sketch::of_record)?;
        self.add(&Document { key, sketch, seen_at }, options).map(Some)
    }
}
