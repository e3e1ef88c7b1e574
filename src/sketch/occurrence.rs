//! How often each shingle of a text has occurred: labels for Broder's option A, weights of one for the simhash.
//!
//! The l-th occurrence of a shingle, l > 1, gets a fingerprint of its own, mixed from the shingle's and l (Broder 1997,
//! sections 2 and 4.3), so that the multiset becomes a set and both options share all code behind. Counting takes memory in
//! proportion to the distinct shingles: of a text with more than four million, those that come later are not counted and
//! stand for themselves each time, as a set has them.

use crate::text::rabin::mix;
use std::collections::HashMap;

/// The most shingles that are counted.
const COUNTED: usize = 1 << 22;

/// Occurrence counts of one text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Occurrences {
    counts: HashMap<u64, u32>,
}

impl Occurrences {
    /// Which occurrence of this fingerprint it is, from 1; 1 for those that are no longer counted.
    pub fn count(&mut self, fingerprint: u64) -> u32 {
        if self.counts.len() >= COUNTED && !self.counts.contains_key(&fingerprint) {
            return 1;
        }
        let count = self.counts.entry(fingerprint).or_insert(0);
        *count += 1;
        *count
    }

    /// The fingerprint of this occurrence.
    pub fn label(&mut self, fingerprint: u64) -> u64 {
        match self.count(fingerprint) {
            1 => fingerprint,
            l => mix(fingerprint ^ mix(u64::from(l))),
        }
    }

    /// Ready for the next text.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.counts.shrink_to(1 << 16);
    }
}
