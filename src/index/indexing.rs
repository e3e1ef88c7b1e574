//! The terms of one content: which addresses its sketches put it under.

use super::band::Bands;
use super::permute::TableDesign;
use super::term::{Address, Prefixes, Space, Term};
use crate::id::ContentHash;
use crate::sketch::{Signature, Simhash};

/// How contents are indexed: made from the parameters of a database.
#[derive(Clone, Debug)]
pub(crate) struct Indexing {
    pub bands: Bands,
    pub tables: TableDesign,
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

    /// Every address of a content.
    pub fn addresses(
        &self,
        hash: &ContentHash,
        signature: Option<&Signature>,
        simhash: Option<Simhash>,
    ) -> impl Iterator<Item = Address> {
        let bands = signature.into_iter().flat_map(|signature| self.bands.addresses(signature));
        let tables = simhash.into_iter().flat_map(|simhash| self.tables.addresses(simhash));
        std::iter::once(Self::content(hash)).chain(bands).chain(tables)
    }
}
