//! `compare`: every measure between two texts, and where they differ; no database is needed.

use crate::error::Result;
use crate::sketch::{EditContext, EditEstimate, Interval, Overlap, Sketch, SketchParams};

/// How alike two texts are.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Whether they are the same text.
    pub exact: bool,
    /// The estimated resemblance; `None` when neither text has a shingle.
    pub resemblance: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// How much of the first text is in the second.
    pub containment: Option<f64>,
    /// Its 95 % interval.
    pub containment_interval: Option<Interval>,
    /// How much of the second text is in the first.
    pub contained: Option<f64>,
    /// Its 95 % interval.
    pub contained_interval: Option<Interval>,
    /// How many sample values the resemblance is a share of: those of either text below the smaller bound of both samples.
    pub values: u64,
    /// How many the containment is a share of: those of the first text.
    pub containment_values: u64,
    /// How many the reverse is a share of: those of the second text.
    pub contained_values: u64,
    /// The share of equal minhash entries.
    pub agreement: Option<f64>,
    /// In how many of 64 bits the simhashes differ.
    pub hamming: Option<u32>,
    /// The estimated edit distance.
    pub edit: Option<EditEstimate>,
    /// What unrelated texts of these lengths would give.
    pub context: Option<EditContext>,
    /// The share of the differences that lies in each equal part of the first text.
    pub profile: Vec<f64>,
}

/// Compares two texts by their sketches; [`Error::Incompatible`](crate::Error::Incompatible) when one was not made with these
/// parameters. `strips` is in how many parts the place of the differences is told.
pub fn compare(params: &SketchParams, first: &Sketch, second: &Sketch, strips: usize) -> Result<Compared> {
    [first, second].into_iter().try_for_each(|sketch| params.id().check(sketch.params))?;
    let overlap = Overlap::of(&first.sample, &second.sample);
    let edits = first.edit.as_ref().zip(second.edit.as_ref());
    let exact = first.hash == second.hash;
    let certain = Some(Interval { low: 1.0, high: 1.0 });
    Ok(Compared {
        exact,
        resemblance: overlap.resemblance().or(exact.then_some(1.0)),
        interval: if exact { certain } else { overlap.resemblance_interval() },
        containment: overlap.containment(),
        containment_interval: overlap.containment_interval(),
        contained: overlap.contained(),
        contained_interval: overlap.contained_interval(),
        values: overlap.union(),
        containment_values: overlap.first,
        contained_values: overlap.second,
        agreement: first.signature.as_ref().zip(second.signature.as_ref()).and_then(|(a, b)| a.agreement(b)),
        hamming: first.simhash.zip(second.simhash).map(|(a, b)| a.distance(b)),
        edit: edits.map(|(a, b)| params.edit.estimate(a, b)),
        context: edits.map(|(a, b)| params.edit.context(a, b)),
        profile: edits.map(|(a, b)| params.edit.profile(a, b, strips.max(1))).unwrap_or_default(),
    })
}
