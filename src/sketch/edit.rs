//! Coates's edit signature (*A fast metric of document similarity*, 2011): a text compressed to bits whose edit distance is
//! in proportion to that of the texts.
//!
//! At every window of n characters of the canonical text a hash is taken; where it lies below 2^32/c, one bit of it is
//! emitted: about one bit for c characters, none of which depends on anything outside its window. (The paper sums the
//! characters, which doubles the spread; its other properties are kept.) Each bit keeps how often c may double before it
//! goes, so that signatures of different c compare at the coarser one, and none has more than 4,096 bits.
//! Bytes: `schema/format.md`, "Edit signature".

use super::align::{Span, Step, align, distance};
use crate::bits::{BitWriter, field};
use crate::error::{Error, Result};
use crate::text::rabin::mix;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most bits of a signature: c doubles beyond.
const MOST_BITS: usize = 4096;
/// A bit's survival is told up to this many doublings.
const MOST_DOUBLINGS: u32 = 24;
/// The Levenshtein distance of unrelated texts as a share of the longer (paper: 12,430 of 13,508 characters).
const UNRELATED: f64 = 0.92;

/// Compression rate c and neighbourhood n, written `c:n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct EditParams {
    /// Characters to a bit, c: 8 to 100,000; 100 by default.
    pub compression: u32,
    /// Characters in a window, n: 1 to 64; 4 by default.
    pub neighbourhood: u32,
}

impl Default for EditParams {
    fn default() -> Self {
        EditParams { compression: 100, neighbourhood: 4 }
    }
}

impl fmt::Display for EditParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.compression, self.neighbourhood)
    }
}

impl From<EditParams> for String {
    fn from(params: EditParams) -> String {
        params.to_string()
    }
}

impl FromStr for EditParams {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            || Error::invalid(format!("edit {text:?}"), "write C:N with C in 8..=100000 and N in 1..=64");
        let (c, n) = text.split_once(':').ok_or_else(wrong)?;
        let params = EditParams {
            compression: c.parse().map_err(|_| wrong())?,
            neighbourhood: n.parse().map_err(|_| wrong())?,
        };
        let valid = (8..=100_000).contains(&params.compression) && (1..=64).contains(&params.neighbourhood);
        if valid { Ok(params) } else { Err(wrong()) }
    }
}

impl TryFrom<String> for EditParams {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

/// A bit, and how many doublings of c it survives.
type Emitted = (bool, u8);

/// The bits of one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditSignature {
    characters: u64,
    /// How often c was doubled to stay within 4,096 bits.
    doublings: u8,
    emitted: Vec<Emitted>,
}

impl EditSignature {
    /// Characters of the canonical text.
    pub fn characters(&self) -> u64 {
        self.characters
    }

    /// The bits, in the order of the text.
    pub fn bits(&self) -> Vec<bool> {
        self.coarser(self.doublings)
    }

    /// How often the compression rate was doubled.
    pub fn doublings(&self) -> u32 {
        u32::from(self.doublings)
    }

    fn coarser(&self, doublings: u8) -> Vec<bool> {
        self.emitted.iter().filter(|emitted| emitted.1 >= doublings).map(|emitted| emitted.0).collect()
    }

