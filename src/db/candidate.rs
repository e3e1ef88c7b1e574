//! From a sketch to the contents that share a term with it, and from those to verified measures.

use super::reader::Reader;
use crate::error::Result;
use crate::id::{ContentId, DocId};
use crate::index::TableDesign;
use crate::index::indexing::Indexing;
use crate::index::term::Address;
use crate::sketch::{Interval, Overlap, Sample, Signature, Simhash, Sketch};

/// A band term shared by more contents than this is hot: boilerplate, or a template.
const HOT: usize = 1024;
/// A hot term yields its lowest living contents, so many of them, whatever the layout of the runs.
const YIELD_OF_HOT: usize = 64;

/// Which families of terms a candidate was found by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundBy {
    /// The hash of the text.
    pub content: bool,
    /// A band of the signature.
    pub band: bool,
    /// A permuted simhash table.
    pub simhash: bool,
}

impl FoundBy {
    fn merge(&mut self, other: FoundBy) {
        self.content |= other.content;
        self.band |= other.band;
        self.simhash |= other.simhash;
    }

    /// The names of the families.
    pub fn names(self) -> Vec<&'static str> {
        let named = [("content", self.content), ("band", self.band), ("simhash", self.simhash)];
        named.into_iter().filter(|family| family.1).map(|family| family.0).collect()
    }
}

/// Contents that share a term with a sketch: ascending, each once.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub list: Vec<(ContentId, FoundBy)>,
    /// Whether a hot term was not followed to its end.
    pub bounded: bool,
}

impl Candidates {
    fn add(&mut self, id: u64, found_by: FoundBy) {
        self.list.push((ContentId(id), found_by));
    }

    fn gather(mut self) -> Self {
        self.list.sort_unstable_by_key(|candidate| candidate.0);
        self.list.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1.merge(later.1);
            }
            same
        });
        self
    }
}

/// Candidates for a resemblance: same text, or a shared band.
pub(crate) fn by_bands(reader: &impl Reader, indexing: &Indexing, sketch: &Sketch) -> Result<Candidates> {
    let mut candidates = Candidates::default();
    same_text(reader, sketch, &mut candidates)?;
    let mut ids = Vec::new();
    for address in sketch.signature.iter().flat_map(|signature| indexing.bands.addresses(signature)) {
        ids.clear();
        reader.scan(&(address..=address), &mut |_, id| {
            ids.push(id);
            ids.len() <= HOT
        })?;
        if ids.len() > HOT {
            ids.truncate(YIELD_OF_HOT);
            candidates.bounded = true;
        }
        ids.iter().for_each(|&id| candidates.add(id, FoundBy { band: true, ..FoundBy::default() }));
    }
    Ok(candidates.gather())
}

/// Candidates for a Hamming distance: same text, or a shared prefix in a permuted table and stored bits close enough.
pub(crate) fn by_simhash(
    reader: &impl Reader,
    indexing: &Indexing,
    sketch: &Sketch,
    max_distance: u32,
) -> Result<Candidates> {
    let mut candidates = Candidates::default();
    same_text(reader, sketch, &mut candidates)?;
    if let Some(simhash) = sketch.simhash {
        for (own, range) in indexing.tables.addresses(simhash).zip(indexing.tables.ranges(simhash)) {
            reader.scan(&range, &mut |stored: Address, id| {
                if !TableDesign::is_apart(own, stored, max_distance) {
                    candidates.add(id, FoundBy { simhash: true, ..FoundBy::default() });
                }
                true
            })?;
        }
    }
    Ok(candidates.gather())
}

fn same_text(reader: &impl Reader, sketch: &Sketch, candidates: &mut Candidates) -> Result<()> {
    if let Some((id, _)) = reader.find_content(&sketch.hash)? {
        candidates.add(id.0, FoundBy { content: true, ..FoundBy::default() });
    }
    Ok(())
}

/// Every measure between a sketch and a stored content.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measures {
    pub content: ContentId,
    pub founder: DocId,
    pub exact: bool,
    pub resemblance: Option<f64>,
    pub interval: Option<Interval>,
    pub containment: Option<f64>,
    pub contained: Option<f64>,
    pub hamming: Option<u32>,
    pub agreement: Option<f64>,
}

/// Measures a candidate by its stored sketches.
pub(crate) fn measure(reader: &impl Reader, sketch: &Sketch, content: ContentId) -> Result<Measures> {
    reader.content(content, |record| {
        let overlap = match record.sample {
            Some(sample) => Some(Overlap::of(&sketch.sample, &Sample::decode(sample)?)),
            None => None,
        };
        let founder = DocId(record.founder);
        if record.hash == sketch.hash.0 {
            return Ok(Measures::of_same_text(content, founder));
        }
        Ok(Measures {
            content,
            founder,
            exact: false,
            resemblance: overlap.and_then(|overlap| overlap.resemblance()),
            interval: overlap.and_then(|overlap| overlap.resemblance_interval()),
            containment: overlap.and_then(|overlap| overlap.containment()),
            contained: overlap.and_then(|overlap| overlap.contained()),
            hamming: sketch.simhash.zip(record.simhash).map(|(own, stored)| own.distance(Simhash(stored))),
            agreement: sketch
                .signature
                .as_ref()
                .zip(record.signature)
                .and_then(|(own, stored)| own.agreement(&Signature::decode(stored))),
        })
    })
}

impl Measures {
    fn of_same_text(content: ContentId, founder: DocId) -> Self {
        Measures {
            content,
            founder,
            exact: true,
            resemblance: Some(1.0),
            interval: Some(Interval { low: 1.0, high: 1.0 }),
            containment: Some(1.0),
            contained: Some(1.0),
            hamming: Some(0),
            agreement: Some(1.0),
        }
    }
}
