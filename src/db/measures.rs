//! Every measure between a sketch and a stored content.

use super::common::CommonShingles;
use super::reader::Reader;
use crate::error::Result;
use crate::id::{ContentHash, ContentId, DocId};
use crate::sketch::meeting::Floor;
use crate::sketch::params::SketchParamsId;
use crate::sketch::{
    EditEstimate, EditParams, EditSignature, Interval, Overlap, Sample, Signature, Simhash, Sketch,
};
use crate::store::record::ContentRecord;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

impl Sketch {
    /// A stored content's sketches; those that the file does not keep are empty.
    pub(crate) fn of_record(params: SketchParamsId, record: ContentRecord) -> Result<Sketch> {
        let sample = record.sample.map(Sample::decode).transpose()?;
        Ok(Sketch {
            hash: ContentHash(record.hash),
            bytes: record.bytes,
            replaced: 0,
            sample: sample.unwrap_or_else(|| Sample::of_values(crate::sketch::sample::WHOLE, Vec::new())),
            signature: record.signature.map(Signature::decode),
            simhash: record.simhash.map(Simhash),
            edit: record.edit.map(EditSignature::decode).transpose()?,
            params,
        })
    }
}

/// A share estimated from samples, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub value: f64,
    pub interval: Interval,
    /// How many sample values it is a share of.
    pub values: u64,
}

impl Estimate {
    /// All of the values.
    fn one(values: usize) -> Self {
        Estimate { value: 1.0, interval: Interval { low: 1.0, high: 1.0 }, values: values as u64 }
    }

    fn of(value: Option<f64>, interval: Option<Interval>, values: u64) -> Option<Self> {
        value.zip(interval).map(|(value, interval)| Estimate { value, interval, values })
    }
}

/// The measures of one candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measures {
    pub content: ContentId,
    pub founder: DocId,
    pub exact: bool,
    pub resemblance: Option<Estimate>,
    /// How much of the sketch's text is in the content, and the reverse.
    pub containment: Option<Estimate>,
    pub contained: Option<Estimate>,
    pub hamming: Option<u32>,
    pub agreement: Option<f64>,
}

/// Measures a candidate by its stored sketches.
pub(crate) fn measure(reader: &impl Reader, sketch: &Sketch, content: ContentId) -> Result<Measures> {
    Ok(Measures::of(sketch, content, &reader.content(content, Candidate::of)?))
}

/// What of a stored content is measured, ready for it.
#[derive(Debug)]
pub(crate) struct Candidate {
    hash: [u8; 16],
    founder: DocId,
    sample: Option<Sample>,
    signature: Option<Signature>,
    simhash: Option<Simhash>,
}

impl Candidate {
    /// The candidate without shingles that are to be left out.
    pub fn without(mut self, common: Option<&CommonShingles>) -> Self {
        if let (Some(common), Some(sample)) = (common, &mut self.sample) {
            *sample = common.left_out_of(sample);
        }
        self
    }

    pub fn of(record: ContentRecord) -> Result<Self> {
        Ok(Candidate {
            hash: record.hash,
            founder: DocId(record.founder),
            sample: record.sample.map(Sample::decode).transpose()?,
            signature: record.signature.map(Signature::decode),
            simhash: record.simhash.map(Simhash),
        })
    }
}

/// Candidates that were met lately: those of hot terms are met again and again.
#[derive(Debug, Default)]
pub(crate) struct CandidateCache(RefCell<HashMap<ContentId, Arc<Candidate>>>);

/// Some 2.5 KB each.
const CACHED: usize = 4096;

impl CandidateCache {
    /// The candidate, as `read` reads it when it is not here.
    pub fn get(
        &self,
        content: ContentId,
        read: impl FnOnce() -> Result<Candidate>,
    ) -> Result<Arc<Candidate>> {
        if let Some(candidate) = self.0.borrow().get(&content) {
            return Ok(candidate.clone());
        }
        let candidate = Arc::new(read()?);
        let mut cached = self.0.borrow_mut();
        if cached.len() >= CACHED {
            cached.clear();
        }
        cached.insert(content, candidate.clone());
        Ok(candidate)
    }
}

