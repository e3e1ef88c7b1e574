//! Documents that come with their sketches and their history: those of other databases.

use super::batch::{Batch, Seen};
use super::keep::Likeness;
use super::reader::Reader;
use crate::error::Result;
use crate::id::ContentId;
use crate::sketch::Sketch;
use crate::store::document::StoredDocument;
use crate::store::view::View;

/// A document of another database.
#[derive(Clone, Debug)]
pub(super) struct Restored {
    pub key: String,
    pub sketch: Sketch,
    pub seen: Seen,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Added,
    /// The key was there, and this one was seen later.
    Updated,
    /// The key was there, with the same text or seen as late.
    Kept,
}

impl Restored {
    /// A living document with the sketches of its content.
    pub fn of(view: &View, document: StoredDocument) -> Result<Self> {
        let sketch = view.content(document.content, Sketch::of_record)?;
        let seen = Seen { first: document.first_seen, last: document.last_seen };
        Ok(Restored { key: document.key, sketch, seen })
    }
}

impl Batch<'_> {
    /// Takes a document over, unless its key is there and was seen as late.
    pub(super) fn restore(&mut self, restored: &Restored) -> Result<Outcome> {
        let Restored { key, sketch, seen } = restored;
        let own = self.find_document(key)?;
        let same = self.find_content(&sketch.hash)?;
        let (outcome, content) = match own {
            Some((id, state)) if same.is_some_and(|same| same.0 == state.content) => {
                self.see(id, &state, seen.last);
                return Ok(Outcome::Kept);
            }
            Some((_, state)) if seen.last <= state.last_seen => return Ok(Outcome::Kept),
            Some((id, state)) => (Outcome::Updated, self.update(id, &state, sketch, same, seen.last)?),
            None => (Outcome::Added, self.insert(key, sketch, same, *seen)?.1),
        };
        if same.is_none() {
            let likeness = Likeness::of(self.params);
            let (candidates, alike) = self.near(sketch, likeness)?;
            let alike: Vec<ContentId> =
                alike.iter().map(|measures| measures.content).filter(|&other| other != content).collect();
            self.form(content, sketch, &alike, &candidates)?;
        }
        Ok(outcome)
    }
}
