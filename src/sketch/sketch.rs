//! All sketches of one text, in one pass over chunks of any size.

use super::sample::{Sample, value_of};
use super::signature::{Bins, Signature};
use super::simhash::{Simhash, Votes};
use crate::error::{Error, Result};
use crate::id::ContentHash;
use crate::text::canonical::Canonical;
use crate::text::decode::Decoder;
use crate::text::rabin::{Rabin, mix};
use crate::text::shingle::{Shingler, Shingling};
use crate::text::token::{Tokeniser, Unit};
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
    /// The features of the simhash; `words:2` by default, each weighted by how often it occurs.
    pub simhash: Shingling,
    /// Draws the Rabin polynomial and the permutations.
    pub seed: u64,
}

impl Default for SketchParams {
    fn default() -> Self {
        let shingling = |width| Shingling::new(Unit::Words, width).expect("a width within 1..=64");
        SketchParams {
            shingle: shingling(5),
            sample: 256,
            minhashes: 128,
            simhash: shingling(2),
            seed: 1,
        }
    }
}

impl SketchParams {
    /// Checks every value against its range.
    pub fn check(&self) -> Result<()> {
        let within = |name: &str, value: usize, least: usize, most: usize| match value {
            v if (least..=most).contains(&v) => Ok(()),
            v => Err(Error::invalid(format!("{name} {v}"), format!("must lie in {least}..={most}"))),
        };
        within("sample", self.sample, 16, 65_536)?;
        within("minhashes", self.minhashes, 1, 4_096)?;
        for shingling in [self.shingle, self.simhash] {
            if shingling.unit() != Unit::Words {
                return Err(Error::invalid(
                    format!("shingling {shingling}"),
                    "this version cuts texts into words only: use words:WIDTH",
                ));
            }
        }
        Ok(())
    }
}

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
    size: usize,
    rabin: Rabin,
    keys: Keys,
    decoder: Decoder,
    canonical: Canonical,
    hasher: blake3::Hasher,
    bytes: u64,
    tokeniser: Tokeniser,
    shingler: Shingler,
    features: Shingler,
    units: Vec<u64>,
    retained: Retained,
    bins: Bins,
    votes: Votes,
}

/// The keys of the independent permutations, drawn from the seed.
#[derive(Clone, Copy, Debug)]
struct Keys {
    sample: u64,
    simhash: u64,
}

impl Sketcher {
    /// A sketcher for these parameters.
    pub fn new(params: &SketchParams) -> Result<Self> {
        params.check()?;
        let rabin = Rabin::new(params.seed);
        let key = |number: u64| mix(mix(params.seed).wrapping_add(number));
        Ok(Sketcher {
            size: params.sample,
            keys: Keys { sample: key(1), simhash: key(3) },
            decoder: Decoder::default(),
            canonical: Canonical::new(),
            hasher: blake3::Hasher::new(),
            bytes: 0,
            tokeniser: Tokeniser::new(params.shingle.unit()),
            shingler: Shingler::new(params.shingle.width(), &rabin),
            features: Shingler::new(params.simhash.width(), &rabin),
            units: Vec::new(),
            retained: Retained::new(params.sample),
            bins: Bins::new(params.minhashes, key(2)),
            votes: Votes::default(),
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
            let Sketcher { decoder, canonical, hasher, tokeniser, units, rabin, bytes, .. } = self;
            decoder.push(chunk, &mut |text| {
                hasher.update(text.as_bytes());
                *bytes += text.len() as u64;
                canonical.push(text, &mut |form| tokeniser.push(form, rabin, &mut |unit| units.push(unit)));
            });
            self.take_units();
        }
    }

    /// The sketch of the text given so far; then ready for the next text.
    pub fn finish(&mut self) -> Sketch {
        let replaced = self.finish_tokens();
        self.take_units();
        for fingerprint in [self.shingler.finish()].into_iter().flatten() {
            self.take_shingle(fingerprint.0);
        }
        if let Some(feature) = self.features.finish() {
            self.votes.push(mix(feature.0 ^ self.keys.simhash));
        }
        let hashes = self.retained.finish(if self.bins.is_full() { self.size + 1 } else { usize::MAX });
        let sketch = Sketch {
            hash: content_hash(&self.hasher),
            bytes: self.bytes,
            replaced,
            sample: Sample::of_sorted(hashes, self.size),
            signature: self.bins.finish(hashes),
            simhash: self.votes.finish(),
        };
        self.retained.clear();
        self.hasher.reset();
        self.bytes = 0;
        sketch
    }

    fn finish_tokens(&mut self) -> u64 {
        let Sketcher { decoder, canonical, hasher, tokeniser, units, rabin, bytes, .. } = self;
        let sink = &mut |unit| units.push(unit);
        decoder.finish(&mut |text| {
            hasher.update(text.as_bytes());
            *bytes += text.len() as u64;
            canonical.push(text, &mut |form| tokeniser.push(form, rabin, sink));
        });
        canonical.finish(&mut |form| tokeniser.push(form, rabin, sink));
        tokeniser.finish(sink);
        let replaced = decoder.replaced();
        (*decoder, *canonical) = (Decoder::default(), Canonical::new());
        replaced
    }

    fn take_units(&mut self) {
        let units = std::mem::take(&mut self.units);
        for &unit in &units {
            if let Some(fingerprint) = self.shingler.push(unit, &self.rabin) {
                self.take_shingle(fingerprint.0);
            }
            if let Some(feature) = self.features.push(unit, &self.rabin) {
                self.votes.push(mix(feature.0 ^ self.keys.simhash));
            }
        }
        self.units = units;
        self.units.clear();
    }

    #[inline]
    fn take_shingle(&mut self, fingerprint: u64) {
        self.retained.push(mix(fingerprint ^ self.keys.sample));
        self.bins.push(fingerprint);
    }
}

fn content_hash(hasher: &blake3::Hasher) -> ContentHash {
    let mut hash = [0; 16];
    hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    ContentHash(hash)
}

/// The smallest hashes of a text, in memory that does not grow with the text. Hashes with one sample value count as one
/// and the smallest of them stands for it: a sample cut off among such would take itself for whole.
///
/// As many are retained as both consumers can want: the sample its s+1 smallest, the signature all of a text so short that
/// a bin is empty after round 0 (the chance that one of 128 bins is still empty after 4,096 shingles is 1.4e-12; then the
/// further rounds run over the 4,096 smallest, which is as well defined).
#[derive(Clone, Debug)]
struct Retained {
    most: usize,
    limit: u64,
    hashes: Vec<u64>,
}

impl Retained {
    fn new(sample: usize) -> Self {
        Retained { most: (sample + 1).max(4096), limit: u64::MAX, hashes: Vec::new() }
    }

