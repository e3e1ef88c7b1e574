//! The terms of one content: which addresses its sketches put it under.

use super::band::Bands;
use super::permute::TableDesign;
use super::term::{Address, Prefixes, Space, Term};
use crate::id::ContentHash;
use crate::sketch::{Sample, Signature, Simhash};

/// How contents are indexed: made from the parameters of a database.
#[derive(Clone, Debug)]
pub(crate) struct Indexing {
    pub bands: Bands,
    pub tables: TableDesign,
    /// Whether sample values are posted.
    pub containment: bool,
}

impl Indexing {
    pub fn prefixes(&self) -> Prefixes {
        Prefixes { simhash: self.tables.prefix_bits() }
    }

    /// The address of a document key.
    pub fn key(key: &str) -> Address {
        Address::new(Space::KEYS, Term::of_key(key))
    }

    /// The address of a content hash.
    pub fn content(hash: &ContentHash) -> Address {
        Address::new(Space::CONTENTS, Term::of_content(hash))
    }

    /// The address of a sample value.
    pub fn sample_value(value: u64) -> Address {
        Address::new(Space::SAMPLES, Term::of_value(value))
    }

    /// Every address of a content that the file keeps these sketches of.
    pub fn addresses(&self, indexed: Indexed) -> impl Iterator<Item = Address> {
        let hash = std::iter::once(Self::content(indexed.hash));
        let bands = indexed.signature.into_iter().flat_map(|signature| self.bands.addresses(signature));
        let tables = indexed.simhash.into_iter().flat_map(|simhash| self.tables.addresses(simhash));
        let posted = indexed.sample.filter(|_| self.containment).map_or(&[][..], Sample::posted);
        hash.chain(bands).chain(tables).chain(posted.iter().map(|&value| Self::sample_value(value)))
    }
}

/// The sketches of a content that feed the index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed<'a> {
    pub hash: &'a ContentHash,
    pub sample: Option<&'a Sample>,
    pub signature: Option<&'a Signature>,
    pub simhash: Option<Simhash>,
}
