//! Proves that the database says what a model made of plain maps says: random calls, flushes, merges, hot bands.

#[path = "../common/mod.rs"]
mod common;
mod answers;
mod clusters;
mod hot;
mod life;
mod lives;
mod oracle;
mod pair;
mod pairs;
mod random;
mod sizes;
