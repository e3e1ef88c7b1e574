//! A sketch as text: what one party sends to another that must not see the document.
//!
//! The sketches are hexadecimal digits of their stored forms (`schema/format.md`), so that the form is complete, lossless
//! and the same everywhere. It carries every parameter: sketches made with others are refused.

use super::edit::EditSignature;
use super::params::SketchParams;
use super::sample::Sample;
use super::signature::Signature;
use super::simhash::Simhash;
use super::sketcher::Sketch;
use crate::error::{Error, Result};
use crate::id::ContentHash;
use serde::{Deserialize, Serialize};

/// One JSON object: a key, the parameters, the sketches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortableSketch {
    /// The document's key.
    pub key: String,
    /// What the sketches were made with.
    pub params: SketchParams,
    /// The content hash.
    pub hash: String,
    /// Bytes of the decoded text.
    pub bytes: u64,
    /// The sample.
    pub sample: String,
    /// The minhash entries; `None` of a text without tokens.
    pub signature: Option<String>,
    /// The simhash; `None` of a text without tokens.
    pub simhash: Option<String>,
    /// The edit signature; `None` of an empty text.
    pub edit: Option<String>,
}

impl PortableSketch {
    /// The portable form of a sketch that was made with these parameters; [`Error::Incompatible`] of another.
    pub fn new(key: String, params: &SketchParams, sketch: &Sketch) -> Result<Self> {
        params.id().check(sketch.params)?;
        Ok(PortableSketch {
            key,
            params: params.clone(),
            hash: hex(&sketch.hash.0),
            bytes: sketch.bytes,
            sample: hex(&sketch.sample.encode()),
            signature: sketch.signature.as_ref().map(|signature| hex(&signature.encode())),
            simhash: sketch.simhash.map(|simhash| format!("{:016x}", simhash.0)),
            edit: sketch.edit.as_ref().map(|edit| hex(&edit.encode())),
        })
    }

    /// The sketch, every part checked.
    pub fn sketch(&self) -> Result<Sketch> {
        let wrong = |what: &str| Error::corrupt(format!("sketch of {:?}", self.key), what);
        if self.key.is_empty() || self.key.len() > 4096 {
            return Err(wrong("a key has 1 to 4,096 bytes"));
        }
        let hash = bytes(&self.hash)?.try_into().map_err(|_| wrong("its hash is not of 16 bytes"))?;
        let signature = self.signature.as_deref().map(bytes).transpose()?;
        if signature.as_ref().is_some_and(|bytes| Some(bytes.len()) != self.params.minhashes.checked_mul(2)) {
            return Err(wrong("its signature is not of as many entries as its parameters say"));
        }
        let sample = Sample::decode(&bytes(&self.sample)?)?;
        if sample.values().len() > self.params.sample {
            return Err(wrong("its sample has more values than its parameters say"));
        }
        let simhash = self.simhash.as_deref().map(number).transpose()?;
        Ok(Sketch {
            hash: ContentHash(hash),
            bytes: self.bytes,
            replaced: 0,
            sample,
            signature: signature.map(|bytes| Signature::decode(&bytes)),
            simhash: simhash.map(Simhash),
            edit: self.edit.as_deref().map(|edit| EditSignature::decode(&bytes(edit)?)).transpose()?,
            params: self.params.id(),
        })
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn bytes(digits: &str) -> Result<Vec<u8>> {
    let wrong = || Error::corrupt("sketch", "an odd number of digits, or one that is not hexadecimal");
    if !digits.len().is_multiple_of(2) || !are_digits(digits) {
        return Err(wrong());
    }
    (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).map_err(|_| wrong()))
        .collect()
}

/// A number of up to 64 bits.
pub(crate) fn number(digits: &str) -> Result<u64> {
    let wrong = || Error::corrupt("sketch", "a simhash that is no hexadecimal number");
    match are_digits(digits) {
        true => u64::from_str_radix(digits, 16).map_err(|_| wrong()),
        false => Err(wrong()),
    }
}

/// Whether all are hexadecimal: a sign is no digit, though numbers are read with one.
fn are_digits(digits: &str) -> bool {
    digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::Sketcher;

    #[test]
    fn the_portable_form_comes_back() {
        let params = SketchParams::default();
        let mut sketcher = Sketcher::new(&params).unwrap();
        for text in ["", "!?", "one", &"many words in a long text ".repeat(500)] {
            let sketch = sketcher.sketch(text.as_bytes());
            let line = PortableSketch::new("k".into(), &params, &sketch).unwrap();
            let line = serde_json::to_string(&line).unwrap();
            let read: PortableSketch = serde_json::from_str(&line).unwrap();
            assert_eq!(read.sketch().unwrap(), sketch);
        }
    }

    #[test]
    fn what_is_no_sketch_is_refused() {
        let params = SketchParams::default();
        let sketch = Sketcher::new(&params).unwrap().sketch(b"some text of a few words");
        let good = PortableSketch::new("k".into(), &params, &sketch).unwrap();
        let other = SketchParams { seed: 2, ..params };
        assert!(matches!(PortableSketch::new("k".into(), &other, &sketch), Err(Error::Incompatible { .. })));
        for wrong in [
            PortableSketch { hash: "00".into(), ..good.clone() },
            PortableSketch { sample: "zz".into(), ..good.clone() },
            PortableSketch { sample: good.sample[2..].into(), ..good.clone() },
            PortableSketch { signature: Some("0011".into()), ..good.clone() },
            PortableSketch { signature: good.signature.clone().map(|digits| digits + "00"), ..good.clone() },
            PortableSketch { simhash: Some("x".into()), ..good.clone() },
            PortableSketch { simhash: Some("+12".into()), ..good.clone() },
            PortableSketch { simhash: Some("".into()), ..good.clone() },
            PortableSketch { edit: Some("é".into()), ..good.clone() },
        ] {
            assert!(wrong.sketch().is_err(), "{wrong:?}");
        }
    }
}
