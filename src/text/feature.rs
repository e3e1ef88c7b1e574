//! Tokens → hashes of the features of a simhash: w tokens, Σ tᵢ·D^(w-1-i) modulo 2^64, keyed, mixed.
//!
//! Features only vote, so that two that meet do little harm: they need no polynomials, which cost more than all else of a vote.

use super::kernel::mixing;
use super::sliding::Sliding;

/// The features of one text.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    key: u64,
    sliding: Sliding,
}

impl Features {
    pub fn new(width: u32, key: u64) -> Self {
        Features { key, sliding: Sliding::new(width) }
    }

    /// Takes the next tokens and puts the hashes of the features that they complete behind those that are there.
    pub fn push(&mut self, units: &[u64], hashes: &mut Vec<u64>) {
        let width = self.sliding.width();
        self.sliding.push(units, |tokens| mixing::windows(tokens, width, self.key, hashes));
    }

    /// The hash of a text that ended before the window was full; then ready for the next text.
    pub fn finish(&mut self, hashes: &mut Vec<u64>) {
        self.sliding.finish(|tokens| mixing::windows(tokens, tokens.len(), self.key, hashes));
    }
}