    /// The stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = BitWriter::default();
        out.push(self.characters, 48);
        out.push(u64::from(self.doublings), 8);
        out.push(self.emitted.len() as u64, 16);
        for &(bit, survives) in &self.emitted {
            out.push(u64::from(bit), 1);
            let more = u32::from(survives - self.doublings);
            out.push((1 << more) - 1, more + 1);
        }
        out.finish()
    }

    /// Reads the stored form.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let wrong = |what: &str| Error::corrupt("edit signature", what);
        let (head, code) = bytes.split_at_checked(9).ok_or_else(|| wrong("shorter than its header"))?;
        let doublings = field(head, 48, 8) as u8;
        let count = field(head, 56, 16) as usize;
        if count > MOST_BITS || u32::from(doublings) > MOST_DOUBLINGS || count > code.len() * 8 {
            return Err(wrong("its header is out of range"));
        }
        let mut at = 0;
        let mut emitted = Vec::with_capacity(count);
        for _ in 0..count {
            let bit = field(code, at, 1) == 1;
            let more = field(code, at + 1, 32).trailing_ones();
            if u32::from(doublings) + more > MOST_DOUBLINGS {
                return Err(wrong("a bit survives too long"));
            }
            at += 2 + more as usize;
            emitted.push((bit, doublings + more as u8));
        }
        match at.div_ceil(8) == code.len() {
            true => Ok(EditSignature { characters: field(head, 0, 48), doublings, emitted }),
            false => Err(wrong("its length is not that of its bits")),
        }
    }
}

/// Reads the canonical text of one document.
#[derive(Clone, Debug)]
pub(crate) struct EditBuilder {
    key: u64,
    compression: u32,
    window: Vec<u32>,
    /// B^n: takes the oldest character out of the rolling hash.
    drop: u64,
    rolling: u64,
    characters: u64,
    doublings: u8,
    emitted: Vec<Emitted>,
}

/// The base of the rolling hash, an odd 64-bit number.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

impl EditBuilder {
    pub fn new(params: EditParams, key: u64) -> Self {
        EditBuilder {
            key,
            compression: params.compression,
            window: vec![0; params.neighbourhood as usize],
            drop: (0..params.neighbourhood).fold(1, |power: u64, _| power.wrapping_mul(BASE)),
            rolling: 0,
            characters: 0,
            doublings: 0,
            emitted: Vec::new(),
        }
    }

    /// The next characters of the canonical text; a line feed counts as a space.
    pub fn push(&mut self, text: &str) {
        text.chars().for_each(|c| self.push_character(if c == '\n' { ' ' as u32 } else { c as u32 }));
    }

    /// The next character, or byte.
    #[inline]
    pub fn push_character(&mut self, character: u32) {
        let at = (self.characters % self.window.len() as u64) as usize;
        let oldest = std::mem::replace(&mut self.window[at], character + 1);
        self.rolling = self
            .rolling
            .wrapping_mul(BASE)
            .wrapping_add(u64::from(character + 1))
            .wrapping_sub(u64::from(oldest).wrapping_mul(self.drop));
        self.characters += 1;
        if self.characters >= self.window.len() as u64 {
            self.emit(mix(self.rolling ^ self.key));
        }
    }

    #[inline]
    fn emit(&mut self, hash: u64) {
        // h < 2^32/(c·2^d), read as c·h·2^d < 2^32: the number of leading zeros of c·h tells how large d may be.
        let scaled = (hash >> 32) * u64::from(self.compression);
        if scaled >> (32 - self.doublings) == 0 {
            let survives = (scaled.leading_zeros() - 32).min(MOST_DOUBLINGS) as u8;
            self.emitted.push((hash & 1 == 1, survives));
            if self.emitted.len() > MOST_BITS && u32::from(self.doublings) < MOST_DOUBLINGS {
                self.doublings += 1;
                let doublings = self.doublings;
                self.emitted.retain(|emitted| emitted.1 >= doublings);
            }
        }
    }

    /// The signature, `None` of an empty text; then ready for the next text.
    pub fn finish(&mut self) -> Option<EditSignature> {
        let any = self.characters > 0;
        let emitted = self.emitted.drain(..).take(MOST_BITS).collect();
        let signature = EditSignature { characters: self.characters, doublings: self.doublings, emitted };
        self.window.fill(0);
        (self.rolling, self.characters, self.doublings) = (0, 0, 0);
        any.then_some(signature)
    }
}

