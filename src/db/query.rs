//! `query`: the stored documents that a text is alike to; nothing is stored.

pub use super::candidate::FoundBy;
use super::candidate::{Candidates, Search};
use super::common::CommonShingles;
use super::database::Database;
use super::keep::Likeness;
use super::measures::{self, Estimate, Measures};
use super::params::check_share;
use super::passing::{floor, passes};
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::{ContentId, DocId};
use crate::sketch::params::SketchParamsId;
use crate::sketch::{EditEstimate, Interval, Sample, Sketch};
use crate::store::record::ContentRecord;
use crate::store::view::View;
use std::sync::Arc;

/// By which measure documents match, and from which value on. Shares lie in (0, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Measure {
    /// The resemblance reaches this share.
    Resemblance(f64),
    /// This share of the query is in the match.
    Containment(f64),
    /// This share of the match is in the query.
    Contained(f64),
    /// This share of the minhash entries are equal (CS124: 90 of 100).
    Agreement(f64),
    /// The estimated edit distance is at most this share of the longer text.
    Edit(f64),
    /// The simhashes differ in at most this many bits, 0 to 64.
    Hamming(u32),
    /// Resemblance, containment or contained reaches this share, or the simhash is within the distance of the file.
    Any(f64),
}

/// Which end of the 95 % interval of an estimate must reach the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accept {
    /// The lower end: matches are almost certainly above the threshold.
    Low,
    /// The estimate itself: right as often as wrong for pairs AT the threshold.
    #[default]
    Estimate,
    /// The upper end: hardly any pair above the threshold is missed.
    High,
}

/// A second measure that must agree for a match to be kept (Henzinger 2006 combines shingles and simhash).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Confirm {
    /// The simhashes differ in at most this many bits.
    Simhash(u32),
    /// The estimated edit distance is at most this share of the longer text.
    Edit(f64),
}

impl Confirm {
    fn check(self) -> Result<()> {
        match self {
            Confirm::Simhash(distance) => check_bound("simhash", f64::from(distance) / 64.0),
            Confirm::Edit(share) => check_bound("edit", share),
        }
    }

    /// The distance that texts of this resemblance stay within: with words changed here and there, a w-shingle resemblance T
    /// leaves ρ = (2T/(1+T))^(1/w) of the words, so pairs of words are at an angle of about acos(ρ²); three standard
    /// deviations of 64 bits on top.
    pub fn default_distance(threshold: f64, width: u32) -> u32 {
        let kept = (2.0 * threshold / (1.0 + threshold)).powf(2.0 / f64::from(width));
        let share = kept.clamp(0.0, 1.0).acos() / std::f64::consts::PI;
        (64.0 * share + 3.0 * (64.0 * share * (1.0 - share)).sqrt()).ceil() as u32
    }

    /// The share of the longer text that texts of this resemblance differ in at most, with half as much again for the spread
    /// of the estimate: all of A in B with r = |A|/|B| leaves 1 - r.
    pub fn default_share(threshold: f64) -> f64 {
        (1.5 * (1.0 - threshold)).clamp(0.02, 1.0)
    }
}

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The measure; resemblance at the threshold of the database by default.
    pub by: Option<Measure>,
    /// Which end of the interval decides.
    pub accept: Accept,
    /// Measures that must agree.
    pub confirm: Vec<Confirm>,
    /// The fewest sample values that a share which decides must be taken of, unless the text is the same; 0 for any. A short
    /// text has few values in common range with a long one, and the share of one of them is 0 or 1.
    pub least_values: u64,
    /// The most matches; 0 for all.
    pub limit: usize,
    /// Also list every other document that holds a matching text, as a match of its own.
    pub copies: bool,
    /// The key of the text itself, which is not a match of its own.
    pub own: Option<String>,
    /// Shingles to leave out of resemblance and containment, in the query and in what is stored; equal texts still are exact.
    /// Candidates by resemblance are found by all shingles.
    pub ignore: Option<Arc<CommonShingles>>,
}

