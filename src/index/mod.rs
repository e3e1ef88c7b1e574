//! Sketches → terms → packed sorted runs: bytes only, no I/O.
//!
//! An index entry says that a content (or, in the space of keys, a document) has a term. Entries of what was added last live
//! in a [`memtable`]; a full memtable becomes an immutable sorted [`run`] of packed [`block`]s with [`filter`]s; runs are
//! merged in [`tier`]s.

pub(crate) mod term;
pub(crate) mod band;
pub(crate) mod permute;
pub(crate) mod batch;
pub(crate) mod indexing;
pub(crate) mod memtable;
pub(crate) mod filter;
pub(crate) mod block;
pub(crate) mod jump;
pub(crate) mod run;
pub(crate) mod tier;

pub use band::Bands;
pub use permute::TableDesign;
