//! Text → canonical text: NFKC, lowercase, and every run of characters that are neither letter nor number made one
//! separator (Broder 1997, section 2: documents that differ only in what is ignored have one canonical sequence).
//!
//! A separator is written as a line feed when its run holds a line break, else as a space; there is none at either
//! end. Combining marks belong to the character before them: after a letter or number they stay, after anything else
//! they are part of the separator. The Unicode tables are part of the file format, so the crates that hold them are
//! pinned exactly and the toolchain's own tables are never asked.
//!
//! Normalisation runs over *segments*: a segment begins at every character that is a starter and cannot be changed by
//! what precedes it (combining class 0, NFKC_Quick_Check = Yes), and at the latest after [`SEGMENT`] characters.

use super::kernel::ascii::{self, Letters};
use super::kernel::squeeze::{Gap, Position, squeeze};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, char::canonical_combining_class, is_nfkc_quick,
};

/// The longest run of characters that is normalised as one: bounds memory on endless combining marks.
const SEGMENT: usize = 1024;

/// What a canonicalised character is to the tokeniser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Neither letter nor number.
    Separator,
    /// A letter or number of a script that separates its words.
    Word,
    /// A letter or number of a script that writes no spaces: a token of its own.
    Alone,
    /// A combining mark.
    Mark,
}

/// Code point ranges of the scripts written without spaces: Han, kana, bopomofo, Thai, Lao, Khmer, Myanmar, Yi
/// (`schema/golden/alone.txt`).
const ALONE: &[(u32, u32)] = &[
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x3038, 0x303C),
    (0x3041, 0x312F),
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0xA48C),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xF900, 0xFAFF),
    (0x116D0, 0x116E3),
    (0x16FE0, 0x16FE4),
    (0x1AFF0, 0x1B16F),
    (0x20000, 0x3FFFD),
];

/// The class of one character of normalised, lowercased text.
pub(crate) fn class(c: char) -> Class {
    use GeneralCategory::*;
    match get_general_category(c) {
        UppercaseLetter | LowercaseLetter | TitlecaseLetter | ModifierLetter | OtherLetter
        | DecimalNumber | LetterNumber | OtherNumber => {
            let code = c as u32;
            let at = ALONE.partition_point(|range| range.1 < code);
            if code >= ALONE[0].0 && ALONE.get(at).is_some_and(|range| range.0 <= code) {
                Class::Alone
            } else {
                Class::Word
            }
        }
        NonspacingMark | SpacingMark | EnclosingMark => Class::Mark,
        _ => Class::Separator,
    }
}

/// Whether `c` begins a new segment: nothing before it can change it.
fn begins_segment(c: char) -> bool {
    c.is_ascii()
        || (canonical_combining_class(c) == 0 && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes)
}

/// Canonicalises chunks of text.
#[derive(Clone, Debug)]
pub(crate) struct Canonical {
    segment: String,
    segment_chars: usize,
    /// Canonical text not yet handed on: whole characters.
    out: Vec<u8>,
    /// What the bytes of an ASCII run are.
    letters: Vec<Letters>,
    /// Room to work in.
    lower: Vec<u8>,
    position: Position,
}

impl Canonical {
    pub fn new() -> Self {
        Canonical {
            segment: String::new(),
            segment_chars: 0,
            out: Vec::new(),
            letters: Vec::new(),
            lower: Vec::new(),
            position: Position::START,
        }
    }