/// A stored document that was verified to be alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The document's key.
    pub key: String,
    /// The document.
    pub id: DocId,
    /// The estimated resemblance; `None` when neither text has a shingle to compare.
    pub resemblance: Option<f64>,
    /// The 95 % interval of the resemblance.
    pub interval: Option<Interval>,
    /// How much of the query is in the match.
    pub containment: Option<f64>,
    /// Its 95 % interval.
    pub containment_interval: Option<Interval>,
    /// How much of the match is in the query.
    pub contained: Option<f64>,
    /// Its 95 % interval.
    pub contained_interval: Option<Interval>,
    /// How many sample values decided: those of the query by containment, those of the match by contained, else those of
    /// either, which the resemblance is a share of. Only values below the smaller bound of both samples count.
    pub values: Option<u64>,
    /// In how many of 64 bits the simhashes differ.
    pub hamming: Option<u32>,
    /// The share of equal minhash entries.
    pub agreement: Option<f64>,
    /// The estimated edit distance in characters.
    pub edit: Option<EditEstimate>,
    /// Whether it is the same text.
    pub exact: bool,
    /// How many other keys hold the text of the match.
    pub copies: u64,
    /// What it was found by.
    pub found_by: FoundBy,
}

/// The matches of a query, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The matches.
    pub matches: Vec<Match>,
    /// How many there are in all, those beyond the limit among them; with copies each of them counts.
    pub total: u64,
    /// Whether a term shared by too many contents was not followed to its end.
    pub bounded: bool,
    /// When the threshold asked for lies below what the index was made for: the share of the pairs at that threshold
    /// that are found. By any measure at least so many of those whose resemblance it is; of pairs that only containment makes
    /// matches fewer are found the longer the one text is than the other.
    pub expected_recall: Option<f64>,
}

/// A bound on a distance, as a share: 0 to 1.
fn check_bound(name: &str, share: f64) -> Result<()> {
    match (0.0..=1.0).contains(&share) {
        true => Ok(()),
        false => Err(Error::invalid(
            format!("{name} bound {share}"),
            "must lie in [0, 1] of the greatest distance",
        )),
    }
}

/// Candidates that are measured before the worst are let go of.
const AT_ONCE: usize = 4096;

/// A measured candidate that passed, what it was found by, and its edit distance.
struct Accepted {
    measures: Measures,
    found_by: FoundBy,
    edit: Option<EditEstimate>,
}

impl Database {
    /// Finds the documents that a text is alike to. A sketch of other parameters than this database's is
    /// [`Error::Incompatible`].
    pub fn query(&self, sketch: &Sketch, query: &Query) -> Result<Answer> {
        self.sketch_params().check(sketch.params)?;
        let by = query.by.unwrap_or_else(|| Likeness::of(self.params()).measure(self.params()));
        self.check(by)?;
        self.check_kept(by)?;
        query.confirm.iter().try_for_each(|confirm| confirm.check())?;
        query.ignore.iter().try_for_each(|common| common.check(self.sketch_params()))?;
        let view = self.view();
        let without = query.ignore.as_ref().map(|common| common.left_out_of_sketch(sketch));
        let sketch = without.as_deref().unwrap_or(sketch);
        let candidates = self.candidates(&view, sketch, by, query.accept)?;
        let own = query.own.as_deref().map(|key| view.find_document(key)).transpose()?.flatten();
        let own = own.map(|(id, document)| (id, document.content));
        let (accepted, total) = self.accept(&view, sketch, by, query, own, &candidates)?;
        let matches = resolve(&view, &accepted, query, own.map(|own| own.0))?;
        let (bounded, expected_recall) = (candidates.bounded, self.expected_recall(by));
        Ok(Answer { matches, total, bounded, expected_recall })
    }

