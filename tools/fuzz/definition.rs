//! What text, canonical form, tokens and shingles are, on the whole text and with nothing quick.

use sketchdb::Unit;
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, char::canonical_combining_class, is_nfkc_quick,
};

/// Code points of the scripts that are written without spaces.
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

/// The text without a leading byte order mark, and how many sequences were replaced.
pub fn decoded(bytes: &[u8]) -> (String, u64) {
    let replaced = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count() as u64;
    let text = String::from_utf8_lossy(bytes);
    (text.strip_prefix('\u{FEFF}').unwrap_or(&text).to_owned(), replaced)
}

/// Whether the text has no more than 1,024 characters in a row of which each may be changed by what precedes it: longer rows
/// are normalised in pieces.
pub fn has_short_segments(text: &str) -> bool {
    let begins =
        |c: char| canonical_combining_class(c) == 0 && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes;
    let mut row = 0;
    text.chars().all(|c| {
        row = if begins(c) { 1 } else { row + 1 };
        row <= 1024
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Letter,
    Mark,
    Other,
}

fn kind(c: char) -> Kind {
    use GeneralCategory::*;
    match get_general_category(c) {
        UppercaseLetter | LowercaseLetter | TitlecaseLetter | ModifierLetter | OtherLetter
        | DecimalNumber | LetterNumber | OtherNumber => Kind::Letter,
        NonspacingMark | SpacingMark | EnclosingMark => Kind::Mark,
        _ => Kind::Other,
    }
}

fn lower(c: char) -> Vec<char> {
    match unicode_case_mapping::to_lowercase(c) {
        [0, 0] => vec![c],
        [one, 0] => char::from_u32(one).into_iter().collect(),
        two => two.into_iter().filter_map(char::from_u32).collect(),
    }
}

/// Letters and numbers in lower case with the marks on them; between them one separator, a line feed where a line was broken.
pub fn canonical(text: &str) -> String {
    let (mut form, mut gap) = (String::new(), String::new());
    for c in text.nfkc().flat_map(lower) {
        match kind(c) {
            Kind::Letter => {
                if !gap.is_empty() && !form.is_empty() {
                    form.push(if gap.contains(['\n', '\r']) { '\n' } else { ' ' });
                }
                gap.clear();
                form.push(c);
            }
            Kind::Mark if gap.is_empty() && !form.is_empty() => form.push(c),
            Kind::Mark => {}
            Kind::Other => gap.push(c),
        }
    }
    form
}

/// The tokens of a canonical text.
pub fn tokens(unit: Unit, form: &str) -> Vec<String> {
    match unit {
        Unit::Lines => form.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect(),
        Unit::Chars => form.chars().map(|c| if c == '\n' { " ".into() } else { c.to_string() }).collect(),
        Unit::Words => form.split([' ', '\n']).flat_map(words).collect(),
        Unit::Bytes => unreachable!("bytes are no tokens of a text"),
    }
}

/// A run of letters and marks, cut before and behind each letter that stands alone and the marks on it.
fn words(run: &str) -> Vec<String> {
    let alone = |c: char| {
        kind(c) == Kind::Letter && ALONE.iter().any(|range| (range.0..=range.1).contains(&(c as u32)))
    };
    let (mut words, mut was_alone): (Vec<String>, bool) = (Vec::new(), false);
    for c in run.chars() {
        let begins = kind(c) == Kind::Letter && (alone(c) || was_alone);
        match words.last_mut().filter(|_| !begins) {
            Some(word) => word.push(c),
            None => words.push(c.to_string()),
        }
        if kind(c) == Kind::Letter {
            was_alone = alone(c);
        }
    }
    words
}

/// Bytes as a polynomial over GF(2), highest bit first, modulo x^64 and these coefficients.
pub fn remainder(bytes: &[u8], coefficients: u64) -> u64 {
    let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    bits.fold(0, |rest, bit| {
        let carry = if rest >> 63 == 1 { coefficients } else { 0 };
        (rest << 1 | u64::from(bit)) ^ carry
    })
}

/// The fingerprint of every `width` consecutive tokens, or of all when there are fewer.
pub fn shingles(units: &[u64], width: usize, coefficients: u64) -> Vec<u64> {
    let fingerprint = |window: &[u64]| {
        let bytes: Vec<u8> = window.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        remainder(&bytes, coefficients)
    };
    match units.len() {
        0 => Vec::new(),
        few if few < width => vec![fingerprint(units)],
        _ => units.windows(width).map(fingerprint).collect(),
    }
}