    #[inline]
    fn push(&mut self, hash: u64) {
        if hash <= self.limit {
            self.hashes.push(hash);
            if self.hashes.len() >= 2 * self.most {
                self.shrink();
            }
        }
    }

    fn shrink(&mut self) {
        self.hashes.sort_unstable();
        self.hashes.dedup_by_key(|hash| value_of(*hash));
        if self.hashes.len() >= self.most {
            self.hashes.truncate(self.most);
            self.limit = self.hashes[self.most - 1];
        }
    }

    /// Hashes, ascending: of all values that are retained, or of at least the `wanted` smallest of them.
    fn finish(&mut self, wanted: usize) -> &[u64] {
        // A slice a little larger than wanted is enough to sort, unless most of it is repetition.
        let slice = wanted.saturating_add(wanted / 4);
        if slice < self.hashes.len() {
            self.hashes.select_nth_unstable(slice);
            self.hashes[..slice].sort_unstable();
            let distinct = 1 + self.hashes[..slice].windows(2).filter(|pair| value_of(pair[0]) != value_of(pair[1])).count();
            if distinct >= wanted {
                return &self.hashes[..slice];
            }
        }
        self.shrink();
        &self.hashes
    }

    fn clear(&mut self) {
        self.hashes.clear();
        self.limit = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

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
    fn the_retained_hashes_are_the_smallest_whatever_comes() {
        for (count, distinct) in [(10u64, 10u64), (5000, 300), (5000, 5000), (60_000, 20_000), (200_000, 50)] {
            let mut retained = Retained::new(256);
            let all: Vec<u64> = (0..count).map(|i| mix(i % distinct)).collect();
            all.iter().for_each(|&hash| retained.push(hash));
            let smallest: Vec<u64> = all.iter().copied().collect::<BTreeSet<_>>().into_iter().take(257).collect();
            let mut got = retained.clone().finish(257).to_vec();
            got.dedup();
            assert!(got.len() >= smallest.len());
            assert_eq!(got[..smallest.len()], smallest, "{count} of {distinct}");
            let kept: Vec<u64> = all.iter().copied().collect::<BTreeSet<_>>().into_iter().take(4096).collect();
            assert_eq!(retained.finish(usize::MAX), kept);
        }
    }

    #[test]
    fn shingles_of_one_value_are_not_mistaken_for_several() {
        // Twice as many hashes as values, and more of both than are retained.
        for (size, repeats) in [(256, 1), (256, 8), (8192, 1)] {
            let mut retained = Retained::new(size);
            let values = 5 * size as u64;
            for i in (0..2 * values).flat_map(|i| std::iter::repeat_n(i, repeats)) {
                retained.push(i % values << 24 | i / values);
            }
            let sample = Sample::of_sorted(retained.finish(size + 1), size);
            assert_eq!((sample.values().len(), sample.bound()), (size, size as u64), "{size} of {values} values");
        }
    }

    #[test]
    fn memory_does_not_grow_with_the_text() {
        let mut sketcher = sketcher();
        for part in 0..200 {
            sketcher.update(text(5000, part).as_bytes());
        }
        sketcher.update("x".repeat(5_000_000).as_bytes());
        assert!(sketcher.retained.hashes.capacity() <= 4 * 4096);
        assert!(sketcher.units.capacity() <= 1 << 17);
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
