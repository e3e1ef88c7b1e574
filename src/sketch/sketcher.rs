//! All sketches of one text, in one pass over chunks of any size.

use super::edit::{EditBuilder, EditSignature};
use super::occurrence::Occurrences;
use super::params::{SketchParams, SketchParamsId, Weights};
use super::retained::Retained;
use super::sample::Sample;
use super::signature::{Bins, Signature};
use super::simhash::{Simhash, Votes};
use super::track::Track;
use crate::error::Result;
use crate::id::ContentHash;
use crate::text::canonical::Canonical;
use crate::text::decode::Decoder;
use crate::text::feature::Features;
use crate::text::kernel::{self, mixing};
use crate::text::rabin::{Rabin, mix};
use crate::text::shingle::Shingler;
use crate::text::token::{Tokeniser, Unit};
use crate::web::Extraction;

/// All that is kept of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    /// The hash of the decoded text: equal for the same text only.
    pub hash: ContentHash,
    /// Bytes of the decoded text in UTF-8.
    pub bytes: u64,
    /// Ill-formed byte sequences that were replaced by U+FFFD.
    pub replaced: u64,
    /// The bottom-s and mod-2^i sketch.
    pub sample: Sample,
    /// The k minhash entries; `None` of a text without tokens.
    pub signature: Option<Signature>,
    /// The simhash; `None` of a text without tokens.
    pub simhash: Option<Simhash>,
    /// The edit signature; `None` of a text without characters.
    pub edit: Option<EditSignature>,
    /// The parameters that it was made with: whatever takes a sketch refuses one of others.
    pub(crate) params: SketchParamsId,
}

/// Makes sketches, one text after another, with buffers that are kept between texts.
///
/// ```
/// use sketchdb::{SketchParams, Sketcher};
/// let mut sketcher = Sketcher::new(&SketchParams::default())?;
/// let a = sketcher.sketch(b"a rose is a rose is a rose");
/// sketcher.update(b"a rose is a ");
/// sketcher.update(b"rose is a rose");
/// assert_eq!(sketcher.finish(), a);
/// # Ok::<(), sketchdb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sketcher {
    params: SketchParamsId,
    size: usize,
    extraction: Option<Extraction>,
    rabin: Rabin,
    /// Of the hashes of shingles.
    key: u64,
    decoder: Decoder,
    canonical: Canonical,
    hasher: blake3::Hasher,
    bytes: u64,
    shingles: Track,
    shingler: Shingler,
    features: Track,
    featurer: Features,
    /// Whether features are cut from other tokens than shingles.
    apart: bool,
    labels: Option<Occurrences>,
    seen_features: Option<Occurrences>,
    retained: Retained,
    bins: Bins,
    votes: Votes,
    edit: EditBuilder,
    batch: Batch,
}

/// Units that are taken at a time: their shingles stay near the CPU.
const AT_ONCE: usize = 1024;

/// The shingles of some units, and the hashes of those or of features.
#[derive(Clone, Debug, Default)]
struct Batch {
    fingerprints: Vec<u64>,
    hashes: Vec<u64>,
}

impl Sketcher {
    /// What the variable `SKETCHDB_KERNEL` may be; any other value counts as the last.
    pub const KERNELS: [&str; 3] = kernel::NAMES;

