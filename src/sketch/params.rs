//! What fixes a sketch.

use super::edit::EditParams;
use crate::error::{Error, Result};
use crate::text::shingle::Shingling;
use crate::text::token::Unit;
use crate::web::Extraction;
use serde::{Deserialize, Serialize};

/// What fixes a sketch: two sketches compare only when these are equal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SketchParams {
    /// How texts are cut into shingles; `words:5` by default.
    pub shingle: Shingling,
    /// Values of a sample, 16 to 65,536; 256 by default.
    pub sample: usize,
    /// Entries of a signature, 1 to 4,096; 128 by default.
    pub minhashes: usize,
    /// Whether repeated shingles count each (Broder's option A) or once (option B, the default).
    pub labelled: bool,
    /// The features of the simhash; `words:2` by default.
    pub simhash: Shingling,
    /// How features are weighted.
    pub weights: Weights,
    /// Compression rate and neighbourhood of the edit signature; `100:4` by default.
    pub edit: EditParams,
    /// What of an HTML page is its text; the main content by default. A sketcher takes texts: who reads pages sees to it.
    pub html: Extraction,
    /// Draws the Rabin polynomial and the permutations.
    pub seed: u64,
}

/// How the features of a simhash are weighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// By how often they occur.
    #[default]
    Tf,
    /// All alike.
    One,
}

impl Default for SketchParams {
    fn default() -> Self {
        let shingling = |width| Shingling::new(Unit::Words, width).expect("a width within 1..=64");
        SketchParams {
            shingle: shingling(5),
            labelled: false,
            sample: 256,
            minhashes: 128,
            simhash: shingling(2),
            weights: Weights::Tf,
            edit: EditParams::default(),
            html: Extraction::default(),
            seed: 1,
        }
    }
}

/// A digest of sketch parameters: sketches with equal ones compare, others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SketchParamsId(u64);

impl SketchParamsId {
    /// Refuses a sketch that was made with other parameters than these.
    pub fn check(self, sketch: SketchParamsId) -> Result<()> {
        match self == sketch {
            true => Ok(()),
            false => Err(Error::Incompatible {
                name: "parameters of a sketch (make it with a sketcher of the same parameters)".into(),
                expected: format!("{:016x}", sketch.0),
                found: format!("{:016x}", self.0),
            }),
        }
    }
}

impl SketchParams {
    /// The first eight bytes of BLAKE3 over the parameters as JSON.
    pub(crate) fn id(&self) -> SketchParamsId {
        let json = serde_json::to_vec(self).expect("parameters are plain values");
        let hash = blake3::hash(&json);
        SketchParamsId(u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("32 bytes")))
    }

    /// What becomes of pages and charsets; `None` when the bytes themselves are sketched, as they are.
    pub fn extraction(&self) -> Option<Extraction> {
        (self.shingle.unit() != Unit::Bytes).then_some(self.html)
    }

    /// Checks every value against its range.
    pub fn check(&self) -> Result<()> {
        let within = |name: &str, value: usize, least: usize, most: usize| match value {
            v if (least..=most).contains(&v) => Ok(()),
            v => Err(Error::invalid(format!("{name} {v}"), format!("must lie in {least}..={most}"))),
        };
        within("sample", self.sample, 16, 65_536)?;
        within("minhashes", self.minhashes, 1, 4_096)?;
        let bytes = [self.shingle, self.simhash].map(|shingling| shingling.unit() == Unit::Bytes);
        if bytes[0] != bytes[1] {
            return Err(Error::invalid(
                format!("shingle {} with simhash {}", self.shingle, self.simhash),
                "raw bytes have no words: cut both into bytes, or neither",
            ));
        }
        Ok(())
    }
}
