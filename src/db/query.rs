//! `query`: the stored documents that a text is alike to; nothing is stored.

pub use super::candidate::FoundBy;
use super::candidate::{self, Candidates, Measures};
use super::database::Database;
use super::params::check_share;
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::DocId;
use crate::sketch::{Interval, Sketch};
use crate::store::view::View;

/// By which measure documents match, and from which value on.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Measure {
    /// The resemblance reaches this threshold, in (0, 1].
    Resemblance(f64),
    /// The simhashes differ in at most this many bits, 0 to 64.
    Hamming(u32),
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

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The measure; resemblance at the threshold of the database by default.
    pub by: Option<Measure>,
    /// Which end of the interval decides.
    pub accept: Accept,
    /// The most matches; 0 for all.
    pub limit: usize,
    /// Also list every other document that holds a matching text, as a match of its own.
    pub copies: bool,
    /// The key of the text itself, which is not a match of its own.
    pub own: Option<String>,
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
    /// How much of the match is in the query.
    pub contained: Option<f64>,
    /// In how many of 64 bits the simhashes differ.
    pub hamming: Option<u32>,
    /// The share of equal minhash entries.
    pub agreement: Option<f64>,
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
    /// Whether a term shared by too many contents was not followed to its end.
    pub bounded: bool,
    /// When the threshold asked for lies below what the index was made for: the share of the pairs at that threshold
    /// that are found.
    pub expected_recall: Option<f64>,
}

/// A measured candidate that passed, and what it was found by.
type Accepted = (Measures, FoundBy);

impl Database {
    /// Finds the documents that a text is alike to. The sketch must have been made with this database's parameters.
    pub fn query(&self, sketch: &Sketch, query: &Query) -> Result<Answer> {
        let by = query.by.unwrap_or(Measure::Resemblance(self.params().threshold));
        let view = self.view();
        let (candidates, expected_recall) = self.candidates(&view, sketch, by)?;
        let mut accepted: Vec<Accepted> = Vec::new();
        for (content, found_by) in candidates.list {
            let measures = candidate::measure(&*view, sketch, content)?;
            if passes(&measures, by, query.accept) {
                accepted.push((measures, found_by));
            }
        }
        accepted.sort_by_key(|(measures, _)| (rank(measures, by), measures.content));
        let own = query.own.as_deref().map(|key| view.find_document(key)).transpose()?.flatten();
        let matches = resolve(&view, &accepted, query, own.map(|own| own.0))?;
        Ok(Answer { matches, bounded: candidates.bounded, expected_recall })
    }

    fn candidates(&self, view: &View, sketch: &Sketch, by: Measure) -> Result<(Candidates, Option<f64>)> {
        match by {
            Measure::Resemblance(threshold) => {
                check_share("threshold", threshold)?;
                let below = threshold < self.params().threshold;
                let recall = below.then(|| self.indexing().bands.candidate_probability(threshold));
                Ok((candidate::by_bands(view, self.indexing(), sketch)?, recall))
            }
            Measure::Hamming(distance) => {
                if distance > 64 {
                    return Err(Error::invalid(format!("distance {distance}"), "must lie in 0..=64"));
                }
                let tables = &self.indexing().tables;
                let recall = (distance > tables.max_distance()).then(|| tables.recall_at(distance));
                Ok((candidate::by_simhash(view, self.indexing(), sketch, distance)?, recall))
            }
        }
    }
}

fn passes(measures: &Measures, by: Measure, accept: Accept) -> bool {
    match by {
        Measure::Hamming(distance) => measures.hamming.is_some_and(|hamming| hamming <= distance),
        Measure::Resemblance(threshold) => {
            let end = match accept {
                Accept::Low => measures.interval.map(|interval| interval.low),
                Accept::Estimate => measures.resemblance,
                Accept::High => measures.interval.map(|interval| interval.high),
            };
            end.is_some_and(|end| end >= threshold)
        }
    }
}

/// Sorts the best first: the same text, then the measure asked for, then the other one.
fn rank(measures: &Measures, by: Measure) -> (bool, u64, u64) {
    // Resemblances lie in [0, 1], so the order of their bits is their order.
    let apart = (1.0 - measures.resemblance.unwrap_or(0.0)).to_bits();
    let hamming = u64::from(measures.hamming.unwrap_or(64));
    match by {
        Measure::Resemblance(_) => (!measures.exact, apart, hamming),
        Measure::Hamming(_) => (!measures.exact, hamming, apart),
    }
}

/// Names the documents of the accepted contents, up to the limit.
fn resolve(view: &View, accepted: &[Accepted], query: &Query, own: Option<DocId>) -> Result<Vec<Match>> {
    let limit = if query.limit == 0 { usize::MAX } else { query.limit };
    let mut matches = Vec::new();
    for (measures, found_by) in accepted {
        let holders = view.holders(measures.content, measures.founder)?;
        let each = if query.copies { usize::MAX } else { 1 };
        for id in holders.iter().map(DocId).filter(|&id| Some(id) != own).take(each) {
            if matches.len() == limit {
                return Ok(matches);
            }
            matches.push(Match {
                key: view.document(id)?.key,
                id,
                resemblance: measures.resemblance,
                interval: measures.interval,
                containment: measures.containment,
                contained: measures.contained,
                hamming: measures.hamming,
                agreement: measures.agreement,
                exact: measures.exact,
                copies: holders.len() - 1,
                found_by: *found_by,
            });
        }
    }
    Ok(matches)
}