    /// Canonicalises the next chunk. What `sink` receives, put together, is the canonical text.
    pub fn push(&mut self, text: &str, sink: &mut impl FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            let ascii = ascii::prefix(rest.as_bytes());
            if ascii > 1 {
                // All but the last character of an ASCII run stand alone; the last may meet a combining mark.
                self.flush_segment();
                self.push_ascii(&rest.as_bytes()[..ascii - 1]);
                rest = &rest[ascii - 1..];
            }
            let Some(c) = rest.chars().next() else { break };
            self.push_char(c);
            rest = &rest[c.len_utf8()..];
        }
        self.drain(sink);
    }

    /// Canonicalises what still waits for a following combining mark; then ready for the next text.
    pub fn finish(&mut self, sink: &mut impl FnMut(&str)) {
        self.flush_segment();
        self.drain(sink);
        self.position = Position::START;
    }

    fn drain(&mut self, sink: &mut impl FnMut(&str)) {
        if !self.out.is_empty() {
            sink(simdutf8::basic::from_utf8(&self.out).expect("only whole characters are pushed"));
            self.out.clear();
        }
    }

    fn push_ascii(&mut self, bytes: &[u8]) {
        ascii::letters(bytes, &mut self.letters);
        squeeze(bytes, &self.letters, &mut self.position, &mut self.lower, &mut self.out);
    }

    fn push_char(&mut self, c: char) {
        if begins_segment(c) || self.segment_chars >= SEGMENT {
            self.flush_segment();
        }
        self.segment.push(c);
        self.segment_chars += 1;
    }

    fn flush_segment(&mut self) {
        if self.segment.is_empty() {
            return;
        }
        let segment = std::mem::take(&mut self.segment);
        if self.segment_chars == 1 && segment.chars().all(begins_segment) {
            segment.chars().for_each(|c| self.push_normal(c));
        } else {
            segment.nfkc().for_each(|c| self.push_normal(c));
        }
        self.segment = segment;
        self.segment.clear();
        self.segment_chars = 0;
    }

    fn push_normal(&mut self, c: char) {
        if c.is_ascii() {
            return match c.is_ascii_alphanumeric() {
                true => self.push_letter(c.to_ascii_lowercase()),
                false => self.separate(c == '\n' || c == '\r'),
            };
        }
        match unicode_case_mapping::to_lowercase(c) {
            [0, 0] => self.push_lower(c),
            mapped => mapped.iter().filter_map(|&m| char::from_u32(m)).for_each(|m| {
                if m != '\0' {
                    self.push_lower(m);
                }
            }),
        }
    }

    fn push_lower(&mut self, c: char) {
        match class(c) {
            Class::Separator => self.separate(false),
            Class::Word | Class::Alone => self.push_letter(c),
            Class::Mark if self.position.begun && self.position.gap == Gap::None => self.push_utf8(c),
            Class::Mark => {}
        }
    }

    fn separate(&mut self, line_break: bool) {
        self.position.gap = self.position.gap.max(Gap::of(true, line_break));
    }

    fn push_letter(&mut self, c: char) {
        let Position { gap, begun } = self.position;
        if gap != Gap::None && begun {
            self.out.push(gap.separator());
        }
        self.position = Position { gap: Gap::None, begun: true };
        self.push_utf8(c);
    }

    fn push_utf8(&mut self, c: char) {
        self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

/// The canonical form of a whole text.
#[cfg(test)]
pub(crate) fn canonical(text: &str) -> String {
    let (mut canonical, mut out) = (Canonical::new(), String::new());
    canonical.push(text, &mut |part| out.push_str(part));
    canonical.finish(&mut |part| out.push_str(part));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, on a whole text at once.
    fn definition(text: &str) -> String {
        let mut out = String::new();
        let mut gap = None;
        for c in text.nfkc() {
            let lower = unicode_case_mapping::to_lowercase(c);
            let lower: Vec<char> = match lower {
                [0, 0] => vec![c],
                mapped => mapped.iter().filter(|&&m| m != 0).filter_map(|&m| char::from_u32(m)).collect(),
            };
            for c in lower {
                match class(c) {
                    Class::Separator if c == '\n' || c == '\r' => gap = Some('\n'),
                    Class::Separator => gap = gap.or(Some(' ')),
                    Class::Mark if gap.is_none() && !out.is_empty() => out.push(c),
                    Class::Mark => {}
                    _ => {
                        if let (Some(separator), false) = (gap.take(), out.is_empty()) {
                            out.push(separator);
                        }
                        gap = None;
                        out.push(c);
                    }
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn chunks_do_not_matter_and_the_definition_holds(
            text in "(\\PC|[a-zA-Z \n.,]|[\u{300}-\u{310}]|[가-힣ᄀ-하-ᅵ]|[ｦ-ﾟＡ-ｚ]|[ກ-໙ก-๛]){0,40}",
            cut in 0usize..40,
        ) {
            let (mut parts, mut out) = (Canonical::new(), String::new());
            let cut = text.char_indices().nth(cut).map_or(text.len(), |at| at.0);
            for part in [&text[..cut], &text[cut..]] {
                parts.push(part, &mut |s| out.push_str(s));
            }
            parts.finish(&mut |s| out.push_str(s));
            prop_assert_eq!(&out, &definition(&text));
            prop_assert_eq!(out, canonical(&text));
        }
    }

    #[test]
    fn case_width_and_composition_do_not_matter() {
        assert_eq!(canonical("Ｆｕｌｌ—Width"), "full width");
        assert_eq!(canonical("Cafe\u{301}"), canonical("CAFÉ"));
        assert_eq!(canonical("ﬁne Ⅳ ²"), "fine iv 2");
    }

    #[test]
    fn separators_are_one_and_never_at_an_end() {
        assert_eq!(canonical("  -- a ,;  b\r\n\r\nc .. "), "a b\nc");
        assert_eq!(canonical("\u{1F600}\u{FE0F} \u{200D}"), "");
    }

    #[test]
    fn a_mark_stays_with_the_letter_before_it() {
        assert_eq!(canonical("love ❤\u{FE0F} it"), "love it");
        assert_eq!(canonical("นี้"), "นี้");
    }

    #[test]
    fn endless_marks_need_no_endless_memory() {
        let text = "a".to_string() + &"\u{301}".repeat(100_000);
        let mut form = Canonical::new();
        form.push(&text, &mut |_| {});
        assert!(form.segment.capacity() < 8 * SEGMENT);
    }

    #[test]
    fn scripts_without_spaces_stand_alone() {
        for c in ['漢', 'か', 'カ', 'ー', '々', '〇', 'ㄅ', 'ก', 'ກ', 'ក', 'က', 'ꀀ', '𠀀']
        {
            assert_eq!(class(c), Class::Alone, "{c}");
        }
        for c in ['a', 'é', '가', 'ß', 'я', 'ع', '5', 'א'] {
            assert_eq!(class(c), Class::Word, "{c}");
        }
    }
}