/// The estimated edit distance of two texts, in characters of their canonical form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EditEstimate {
    /// The paper's estimate, c times the distance of the signatures: right for inserted and deleted blocks.
    pub raw: f64,
    /// The difference in length, and what is left of the distance of the signatures taken as scattered edits.
    pub corrected: f64,
    /// [`corrected`](Self::corrected) as a share of the longer text.
    pub share: f64,
}

/// What stands beside an estimate: what texts that have nothing to do with each other would give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EditContext {
    /// What the raw estimate would be of unrelated texts of these lengths.
    pub unrelated_raw: f64,
    /// What the edit distance of unrelated texts of these lengths would be.
    pub unrelated: f64,
    /// How much of the shorter signature is found in the longer one, in one piece: 1 for a text that the other
    /// embeds, 0 for what unrelated texts would give.
    pub inclusion: f64,
}

impl EditParams {
    /// The bits of both at the coarser of their rates, and that rate.
    fn aligned(&self, first: &EditSignature, second: &EditSignature) -> (Vec<bool>, Vec<bool>, f64) {
        let doublings = first.doublings.max(second.doublings);
        let c = f64::from(self.compression) * f64::from(1u32 << doublings);
        (first.coarser(doublings), second.coarser(doublings), c)
    }

    /// Estimates the edit distance of two texts from their signatures.
    pub fn estimate(&self, first: &EditSignature, second: &EditSignature) -> EditEstimate {
        let (a, b, c) = self.aligned(first, second);
        let edits = distance(&a, &b, Span::Whole) as f64;
        let longer = first.characters.max(second.characters) as f64;
        let shorter = first.characters.min(second.characters) as f64;
        let by_length = longer - shorter;
        let scattered = self.scattered(edits - by_length / c, a.len().min(b.len())) * shorter;
        let corrected = (by_length + scattered).min(UNRELATED * longer).max(by_length);
        EditEstimate { raw: (edits * c).min(longer), corrected, share: corrected / longer.max(1.0) }
    }

    /// What stands beside the estimate for these two.
    pub fn context(&self, first: &EditSignature, second: &EditSignature) -> EditContext {
        let (a, b, c) = self.aligned(first, second);
        let longer = first.characters.max(second.characters) as f64;
        let by_length = longer - first.characters.min(second.characters) as f64;
        EditContext {
            unrelated_raw: (unrelated(a.len(), b.len()) * c).min(longer),
            unrelated: (UNRELATED * longer).max(by_length),
            inclusion: inclusion(&a, &b),
        }
    }

    /// The share of single characters substituted that explains `edits` between signatures of about `bits` bits.
    fn scattered(&self, edits: f64, bits: usize) -> f64 {
        if bits == 0 {
            return 0.0;
        }
        let of_random = bits as f64 * interpolate(OF_RANDOM_BITS, (bits as f64).log2());
        let lost = interpolate(LOST_WINDOWS, edits.max(0.0) / of_random);
        1.0 - (1.0 - lost).powf(1.0 / f64::from(self.neighbourhood))
    }

    /// Which share of the differences lies in each of `strips` equal parts of the first text; all zero for equal
    /// signatures.
    pub fn profile(&self, first: &EditSignature, second: &EditSignature, strips: usize) -> Vec<f64> {
        let (a, b, _) = self.aligned(first, second);
        let mut shares = vec![0.0; strips];
        let (mut row, mut edits) = (0, 0.0);
        for step in align(&a, &b) {
            if step != Step::Match {
                shares[(row * strips / a.len().max(1)).min(strips - 1)] += 1.0;
                edits += 1.0;
            }
            row += usize::from(step != Step::Insert);
        }
        if edits > 0.0 {
            shares.iter_mut().for_each(|share| *share /= edits);
        }
        shares
    }
}

