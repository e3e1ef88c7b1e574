//! Proves that the command keeps its contract: verbs, lines, fields, exit codes, streams.

#[path = "../common/mod.rs"]
mod common;
mod run;
mod fields;
mod exits;
mod add;
mod query;
mod keys;
mod inputs;
mod hostile;
mod long_lines;
mod stalled;
mod bad_inputs;
mod creation;
mod streams;
mod processes;
mod times;
mod compare;
mod sketches;
mod measures;
mod stock;
mod remove;
mod expire;
mod pairs;
mod clusters;
mod common_shingles;
mod dedup;
mod dedup_files;
mod compact;
mod rebuild;
mod merge;
mod export;
mod verify;
mod keep_sketches;
mod folders;
mod manual;
