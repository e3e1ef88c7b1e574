//! What several tests share: corpora, disks in memory that crash and fail, seeded texts, and models of what must be stored.
#![allow(dead_code)] // Each test takes what it needs.

pub mod corpus;
pub mod disk;
pub mod params;
pub mod place;
pub mod rng;
pub mod skipped;
pub mod texts;
pub mod version;
pub mod workload;