    /// The instructions that sketches are made with here: `portable`, `avx2` or `avx512`. The sketches are the same.
    pub fn kernel() -> &'static str {
        kernel::level().name()
    }

    /// What its texts are of pages; see [`SketchParams::extraction`].
    pub fn extraction(&self) -> Option<Extraction> {
        self.extraction
    }

    /// A sketcher for these parameters.
    pub fn new(params: &SketchParams) -> Result<Self> {
        params.check()?;
        let rabin = Rabin::new(params.seed);
        let key = |number: u64| mix(mix(params.seed).wrapping_add(number));
        Ok(Sketcher {
            params: params.id(),
            size: params.sample,
            extraction: params.extraction(),
            key: key(1),
            decoder: Decoder::default(),
            canonical: Canonical::new(),
            hasher: blake3::Hasher::new(),
            bytes: 0,
            shingles: Track::new(params.shingle.unit()),
            shingler: Shingler::new(params.shingle.width(), &rabin),
            features: Track::new(params.simhash.unit()),
            featurer: Features::new(params.simhash.width(), key(3)),
            apart: params.shingle.unit() != params.simhash.unit(),
            labels: params.labelled.then(Occurrences::default),
            seen_features: (params.weights == Weights::One).then(Occurrences::default),
            retained: Retained::new(params.sample),
            bins: Bins::new(params.minhashes, key(2)),
            votes: Votes::default(),
            edit: EditBuilder::new(params.edit, key(4)),
            batch: Batch::default(),
            rabin,
        })
    }

    /// The sketch of a whole text.
    pub fn sketch(&mut self, text: &[u8]) -> Sketch {
        self.update(text);
        self.finish()
    }

    /// Takes the next bytes of the text, however it is cut.
    pub fn update(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(1 << 16) {
            if self.shingles.unit == Unit::Bytes {
                self.take_bytes(chunk);
            } else {
                self.take_text(|decoder, sink| decoder.push(chunk, sink));
            }
            self.take_units();
        }
    }

    /// The sketch of the text given so far; then ready for the next text.
    pub fn finish(&mut self) -> Sketch {
        self.finish_tokens();
        self.take_units();
        self.batch.fingerprints.clear();
        self.batch.fingerprints.extend(self.shingler.finish(&self.rabin).map(|last| last.0));
        self.take_shingles();
        self.batch.hashes.clear();
        self.featurer.finish(&mut self.batch.hashes);
        self.take_features();
        let hashes = self.retained.finish(if self.bins.is_full() { self.size + 1 } else { usize::MAX });
        let sketch = Sketch {
            hash: content_hash(&self.hasher),
            bytes: self.bytes,
            replaced: self.decoder.replaced(),
            sample: Sample::of_sorted(hashes, self.size),
            signature: self.bins.finish(hashes),
            simhash: self.votes.finish(),
            edit: self.edit.finish(),
            params: self.params,
        };
        self.retained.clear();
        self.hasher.reset();
        self.bytes = 0;
        self.decoder = Decoder::default();
        self.labels.iter_mut().chain(&mut self.seen_features).for_each(Occurrences::clear);
        sketch
    }

    fn take_bytes(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        Tokeniser::push_bytes(bytes, &mut self.shingles.units);
        self.edit.push_bytes(bytes);
    }

    /// Hashes what `decode` yields and hands its canonical form on.
    fn take_text(&mut self, decode: impl FnOnce(&mut Decoder, &mut dyn FnMut(&str))) {
        let Sketcher { decoder, canonical, hasher, shingles, features, apart, rabin, edit, bytes, .. } = self;
        decode(decoder, &mut |text| {
            hasher.update(text.as_bytes());
            *bytes += text.len() as u64;
            canonical.push(text, &mut |form| {
                shingles.push(form, rabin);
                if *apart {
                    features.push(form, rabin);
                }
                edit.push(form);
            });
        });
    }

    fn finish_tokens(&mut self) {
        self.take_text(|decoder, sink| decoder.finish(sink));
        let Sketcher { canonical, shingles, features, apart, rabin, edit, .. } = self;
        canonical.finish(&mut |form| {
            shingles.push(form, rabin);
            if *apart {
                features.push(form, rabin);
            }
            edit.push(form);
        });
        for Track { tokeniser, units, .. } in [shingles, features] {
            tokeniser.finish(units);
        }
    }

    fn take_units(&mut self) {
        let units = std::mem::take(&mut self.shingles.units);
        for units in units.chunks(AT_ONCE) {
            self.batch.fingerprints.clear();
            self.shingler.push(units, &self.rabin, &mut self.batch.fingerprints);
            self.take_shingles();
        }
        let own = std::mem::take(&mut self.features.units);
        for units in if self.apart { &own } else { &units }.chunks(AT_ONCE) {
            self.batch.hashes.clear();
            self.featurer.push(units, &mut self.batch.hashes);
            self.take_features();
        }
        (self.shingles.units, self.features.units) = (units, own);
        self.shingles.units.clear();
        self.features.units.clear();
    }

    /// Takes the shingles of the batch.
    fn take_shingles(&mut self) {
        let Batch { fingerprints, hashes } = &mut self.batch;
        if let Some(labels) = &mut self.labels {
            fingerprints.iter_mut().for_each(|fingerprint| *fingerprint = labels.label(*fingerprint));
        }
        hashes.clear();
        mixing::keyed(fingerprints, self.key, hashes);
        self.retained.extend(hashes);
        self.bins.extend(hashes);
    }

    /// Takes the features of the batch.
    fn take_features(&mut self) {
        let hashes = &mut self.batch.hashes;
        if let Some(seen) = &mut self.seen_features {
            hashes.retain(|&feature| seen.count(feature) == 1);
        }
        self.votes.extend(hashes);
    }
}

