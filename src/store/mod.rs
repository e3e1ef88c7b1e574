//! Everything on disk: the only layer that names redb, bincode, roaring and crc32fast.
//!
//! A file is read and written through [`pages`], which seals every page with a checksum. In it, redb keeps tables
//! ([`tables`]): [`frame`]s of [`record`]s are the truth, index [`run`]s and [`postings`] are derived from them. Readers
//! hold a [`view`]; a [`commit`] makes the next one. Every byte is described in `schema/format.md`.

pub(crate) mod temporary;
pub(crate) mod stale;
pub(crate) mod atomic_file;
pub(crate) mod disk;
pub(crate) mod cancel;
pub(crate) mod overlay;
pub(crate) mod pages;
pub(crate) mod seals;
pub(crate) mod tables;
pub(crate) mod record;
pub(crate) mod packed;
pub(crate) mod frame;
pub(crate) mod postings;
pub(crate) mod marks;
pub(crate) mod clusters;
pub(crate) mod cache;
pub(crate) mod run;
pub(crate) mod beside;
pub(crate) mod waiting;
pub(crate) mod file;
pub(crate) mod strays;
pub(crate) mod document;
pub(crate) mod view;
pub(crate) mod walk;
pub(crate) mod sort;
pub(crate) mod remains;
pub(crate) mod salvage;
pub(crate) mod commit;
pub(crate) mod flush;
pub(crate) mod build;
pub(crate) mod merging;
pub(crate) mod remnants;
#[cfg(any(test, fuzzing))]
pub(crate) mod rewrite;
#[cfg(test)]
pub(crate) mod golden;

#[doc(hidden)]
pub use atomic_file::AtomicFile;
pub use cancel::Cancel;
pub use disk::{Disk, FileDisk};
pub use file::is_database;
