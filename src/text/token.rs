//! Canonical text → tokens, each a 64-bit *unit*: the Rabin fingerprint of its UTF-8 bytes.
//!
//! Up to eight bytes are themselves (Broder 1997, section 4.3, takes words of eight bytes), longer tokens are reduced by
//! the same polynomial as the shingles, so one collision bound holds throughout. No unit of a text token is zero.

use super::canonical::{Class, class};
use super::kernel::ascii;
use super::kernel::words::Words;
use super::rabin::Rabin;
use crate::error::Error;
use std::fmt;
use std::str::FromStr;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Runs of letters and numbers; one character of a script that writes no spaces.
    Words,
    /// Characters of the canonical text; a separator run is one space.
    Chars,
    /// Lines, each in canonical form, empty ones dropped.
    Lines,
    /// Raw bytes: no decoding, no canonical form.
    Bytes,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Words => "words",
            Unit::Chars => "chars",
            Unit::Lines => "lines",
            Unit::Bytes => "bytes",
        })
    }
}

impl FromStr for Unit {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Ok(match name {
            "words" => Unit::Words,
            "chars" => Unit::Chars,
            "lines" => Unit::Lines,
            "bytes" => Unit::Bytes,
            _ => {
                return Err(Error::invalid(
                    format!("token unit {name:?}"),
                    "use words, chars, lines or bytes",
                ));
            }
        })
    }
}

/// Cuts chunks of canonical text (or raw bytes, for [`Unit::Bytes`]) into units; a token may span chunks.
#[derive(Clone, Debug)]
pub(crate) struct Tokeniser {
    unit: Unit,
    /// The fingerprint of the token under way.
    partial: u64,
    state: State,
    /// Which bytes of an ASCII run belong to tokens.
    inside: Vec<u64>,
    words: Words,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Between,
    InWord,
    InAlone,
}

impl Tokeniser {
    pub fn new(unit: Unit) -> Self {
        Tokeniser { unit, partial: 0, state: State::Between, inside: Vec::new(), words: Words::default() }
    }

    /// Tokens of the next chunk of canonical text.
    pub fn push(&mut self, text: &str, rabin: &Rabin, out: &mut Vec<u64>) {
        match self.unit {
            Unit::Words => self.push_words(text, rabin, out),
            Unit::Lines => self.push_runs(text.as_bytes(), |byte| byte != b'\n', rabin, out),
            Unit::Chars => text.chars().for_each(|c| {
                let mut utf8 = [0; 4];
                let c = if c == '\n' { ' ' } else { c };
                out.push(rabin.bytes(c.encode_utf8(&mut utf8).as_bytes()));
            }),
            Unit::Bytes => Self::push_bytes(text.as_bytes(), out),
        }
    }

    /// Each byte is a token: one more than its value, since no unit is zero.
    pub fn push_bytes(bytes: &[u8], out: &mut Vec<u64>) {
        out.extend(bytes.iter().map(|&byte| u64::from(byte) + 1));
    }

    /// The token that the end of the text ends.
    pub fn finish(&mut self, out: &mut Vec<u64>) {
        if self.state != State::Between {
            out.push(self.partial);
        }
        (self.partial, self.state) = (0, State::Between);
    }

