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
mod bad_inputs;
mod creation;
mod streams;
mod times;
mod compare;
mod sketches;
mod measures;
