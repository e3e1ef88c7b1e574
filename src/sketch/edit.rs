//! Coates's edit signature (*A fast metric of document similarity*, 2011): a text compressed to bits whose edit distance is
//! in proportion to that of the texts.
//!
//! At every window of n characters of the canonical text a hash is taken; where it lies below 2^32/c, one bit of it is
//! emitted: about one bit for c characters, none of which depends on anything outside its window. (The paper sums the
//! characters, which doubles the spread; its other properties are kept.) Each bit keeps how often c may double before it
//! goes, so that signatures of different c compare at the coarser one, and none has more than 4,096 bits.
//! Bytes: `schema/format.md`, "Edit signature".

use super::kernel::fours::{self, Sieve};
use super::kernel::windows::{Windows, mixed};
use crate::bits::{BitWriter, field};
use crate::error::{Error, Result};
use crate::text::kernel::ascii;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The most bits of a signature: c doubles beyond.
const MOST_BITS: usize = 4096;
/// A bit's survival is told up to this many doublings.
const MOST_DOUBLINGS: u32 = 24;

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
    pub(crate) doublings: u8,
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

    pub(crate) fn coarser(&self, doublings: u8) -> Vec<bool> {
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

/// The width of windows that bytes are read in at once.
const FOUR: usize = 4;
/// Characters that are taken at a time.
const BLOCK: usize = 1024;
/// Bytes in a row that are worth a way of their own.
const LONG: usize = 16;

/// Reads the canonical text of one document.
#[derive(Clone, Debug)]
pub(crate) struct EditBuilder {
    key: u32,
    compression: u32,
    neighbourhood: usize,
    /// Characters whose windows are not hashed yet, and the n-1 before them.
    waiting: Vec<u32>,
    windows: Windows,
    /// Which windows of a run of bytes have a low hash.
    low: Vec<u64>,
    characters: u64,
    doublings: u8,
    emitted: Vec<Emitted>,
}

impl EditBuilder {
    pub fn new(params: EditParams, key: u64) -> Self {
        EditBuilder {
            key: (key ^ key >> 32) as u32,
            compression: params.compression,
            neighbourhood: params.neighbourhood as usize,
            waiting: Vec::new(),
            windows: Windows::default(),
            low: Vec::new(),
            characters: 0,
            doublings: 0,
            emitted: Vec::new(),
        }
    }

    /// The next characters of the canonical text; a line feed counts as a space.
    pub fn push(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (run, after) = rest.split_at(ascii::prefix(rest.as_bytes()));
            // No other character of a canonical text lies below the space.
            self.take_bytes(run.as_bytes(), b' ');
            let others = after.find(|c: char| c.is_ascii()).unwrap_or(after.len());
            let (others, after) = after.split_at(others);
            self.take(others.chars().map(character));
            rest = after;
        }
    }

    /// The next bytes of a text whose bytes are its characters.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.take_bytes(bytes, 0);
    }

    /// Takes bytes that are characters; those below `least` count as that one.
    fn take_bytes(&mut self, bytes: &[u8], least: u8) {
        let value = |byte: &u8| u32::from(least.max(*byte));
        if self.neighbourhood != FOUR || bytes.len() < LONG {
            return bytes.chunks(BLOCK).for_each(|some| self.take(some.iter().map(value)));
        }
        // Windows that reach over what was before; then those within the bytes.
        self.take(bytes[..FOUR - 1].iter().map(value));
        self.hash_waiting();
        self.hash_bytes(bytes, least);
        self.waiting.clear();
        self.waiting.extend(bytes[bytes.len() - (FOUR - 1)..].iter().map(value));
        self.characters += (bytes.len() - (FOUR - 1)) as u64;
    }

    /// Takes characters.
    fn take(&mut self, characters: impl Iterator<Item = u32>) {
        let before = self.waiting.len();
        self.waiting.extend(characters);
        self.characters += (self.waiting.len() - before) as u64;
        if self.waiting.len() >= BLOCK + self.neighbourhood {
            self.hash_waiting();
        }
    }

    /// Up to where hashes are emitted: h < 2^32/(c·2^d), read as c·h < 2^(32-d).
    fn most(&self) -> u32 {
        (u32::MAX >> self.doublings) / self.compression
    }

    /// Hashes all windows of bytes.
    fn hash_bytes(&mut self, bytes: &[u8], least: u8) {
        let sieve = Sieve { least, key: self.key, most: self.most() };
        let mut words = std::mem::take(&mut self.low);
        fours::low(bytes, sieve, &mut words);
        for (mut low, windows) in words.iter().copied().zip((0..).step_by(64)) {
            while low != 0 {
                if let Some(window) = bytes[windows + low.trailing_zeros() as usize..].first_chunk() {
                    self.emit(sieve.hash(*window));
                }
                low &= low - 1;
            }
        }
        self.low = words;
    }

    /// Hashes all windows that are full.
    fn hash_waiting(&mut self) {
        let mut windows = std::mem::take(&mut self.windows);
        let most = self.most();
        let hashes = windows.hash(&self.waiting, self.neighbourhood, self.key);
        hashes.iter().filter(|hash| **hash <= most).for_each(|hash| self.emit(*hash));
        self.windows = windows;
        self.waiting.drain(..(self.waiting.len() + 1).saturating_sub(self.neighbourhood));
    }

    /// Emits a bit if the hash is low enough.
    fn emit(&mut self, hash: u32) {
        if hash > self.most() {
            return;
        }
        // The number of leading zeros of c·h tells how large d may be.
        let scaled = u64::from(hash) * u64::from(self.compression);
        let survives = (scaled.leading_zeros() - 32).min(MOST_DOUBLINGS) as u8;
        self.emitted.push((mixed(hash) & 1 == 1, survives));
        if self.emitted.len() > MOST_BITS && u32::from(self.doublings) < MOST_DOUBLINGS {
            self.doublings += 1;
            let doublings = self.doublings;
            self.emitted.retain(|emitted| emitted.1 >= doublings);
        }
    }

    /// The signature, `None` of an empty text; then ready for the next text.
    pub fn finish(&mut self) -> Option<EditSignature> {
        self.hash_waiting();
        let any = self.characters > 0;
        let emitted = self.emitted.drain(..).take(MOST_BITS).collect();
        let signature = EditSignature { characters: self.characters, doublings: self.doublings, emitted };
        self.waiting.clear();
        (self.characters, self.doublings) = (0, 0);
        any.then_some(signature)
    }
}

/// The number of a character: up to 255 itself, else mixed, since four numbers are added a byte apart.
fn character(c: char) -> u32 {
    if c as u32 <= 0xFF { c as u32 } else { mixed(c as u32) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::text::rabin::mix;

    const KEY: u64 = 11;

    pub(crate) fn signature(params: EditParams, text: &str) -> EditSignature {
        let mut builder = EditBuilder::new(params, KEY);
        builder.push(text);
        builder.finish().unwrap()
    }

    pub(crate) fn text(characters: u64, seed: u64) -> String {
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
    fn long_texts_stay_within_the_bits_and_compare_with_short_ones() {
        let params = EditParams { compression: 8, neighbourhood: 4 };
        let long = text(400_000, 1);
        let coarse = signature(params, &long);
        assert!(coarse.bits().len() <= MOST_BITS && coarse.doublings() >= 3);
        let finer = signature(params, &long[..20_000]);
        assert_eq!(finer.doublings(), 0);
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
}
