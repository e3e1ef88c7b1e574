//! Escapes of half a surrogate pair in JSON, as `\\ud800` without the other half: they stand for no character.

use memchr::memchr;

/// Bytes of an escape of one UTF-16 unit.
const UNIT: usize = 6;

/// The first half of a pair that stands alone.
#[derive(Debug, PartialEq, Eq)]
pub enum Half {
    At(usize),
    /// What comes behind the text decides about the escape here.
    Cut(usize),
    None,
}

/// Looks for a half from an offset on, which lies within no escape.
pub fn next_half(json: &[u8], mut at: usize) -> Half {
    while let Some(found) = memchr(b'\\', &json[at..]) {
        at += found;
        let rest = &json[at..];
        at += match (rest.get(1), unit(rest)) {
            (None, _) => return Half::Cut(at),
            (Some(b'u'), None) if rest.len() < UNIT => return Half::Cut(at),
            (_, Some(0xDC00..=0xDFFF)) => return Half::At(at),
            (_, Some(0xD800..=0xDBFF)) => match unit(&rest[UNIT..]) {
                Some(0xDC00..=0xDFFF) => 2 * UNIT,
                None if may_be_unit(&rest[UNIT..]) => return Half::Cut(at),
                _ => return Half::At(at),
            },
            _ => 2,
        };
    }
    Half::None
}

/// Whether JSON has a half of a pair.
pub fn has_half(json: &[u8]) -> bool {
    matches!(next_half(json, 0), Half::At(_))
}

/// The UTF-16 unit that JSON begins with an escape of.
fn unit(json: &[u8]) -> Option<u32> {
    let digits = json.strip_prefix(b"\\u")?.get(..UNIT - 2)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

/// Whether more bytes could make an escape of a unit of this.
fn may_be_unit(json: &[u8]) -> bool {
    json.len() < UNIT && b"\\u".starts_with(&json[..json.len().min(2)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_told_from_pairs_and_from_what_is_no_escape() {
        for (json, half) in [
            (&br"none"[..], Half::None),
            (br"\ud834\udd1e", Half::None),
            (br"\\ud834", Half::None),
            (br"\\\ud834 ", Half::At(2)),
            (br"\uDD1E", Half::At(0)),
            (br"\ud834\ud834\udd1e", Half::At(0)),
            (br"\ud834\n", Half::At(0)),
            (br"\ud834\u", Half::Cut(0)),
            (br"\ud834", Half::Cut(0)),
            (br"x\u12", Half::Cut(1)),
            (br"x\", Half::Cut(1)),
            (br"\uzzzz\u00e9", Half::None),
        ] {
            assert_eq!(next_half(json, 0), half, "{}", String::from_utf8_lossy(json));
        }
    }
}