    fn check(&self, by: Measure) -> Result<()> {
        match by {
            Measure::Hamming(distance) if distance > 64 => {
                Err(Error::invalid(format!("distance {distance}"), "must lie in 0..=64"))
            }
            Measure::Hamming(_) => Ok(()),
            Measure::Edit(share) => check_bound("edit", share),
            Measure::Resemblance(threshold)
            | Measure::Containment(threshold)
            | Measure::Contained(threshold)
            | Measure::Agreement(threshold)
            | Measure::Any(threshold) => check_share("threshold", threshold),
        }
    }

    /// Whether the sketches that a measure needs are kept and indexed.
    fn check_kept(&self, by: Measure) -> Result<()> {
        let (params, kept) = (self.params(), self.params().keep_sketches);
        match by {
            Measure::Resemblance(_) => {
                params.check_kept("a search by resemblance", Likeness::of(params) == Likeness::Resemblance)
            }
            Measure::Containment(_) | Measure::Contained(_) => {
                params.check_containment("a search by containment")
            }
            Measure::Agreement(_) => params.check_kept("a search by agreement", kept.signature),
            Measure::Edit(_) => params.check_kept("a search by edit distance", kept.signature && kept.edit),
            Measure::Hamming(_) => params.check_kept("a search by Hamming distance", kept.simhash),
            Measure::Any(_) => Ok(()),
        }
    }

    /// The recall to expect when the threshold lies below what the index was made for.
    fn expected_recall(&self, by: Measure) -> Option<f64> {
        let (indexing, kept) = (self.indexing(), self.params().keep_sketches);
        let tables = &indexing.tables;
        let below = |threshold: f64| {
            (threshold < self.params().threshold).then(|| indexing.bands.candidate_probability(threshold))
        };
        // Without samples no resemblance is known.
        let by_bands = |threshold| match kept.signature && kept.sample {
            true => indexing.bands.candidate_probability(threshold),
            false => 0.0,
        };
        let by_samples = |threshold| match indexing.containment {
            true => Sample::meeting_probability(self.params().sketch.sample, threshold),
            false => 0.0,
        };
        match by {
            Measure::Resemblance(threshold) if !kept.signature => {
                (threshold < self.params().threshold).then(|| by_samples(threshold))
            }
            Measure::Resemblance(threshold) | Measure::Agreement(threshold) => below(threshold),
            Measure::Any(threshold) => {
                // Bands and samples are of independent hashes; what simhashes add depends on the texts.
                let found = 1.0 - (1.0 - by_bands(threshold)) * (1.0 - by_samples(threshold));
                let promised = self.params().recall;
                (threshold < self.params().threshold || found < promised).then_some(found)
            }
            // The least resemblance of texts whose edit distance is this share: all of one in the other.
            Measure::Edit(share) => below((1.0 - share).max(0.0)),
            Measure::Hamming(distance) => {
                (distance > tables.max_distance()).then(|| tables.recall_at(distance))
            }
            Measure::Containment(_) | Measure::Contained(_) => None,
        }
    }

    fn candidates(&self, view: &View, sketch: &Sketch, by: Measure, accept: Accept) -> Result<Candidates> {
        let search = Search::new(view, self.indexing(), sketch)?;
        let search = match by {
            Measure::Resemblance(_) => Likeness::Resemblance.search(self.params(), search)?,
            Measure::Agreement(_) | Measure::Edit(_) => search.bands()?,
            Measure::Containment(share) if accept != Accept::High => search.containers(share)?,
            Measure::Containment(_) | Measure::Contained(_) => search.samples()?,
            Measure::Hamming(distance) => search.simhashes(distance)?,
            Measure::Any(_) => search.bands()?.samples()?.simhashes(self.params().hamming)?,
        };
        search.candidates()
    }

