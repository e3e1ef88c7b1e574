//! Proves what the documentation of the API promises, one promise at a time.

#[path = "../common/mod.rs"]
mod common;
mod memory;
mod opening;
mod verdicts;
mod updates;
mod threads;
mod bounded;
mod accept;
mod common_shingles;
mod totals;
mod bounded_anew;
mod copies;
mod edge_texts;
mod parameters;
mod foreign_sketches;
