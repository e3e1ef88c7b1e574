//! `see`: pages that were seen again, of which nobody has the text.

use super::add::{AddOptions, Added, Document, check_key, check_time};
use super::batch::Batch;
use super::database::{Database, jobs};
use super::evidence::Acceptance;
use super::reader::Reader;
use super::writer::Begun;
use crate::error::Result;
use crate::sketch::Sketch;
use std::time::Instant;

/// A page that was seen again and found to be the same as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The document's key.
    pub key: String,
    /// The key of the document that it is the same as; its own when none is named.
    pub of: Option<String>,
    /// When that one was seen with the text that is meant, in seconds since 1970.
    pub of_date: Option<u64>,
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
    /// What each page is to the others, in order, once all are durable, unless they were to be buffered; `None` of one whose text
    /// is not stored.
    pub fn wait(self) -> Result<Vec<Option<Added>>> {
        let began = Instant::now();
        let mut all: Vec<Option<Added>> = Vec::new();
        for begun in self.begun {
            all.extend(self.db.end(begun)?);
        }
        self.db.counts().answered(all.iter().flatten(), began.elapsed());
        Ok(all)
    }
}

impl Database {
    /// Begins to add each page with the text of the document that it is the same as, after all that was begun before, and as if the
    /// text had come. What is not stored is not added, nor what is the same as a text of another document that was replaced
    /// since.
    pub fn see_later(&self, visits: Vec<Visit>, options: impl Into<AddOptions>) -> Result<Seeing<'_>> {
        let options = options.into();
        options.check(self.params())?;
        self.view().counters.check_room()?;
        visits
            .iter()
            .flat_map(|visit| visit.of.iter().chain([&visit.key]))
            .try_for_each(|key| check_key(key))?;
        visits.iter().try_for_each(|visit| check_time(visit.seen_at))?;
        let begin = |job: Vec<Visit>| {
            self.begin(job.len(), false, options.durability, move |batch| {
                job.into_iter().map(|visit| batch.visit(visit, options)).collect()
            })
        };
        let begun = jobs(visits).into_iter().map(begin).collect::<Result<_>>()?;
        Ok(Seeing { db: self, begun })
    }
}

impl Batch<'_> {
    fn visit(&mut self, visit: Visit, options: AddOptions) -> Result<Option<Added>> {
        let Visit { key, of, of_date, seen_at } = visit;
        let own = self.find_document(&key)?;
        let meant = match of.filter(|of| *of != key) {
            None => own,
            Some(of) => self.find_document(&of)?.filter(|(_, other)| {
                other.times.has_text_of(of_date) || own.is_some_and(|(_, own)| own.content == other.content)
            }),
        };
        let Some((_, state)) = meant else { return Ok(None) };
        let sketch = self.content(state.content, |record| Sketch::of_record(self.sketch_params(), record))?;
        self.add(&Document { key, sketch, seen_at }, options, Acceptance::default()).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::database::Options;
    use crate::db::params::Params;

    #[test]
    fn visits_count_as_documents_that_were_given_a_verdict() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.sketchdb");
        Database::create(&path, &Params::default()).unwrap();
        let db = Database::open(&path, Options::default()).unwrap();
        db.add("a", "one text").unwrap();
        let visit = |key: &str, of: &str| Visit {
            key: key.into(),
            of: Some(of.into()),
            of_date: None,
            seen_at: Some(1),
        };
        let visits = vec![visit("a", "a"), visit("b", "a"), visit("c", "none")];
        let told = db.see_later(visits, AddOptions::default()).unwrap().wait().unwrap();
        assert_eq!(told.iter().flatten().count(), 2);
        let activity = db.activity();
        assert_eq!((activity.new, activity.unchanged, activity.exact), (1, 1, 1));
    }
}
