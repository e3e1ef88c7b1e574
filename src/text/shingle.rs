//! Tokens → fingerprints of w-shingles (Broder 1997, section 2), in a sliding window.
//!
//! The fingerprint of tokens t₀ … t₍w₋₁₎ is Σ tᵢ·x^(64·(w-1-i)) mod P; one token further it is
//! (f·x^64 - t₀·x^(64·w) + t_w) mod P. A text of 1 … w-1 tokens has one shingle, all of it; a text without tokens none.

use super::kernel::carryless;
use super::rabin::{Linear, Rabin};
use super::sliding::Sliding;
use super::token::Unit;
use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// A 64-bit hash of one shingle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub u64);

/// How texts are cut: `words:5` is every five consecutive words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shingling {
    unit: Unit,
    width: u32,
}

impl Shingling {
    /// The widest shingle.
    pub const WIDEST: u32 = 64;

    /// Shingles of `width` consecutive tokens, 1 to 64.
    pub fn new(unit: Unit, width: u32) -> Result<Self> {
        if !(1..=Self::WIDEST).contains(&width) {
            return Err(Error::invalid(
                format!("shingle width {width}"),
                format!("must lie in 1..={}", Self::WIDEST),
            ));
        }
        Ok(Shingling { unit, width })
    }

    /// What a token is.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// Tokens in a shingle.
    pub fn width(&self) -> u32 {
        self.width
    }
}

impl fmt::Display for Shingling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.unit, self.width)
    }
}

impl FromStr for Shingling {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let malformed =
            || Error::invalid(format!("shingling {text:?}"), "write UNIT:WIDTH, for example words:5");
        let (unit, width) = text.split_once(':').ok_or_else(malformed)?;
        Shingling::new(unit.parse()?, width.parse().map_err(|_| malformed())?)
    }
}

impl serde::Serialize for Shingling {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Shingling {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = <String as serde::Deserialize>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Fingerprints of the shingles of one text.
#[derive(Clone, Debug)]
pub(crate) struct Shingler {
    /// t → t·x^(64·w): what takes the oldest token out of the shifted window.
    drop: Linear,
    sliding: Sliding,
}

/// Parts of the tokens that are slid over at a time.
const PARTS: usize = 4;

impl Shingler {
    pub fn new(width: u32, rabin: &Rabin) -> Self {
        Shingler { drop: rabin.weight_after(width), sliding: Sliding::new(width) }
    }

    /// Takes the next tokens and puts the shingles that they complete behind those that are there.
    pub fn push(&mut self, units: &[u64], rabin: &Rabin, shingles: &mut Vec<u64>) {
        let Shingler { drop, sliding } = self;
        let width = sliding.width();
        sliding.push(units, |tokens| match carryless::has(width) {
            true => carryless::windows(tokens, width, rabin.modulus(), shingles),
            false => Tables { rabin, drop, width }.slide(tokens, shingles),
        });
    }

    /// The shingle of a text that ended before the window was full; then ready for the next text.
    pub fn finish(&mut self, rabin: &Rabin) -> Option<Fingerprint> {
        self.sliding.finish(|tokens| Fingerprint(tokens.iter().fold(0, |sum, unit| rabin.shift(sum) ^ unit)))
    }
}

/// Sliding by tables.
struct Tables<'a> {
    rabin: &'a Rabin,
    drop: &'a Linear,
    width: usize,
}

impl Tables<'_> {
    /// The fingerprints of all windows: of several parts at a time, as each waits for the one before.
    fn slide(&self, tokens: &[u64], shingles: &mut Vec<u64>) {
        let first = self.width - 1;
        let count = tokens.len().saturating_sub(first);
        let start = shingles.len();
        shingles.resize(start + count, 0);
        let out = &mut shingles[start..];
        let part = count / PARTS;
        let mut sums: [u64; PARTS] = std::array::from_fn(|number| self.before(tokens, first + number * part));
        for at in 0..part {
            for (number, sum) in sums.iter_mut().enumerate() {
                let at = number * part + at;
                *sum = self.next(*sum, tokens, first + at);
                out[at] = *sum;
            }
        }
        let rest = PARTS * part;
        let mut sum = if rest < count { self.before(tokens, first + rest) } else { 0 };
        for (number, out) in out[rest..].iter_mut().enumerate() {
            sum = self.next(sum, tokens, first + rest + number);
            *out = sum;
        }
    }

