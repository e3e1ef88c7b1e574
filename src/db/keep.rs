//! Which sketches a file keeps, and what can be told without the others.

use super::candidate::Search;
use super::measures::Measures;
use super::params::Params;
use super::pending::Sought;
use super::query::{Accept, Measure};
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::index::indexing::Indexed;
use crate::sketch::Sketch;
use serde::{Deserialize, Serialize};

/// The sketches of a content that are stored; the content hash always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Kept {
    /// The bottom-s and mod-2^i sketch: resemblance and containment, with intervals. About 1,050 bytes.
    pub sample: bool,
    /// The minhash entries: bands, agreement. 2 bytes an entry.
    pub signature: bool,
    /// The simhash: Hamming distance. 8 bytes.
    pub simhash: bool,
    /// The edit signature: edit distance. One byte for some 800 characters.
    pub edit: bool,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { sample: true, signature: true, simhash: true, edit: true }
    }
}

const NAMES: [&str; 4] = ["sample", "signature", "simhash", "edit"];

impl Kept {
    fn flags(self) -> [bool; 4] {
        [self.sample, self.signature, self.simhash, self.edit]
    }

    /// The sketches that feed the index.
    pub(crate) fn indexed(self, sketch: &Sketch) -> Indexed<'_> {
        Indexed {
            hash: &sketch.hash,
            sample: Some(&sketch.sample).filter(|_| self.sample),
            signature: sketch.signature.as_ref().filter(|_| self.signature),
            simhash: sketch.simhash.filter(|_| self.simhash),
        }
    }
}

impl std::fmt::Display for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kept = NAMES.iter().zip(self.flags()).filter(|(_, kept)| *kept).map(|(name, _)| *name);
        f.write_str(&kept.collect::<Vec<_>>().join(","))
    }
}

impl From<Kept> for String {
    fn from(kept: Kept) -> String {
        kept.to_string()
    }
}

impl TryFrom<String> for Kept {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl std::str::FromStr for Kept {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut flags = [false; 4];
        for name in text.split(',') {
            let at = NAMES.iter().position(|known| *known == name).ok_or_else(|| {
                Error::invalid(format!("keep-sketches {text:?}"), format!("list some of {}", NAMES.join(",")))
            })?;
            flags[at] = true;
        }
        let [sample, signature, simhash, edit] = flags;
        Ok(Kept { sample, signature, simhash, edit })
    }
}

/// What decides that two documents are near duplicates: the best measure that the kept sketches allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Likeness {
    Resemblance,
    Agreement,
    Hamming,
    /// Nothing does: only the same text is known again.
    None,
}

impl Likeness {
    pub fn of(params: &Params) -> Self {
        match params.keep_sketches {
            Kept { sample: true, signature: true, .. } => Likeness::Resemblance,
            Kept { signature: true, .. } => Likeness::Agreement,
            Kept { simhash: true, .. } => Likeness::Hamming,
            Kept { sample: true, .. } if params.containment => Likeness::Resemblance,
            _ => Likeness::None,
        }
    }

    /// As a measure to query by.
    pub fn measure(self, params: &Params) -> Measure {
        match self {
            Likeness::Resemblance | Likeness::None => Measure::Resemblance(params.threshold),
            Likeness::Agreement => Measure::Agreement(params.threshold),
            Likeness::Hamming => Measure::Hamming(params.hamming),
        }
    }

    /// The candidates that can be near duplicates.
    pub fn search<'a, R: Reader>(self, params: &Params, search: Search<'a, R>) -> Result<Search<'a, R>> {
        match self {
            Likeness::Resemblance if !params.keep_sketches.signature => search.samples(),
            Likeness::Resemblance | Likeness::Agreement => search.bands(),
            Likeness::Hamming => search.simhashes(params.hamming),
            Likeness::None => Ok(search),
        }
    }

    /// What of a batch under way is looked up to find near duplicates in it.
    pub fn sought(self, params: &Params) -> Sought {
        Sought {
            samples: self == Likeness::Resemblance && !params.keep_sketches.signature,
            simhashes: self == Likeness::Hamming,
        }
    }

    /// How alike a candidate is, as a share.
    pub fn share(self, measures: &Measures) -> Option<f64> {
        match self {
            Likeness::Resemblance => measures.resemblance.map(|estimate| estimate.value),
            Likeness::Agreement => measures.agreement,
            Likeness::Hamming => measures.hamming.map(share_of_distance),
            Likeness::None => None,
        }
    }

    /// The same, by the end of the interval that decides, where there is one.
    pub fn end(self, measures: &Measures, accept: Accept) -> Option<f64> {
        match (self, measures.resemblance) {
            (Likeness::Resemblance, Some(estimate)) => Some(accept.end(estimate)),
            _ => self.share(measures),
        }
    }

    /// From which share on documents are near duplicates.
    pub fn threshold(self, params: &Params) -> f64 {
        match self {
            Likeness::Hamming => share_of_distance(params.hamming),
            _ => params.threshold,
        }
    }
}

fn share_of_distance(distance: u32) -> f64 {
    1.0 - f64::from(distance) / 64.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_and_other_names_are_refused() {
        for text in ["sample,signature,simhash,edit", "simhash", "sample,edit"] {
            assert_eq!(text.parse::<Kept>().unwrap().to_string(), text);
        }
        assert!("".parse::<Kept>().is_err() && "simhash,colour".parse::<Kept>().is_err());
    }
}
