//! Tests that lack something here: named on stderr, failures where every test is required.
//!
//! `tools/check` sets `SKETCHDB_REQUIRE=all`, under which only tests of the corpora beside the project may be skipped. It
//! also names a file in `SKETCHDB_SKIPPED`, to which each of those adds a line, and prints how many there are.

#![allow(dead_code)] // Unit tests read no corpora.

use std::io::Write;

/// Skips a test for lack of something that a machine has or can be given.
pub fn skipped(why: &str) {
    let required = std::env::var("SKETCHDB_REQUIRE").is_ok_and(|which| which == "all");
    assert!(!required, "not tested: {why}, and SKETCHDB_REQUIRE=all lets no test be skipped");
    eprintln!("skipped: {why}");
}

/// Skips a test for lack of a corpus.
pub fn skipped_without(corpus: &str) {
    let thread = std::thread::current();
    let line = format!("{}: ../shared/corpora/{corpus} is not there", thread.name().unwrap_or("a test"));
    eprintln!("skipped: {line}");
    if let Some(path) = std::env::var_os("SKETCHDB_SKIPPED") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "{line}")).expect("a file for the names of skipped tests");
    }
}
