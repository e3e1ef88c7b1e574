//! ASCII → canonical text: letters and digits in lower case, each run of other bytes one separator.

use super::ascii::Letters;
use super::at_level;

/// What stands between the last letter and the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    None,
    Space,
    Line,
}

impl Gap {
    /// A gap of some separators.
    pub fn of(separators: bool, line_breaks: bool) -> Self {
        match (line_breaks, separators) {
            (true, _) => Gap::Line,
            (false, true) => Gap::Space,
            (false, false) => Gap::None,
        }
    }

    /// What it is written as.
    pub fn separator(self) -> u8 {
        if self == Gap::Line { b'\n' } else { b' ' }
    }
}

/// Where the text is: in which gap, and whether a letter was written before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub gap: Gap,
    pub begun: bool,
}

const BLOCK: usize = 64;

/// Writes the canonical form of ASCII behind what is there. `letters` are those of the bytes; `lower` is room to work in.
pub(crate) fn squeeze(
    bytes: &[u8],
    letters: &[Letters],
    position: &mut Position,
    lower: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    // Every byte yields itself at most, but for the separator that waits; a copy may write a block too many.
    let before = out.len();
    out.resize(before + bytes.len() + 1 + BLOCK, 0);
    let into = &mut out[before..];
    let written = at_level!(
        avx512: x86::avx512(bytes, letters, position, lower, into),
        avx2: x86::avx2(bytes, letters, position, lower, into),
        portable: portable(bytes, letters, position, lower, into),
    );
    out.truncate(before + written);
}

#[inline(always)]
fn portable(
    bytes: &[u8],
    letters: &[Letters],
    position: &mut Position,
    lower: &mut Vec<u8>,
    out: &mut [u8],
) -> usize {
    // All of it before any is copied: what was just written byte by byte is slow to read again as blocks.
    lower.clear();
    lower.extend(bytes.iter().map(|byte| lower_or_space(*byte)));
    lower.resize(bytes.len() + 2 * BLOCK, 0);
    let mut written = 0;
    for (at, letters) in (0..bytes.len()).step_by(BLOCK).zip(letters) {
        let pass = position.pass((bytes.len() - at).min(BLOCK), *letters);
        let lower = &mut lower[at..at + 2 * BLOCK];
        let mut breaks = pass.breaks;
        while breaks != 0 {
            lower[breaks.trailing_zeros() as usize] = b'\n';
            breaks &= breaks - 1;
        }
        out[written] = pass.before;
        written += usize::from(pass.before != 0);
        written += copy(lower, pass.kept, &mut out[written..]);
    }
    written
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, Letters, Position, portable};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn avx2(
        bytes: &[u8],
        letters: &[Letters],
        position: &mut Position,
        lower: &mut Vec<u8>,
        out: &mut [u8],
    ) -> usize {
        portable(bytes, letters, position, lower, out)
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn avx512(
        bytes: &[u8],
        letters: &[Letters],
        position: &mut Position,
        lower: &mut Vec<u8>,
        out: &mut [u8],
    ) -> usize {
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let [space, feed, case] = [b' ', b'\n', 0x20].map(|byte| _mm512_set1_epi8(byte as i8));
        let mut written = 0;
        for (block, letters) in blocks.iter().zip(letters) {
            let pass = position.pass(BLOCK, *letters);
            // Sound: a block has 64 bytes, and an unaligned load asks for no more.
            let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            let words = either(space, letters.letters, bytes, case);
            let kept = _mm512_maskz_compress_epi8(pass.kept, _mm512_mask_mov_epi8(words, pass.breaks, feed));
            out[written] = pass.before;
            written += usize::from(pass.before != 0);
            let into = &mut out[written..written + BLOCK];
            // Sound: the slice has room for 64 bytes, and an unaligned store writes no more.
            unsafe { _mm512_storeu_si512(into.as_mut_ptr().cast(), kept) };
            written += pass.kept.count_ones() as usize;
        }
        written + portable(rest, &letters[blocks.len()..], position, lower, &mut out[written..])
    }

    /// `a | b` where the bit is set, else `other`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn either(other: __m512i, mask: u64, a: __m512i, b: __m512i) -> __m512i {
        _mm512_mask_mov_epi8(other, mask, _mm512_or_si512(a, b))
    }
}