    /// Measures candidates and keeps those that pass, of very many the best that the answer has room for: these, and how
    /// many documents they all stand for.
    fn accept(
        &self,
        view: &View,
        sketch: &Sketch,
        by: Measure,
        query: &Query,
        own: Option<(DocId, ContentId)>,
        candidates: &Candidates,
    ) -> Result<(Vec<Accepted>, u64)> {
        // One of them may be the document itself.
        let most = if query.limit == 0 { usize::MAX } else { query.limit.saturating_add(1) };
        let (mut kept, mut total) = (Vec::new(), 0);
        for some in candidates.list.chunks(AT_ONCE) {
            let some = self.accept_some(view, sketch, by, query, some)?;
            for accepted in &some {
                total += documents(view, accepted, query.copies, own)?;
            }
            kept.extend(some);
            if kept.len() > most {
                sort(&mut kept, by);
                kept.truncate(most);
            }
        }
        sort(&mut kept, by);
        Ok((kept, total))
    }

    /// Measures candidates and keeps those that pass.
    fn accept_some(
        &self,
        view: &View,
        sketch: &Sketch,
        by: Measure,
        query: &Query,
        candidates: &[(ContentId, FoundBy)],
    ) -> Result<Vec<Accepted>> {
        let mut kept = Vec::new();
        for &(content, found_by) in candidates {
            let measured =
                view.content(content, |record| self.measured(sketch, content, &record, by, query))?;
            let Some((measures, edit)) = measured else { continue };
            let accepted = Accepted { measures, found_by, edit };
            if query.confirm.iter().all(|confirm| confirms(&accepted, *confirm)) {
                kept.push(accepted);
            }
        }
        Ok(kept)
    }
}

impl Database {
    /// What passes of a content that was read: its measures, and the edit distance.
    fn measured(
        &self,
        sketch: &Sketch,
        content: ContentId,
        record: &ContentRecord,
        by: Measure,
        query: &Query,
    ) -> Result<Option<(Measures, Option<EditEstimate>)>> {
        let floor = floor(by, query.accept);
        let common = query.ignore.as_deref();
        let Some(measures) = Measures::of_record(sketch, content, record, floor, common)? else {
            return Ok(None);
        };
        let edit = || measures::edit_of_record(self.params().sketch.edit, sketch, record);
        let asked = if matches!(by, Measure::Edit(_)) { edit()? } else { None };
        match passes(&measures, asked, by, query.accept, query.least_values, self.params().hamming) {
            true => Ok(Some((measures, asked.map_or_else(edit, |asked| Ok(Some(asked)))?))),
            false => Ok(None),
        }
    }
}

/// What a pair of texts must pass, for those who have both at hand.
pub(crate) struct Verifier<'a> {
    db: &'a Database,
    by: Measure,
    accept: Accept,
    confirm: &'a [Confirm],
}

impl<'a> Verifier<'a> {
    /// Checks the options; by default what makes documents near duplicates.
    pub fn new(
        db: &'a Database,
        by: Option<Measure>,
        accept: Accept,
        confirm: &'a [Confirm],
    ) -> Result<Self> {
        let by = by.unwrap_or_else(|| Likeness::of(db.params()).measure(db.params()));
        db.check(by)?;
        db.check_kept(by)?;
        confirm.iter().try_for_each(|confirm| confirm.check())?;
        Ok(Verifier { db, by, accept, confirm })
    }

    pub fn by(&self) -> Measure {
        self.by
    }

    pub fn sketch_params(&self) -> SketchParamsId {
        self.db.sketch_params()
    }

    /// See [`Answer::expected_recall`].
    pub fn expected_recall(&self) -> Option<f64> {
        self.db.expected_recall(self.by)
    }

    /// Whether a measured pair passes.
    pub fn verify(&self, view: &View, sketch: &Sketch, measures: &Measures) -> Result<bool> {
        let params = self.db.params();
        if !passes(measures, None, self.by, self.accept, 0, params.hamming) {
            return Ok(false);
        }
        let edit = match self.confirm.iter().any(|confirm| matches!(confirm, Confirm::Edit(_))) {
            true => measures::edit(view, params.sketch.edit, sketch, measures.content)?,
            false => None,
        };
        let accepted = Accepted { measures: *measures, found_by: FoundBy::default(), edit };
        Ok(self.confirm.iter().all(|confirm| confirms(&accepted, *confirm)))
    }
}

