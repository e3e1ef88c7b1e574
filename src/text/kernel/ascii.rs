//! Which bytes of a run of ASCII are what: a bit for each byte, 64 to a word.

use super::at_level;

/// Which of 64 bytes are letters or digits, and which are line feeds or carriage returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Letters {
    pub letters: u64,
    pub breaks: u64,
}

/// The letters, digits and line breaks; all bytes lie below 128, those after the end count as none.
pub(crate) fn letters(bytes: &[u8], out: &mut Vec<Letters>) {
    at_level!(
        avx512: avx512::letters(bytes, out),
        avx2: avx2::letters(bytes, out),
        portable: portable::letters(bytes, out),
    );
}

/// The bytes above the space; all bytes lie below 128, those after the end count as none.
pub(crate) fn above_space(bytes: &[u8], out: &mut Vec<u64>) {
    at_level!(
        avx512: avx512::above_space(bytes, out),
        avx2: avx2::above_space(bytes, out),
        portable: portable::above_space(bytes, out),
    );
}

/// The last bytes, less than a block, and zeros behind them.
fn padded(rest: &[u8]) -> Option<[u8; 64]> {
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    (!rest.is_empty()).then_some(last)
}

/// Puts what `$of` makes of each block of `$bytes` into `$out`. A closure would be compiled without the instructions of the
/// function it is in.
macro_rules! each_block {
    ($bytes:ident, $out:ident, $of:ident) => {{
        let (blocks, rest) = $bytes.as_chunks::<64>();
        $out.clear();
        $out.reserve(blocks.len() + 1);
        for block in blocks {
            $out.push($of(block));
        }
        if let Some(last) = padded(rest) {
            $out.push($of(&last));
        }
    }};
}

mod portable {
    use super::{Letters, padded};

    pub fn letters(bytes: &[u8], out: &mut Vec<Letters>) {
        each_block!(bytes, out, letters_of);
    }

    pub fn above_space(bytes: &[u8], out: &mut Vec<u64>) {
        each_block!(bytes, out, above_space_of);
    }

    fn letters_of(block: &[u8; 64]) -> Letters {
        Letters {
            letters: mask(block, |bytes| {
                let lower = bytes | eight(0x20);
                let letter = at_least(lower, b'a') & !at_least(lower, b'z' + 1);
                letter | at_least(bytes, b'0') & !at_least(bytes, b'9' + 1)
            }),
            breaks: mask(block, |bytes| {
                let feed = at_least(bytes, b'\n') & !at_least(bytes, b'\n' + 1);
                feed | at_least(bytes, b'\r') & !at_least(bytes, b'\r' + 1)
            }),
        }
    }

    fn above_space_of(block: &[u8; 64]) -> u64 {
        mask(block, |bytes| at_least(bytes, b' ' + 1))
    }

    /// A bit for each of 64 bytes: the top bit of what `of` makes of its byte.
    #[inline(always)]
    fn mask(block: &[u8; 64], of: impl Fn(u64) -> u64) -> u64 {
        let (words, _) = block.as_chunks::<8>();
        words
            .iter()
            .enumerate()
            .fold(0, |mask, (at, word)| mask | gathered(of(u64::from_le_bytes(*word))) << (8 * at))
    }

    /// Eight equal bytes.
    const fn eight(byte: u8) -> u64 {
        u64::from_le_bytes([byte; 8])
    }

    /// The top bit of each byte that is at least `least`, of bytes below 128.
    #[inline(always)]
    fn at_least(bytes: u64, least: u8) -> u64 {
        bytes + eight(128 - least)
    }

    /// The top bits of eight bytes, as eight bits.
    #[inline(always)]
    fn gathered(tops: u64) -> u64 {
        (tops >> 7 & eight(1)).wrapping_mul(0x0102_0408_1020_4080) >> 56
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Letters, padded};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2")]
    pub fn letters(bytes: &[u8], out: &mut Vec<Letters>) {
        each_block!(bytes, out, letters_of);
    }

    #[target_feature(enable = "avx2")]
    pub fn above_space(bytes: &[u8], out: &mut Vec<u64>) {
        each_block!(bytes, out, above_space_of);
    }

