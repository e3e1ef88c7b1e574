//! Proves that the database says what a model made of plain maps says: random calls, flushes, merges, hot bands.

#[path = "../common/mod.rs"]
mod common;
mod answers;
mod clusters;
mod hot;
mod oracle;
mod pair;
mod random;
mod sizes;
