//! Windows of N tokens, each half over the one before: where in a long text something is.
//!
//! Containment by samples fades when one text is much larger than the other; sampled windows do not grow with the text
//! (Coates 2011 breaks large files into blocks for the same reason). A text of up to N tokens has none: it is its own window. A text
//! with more than 8,192 windows gets windows twice as wide, as often as needed. All windows of a text but the last are of one width, and
//! each begins half of it after the one before.

use super::sample::Sample;

/// The most windows of one text.
const MOST: usize = 8192;

/// One window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// The first token of the window, counted from 0.
    pub first_token: u64,
    /// Tokens in the window.
    pub tokens: u64,
    /// The sample of the shingles that lie wholly within it.
    pub sample: Sample,
}

/// Cuts the shingle hashes of one text into windows.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    /// Tokens in a shingle.
    width: usize,
    /// Values in a sample.
    size: usize,
    /// Tokens from one window to the next: half a window.
    step: usize,
    /// How often windows were made twice as wide.
    doublings: u32,
    /// The first token of the open window.
    first_token: u64,
    /// The sample of its first half, when that was cut as a window before windows became wider.
    first_half: Option<Sample>,
    /// Hashes of its shingles, or of those of its second half.
    hashes: Vec<u64>,
    done: Vec<Passage>,
}

impl Windows {
    /// Windows of `tokens` tokens over shingles of `width` tokens, samples of `size` values.
    pub fn new(tokens: usize, width: usize, size: usize) -> Self {
        let (first_half, hashes, done) = Default::default();
        Windows { width, size, step: tokens / 2, doublings: 0, first_token: 0, first_half, hashes, done }
    }

    fn wide_step(&self) -> usize {
        self.step << self.doublings
    }

    /// The hash of the next shingle.
    #[inline]
    pub fn push(&mut self, hash: u64) {
        if self.tokens() == 2 * self.wide_step() {
            self.close();
            if self.done.len() == MOST {
                self.widen();
            }
        }
        self.hashes.push(hash);
    }

    /// Tokens in the open window so far.
    fn tokens(&self) -> usize {
        let first_half = if self.first_half.is_some() { self.wide_step() } else { 0 };
        first_half + self.hashes.len() + self.width - 1
    }

    /// Ends the open window and opens the next.
    fn close(&mut self) {
        let (tokens, step) = (self.tokens() as u64, self.wide_step());
        let mut hashes = self.hashes.clone();
        hashes.sort_unstable();
        let sample = Sample::of_sorted(&hashes, self.size);
        let sample = match self.first_half.take() {
            Some(first_half) => first_half.union(&sample, self.size),
            None => {
                self.hashes.drain(..step.min(self.hashes.len()));
                sample
            }
        };
        self.done.push(Passage { first_token: self.first_token, tokens, sample });
        self.first_token += step as u64;
    }

    /// Puts each second window together with the next but one, which begins where it ends. The last of them waits for its other
    /// half, which begins with the open window.
    fn widen(&mut self) {
        let mut narrow = std::mem::take(&mut self.done);
        let firsts = narrow.iter().step_by(2);
        self.done = firsts
            .clone()
            .zip(firsts.skip(1))
            .map(|(first, second)| Passage {
                first_token: first.first_token,
                tokens: first.tokens + second.tokens,
                sample: first.sample.union(&second.sample, self.size),
            })
            .collect();
        let half = narrow.swap_remove(MOST - 2);
        (self.first_token, self.first_half) = (half.first_token, Some(half.sample));
        self.doublings += 1;
    }

    /// The windows of the text; then ready for the next text.
    pub fn finish(&mut self) -> Vec<Passage> {
        if !self.done.is_empty() && !self.hashes.is_empty() {
            self.close();
        }
        self.first_half = None;
        self.hashes.clear();
        (self.first_token, self.doublings) = (0, 0);
        std::mem::take(&mut self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;
    use std::collections::HashSet;

    fn cut(tokens: u64) -> Vec<Passage> {
        let mut windows = Windows::new(200, 5, 256);
        (0..tokens.saturating_sub(4)).for_each(|i| windows.push(mix(i)));
        windows.finish()
    }

    #[test]
    fn short_texts_have_none() {
        assert!(cut(0).is_empty() && cut(5).is_empty() && cut(200).is_empty());
    }

    #[test]
    fn windows_overlap_by_half_and_hold_their_shingles() {
        let passages = cut(1050);
        let places: Vec<(u64, u64)> = passages.iter().map(|p| (p.first_token, p.tokens)).collect();
        let full = (0..9).map(|i| (100 * i, 200));
        assert_eq!(places, full.chain([(900, 150)]).collect::<Vec<_>>());
        for passage in passages {
            let end = passage.first_token + passage.tokens - 4;
            let mut values: Vec<u64> = (passage.first_token..end).map(|i| mix(i) >> 24).collect();
            values.sort_unstable();
            assert_eq!(passage.sample.values(), values);
        }
    }

    /// Every window must be where it should be and hold what lies within it, but for shingles across the places where windows
    /// were put together.
    fn check(tokens: u64) -> (u64, usize) {
        let (width, size) = (2, 64);
        let mut windows = Windows::new(16, width, size);
        (0..tokens - 1).for_each(|i| windows.push(mix(i)));
        let passages = windows.finish();
        let wide = passages[0].tokens;
        for (number, passage) in passages.iter().enumerate() {
            let (first, end) = (passage.first_token, passage.first_token + passage.tokens);
            assert_eq!(first, wide / 2 * number as u64, "{tokens} tokens");
            assert!(end == first + wide || number + 1 == passages.len(), "{tokens} tokens");
            let mut values: Vec<u64> =
                (first..end - 1).filter(|i| wide == 16 || i % 8 != 7).map(|i| mix(i) >> 24).collect();
            values.sort_unstable();
            let held: HashSet<u64> = passage.sample.values().iter().copied().collect();
            let bound = passage.sample.bound();
            let missing = values.iter().filter(|value| **value < bound && !held.contains(value)).count();
            assert_eq!(missing, 0, "{tokens} tokens: window {number} of {wide}");
        }
        let last = passages.last().unwrap();
        assert_eq!(last.first_token + last.tokens, tokens, "nothing is left out");
        (wide, passages.len())
    }

    #[test]
    fn windows_of_very_long_texts_are_wider_and_miss_nothing() {
        let most = MOST as u64;
        // Up to the end of the last narrow window, and from the next token on.
        assert_eq!(check(8 * (most + 1)), (16, MOST));
        assert_eq!(check(8 * (most + 1) + 1), (32, MOST / 2));
        for tokens in [8 * most + 100, 16 * most - 3, 16 * (most + 1)] {
            assert_eq!(check(tokens).0, 32);
        }
        assert_eq!(check(16 * (most + 1) + 1), (64, MOST / 2));
        assert_eq!(check(32 * most + 5).0, 64);
        assert_eq!(check(70 * most + 5).0, 256);
    }
}
