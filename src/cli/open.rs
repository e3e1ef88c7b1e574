//! Databases that there are, opened as a verb needs them.

use crate::args::Common;
use sketchdb::{Database, Options, Result};
use std::path::Path;

/// What the command line says of memory.
pub fn options(common: &Common) -> Options {
    Options { memory: common.memory, ..Options::default() }
}

/// Never writes; others may read at the same time.
pub fn reading(path: &Path, common: &Common) -> Result<Database> {
    Database::open(path, Options { read_only: true, ..options(common) })
}

/// Alone.
pub fn writing(path: &Path, common: &Common) -> Result<Database> {
    Database::open(path, options(common))
}