/// A letter or digit in lower case, a space for what is neither.
#[inline(always)]
fn lower_or_space(byte: u8) -> u8 {
    let lower = byte | 0x20;
    let is = (lower.wrapping_sub(b'a') < 26) | (byte.wrapping_sub(b'0') < 10);
    if is { lower } else { b' ' }
}

/// What becomes of the bytes of a block.
struct Pass {
    /// The separator to write before them, or zero.
    before: u8,
    /// Which of them stay: the letters, and one separator before each word among them.
    kept: u64,
    /// Which of them become a line feed, as a line was broken before the word.
    breaks: u64,
}

impl Position {
    /// Before a text.
    pub const START: Position = Position { gap: Gap::None, begun: false };

    /// Passes over `count` bytes.
    #[inline(always)]
    fn pass(&mut self, count: usize, of: Letters) -> Pass {
        let there = u64::MAX >> (BLOCK - count);
        let others = !of.letters & there;
        // A word begins where no letter stands before.
        let within = self.begun && self.gap == Gap::None;
        let starts = of.letters & !(of.letters << 1 | u64::from(within));
        // Adding a break to the run it is in carries to the bit after the run.
        let (sum, first) = others.overflowing_add(of.breaks);
        let (sum, second) = sum.overflowing_add(u64::from(self.gap == Gap::Line));
        let separated = if self.begun { starts } else { starts & starts.wrapping_sub(1) };
        let before = if separated & 1 == 1 { self.gap.separator() } else { 0 };
        let ends_in_letter = of.letters >> (count - 1) & 1 == 1;
        let line = first | second | (count < BLOCK && sum >> count & 1 == 1);
        self.begun |= of.letters != 0;
        self.gap = Gap::of(!ends_in_letter, !ends_in_letter & line);
        Pass { before, kept: of.letters | separated >> 1, breaks: (separated & sum) >> 1 }
    }
}

/// Copies the bytes whose bit is set, and what may: their number.
#[inline(always)]
fn copy(bytes: &[u8], mut kept: u64, out: &mut [u8]) -> usize {
    let mut written = 0;
    while kept != 0 {
        let start = kept.trailing_zeros();
        let length = (kept >> start).trailing_ones();
        let from = &bytes[start as usize..start as usize + BLOCK];
        out[written..written + BLOCK].copy_from_slice(from);
        written += length as usize;
        kept &= u64::MAX.checked_shl(start + length).unwrap_or(0);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::kernel::ascii;
    use crate::text::rabin::mix;

    /// The definition: byte by byte.
    fn definition(bytes: &[u8], position: &mut Position, out: &mut Vec<u8>) {
        for &byte in bytes {
            if byte.is_ascii_alphanumeric() {
                let gap = std::mem::replace(&mut position.gap, Gap::None);
                out.extend((gap != Gap::None && position.begun).then(|| gap.separator()));
                position.begun = true;
                out.push(byte.to_ascii_lowercase());
            } else {
                position.gap = position.gap.max(Gap::of(true, byte == b'\n' || byte == b'\r'));
            }
        }
    }

    #[test]
    fn equals_its_definition_at_every_length_and_position() {
        let alphabet = b"abcdefgHIJKLM0189 \n\r.,-_[`{/:@\t\x7F\0";
        let (mut letters, mut lower) = (Vec::new(), Vec::new());
        for length in (0..200).chain([1000, 4096]) {
            for (seed, rarely) in [(1, 1), (2, 4), (3, 9), (4, 90)] {
                let draw = |i: u64| mix(i ^ length << 32 ^ seed << 50);
                let others = |i: u64| alphabet[(draw(i) >> 20) as usize % alphabet.len()];
                let byte = |i: u64| if draw(i) % rarely == 0 { others(i) } else { b'x' };
                let bytes: Vec<u8> = (0..length).map(byte).collect();
                for begun in [false, true] {
                    for gap in [Gap::None, Gap::Space, Gap::Line] {
                        let (mut position, mut expected) = (Position { gap, begun }, b"*".to_vec());
                        let (mut same, mut found) = (position, expected.clone());
                        definition(&bytes, &mut position, &mut expected);
                        ascii::letters(&bytes, &mut letters);
                        squeeze(&bytes, &letters, &mut same, &mut lower, &mut found);
                        assert_eq!((found, same), (expected, position), "{length} bytes, {gap:?}, {begun}");
                    }
                }
            }
        }
    }
}
