//! Tokens → fingerprints of w-shingles (Broder 1997, section 2), in a sliding window.
//!
//! The fingerprint of tokens t₀ … t₍w₋₁₎ is Σ tᵢ·x^(64·(w-1-i)) mod P; one token further it is
//! (f·x^64 - t₀·x^(64·w) + t_w) mod P. A text of 1 … w-1 tokens has one shingle, all of it; a text without tokens none.

use super::rabin::{Linear, Rabin};
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

/// The sliding window over one text's tokens.
#[derive(Clone, Debug)]
pub(crate) struct Shingler {
    /// t → t·x^(64·w): what takes the oldest token out of the shifted window.
    drop: Linear,
    window: Vec<u64>,
    oldest: usize,
    tokens: u64,
    fingerprint: u64,
}

impl Shingler {
    pub fn new(width: u32, rabin: &Rabin) -> Self {
        Shingler {
            drop: rabin.weight_after(width),
            window: vec![0; width as usize],
            oldest: 0,
            tokens: 0,
            fingerprint: 0,
        }
    }

    /// Takes the next token; the shingle it completes, if the window is full.
    #[inline]
    pub fn push(&mut self, unit: u64, rabin: &Rabin) -> Option<Fingerprint> {
        // The window starts out as zeros, which contribute nothing when they are dropped.
        let oldest = std::mem::replace(&mut self.window[self.oldest], unit);
        self.oldest = if self.oldest + 1 == self.window.len() { 0 } else { self.oldest + 1 };
        self.fingerprint = match self.window.len() {
            // Of two tokens the first is what was seen last: nothing to take out.
            2 => rabin.shift(self.window[self.oldest]) ^ unit,
            _ => rabin.shift(self.fingerprint) ^ self.drop.apply(oldest) ^ unit,
        };
        self.tokens += 1;
        (self.tokens >= self.window.len() as u64).then_some(Fingerprint(self.fingerprint))
    }

    /// The shingle of a text that ended before the window was full; then ready for the next text.
    pub fn finish(&mut self) -> Option<Fingerprint> {
        let short = self.tokens > 0 && self.tokens < self.window.len() as u64;
        let last = short.then_some(Fingerprint(self.fingerprint));
        self.window.fill(0);
        (self.oldest, self.tokens, self.fingerprint) = (0, 0, 0);
        last
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
            let mut shingler = Shingler::new(width, &rabin);
            let got: Vec<_> = units.iter().filter_map(|&unit| shingler.push(unit, &rabin)).collect();
            let scratch: Vec<_> = units
                .windows(width as usize)
                .map(|tokens| Fingerprint(tokens.iter().fold(0, |f, &t| rabin.shift(f) ^ t)))
                .collect();
            assert_eq!(got, scratch, "width {width}");
            assert_eq!(shingler.finish(), None);
        }
    }

    #[test]
    fn a_short_text_is_one_shingle_and_the_next_text_starts_afresh() {
        let rabin = Rabin::new(3);
        let mut shingler = Shingler::new(5, &rabin);
        assert_eq!(shingler.push(7, &rabin), None);
        assert_eq!(shingler.push(9, &rabin), None);
        assert_eq!(shingler.finish(), Some(Fingerprint(rabin.shift(7) ^ 9)));
        assert_eq!(shingler.finish(), None);
        assert_eq!(shingler.push(7, &rabin), None);
        assert_eq!(shingler.finish(), Some(Fingerprint(7)));
    }

    #[test]
    fn shinglings_are_written_as_unit_and_width() {
        assert_eq!("words:5".parse::<Shingling>().unwrap().to_string(), "words:5");
        for wrong in ["words", "words:0", "words:65", "word:5", "words:x", ":5"] {
            assert!(wrong.parse::<Shingling>().is_err(), "{wrong}");
        }
    }
}