fn content_hash(hasher: &blake3::Hasher) -> ContentHash {
    let mut hash = [0; 16];
    hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    ContentHash(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::text::shingle::Shingling;

    fn sketcher() -> Sketcher {
        Sketcher::new(&SketchParams::default()).unwrap()
    }

    fn text(words: u64, seed: u64) -> String {
        (0..words).map(|i| format!("w{} ", mix(i ^ seed << 40) % 5000)).collect()
    }

    #[test]
    fn chunks_do_not_matter() {
        let text = text(3000, 1) + "naïve ἄνδρα 漢字かな ก็ \u{1F600} e\u{301} \r\n end";
        let mut sketcher = sketcher();
        let whole = sketcher.sketch(text.as_bytes());
        for chunk in [1, 2, 3, 7, 64, 1000] {
            text.as_bytes().chunks(chunk).for_each(|part| sketcher.update(part));
            assert_eq!(sketcher.finish(), whole, "chunks of {chunk}");
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_text() {
        let mut sketcher = sketcher();
        for part in 0..200 {
            sketcher.update(text(5000, part).as_bytes());
        }
        sketcher.update("x".repeat(5_000_000).as_bytes());
        assert!(sketcher.retained.capacity() <= 4 * 4096);
        assert!(sketcher.shingles.units.capacity() <= 1 << 17);
        assert!(sketcher.finish().sample.values().len() == 256);
    }

    #[test]
    fn texts_without_tokens_have_empty_sketches() {
        let mut sketcher = sketcher();
        for text in ["", "  \n", "!?", "\u{1F600}\u{200D}"] {
            let sketch = sketcher.sketch(text.as_bytes());
            assert_eq!((sketch.sample.values().len(), sketch.sample.is_whole()), (0, true), "{text:?}");
            assert_eq!((sketch.signature, sketch.simhash), (None, None), "{text:?}");
        }
    }

    #[test]
    fn short_texts_have_one_shingle() {
        let mut sketcher = sketcher();
        for text in ["one", "one two three four", "one two three four five"] {
            assert_eq!(sketcher.sketch(text.as_bytes()).sample.values().len(), 1, "{text:?}");
        }
    }

    #[test]
    fn the_hash_is_of_the_decoded_text() {
        let mut sketcher = sketcher();
        let plain = sketcher.sketch("Text".as_bytes());
        assert_eq!(sketcher.sketch("\u{FEFF}Text".as_bytes()).hash, plain.hash);
        assert_ne!(sketcher.sketch("text".as_bytes()).hash, plain.hash);
        assert_eq!(plain.hash.0, blake3::hash(b"Text").as_bytes()[..16]);
    }

    #[test]
    fn another_seed_gives_other_values() {
        let other = SketchParams { seed: 2, ..SketchParams::default() };
        let a = sketcher().sketch(b"one two three four five six");
        let b = Sketcher::new(&other).unwrap().sketch(b"one two three four five six");
        assert_ne!(a.sample, b.sample);
        assert_ne!(a.signature, b.signature);
        assert_ne!(a.simhash, b.simhash);
    }

    fn resemblance(params: &SketchParams, a: &str, b: &str) -> f64 {
        let mut sketcher = Sketcher::new(params).unwrap();
        let (a, b) = (sketcher.sketch(a.as_bytes()), sketcher.sketch(b.as_bytes()));
        crate::sketch::Overlap::of(&a.sample, &b.sample).resemblance().unwrap()
    }

    #[test]
    fn the_example_of_broder_comes_out_exactly() {
        let (a, b) = ("a rose is a rose is a rose", "a rose is a flower which is a rose");
        for (width, labelled, set) in [(1, 0.7, 0.6), (2, 0.5, 0.5), (3, 0.3, 3.0 / 7.0)] {
            let shingle = Shingling::new(Unit::Words, width).unwrap();
            let params = |labelled| SketchParams { shingle, labelled, ..SketchParams::default() };
            assert_eq!(resemblance(&params(true), a, b), labelled, "option A, w = {width}");
            assert_eq!(resemblance(&params(false), a, b), set, "option B, w = {width}");
        }
    }

    #[test]
    fn labelled_shingles_equal_a_multiset() {
        for seed in 0..40u64 {
            let draw =
                |salt: u64| -> Vec<u64> { (0..120).map(|i| mix(i ^ mix(seed * 2 + salt)) % 6).collect() };
            let (a, b) = (draw(0), draw(1));
            let count = |tokens: &[u64]| {
                let mut counts = std::collections::HashMap::<Vec<u64>, u64>::new();
                tokens.windows(2).for_each(|pair| *counts.entry(pair.to_vec()).or_default() += 1);
                counts
            };
            let (ca, cb) = (count(&a), count(&b));
            let both: u64 = ca.iter().map(|(pair, n)| n.min(cb.get(pair).unwrap_or(&0))).sum();
            let exact = both as f64 / (2 * 119 - both) as f64;
            let shingle = Shingling::new(Unit::Words, 2).unwrap();
            let params = SketchParams { shingle, labelled: true, ..SketchParams::default() };
            let spell = |tokens: &[u64]| tokens.iter().map(|t| format!("t{t} ")).collect::<String>();
            assert_eq!(resemblance(&params, &spell(&a), &spell(&b)), exact, "seed {seed}");
        }
    }

    #[test]
    fn weights_of_one_count_a_feature_once() {
        let params = SketchParams { weights: Weights::One, ..SketchParams::default() };
        let mut sketcher = Sketcher::new(&params).unwrap();
        let once = sketcher.sketch(b"red green blue");
        let often = sketcher.sketch(b"red green blue red green blue red green");
        let closing = sketcher.sketch(b"red green blue red");
        assert_eq!(often.simhash, closing.simhash);
        assert!(once.simhash.is_some());
    }

    #[test]
    fn every_unit_is_cut_as_it_says() {
        for (shingle, text, shingles) in [
            ("chars:3", "Ab, c", 2),
            ("lines:1", "one line\n\n another\r\n One LINE", 2),
            ("words:1", "one two one", 2),
        ] {
            let params = SketchParams { shingle: shingle.parse().unwrap(), ..SketchParams::default() };
            let sketch = Sketcher::new(&params).unwrap().sketch(text.as_bytes());
            assert_eq!(sketch.sample.values().len(), shingles, "{shingle}");
        }
        let (shingle, simhash) = ("bytes:4".parse().unwrap(), "bytes:2".parse().unwrap());
        let params = SketchParams { shingle, simhash, ..SketchParams::default() };
        let sketch = Sketcher::new(&params).unwrap().sketch(b"\xFF\0\xFF\0\xFF\0");
        assert_eq!((sketch.sample.values().len(), sketch.replaced, sketch.bytes), (2, 0, 6));
        assert_eq!(sketch.edit.unwrap().characters(), 6);
        assert!(Sketcher::new(&SketchParams { shingle, ..SketchParams::default() }).is_err());
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for params in [
            SketchParams { sample: 15, ..SketchParams::default() },
            SketchParams { minhashes: 0, ..SketchParams::default() },
        ] {
            assert!(matches!(Sketcher::new(&params), Err(Error::Invalid { .. })));
        }
    }
}
