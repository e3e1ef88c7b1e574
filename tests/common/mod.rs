//! What the integration tests share: seeded texts, databases in temporary folders, a disk in memory.
#![allow(dead_code)] // Each test takes what it needs.

pub mod memory;
pub mod place;
pub mod texts;