    /// The fingerprint of the w tokens, or fewer, before this one.
    fn before(&self, tokens: &[u64], at: usize) -> u64 {
        let end = at.min(tokens.len());
        let window = &tokens[end.saturating_sub(self.width)..end];
        window.iter().fold(0, |sum, token| self.rabin.shift(sum) ^ token)
    }

    /// The fingerprint of the w tokens up to this one, from that of those before it.
    #[inline]
    fn next(&self, before: u64, tokens: &[u64], at: usize) -> u64 {
        let kept = match at.checked_sub(self.width) {
            // Of two tokens the first is what was seen last: nothing to take out.
            _ if self.width == 2 => self.rabin.shift(tokens[at - 1]),
            Some(oldest) => self.rabin.shift(before) ^ self.drop.apply(tokens[oldest]),
            None => self.rabin.shift(before),
        };
        kept ^ tokens[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn sliding_equals_from_scratch() {
        let rabin = Rabin::new(3);
        let units: Vec<u64> = (0..60).map(mix).collect();
        for width in 1..=9 {
            let scratch: Vec<u64> = units
                .windows(width as usize)
                .map(|tokens| tokens.iter().fold(0, |f, &t| rabin.shift(f) ^ t))
                .collect();
            for chunk in [1, 2, 3, 7, 60] {
                let (mut shingler, mut got) = (Shingler::new(width, &rabin), Vec::new());
                units.chunks(chunk).for_each(|units| shingler.push(units, &rabin, &mut got));
                assert_eq!(got, scratch, "width {width}, chunks of {chunk}");
                assert_eq!(shingler.finish(&rabin), None);
            }
            for length in 0..units.len() {
                let (drop, mut got) = (rabin.weight_after(width), Vec::new());
                let tables = Tables { rabin: &rabin, drop: &drop, width: width as usize };
                tables.slide(&units[..length], &mut got);
                assert_eq!(got, scratch[..got.len()], "width {width}, {length} by tables");
                assert_eq!(got.len(), (length + 1).saturating_sub(width as usize));
            }
        }
    }

    #[test]
    fn a_short_text_is_one_shingle_and_the_next_text_starts_afresh() {
        let rabin = Rabin::new(3);
        for width in [2, 3, 5, 9] {
            let (mut shingler, mut none) = (Shingler::new(width, &rabin), Vec::new());
            let short: Vec<u64> = (7..6 + u64::from(width)).collect();
            shingler.push(&short, &rabin, &mut none);
            let whole = short.iter().fold(0, |f, &t| rabin.shift(f) ^ t);
            assert_eq!((shingler.finish(&rabin), none.len()), (Some(Fingerprint(whole)), 0));
            assert_eq!(shingler.finish(&rabin), None);
            shingler.push(&[7], &rabin, &mut none);
            assert_eq!(shingler.finish(&rabin), Some(Fingerprint(7)));
            shingler.push(&[7; 20], &rabin, &mut none);
            assert_eq!(shingler.finish(&rabin), None);
        }
    }

    #[test]
    fn shinglings_are_written_as_unit_and_width() {
        assert_eq!("words:5".parse::<Shingling>().unwrap().to_string(), "words:5");
        for wrong in ["words", "words:0", "words:65", "word:5", "words:x", ":5"] {
            assert!(wrong.parse::<Shingling>().is_err(), "{wrong}");
        }
    }
}
