//! Documents that come with their sketches and their history: those of other databases.

use super::batch::Batch;
use super::keep::Likeness;
use super::query::Accept;
use super::reader::Reader;
use crate::error::Result;
use crate::id::ContentId;
use crate::sketch::Sketch;
use crate::sketch::params::SketchParamsId;
use crate::store::document::StoredDocument;
use crate::store::record::Times;
use crate::store::view::View;

/// A document of another database.
#[derive(Clone, Debug)]
pub(super) struct Restored {
    pub key: String,
    pub sketch: Sketch,
    pub times: Times,
}

/// What became of it, and whether the search for its near duplicates was bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TakenOver {
    pub outcome: Outcome,
    pub bounded: bool,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Added,
    /// The key was there, and this one was seen later.
    Updated,
    /// The key was there, with the same text or seen later.
    Kept,
}

impl Restored {
    /// A living document with the sketches of its content.
    pub fn of(view: &View, params: SketchParamsId, document: StoredDocument) -> Result<Self> {
        let sketch = view.content(document.content, |record| Sketch::of_record(params, record))?;
        Ok(Restored { key: document.key, sketch, times: document.times })
    }
}

impl Batch<'_> {
    /// Takes a document over. Of a key that is there, the text that was seen last stays, of two seen at one time the one with
    /// the greater hash: the same, whichever database is merged into the other. Near duplicates are looked for as when a document is
    /// added: before it is stored, so that it does not meet itself.
    pub(super) fn restore(&mut self, restored: &Restored) -> Result<TakenOver> {
        let Restored { key, sketch, times } = restored;
        let own = self.find_document(key)?;
        let same = self.find_content(&sketch.hash)?;
        let kept = TakenOver { outcome: Outcome::Kept, bounded: false };
        let near = |batch: &Self| match same {
            Some(_) => Ok(None),
            None => batch.near(sketch, Likeness::of(batch.params), Accept::Estimate).map(Some),
        };
        let (outcome, content, near) = match own {
            Some((id, state)) if same.is_some_and(|same| same.0 == state.content) => {
                self.set_times(id, &state, state.times.with_same_text(*times));
                return Ok(kept);
            }
            Some((id, state)) => {
                let own = (state.times.last_seen, self.content(state.content, |record| Ok(record.hash))?);
                if own > (times.last_seen, sketch.hash.0) {
                    self.set_times(id, &state, state.times.in_place_of(*times));
                    return Ok(kept);
                }
                let (near, times) = (near(self)?, times.in_place_of(state.times));
                (Outcome::Updated, self.update(id, &state, sketch, same, times)?, near)
            }
            None => {
                let near = near(self)?;
                (Outcome::Added, self.insert(key, sketch, same, *times)?.1, near)
            }
        };
        let mut bounded = false;
        if let Some((candidates, alike)) = near {
            let alike: Vec<ContentId> = alike.iter().map(|measures| measures.content).collect();
            self.form(content, sketch, &alike, &candidates)?;
            bounded = candidates.bounded;
        }
        self.counters.bounded += u64::from(bounded);
        Ok(TakenOver { outcome, bounded })
    }
}
