//! `add`: what a document is to those already stored, and the storing of it.

use super::batch::Batch;
use super::candidate::{Candidates, Search};
use super::evidence::Acceptance;
use super::keep::Likeness;
use super::measures::{Estimate, Measures};
use super::params::{Params, check_share};
use super::probe::Absent;
use super::query::Accept;
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::{ClusterId, ContentId, DocId};
use crate::sketch::{Interval, Sketch};
use crate::store::record::Times;

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

/// What a verdict stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The document is on the medium: whoever has the verdict may forget the document.
    #[default]
    Durable,
    /// The document is in the database, and may be lost if the process ends without closing it: no acknowledgement.
    /// [`Database::flush`](super::Database::flush) makes all that was added durable; so does any durable addition, and at the
    /// latest the 8,192nd document after the last that did. What is lost is always the newest: a crash leaves
    /// the database as it was at one of its commits.
    Buffered,
}

/// How documents are added.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AddOptions {
    /// What is stored.
    pub policy: Policy,
    /// Give the verdict contained to a document of which at least this share, in (0, 1], is in another for all that its sample
    /// shows: the lower end of the 95 % interval reaches it, and at least 16 sample values tell. So no document is dropped on an
    /// estimate, and the verdict is the same whether it is stored or not.
    pub contained: Option<f64>,
    /// What a verdict stands for.
    pub durability: Durability,
}

impl From<Policy> for AddOptions {
    fn from(policy: Policy) -> Self {
        AddOptions { policy, ..AddOptions::default() }
    }
}

impl AddOptions {
    pub(crate) fn check(&self, params: &Params) -> Result<()> {
        match self.contained {
            None => Ok(()),
            Some(share) => {
                params.check_containment("contained").and_then(|()| check_share("contained", share))
            }
        }
    }
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
    /// Of the share asked for, in another document, by the lower end of the interval; only when asked for.
    Contained,
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
            Verdict::Contained => "contained",
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
    /// How much of the text is in that document, when the verdict is contained.
    pub containment: Option<f64>,
    /// The 95 % interval of that.
    pub containment_interval: Option<Interval>,
    /// How many sample values it is a share of.
    pub values: Option<u64>,
    /// The cluster of the document as it is known then, or of the one named when it was not stored. A cluster that lost a
    /// member is formed anew when it is next read; until then its number stands for all that was in it.
    pub cluster: Option<ClusterId>,
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

/// The last second of the year 9999. What lies beyond is milliseconds, or a clock gone wrong, and would never expire.
pub(crate) const LAST_TIME: u64 = 253_402_300_799;

/// Times are seconds since 1970 up to the year 9999.
pub(crate) fn check_time(seen_at: Option<u64>) -> Result<()> {
    match seen_at.filter(|&time| time > LAST_TIME) {
        None => Ok(()),
        Some(time) => Err(Error::invalid(
            format!("time {time}"),
            format!("times are seconds since 1970, at most {LAST_TIME} (the year 9999)"),
        )),
    }
}

/// Another document, and how alike it is.
#[derive(Clone, Copy, Debug)]
struct Other {
    id: DocId,
    content: ContentId,
    resemblance: Option<f64>,
    /// Of a container.
    containment: Option<Estimate>,
}

/// The other document that a verdict names, and whether the search for it was bounded.
#[derive(Default)]
struct Found {
    near: Option<Other>,
    contained: Option<Other>,
    /// What shares a term with the text, and the near duplicates among it.
    candidates: Candidates,
    alike: Vec<ContentId>,
    bounded: bool,
}

impl Batch<'_> {
    /// Adds documents one after the other.
    pub fn add_all(
        &mut self,
        documents: Vec<Document>,
        options: AddOptions,
        acceptance: Acceptance,
    ) -> Result<Vec<Added>> {
        self.absent = self.look_up(&documents)?;
        let mut add = |document| {
            self.absent.next();
            self.add(&document, options, acceptance)
        };
        let added = documents.into_iter().map(&mut add).collect();
        self.absent = Absent::default();
        added
    }

    /// Gives the verdict on one document and stores it as the options say.
    pub(super) fn add(
        &mut self,
        document: &Document,
        options: AddOptions,
        acceptance: Acceptance,
    ) -> Result<Added> {
        let Document { key, sketch, seen_at } = document;
        let own = self.find_document(key)?;
        let same = self.find_content(&sketch.hash)?;
        if let (Some((id, state)), Some((content, _))) = (&own, same)
            && state.content == content
        {
            self.set_times(*id, state, state.times.seen(*seen_at));
            return Ok(Added::unchanged(*id, self.cluster(content)?));
        }
        let own_id = own.as_ref().map(|own| own.0);
        let found = self.find_other(sketch, same, own_id, options.contained, acceptance)?;
        self.counters.bounded += u64::from(found.bounded);
        let verdict = match (&own, same) {
            (Some(_), _) => Verdict::Updated,
            (None, Some(_)) => Verdict::Exact,
            (None, None) if found.near.is_some() => Verdict::Near,
            (None, None) if found.contained.is_some() => Verdict::Contained,
            (None, None) => Verdict::New,
        };
        let other = found.near.or(found.contained);
        let of = other.map(|other| self.holder(other.content, other.id)).transpose()?;
        let stored =
            options.policy == Policy::Everything || matches!(verdict, Verdict::New | Verdict::Updated);
        let (id, content) = match own {
            _ if !stored => {
                if let (Some(other), Some(state)) = (other, &of) {
                    self.set_times(other.id, state, state.times.seen(*seen_at));
                }
                (None, of.as_ref().map(|of| of.content))
            }
            Some((id, state)) => {
                let content = self.update(id, &state, sketch, same, state.times.updated(*seen_at))?;
                (Some(id), Some(content))
            }
            None => {
                let (id, content) = self.insert(key, sketch, same, Times::at(*seen_at))?;
                (Some(id), Some(content))
            }
        };
        if let (Some(_), Some(content), None) = (id, content, same) {
            self.form(content, sketch, &found.alike, &found.candidates)?;
        }
        let containment = other.and_then(|other| other.containment);
        Ok(Added {
            id,
            verdict,
            of: of.map(|of| of.key),
            resemblance: other.and_then(|other| other.resemblance),
            containment: containment.map(|estimate| estimate.value),
            containment_interval: containment.map(|estimate| estimate.interval),
            values: containment.map(|estimate| estimate.values),
            cluster: content.map(|content| self.cluster(content)).transpose()?,
            bounded: found.bounded,
        })
    }