/// The edits between signatures, as a share of those between random bits, against the share of windows that scattered
/// substitutions changed: posterior means over 6,000 simulated texts of 13,508 characters (c = 100, n = 4) with up to 40 % of
/// the characters substituted. Beyond that, signatures can only tell that texts are far apart.
const LOST_WINDOWS: &[(f64, f64)] = &[
    (0.0, 0.0),
    (0.125, 0.028),
    (0.225, 0.048),
    (0.325, 0.073),
    (0.425, 0.102),
    (0.525, 0.141),
    (0.625, 0.189),
    (0.725, 0.260),
    (0.775, 0.313),
    (0.825, 0.411),
    (0.875, 0.559),
    (0.925, 0.658),
    (0.975, 0.742),
    (1.02, 0.796),
    (1.07, 0.852),
    (1.15, 0.894),
    (1.3, 0.915),
];

/// The distance of two random strings of n bits as a share of n, against log₂ n (simulated).
const OF_RANDOM_BITS: &[(f64, f64)] = &[
    (0.0, 0.508),
    (2.0, 0.468),
    (3.0, 0.432),
    (4.0, 0.387),
    (5.0, 0.358),
    (6.0, 0.336),
    (7.0, 0.320),
    (8.0, 0.309),
    (9.0, 0.302),
    (10.0, 0.296),
    (12.0, 0.291),
];