/// The estimated edit distance to a content, `None` when one of the two has no edit signature.
pub(crate) fn edit(
    reader: &impl Reader,
    params: EditParams,
    sketch: &Sketch,
    content: ContentId,
) -> Result<Option<EditEstimate>> {
    reader.content(content, |record| edit_of_record(params, sketch, &record))
}

/// The same of a content that was read.
pub(crate) fn edit_of_record(
    params: EditParams,
    sketch: &Sketch,
    record: &ContentRecord,
) -> Result<Option<EditEstimate>> {
    let stored = record.edit.map(EditSignature::decode).transpose()?;
    Ok(sketch.edit.as_ref().zip(stored).map(|(own, stored)| params.estimate(own, &stored)))
}

impl Measures {
    /// Measures a candidate that was read.
    pub fn of(sketch: &Sketch, content: ContentId, candidate: &Candidate) -> Self {
        let &Candidate { founder, simhash, .. } = candidate;
        if candidate.hash == sketch.hash.0 {
            return Measures::same(sketch, content, founder);
        }
        let overlap = candidate.sample.as_ref().map(|stored| Overlap::of(&sketch.sample, stored));
        let signatures = sketch.signature.as_ref().zip(candidate.signature.as_ref());
        let agreement = signatures.and_then(|(own, stored)| own.agreement(stored));
        let hamming = sketch.simhash.zip(simhash).map(|(own, stored)| own.distance(stored));
        Measures::told(content, founder, overlap, hamming, agreement)
    }

    /// Measures a stored content; `None` when the floor is not reached, for certain.
    pub fn of_record(
        sketch: &Sketch,
        content: ContentId,
        record: &ContentRecord,
        floor: Option<Floor>,
        common: Option<&CommonShingles>,
    ) -> Result<Option<Self>> {
        let founder = DocId(record.founder);
        if record.hash == sketch.hash.0 {
            return Ok(Some(Measures::same(sketch, content, founder)));
        }
        let overlap = match (record.sample, common) {
            (Some(stored), None) => match Overlap::with_stored(&sketch.sample, stored, floor)? {
                None => return Ok(None),
                met => met,
            },
            (Some(stored), Some(common)) => {
                Some(Overlap::of(&sketch.sample, &common.left_out_of(&Sample::decode(stored)?)))
            }
            (None, _) => None,
        };
        let stored = record.signature.map(Signature::decode);
        let agreement =
            sketch.signature.as_ref().zip(stored).and_then(|(own, stored)| own.agreement(&stored));
        let hamming = sketch.simhash.zip(record.simhash).map(|(own, stored)| own.distance(Simhash(stored)));
        Ok(Some(Measures::told(content, founder, overlap, hamming, agreement)))
    }

    /// Of the same text.
    fn same(sketch: &Sketch, content: ContentId, founder: DocId) -> Self {
        let one = Some(Estimate::one(sketch.sample.values().len()));
        let (resemblance, containment, contained) = (one, one, one);
        let (hamming, agreement) = (Some(0), Some(1.0));
        Measures { content, founder, exact: true, resemblance, containment, contained, hamming, agreement }
    }

    /// Of another text.
    fn told(
        content: ContentId,
        founder: DocId,
        overlap: Option<Overlap>,
        hamming: Option<u32>,
        agreement: Option<f64>,
    ) -> Self {
        Measures {
            content,
            founder,
            exact: false,
            resemblance: overlap
                .and_then(|o| Estimate::of(o.resemblance(), o.resemblance_interval(), o.union())),
            containment: overlap
                .and_then(|o| Estimate::of(o.containment(), o.containment_interval(), o.first)),
            contained: overlap.and_then(|o| Estimate::of(o.contained(), o.contained_interval(), o.second)),
            hamming,
            agreement,
        }
    }
}
