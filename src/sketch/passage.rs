//! Windows of N tokens, each half over the one before: where in a long text something is.
//!
//! Containment by samples fades when one text is much larger than the other; sampled windows do not grow with the text
//! (Coates 2011 breaks large files into blocks for the same reason). A text of up to N tokens has none: it is its own window. A text
//! with more than 8,192 windows gets windows twice as wide, as often as needed.

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
    /// Hashes of the shingles from the first token of the open window on.
    hashes: Vec<u64>,
    first_token: u64,
    done: Vec<Passage>,
}

impl Windows {
    /// Windows of `tokens` tokens over shingles of `width` tokens, samples of `size` values.
    pub fn new(tokens: usize, width: usize, size: usize) -> Self {
        let (hashes, done) = Default::default();
        Windows { width, size, step: tokens / 2, doublings: 0, hashes, first_token: 0, done }
    }

    fn wide_step(&self) -> usize {
        self.step << self.doublings
    }

    /// The hash of the next shingle.
    #[inline]
    pub fn push(&mut self, hash: u64) {
        if self.hashes.len() + self.width > 2 * self.wide_step() {
            self.close(2 * self.wide_step());
        }
        self.hashes.push(hash);
    }

    /// Ends the open window, which has this many tokens, and opens the next.
    fn close(&mut self, tokens: usize) {
        let mut hashes = self.hashes.clone();
        hashes.sort_unstable();
        let sample = Sample::of_sorted(&hashes, self.size);
        self.done.push(Passage { first_token: self.first_token, tokens: tokens as u64, sample });
        let step = self.wide_step();
        self.hashes.drain(..step.min(self.hashes.len()));
        self.first_token += step as u64;
        if self.done.len() == MOST {
            self.widen();
        }
    }

    /// Puts each second window together with the next but one, which begins where it ends. The windows on either side of
    /// this point of the text meet without overlapping.
    fn widen(&mut self) {
        let narrow = std::mem::take(&mut self.done);
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
        self.doublings += 1;
    }

    /// The windows of the text; then ready for the next text.
    pub fn finish(&mut self) -> Vec<Passage> {
        if !self.done.is_empty() && !self.hashes.is_empty() {
            self.close(self.hashes.len() + self.width - 1);
        }
        self.hashes.clear();
        (self.first_token, self.doublings) = (0, 0);
        std::mem::take(&mut self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

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

    #[test]
    fn very_long_texts_have_wider_windows() {
        let tokens = 3_000_000;
        let passages = cut(tokens);
        assert!(passages.len() <= MOST && passages.len() > MOST / 4, "{}", passages.len());
        let mut reached = 0;
        for passage in &passages {
            assert!(passage.first_token <= reached, "no token is left out");
            reached = reached.max(passage.first_token + passage.tokens);
        }
        assert_eq!(reached, tokens);
        assert!(passages.iter().all(|p| p.sample.values().len() >= 150 || p.tokens < 200));
    }
}