fn interpolate(points: &[(f64, f64)], x: f64) -> f64 {
    let at = points.partition_point(|point| point.0 < x);
    match (at.checked_sub(1).map(|before| points[before]), points.get(at)) {
        (None, _) => points[0].1,
        (Some(last), None) => last.1,
        (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
    }
}

/// The mean distance of random bit strings of these lengths, over four fixed draws.
fn unrelated(first: usize, second: usize) -> f64 {
    const DRAWS: u64 = 4;
    let draw = |seed: u64, length: usize| -> Vec<bool> {
        (0..length as u64).map(|i| mix(mix(seed).wrapping_add(i)) & 1 == 1).collect()
    };
    let total: usize = (0..DRAWS)
        .map(|seed| distance(&draw(2 * seed, first), &draw(2 * seed + 1, second), Span::Whole))
        .sum();
    total as f64 / DRAWS as f64
}

/// How much better the shorter signature fits within the longer one than an unrelated one would.
fn inclusion(a: &[bool], b: &[bool]) -> f64 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.is_empty() {
        return 0.0;
    }
    let random: Vec<bool> = (0..short.len() as u64).map(|i| mix(i.wrapping_add(77)) & 1 == 1).collect();
    let by_chance = distance(&random, long, Span::Within).max(1) as f64;
    (1.0 - distance(short, long, Span::Within) as f64 / by_chance).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: u64 = 11;

    fn signature(params: EditParams, text: &str) -> EditSignature {
        let mut builder = EditBuilder::new(params, KEY);
        builder.push(text);
        builder.finish().unwrap()
    }

    fn text(characters: u64, seed: u64) -> String {
        (0..characters).map(|i| char::from(b'a' + (mix(i ^ seed << 32) % 26) as u8)).collect()
    }

    #[test]
    fn about_one_bit_for_c_characters() {
        for (c, n) in [(50, 4), (100, 4), (200, 8), (100, 10)] {
            let params = EditParams { compression: c, neighbourhood: n };
            let bits = signature(params, &text(100_000, 1)).bits().len() as f64;
            let expected = 100_000.0 / f64::from(c);
            assert!(
                (bits - expected).abs() < 5.0 * expected.sqrt(),
                "c = {c}: {bits} bits, expected {expected}"
            );
        }
    }

    #[test]
    fn a_bit_depends_on_its_window_alone() {
        let params = EditParams::default();
        let (inner, outer) = (text(5000, 1), text(3000, 2));
        let alone = signature(params, &inner).bits();
        let embedded = signature(params, &format!("{outer}{inner}{outer}")).bits();
        assert!(embedded.windows(alone.len()).any(|part| part == alone), "embedded as it is alone");
        let (inner, outer) =
            (signature(params, &inner), signature(params, &format!("{outer}{inner}{outer}")));
        assert_eq!(params.context(&inner, &outer).inclusion, 1.0);
        let estimate = params.estimate(&inner, &outer);
        assert!((estimate.corrected - 6000.0).abs() < 700.0, "{estimate:?}");
    }

    #[test]
    fn long_texts_stay_within_the_bits_and_compare_with_short_ones() {
        let params = EditParams { compression: 8, neighbourhood: 4 };
        let long = text(400_000, 1);
        let coarse = signature(params, &long);
        assert!(coarse.bits().len() <= MOST_BITS && coarse.doublings() >= 3);
        let finer = signature(params, &long[..20_000]);
        assert_eq!(finer.doublings(), 0);
        let same = EditBuilder::new(params, KEY);
        assert!(same.emitted.is_empty());
        assert_eq!(finer.coarser(coarse.doublings), coarse.bits()[..finer.coarser(coarse.doublings).len()]);
    }

    #[test]
    fn the_stored_form_comes_back_and_damage_does_not_panic() {
        for length in [1, 3, 4, 100, 5000, 1_000_000] {
            let signature = signature(EditParams { compression: 20, neighbourhood: 4 }, &text(length, 3));
            let bytes = signature.encode();
            assert_eq!(EditSignature::decode(&bytes).unwrap(), signature);
            for at in 0..bytes.len().min(300) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at % 8);
                drop(EditSignature::decode(&damaged));
                drop(EditSignature::decode(&bytes[..at]));
            }
        }
    }

    #[test]
    fn scattered_edits_are_estimated_on_the_mean() {
        let params = EditParams::default();
        let length = 13_508u64;
        // Beyond some 15 % of the characters, 135 bits tell too little: the bench `edit` shows how much.
        for percent in [0, 1, 2, 5, 10] {
            let keys = 40;
            let (mut estimated, mut edited) = (0.0, 0.0);
            for seed in 0..keys {
                let original = text(length, seed);
                let substituted: String = original
                    .bytes()
                    .enumerate()
                    .map(|(i, byte)| match mix(i as u64 ^ seed << 40) % 100 < percent {
                        true => char::from(b'a' + (byte - b'a' + 1 + (mix(i as u64) % 25) as u8) % 26),
                        false => char::from(byte),
                    })
                    .collect();
                edited +=
                    original.bytes().zip(substituted.bytes()).filter(|pair| pair.0 != pair.1).count() as f64;
                estimated += params
                    .estimate(&signature(params, &original), &signature(params, &substituted))
                    .corrected;
            }
            let error = (estimated - edited) / keys as f64;
            assert!(
                error.abs() < 0.1 * UNRELATED * length as f64,
                "{percent} %: off by {error:.0} characters"
            );
        }
    }

    #[test]
    fn differences_are_told_by_place() {
        let params = EditParams { compression: 20, neighbourhood: 4 };
        let original = text(20_000, 1);
        let changed = format!("{}{}{}", &original[..5000], text(2000, 9), &original[7000..]);
        let profile = params.profile(&signature(params, &original), &signature(params, &changed), 10);
        assert!((profile.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(profile[2] + profile[3] > 0.9, "{profile:?}");
        assert_eq!(params.profile(&signature(params, &original), &signature(params, &original), 4), [0.0; 4]);
    }

    #[test]
    fn unrelated_texts_are_told_to_be_unrelated() {
        let params = EditParams::default();
        let (a, b) = (signature(params, &text(20_000, 1)), signature(params, &text(20_000, 2)));
        let (estimate, context) = (params.estimate(&a, &b), params.context(&a, &b));
        assert!(estimate.corrected > 0.3 * context.unrelated, "{estimate:?}");
        assert!((estimate.raw / context.unrelated_raw - 1.0).abs() < 0.35, "{estimate:?}, {context:?}");
        assert!(context.inclusion < 0.3, "{context:?}");
    }
}