    // In a loop over blocks the compiler takes the vectors apart.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn letters_of(block: &[u8; 64]) -> Letters {
        let [low, high] = halves(block);
        Letters {
            letters: joined(letter(low), letter(high)),
            breaks: joined(line_break(low), line_break(high)),
        }
    }

    // In a loop over blocks the compiler takes the vectors apart.
    #[inline(never)]
    #[target_feature(enable = "avx2")]
    fn above_space_of(block: &[u8; 64]) -> u64 {
        let [low, high] = halves(block);
        joined(within(low, b' ' + 1, 127), within(high, b' ' + 1, 127))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn letter(bytes: __m256i) -> __m256i {
        let lower = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
        _mm256_or_si256(within(lower, b'a', 25), within(bytes, b'0', 9))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn line_break(bytes: __m256i) -> __m256i {
        _mm256_or_si256(within(bytes, b'\n', 0), within(bytes, b'\r', 0))
    }

    /// The bytes that lie at most `most` above `least`, as bytes of ones.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn within(bytes: __m256i, least: u8, most: u8) -> __m256i {
        let above = _mm256_sub_epi8(bytes, _mm256_set1_epi8(least as i8));
        _mm256_cmpeq_epi8(_mm256_min_epu8(above, _mm256_set1_epi8(most as i8)), above)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn joined(low: __m256i, high: __m256i) -> u64 {
        let [low, high] = [_mm256_movemask_epi8(low), _mm256_movemask_epi8(high)];
        u64::from(high as u32) << 32 | u64::from(low as u32)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(block: &[u8; 64]) -> [__m256i; 2] {
        let at = block.as_ptr();
        // Sound: a block has 64 bytes, and two unaligned loads of 32 ask for no more.
        unsafe { [_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(32).cast())] }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{Letters, padded};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn letters(bytes: &[u8], out: &mut Vec<Letters>) {
        each_block!(bytes, out, letters_of);
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub fn above_space(bytes: &[u8], out: &mut Vec<u64>) {
        each_block!(bytes, out, above_space_of);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn letters_of(block: &[u8; 64]) -> Letters {
        let bytes = load(block);
        let lower = _mm512_or_si512(bytes, all(0x20));
        let letter = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(lower, all(b'a')), all(26));
        let digit = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, all(b'0')), all(10));
        let feed = _mm512_cmpeq_epi8_mask(bytes, all(b'\n'));
        let carriage_return = _mm512_cmpeq_epi8_mask(bytes, all(b'\r'));
        Letters { letters: letter | digit, breaks: feed | carriage_return }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn above_space_of(block: &[u8; 64]) -> u64 {
        _mm512_cmpgt_epu8_mask(load(block), all(b' '))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn all(byte: u8) -> __m512i {
        _mm512_set1_epi8(byte as i8)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(block: &[u8; 64]) -> __m512i {
        // Sound: a block has 64 bytes, and an unaligned load asks for no more.
        unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
    }
}

/// How many bytes lie below 128 before the first that does not.
pub(crate) fn prefix(bytes: &[u8]) -> usize {
    let mut whole = 0;
    for size in [1024, 64] {
        let blocks = bytes[whole..].chunks_exact(size);
        whole += size * blocks.take_while(|block| block.is_ascii()).count();
    }
    whole + bytes[whole..].iter().take_while(|byte| byte.is_ascii()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn masks_equal_their_definition_at_every_length() {
        let mut out = Vec::new();
        for length in (0..200).chain([1000, 4096]) {
            let bytes: Vec<u8> = (0..length).map(|i| (mix(i ^ length << 32) & 127) as u8).collect();
            let defined = |of: fn(u8) -> bool| -> Vec<u64> {
                let word =
                    |part: &[u8]| part.iter().rev().fold(0, |mask, &byte| mask << 1 | u64::from(of(byte)));
                bytes.chunks(64).map(word).collect()
            };
            let mut both = Vec::new();
            letters(&bytes, &mut both);
            let [letters, breaks] = [|both: &Letters| both.letters, |both: &Letters| both.breaks]
                .map(|mask| both.iter().map(mask).collect::<Vec<u64>>());
            assert_eq!(letters, defined(|byte| byte.is_ascii_alphanumeric()), "{length} bytes");
            assert_eq!(breaks, defined(|byte| byte == b'\n' || byte == b'\r'), "{length} bytes");
            above_space(&bytes, &mut out);
            assert_eq!(out, defined(|byte| byte > b' '), "{length} bytes");
        }
    }

    #[test]
    fn a_prefix_ends_at_the_first_byte_that_is_not_ascii() {
        for length in 0..200 {
            for end in [0, 1, 63, 64, 65, length / 2, length].into_iter().filter(|end| *end <= length) {
                let mut bytes = vec![b'x'; length];
                bytes.iter_mut().skip(end).for_each(|byte| *byte = 0xC3);
                assert_eq!(prefix(&bytes), end, "{length}");
            }
        }
    }
}
