//! `add`: what a document is to those already stored, and the storing of it.

use super::batch::Batch;
use super::candidate::{self, Measures};
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::{ContentId, DocId};
use crate::sketch::Sketch;

/// A document to add.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its name: UTF-8 of 1 to 4,096 bytes. Adding a key again updates the document.
    pub key: String,
    /// The sketch of its text, made with the parameters of the database.
    pub sketch: Sketch,
    /// When it was seen, in seconds since 1970. Times never go back; the library never asks a clock.
    pub seen_at: Option<u64>,
}

/// What of the documents given is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Every document.
    #[default]
    Everything,
    /// Documents whose verdict is new or updated. Of the others, the document that they duplicate is noted as seen.
    OnlyNew,
}

/// What a document is to those stored before it: the first of these that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Same key, same text.
    Unchanged,
    /// Same key, other text.
    Updated,
    /// The same text under another key.
    Exact,
    /// A resemblance of at least the threshold to another document.
    Near,
    /// None of these.
    New,
}

impl Verdict {
    /// The verdict in one word, lowercase.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Unchanged => "unchanged",
            Verdict::Updated => "updated",
            Verdict::Exact => "exact",
            Verdict::Near => "near",
            Verdict::New => "new",
        }
    }
}

/// The answer to one added document.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// The document, `None` when the policy did not store it.
    pub id: Option<DocId>,
    /// What it is to the others.
    pub verdict: Verdict,
    /// The other document that holds the same text, else the one it resembles most.
    pub of: Option<String>,
    /// The estimated resemblance to that document; 1 for the same text.
    pub resemblance: Option<f64>,
    /// Whether a term shared by too many contents was not followed to its end.
    pub bounded: bool,
}

/// The most bytes of a key.
pub(crate) const KEY_BYTES: usize = 4096;

/// Keys are 1 to 4,096 bytes.
pub(crate) fn check_key(key: &str) -> Result<()> {
    match key.len() {
        0 => Err(Error::invalid("an empty key", "a key has 1 to 4,096 bytes")),
        n if n > KEY_BYTES => Err(Error::invalid(
            format!("a key of {n} bytes ({}...)", key.chars().take(40).collect::<String>()),
            "a key has 1 to 4,096 bytes",
        )),
        _ => Ok(()),
    }
}

/// Another document: its id, its resemblance.
type Other = (DocId, f64);

impl Batch<'_> {
    /// Gives the verdict on one document and stores it as the policy says.
    pub fn add(&mut self, document: &Document, policy: Policy, threshold: f64) -> Result<Added> {
        let Document { key, sketch, seen_at } = document;
        let own = self.find_document(key)?;
        let same = self.find_content(&sketch.hash)?;
        if let (Some((id, state)), Some((content, _))) = (&own, same)
            && state.content == content
        {
            self.see(*id, state, *seen_at);
            return Ok(Added {
                id: Some(*id),
                verdict: Verdict::Unchanged,
                of: None,
                resemblance: None,
                bounded: false,
            });
        }
        let own_id = own.as_ref().map(|own| own.0);
        let (other, bounded) = match same {
            Some((content, founder)) => {
                (self.first_holder(content, founder, own_id)?.map(|id| (id, 1.0)), false)
            }
            None => self.most_alike(sketch, threshold, own_id)?,
        };
        self.counters.bounded += u64::from(bounded);
        let verdict = match (&own, same, other) {
            (Some(_), ..) => Verdict::Updated,
            (None, Some(_), _) => Verdict::Exact,
            (None, None, Some(_)) => Verdict::Near,
            (None, None, None) => Verdict::New,
        };
        let of = other.map(|other| self.document(other.0)).transpose()?;
        let stored = policy == Policy::Everything || matches!(verdict, Verdict::New | Verdict::Updated);
        let id = match own {
            _ if !stored => {
                if let (Some((id, _)), Some(state)) = (other, &of) {
                    self.see(id, state, *seen_at);
                }
                None
            }
            Some((id, state)) => self.update(id, &state, sketch, same, *seen_at).map(|()| Some(id))?,
            None => Some(self.insert(key, sketch, same, *seen_at)?),
        };
        let resemblance = other.map(|other| other.1);
        Ok(Added { id, verdict, of: of.map(|of| of.key), resemblance, bounded })
    }

    /// The lowest document but `own` that holds a content.
    fn first_holder(&self, content: ContentId, founder: DocId, own: Option<DocId>) -> Result<Option<DocId>> {
        Ok(self.holders(content, founder)?.iter().map(DocId).find(|&id| Some(id) != own))
    }

    /// The other document of the greatest resemblance that reaches the threshold.
    fn most_alike(
        &self,
        sketch: &Sketch,
        threshold: f64,
        own: Option<DocId>,
    ) -> Result<(Option<Other>, bool)> {
        let candidates = candidate::by_bands(self, self.indexing(), sketch)?;
        let mut accepted: Vec<Measures> = Vec::new();
        for (content, _) in &candidates.list {
            let measures = candidate::measure(self, sketch, *content)?;
            if measures.resemblance.is_some_and(|resemblance| resemblance >= threshold) {
                accepted.push(measures);
            }
        }
        accepted.sort_by(|a, b| {
            b.resemblance.partial_cmp(&a.resemblance).expect("no NaN").then(a.content.cmp(&b.content))
        });
        for measures in accepted {
            let holder = self.first_holder(measures.content, measures.founder, own)?;
            if let Some(other) = holder.zip(measures.resemblance) {
                return Ok((Some(other), candidates.bounded));
            }
        }
        Ok((None, candidates.bounded))
    }
}
