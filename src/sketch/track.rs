//! Tokens on their way to shingles, or to the features of the simhash.

use crate::text::rabin::Rabin;
use crate::text::token::{Tokeniser, Unit};

/// Tokens of one kind that wait to be cut into windows.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub unit: Unit,
    pub tokeniser: Tokeniser,
    pub units: Vec<u64>,
}

impl Track {
    pub fn new(unit: Unit) -> Self {
        Track { unit, tokeniser: Tokeniser::new(unit), units: Vec::new() }
    }

    pub fn push(&mut self, text: &str, rabin: &Rabin) {
        let Track { tokeniser, units, .. } = self;
        tokeniser.push(text, rabin, units);
    }
}