fn confirms(accepted: &Accepted, confirm: Confirm) -> bool {
    accepted.measures.exact
        || match confirm {
            Confirm::Simhash(distance) => {
                accepted.measures.hamming.is_some_and(|hamming| hamming <= distance)
            }
            Confirm::Edit(share) => accepted.edit.is_some_and(|edit| edit.share <= share),
        }
}

/// Sorts the best first.
fn sort(accepted: &mut [Accepted], by: Measure) {
    accepted.sort_by_key(|accepted| (rank(accepted, by), accepted.measures.content));
}

/// What comes first: the same text, then the measure asked for, then the resemblance.
fn rank(accepted: &Accepted, by: Measure) -> (bool, u64, u64) {
    let measures = &accepted.measures;
    // Shares lie in [0, 1], so the order of their bits is their order.
    let apart = |share: Option<f64>| (1.0 - share.unwrap_or(0.0)).to_bits();
    let value = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.value);
    let resemblance = apart(value(measures.resemblance));
    let hamming = u64::from(measures.hamming.unwrap_or(64));
    let (first, second) = match by {
        Measure::Resemblance(_) | Measure::Any(_) => (resemblance, hamming),
        Measure::Containment(_) => (apart(value(measures.containment)), resemblance),
        Measure::Contained(_) => (apart(value(measures.contained)), resemblance),
        Measure::Agreement(_) => (apart(measures.agreement), resemblance),
        Measure::Edit(_) => (accepted.edit.map_or(u64::MAX, |edit| edit.share.to_bits()), resemblance),
        Measure::Hamming(_) => (hamming, resemblance),
    };
    (!measures.exact, first, second)
}

/// The share that decides, or of measures that are none the resemblance.
fn deciding_share(measures: &Measures, by: Option<Measure>) -> Option<Estimate> {
    match by {
        Some(Measure::Containment(_)) => measures.containment,
        Some(Measure::Contained(_)) => measures.contained,
        _ => measures.resemblance,
    }
}

/// How many documents a content stands for in an answer: those that hold it but `own`, or the first of them.
fn documents(view: &View, accepted: &Accepted, copies: bool, own: Option<(DocId, ContentId)>) -> Result<u64> {
    let Measures { content, founder, .. } = accepted.measures;
    let holds_own = own.is_some_and(|own| own.1 == content);
    if !copies && !holds_own {
        return Ok(1);
    }
    let others = view.holders(content, founder)?.len().saturating_sub(u64::from(holds_own));
    Ok(if copies { others } else { others.min(1) })
}

/// Names the documents of the accepted contents, up to the limit.
fn resolve(view: &View, accepted: &[Accepted], query: &Query, own: Option<DocId>) -> Result<Vec<Match>> {
    let limit = if query.limit == 0 { usize::MAX } else { query.limit };
    let mut matches = Vec::new();
    for Accepted { measures, found_by, edit } in accepted {
        let holders = view.holders(measures.content, measures.founder)?;
        let each = if query.copies { usize::MAX } else { 1 };
        for id in holders.iter().map(DocId).filter(|&id| Some(id) != own).take(each) {
            if matches.len() == limit {
                return Ok(matches);
            }
            matches.push(Match {
                key: view.holder(measures.content, id)?.key,
                id,
                resemblance: measures.resemblance.map(|estimate| estimate.value),
                interval: measures.resemblance.map(|estimate| estimate.interval),
                containment: measures.containment.map(|estimate| estimate.value),
                containment_interval: measures.containment.map(|estimate| estimate.interval),
                contained: measures.contained.map(|estimate| estimate.value),
                contained_interval: measures.contained.map(|estimate| estimate.interval),
                values: deciding_share(measures, query.by).map(|estimate| estimate.values),
                hamming: measures.hamming,
                agreement: measures.agreement,
                edit: *edit,
                exact: measures.exact,
                copies: holders.len() - 1,
                found_by: *found_by,
            });
        }
    }
    Ok(matches)
}