    fn find_other(
        &self,
        sketch: &Sketch,
        same: Option<(ContentId, DocId)>,
        own: Option<DocId>,
        contained: Option<f64>,
        acceptance: Acceptance,
    ) -> Result<Found> {
        if let Some((content, founder)) = same {
            let holder = self.first_holder(content, founder, own)?;
            let near = holder.map(|id| Other { id, content, resemblance: Some(1.0), containment: None });
            return Ok(Found { near, ..Found::default() });
        }
        let likeness = Likeness::of(self.params);
        let (near, alike) = self.near(sketch, likeness, acceptance.near)?;
        let resemblance = |measures: &Measures| measures.resemblance.map(|estimate| estimate.value);
        let mut found = Found { bounded: near.bounded, ..Found::default() };
        found.near = self.first_held(&alike, own)?.map(|(id, measures)| Other {
            id,
            content: measures.content,
            resemblance: resemblance(&measures),
            containment: None,
        });
        found.alike = alike.iter().map(|measures| measures.content).collect();
        found.candidates = near;
        if let (None, Some(share)) = (&found.near, contained) {
            let containers = self.search(sketch).samples()?.candidates()?;
            found.bounded |= containers.bounded;
            let part = |measures: &Measures| acceptance.part(measures.containment);
            let containers = self.alike(sketch, &containers, share, part)?;
            found.contained = self.first_held(&containers, own)?.map(|(id, measures)| Other {
                id,
                content: measures.content,
                resemblance: resemblance(&measures),
                containment: measures.containment,
            });
        }
        Ok(found)
    }

    /// A search for others than the same text: that was looked for before.
    fn search<'a>(&'a self, sketch: &'a Sketch) -> Search<'a, Self> {
        Search::again(self, self.indexing(), sketch, ContentId(u64::MAX))
    }

    /// The candidates of a text that is not stored, and the near duplicates among them, the most alike first.
    pub(super) fn near(
        &self,
        sketch: &Sketch,
        likeness: Likeness,
        accept: Accept,
    ) -> Result<(Candidates, Vec<Measures>)> {
        let near = likeness.search(self.params, self.search(sketch))?.candidates()?;
        let share = |measures: &Measures| likeness.end(measures, accept);
        let alike = self.alike(sketch, &near, likeness.threshold(self.params), share)?;
        Ok((near, alike))
    }

    /// The lowest document but `own` that holds a content.
    fn first_holder(&self, content: ContentId, founder: DocId, own: Option<DocId>) -> Result<Option<DocId>> {
        self.holders(content, founder, |holders| holders.iter().map(DocId).find(|&id| Some(id) != own))
    }

    /// The candidates for which `share` reaches the threshold, the greatest first.
    fn alike(
        &self,
        sketch: &Sketch,
        candidates: &Candidates,
        threshold: f64,
        share: impl Fn(&Measures) -> Option<f64>,
    ) -> Result<Vec<Measures>> {
        let mut accepted: Vec<(f64, Measures)> = Vec::new();
        for (content, _) in &candidates.list {
            let measures = self.measure(sketch, *content)?;
            accepted
                .extend(share(&measures).filter(|&share| share >= threshold).map(|share| (share, measures)));
        }
        accepted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.content.cmp(&b.1.content)));
        Ok(accepted.into_iter().map(|accepted| accepted.1).collect())
    }

    /// The first of these that another document than `own` holds, with that document.
    fn first_held(&self, alike: &[Measures], own: Option<DocId>) -> Result<Option<(DocId, Measures)>> {
        for &measures in alike {
            if let Some(id) = self.first_holder(measures.content, measures.founder, own)? {
                return Ok(Some((id, measures)));
            }
        }
        Ok(None)
    }
}

impl Added {
    pub(super) fn unchanged(id: DocId, cluster: ClusterId) -> Self {
        let (of, resemblance, containment, containment_interval, values) = Default::default();
        let (id, verdict, cluster) = (Some(id), Verdict::Unchanged, Some(cluster));
        let bounded = false;
        Added { id, verdict, of, resemblance, containment, containment_interval, values, cluster, bounded }
    }
}