    fn push_words(&mut self, text: &str, rabin: &Rabin, out: &mut Vec<u64>) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if c.is_ascii() {
                if self.state == State::InAlone {
                    self.end(out);
                }
                let (run, after) = rest.split_at(ascii::prefix(rest.as_bytes()));
                self.push_ascii_words(run.as_bytes(), rabin, out);
                rest = after;
                continue;
            }
            match class(c) {
                Class::Alone => {
                    self.end(out);
                    self.extend(c, State::InAlone, rabin);
                }
                Class::Word => {
                    if self.state == State::InAlone {
                        self.end(out);
                    }
                    self.extend(c, State::InWord, rabin);
                }
                Class::Mark | Class::Separator => self.extend(c, self.state, rabin),
            }
            rest = &rest[c.len_utf8()..];
        }
    }

    fn extend(&mut self, c: char, state: State, rabin: &Rabin) {
        let mut utf8 = [0; 4];
        self.partial =
            c.encode_utf8(&mut utf8).bytes().fold(self.partial, |unit, byte| rabin.append(unit, byte));
        self.state = state;
    }

    fn end(&mut self, out: &mut Vec<u64>) {
        if self.state != State::Between {
            out.push(self.partial);
            self.partial = 0;
            self.state = State::Between;
        }
    }

    /// Tokens are the maximal runs of bytes above the space.
    fn push_ascii_words(&mut self, bytes: &[u8], rabin: &Rabin, out: &mut Vec<u64>) {
        ascii::above_space(bytes, &mut self.inside);
        let mut rest = bytes;
        if self.state != State::Between {
            let (open, after) =
                rest.split_at(rest.iter().position(|&byte| byte <= b' ').unwrap_or(rest.len()));
            self.append(open, rabin);
            if after.is_empty() {
                return;
            }
            self.end(out);
            rest = after;
        }
        let open = self.words.push(bytes, bytes.len() - rest.len(), &self.inside, rabin, out);
        if !open.is_empty() {
            self.append(open, rabin);
            self.state = State::InWord;
        }
    }

    fn append(&mut self, bytes: &[u8], rabin: &Rabin) {
        self.partial = bytes.iter().fold(self.partial, |unit, &byte| rabin.append(unit, byte));
    }

    /// Tokens are the maximal runs of bytes for which `inside` holds.
    fn push_runs(&mut self, bytes: &[u8], inside: impl Fn(u8) -> bool, rabin: &Rabin, out: &mut Vec<u64>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.iter().position(|&byte| !inside(byte));
            let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
            match (self.state, end) {
                (State::Between, Some(_)) if !token.is_empty() => out.push(rabin.bytes(token)),
                _ if !token.is_empty() => {
                    self.append(token, rabin);
                    self.state = State::InWord;
                }
                _ => {}
            }
            if end.is_some() {
                self.end(out);
            }
            rest = after.get(1..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::canonical::canonical;
    use proptest::prelude::*;

    fn units(text: &str, unit: Unit, chunk: usize) -> Vec<u64> {
        let (rabin, mut tokeniser, mut out) = (Rabin::new(1), Tokeniser::new(unit), Vec::new());
        let chars: Vec<char> = text.chars().collect();
        for part in chars.chunks(chunk) {
            tokeniser.push(&part.iter().collect::<String>(), &rabin, &mut out);
        }
        tokeniser.finish(&mut out);
        out
    }

    /// Tokens by the definition, as strings.
    fn words(text: &str) -> Vec<String> {
        let mut out: Vec<String> = vec![String::new()];
        let mut alone = false;
        for c in text.chars() {
            let kind = class(c);
            if kind == Class::Separator || kind == Class::Alone || (kind == Class::Word && alone) {
                out.push(String::new());
            }
            if kind != Class::Separator {
                out.last_mut().unwrap().push(c);
                alone = kind == Class::Alone || (kind == Class::Mark && alone);
            } else {
                alone = false;
            }
        }
        out.retain(|token| !token.is_empty());
        out
    }

    proptest! {
        #[test]
        fn words_equal_their_definition_whatever_the_chunks(text in "([a-z]{1,12}|[ \n]|漢|か|\u{301}|é|가|ก็){0,30}", chunk in 1usize..7) {
            let text = canonical(&text);
            let rabin = Rabin::new(1);
            let expected: Vec<u64> = words(&text).iter().map(|token| rabin.bytes(token.as_bytes())).collect();
            prop_assert_eq!(units(&text, Unit::Words, chunk), expected);
        }

        #[test]
        fn lines_equal_their_definition(text in "([a-z ]{1,9}|\n|é){0,20}", chunk in 1usize..7) {
            let text = canonical(&text);
            let rabin = Rabin::new(1);
            let expected: Vec<u64> = text.split('\n').filter(|line| !line.is_empty()).map(|line| rabin.bytes(line.as_bytes())).collect();
            prop_assert_eq!(units(&text, Unit::Lines, chunk), expected);
        }
    }

    #[test]
    fn characters_take_a_line_break_for_a_space() {
        assert_eq!(units("a\nb", Unit::Chars, 9), units("a b", Unit::Chars, 9));
        assert_eq!(units("a b", Unit::Chars, 9).len(), 3);
    }

    #[test]
    fn no_byte_is_zero() {
        assert_eq!(units("\0\u{1}", Unit::Bytes, 9), [1, 2]);
    }
}
