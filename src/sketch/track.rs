//! Tokens on their way to shingles, or to the features of the simhash.

use crate::text::rabin::Rabin;
use crate::text::shingle::{Shingler, Shingling};
use crate::text::token::{Tokeniser, Unit};

/// Tokens waiting to be cut into shingles of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub unit: Unit,
    pub tokeniser: Tokeniser,
    pub shingler: Shingler,
    pub units: Vec<u64>,
}

impl Track {
    pub fn new(shingling: Shingling, rabin: &Rabin) -> Self {
        Track {
            unit: shingling.unit(),
            tokeniser: Tokeniser::new(shingling.unit()),
            shingler: Shingler::new(shingling.width(), rabin),
            units: Vec::new(),
        }
    }

    pub fn push(&mut self, text: &str, rabin: &Rabin) {
        let Track { tokeniser, units, .. } = self;
        tokeniser.push(text, rabin, units);
    }
}
