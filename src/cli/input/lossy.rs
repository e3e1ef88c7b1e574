//! JSON of well-formed text out of bytes that may be something else: ill-formed bytes are replaced by U+FFFD, as
//! [`String::from_utf8_lossy`] does it, and so are escapes of half a surrogate pair; in pieces.

use super::surrogates::{Half, next_half};
use std::io::{self, Read};

const PIECE: usize = 1 << 16;

/// What an escape of half a surrogate pair becomes: as long as that.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// Reads well-formed JSON text from any bytes.
pub struct Lossy<R> {
    inner: R,
    /// Bytes that were read; the first of them may be the beginning of a character.
    raw: Vec<u8>,
    /// Decoded bytes, of which the last may be the beginning of an escape.
    text: Vec<u8>,
    given: usize,
    /// Bytes of the text that may be given.
    ready: usize,
    replaced: u64,
}

impl<R: Read> Lossy<R> {
    pub fn new(inner: R) -> Self {
        Lossy { inner, raw: Vec::new(), text: Vec::new(), given: 0, ready: 0, replaced: 0 }
    }

    /// Ill-formed sequences and halves of pairs that were replaced so far.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Reads some more; whether there was any.
    fn more(&mut self) -> io::Result<bool> {
        let began = self.raw.len();
        self.raw.resize(began + PIECE, 0);
        let read = self.inner.read(&mut self.raw[began..]);
        self.raw.truncate(began + *read.as_ref().unwrap_or(&0));
        let ended = read? == 0;
        self.text.drain(..self.given);
        self.given = 0;
        let used = self.decode(ended);
        self.raw.drain(..used);
        self.mend(ended);
        Ok(!ended || !self.text.is_empty())
    }

    /// Replaces halves of pairs, up to an escape whose end is still to come.
    fn mend(&mut self, ended: bool) {
        let mut from = 0;
        self.ready = loop {
            match next_half(&self.text, from) {
                Half::At(at) => {
                    from = at + REPLACEMENT.len();
                    self.text[at..from].copy_from_slice(REPLACEMENT);
                    self.replaced += 1;
                }
                Half::Cut(at) if !ended => break at,
                Half::Cut(_) | Half::None => break self.text.len(),
            }
        };
    }

    /// Decodes what was read: how many bytes of it.
    fn decode(&mut self, ended: bool) -> usize {
        let mut rest = &self.raw[..];
        while let Err(error) = std::str::from_utf8(rest) {
            let (valid, bad) = rest.split_at(error.valid_up_to());
            self.text.extend_from_slice(valid);
            rest = bad;
            let bad = match error.error_len() {
                Some(bad) => bad,
                None if ended => rest.len(),
                None => return self.raw.len() - rest.len(),
            };
            self.text.extend_from_slice("\u{FFFD}".as_bytes());
            self.replaced += 1;
            rest = &rest[bad..];
        }
        self.text.extend_from_slice(rest);
        self.raw.len()
    }
}

impl<R: Read> Read for Lossy<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready {
            if !self.more()? {
                return Ok(0);
            }
        }
        let n = (&self.text[self.given..self.ready]).read(into)?;
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives few bytes at a time.
    struct Few<'a>(&'a [u8], usize);

    impl Read for Few<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(into.len());
            self.0.read(&mut into[..n])
        }
    }

    #[test]
    fn any_bytes_become_what_the_standard_library_makes_of_them() {
        let text: Vec<u8> =
            [&b"a\xFF"[..], "é€𝄞".as_bytes(), b"\xE2\x82x\xF0\x9D\x84\xC3\xA9\xED\xA0\x80\xE2\x82"].concat();
        for few in 1..9 {
            let mut lossy = Lossy::new(Few(&text, few));
            let mut out = String::new();
            lossy.read_to_string(&mut out).unwrap();
            assert_eq!(out, String::from_utf8_lossy(&text));
            assert_eq!(lossy.replaced(), out.matches('\u{FFFD}').count() as u64);
        }
    }

    #[test]
    fn halves_of_pairs_are_replaced_wherever_the_pieces_end() {
        let json = br"a\\ud800 \ud834\udd1e \uDC00\uD800\ud834\udd1e\n\ud800\u0041\ud800x\u";
        let mended = r"a\\ud800 \ud834\udd1e \ufffd\ufffd\ud834\udd1e\n\ufffd\u0041\ufffdx\u";
        for few in 1..20 {
            let mut lossy = Lossy::new(Few(json, few));
            let mut out = String::new();
            lossy.read_to_string(&mut out).unwrap();
            assert_eq!((&*out, lossy.replaced()), (mended, 4), "{few}");
        }
        for cut in [&br"\ud8"[..], br"\ud834\", br"\ud834\udd"] {
            let mut lossy = Lossy::new(cut);
            let mut out = Vec::new();
            lossy.read_to_end(&mut out).unwrap();
            assert_eq!((&*out, lossy.replaced()), (cut, 0), "what is no JSON anyway");
        }
    }
}
