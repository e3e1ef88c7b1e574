//! Terms: the 40-bit keys of the index, and the spaces that keep their families apart.
//!
//! A family of terms is a *space*; within it, terms are ordered numbers. Content hashes and all bands share one space (the
//! band's number is hashed in): the denser a space, the fewer bits an entry takes. A term may stand for several things by
//! accident (2^-40 a pair), so whatever a look-up names is verified.

use crate::id::ContentHash;
use crate::text::rabin::mix;

/// Bits of a term.
pub(crate) const TERM_BITS: u32 = 40;

/// A 40-bit index key within its space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term(u64);

impl Term {
    /// The top 40 bits of a 64-bit hash.
    pub fn of_hash(hash: u64) -> Self {
        Term(hash >> (64 - TERM_BITS))
    }

    /// The term of a 40-bit sample value.
    pub fn of_value(value: u64) -> Self {
        Term(value & ((1 << TERM_BITS) - 1))
    }

    /// The term of a document key.
    pub fn of_key(key: &str) -> Self {
        let hash = blake3::hash(key.as_bytes());
        Term::of_hash(u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes")))
    }

    /// 128 bits of the hash of a key, for those who must tell keys apart.
    pub fn wide_of_key(key: &str) -> [u64; 2] {
        let hash = blake3::hash(key.as_bytes());
        let half =
            |at: usize| u64::from_le_bytes(hash.as_bytes()[at..at + 8].try_into().expect("eight bytes"));
        [half(0), half(8)]
    }

    /// The term of a content hash.
    pub fn of_content(hash: &ContentHash) -> Self {
        Term::of_hash(mix(u64::from_le_bytes(hash.0[..8].try_into().expect("eight bytes"))))
    }
}

/// A family of terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Space(u8);

impl Space {
    /// Document keys: the only space whose entries name documents.
    pub const KEYS: Space = Space(0);
    /// Content hashes and bands.
    pub const CONTENTS: Space = Space(1);

    /// Sample values, for containment.
    pub const SAMPLES: Space = Space(255);

    /// The permuted simhashes of one table.
    pub fn simhash(table: usize) -> Space {
        Space(2 + table as u8)
    }

    /// Whether this is the space of a simhash table.
    pub fn is_simhash(self) -> bool {
        self > Space::CONTENTS && self < Space::SAMPLES
    }
}

/// A term in its space, as one number of 48 bits: the order of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Address(u64);

impl Address {
    /// The greatest address.
    pub const END: Address = Address((1 << 48) - 1);

    /// The least address of a space.
    pub fn first(space: Space) -> Self {
        Address::new(space, Term(0))
    }

    pub fn new(space: Space, term: Term) -> Self {
        Address(u64::from(space.0) << TERM_BITS | term.0)
    }

    /// Every address whose term begins with the top `prefix_bits` of `term`.
    pub fn sharing(space: Space, term: Term, prefix_bits: u32) -> std::ops::RangeInclusive<Address> {
        let rest = (1 << (TERM_BITS - prefix_bits)) - 1;
        Address::new(space, Term(term.0 & !rest))..=Address::new(space, Term(term.0 | rest))
    }

    pub fn from_bits(bits: u64) -> Self {
        Address(bits & Address::END.0)
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    /// The term without its space.
    pub fn term_bits(self) -> u64 {
        self.0 & ((1 << TERM_BITS) - 1)
    }

    pub fn space(self) -> Space {
        Space((self.0 >> TERM_BITS) as u8)
    }
}

/// How many leading bits of a term its space is searched by: 40 in all spaces but those of the simhash tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefixes {
    /// Bits of a permuted simhash that must match exactly.
    pub simhash: u32,
}

impl Prefixes {
    /// The part of an address that a filter knows.
    pub fn filter_key(self, address: Address) -> u64 {
        let bits = if address.space().is_simhash() { self.simhash } else { TERM_BITS };
        address.0 >> (TERM_BITS - bits) | u64::from(address.space().0) << 48
    }
}
