//! Which charset bytes are in, and their text (the Encoding Standard, by `encoding_rs` and `chardetng`).
//!
//! What counts is, in this order: a byte order mark, the declared charset, of HTML a `meta` element in the first 4 KB,
//! whether the beginning is UTF-8, and what Firefox would guess. The beginning decides for all of a text, however long.

use super::html;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, DecoderResult, Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE};
use std::io::{self, Read};

/// Bytes in which a `meta` element is looked for.
const META: usize = 4096;

/// The charset of a text that begins so, `whole` when that is all of it, and how many bytes its mark has.
pub fn tell(
    beginning: &[u8],
    whole: bool,
    declared: Option<&str>,
    is_html: bool,
) -> (&'static Encoding, usize) {
    if let Some(marked) = Encoding::for_bom(beginning) {
        return marked;
    }
    let declared = declared.and_then(known);
    let meta = || is_html.then(|| html::charset(&beginning[..beginning.len().min(META)])).flatten();
    let charset = declared.or_else(|| meta().and_then(|label| known(&label)).map(of_meta));
    (charset.unwrap_or_else(|| guess(beginning, whole)), 0)
}

/// The charset with this label, unless it is one that must not be decoded.
fn known(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes()).filter(|charset| *charset != REPLACEMENT)
}

/// An element that could be read is not in UTF-16.
fn of_meta(charset: &'static Encoding) -> &'static Encoding {
    if charset == UTF_16LE || charset == UTF_16BE { UTF_8 } else { charset }
}

fn guess(beginning: &[u8], whole: bool) -> &'static Encoding {
    if is_utf8(beginning, whole) || beginning.contains(&0) || is_damaged_utf8(beginning) {
        return UTF_8;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(beginning, whole);
    detector.guess(None, Utf8Detection::Deny)
}

fn is_utf8(beginning: &[u8], whole: bool) -> bool {
    match std::str::from_utf8(beginning) {
        Ok(_) => true,
        // A character that goes on behind the beginning.
        Err(error) => !whole && error.error_len().is_none(),
    }
}

/// Whether more characters beyond ASCII are whole than broken.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut whole, mut broken) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        whole += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += usize::from(!chunk.invalid().is_empty());
    }
    whole > broken
}

/// Bytes of a charset, read as UTF-8. What is ill-formed is replaced by U+FFFD and counted.
pub struct Decoded<R> {
    inner: R,
    decoder: Decoder,
    raw: Vec<u8>,
    /// How much of what was read is decoded.
    used: usize,
    /// Whether all was read, and all of that decoded.
    ended: bool,
    finished: bool,
    text: Vec<u8>,
    given: usize,
    replaced: u64,
}

const PIECE: usize = 1 << 14;

impl<R: Read> Decoded<R> {
    pub fn new(inner: R, charset: &'static Encoding) -> Self {
        Decoded {
            inner,
            decoder: charset.new_decoder_without_bom_handling(),
            raw: Vec::new(),
            used: 0,
            ended: false,
            finished: false,
            text: Vec::new(),
            given: 0,
            replaced: 0,
        }
    }

    /// Ill-formed sequences that were replaced so far.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Decodes some more; whether there was any.
    fn more(&mut self) -> io::Result<bool> {
        if self.finished {
            return Ok(false);
        }
        if self.used == self.raw.len() && !self.ended {
            self.raw.resize(PIECE, 0);
            let read = self.inner.read(&mut self.raw);
            self.raw.truncate(*read.as_ref().unwrap_or(&0));
            self.used = 0;
            (self.given, self.ended) = (self.text.len(), read? == 0);
        }
        self.text.resize(PIECE, 0);
        self.given = 0;
        let rest = &self.raw[self.used..];
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(rest, &mut self.text, self.ended);
        self.used += read;
        self.text.truncate(written);
        match result {
            DecoderResult::Malformed(..) => {
                self.text.extend_from_slice("\u{FFFD}".as_bytes());
                self.replaced += 1;
            }
            DecoderResult::InputEmpty => self.finished = self.ended,
            DecoderResult::OutputFull => {}
        }
        Ok(true)
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            if !self.more()? {
                return Ok(0);
            }
        }
        let n = (&self.text[self.given..]).read(into)?;
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{GBK, SHIFT_JIS, UTF_16LE, WINDOWS_1251, WINDOWS_1252};

    fn decoded(bytes: &[u8], charset: &'static Encoding) -> (String, u64) {
        let mut decoded = Decoded::new(bytes, charset);
        let mut text = String::new();
        decoded.read_to_string(&mut text).unwrap();
        (text, decoded.replaced())
    }

    #[test]
    fn marks_come_before_declarations_and_those_before_the_bytes() {
        let page = b"<meta charset=windows-1251><p>caf\xE9";
        let told = |bytes, declared, is_html| tell(bytes, true, declared, is_html);
        assert_eq!(told(b"\xFF\xFEa\0", Some("utf-8"), true), (UTF_16LE, 2));
        assert_eq!(told(page, Some(" Shift_JIS "), true).0, SHIFT_JIS);
        assert_eq!(told(page, Some("no such"), true).0, WINDOWS_1251);
        assert_eq!(told(page, Some("iso-2022-kr"), false).0, WINDOWS_1252);
        assert_eq!(told("caf\u{E9}".as_bytes(), None, true).0, UTF_8);
        assert_eq!(told(b"<meta charset=utf-16><p>x", None, true).0, UTF_8);
        let (chinese, ..) = GBK.encode("这是一个用来检查字符集的中文句子，它应该被正确识别。");
        assert_eq!(told(&chinese, None, false).0, GBK);
    }

    #[test]
    fn utf8_with_a_few_broken_characters_is_utf8() {
        assert_eq!(tell("é à\u{FF}ü".as_bytes(), true, None, false).0, UTF_8);
        assert_eq!(tell(b"\xC3\xA9 \xC3\xA0 \xFF", true, None, false).0, UTF_8);
        assert_eq!(tell(b"d\xE9j\xE0 vu, na\xEFvet\xE9, fa\xE7ade", true, None, false).0, WINDOWS_1252);
        let cut = &"aé".as_bytes()[..2];
        assert_eq!(tell(cut, false, None, false).0, UTF_8);
        assert_ne!(tell(cut, true, None, false).0, UTF_8);
    }

    #[test]
    fn what_is_ill_formed_is_replaced_and_counted_as_in_utf8() {
        for bytes in [&b"a\xFFb\xE4\xBD\xF0\x9F\x9F"[..], b"\xE4", "é".repeat(PIECE).as_bytes()] {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let replaced = text.matches('\u{FFFD}').count() as u64;
            assert_eq!(decoded(bytes, UTF_8), (text, replaced));
        }
        assert_eq!(decoded(b"a\0\x3D\xD8b\0c", UTF_16LE), ("a\u{FFFD}b\u{FFFD}".into(), 2));
        assert_eq!(decoded(b"\x93\xFA\x96\x7B", SHIFT_JIS), ("日本".into(), 0));
    }
}
