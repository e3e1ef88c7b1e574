//! Databases that there are, opened as a verb needs them.

use crate::args::Common;
use crate::exit::{Ended, Stop};
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

/// Whether a verb stopped because a disk is full.
pub fn met_full_disk(ended: &Ended) -> bool {
    matches!(ended, Err(Stop::Failed(error)) if error.is_disk_full())
}

/// Lets others read a database that a verb had to leave because the disk is full.
pub fn recover(path: &Path, common: &Common) {
    // When this fails too, the next verb that writes does it.
    let _ = Database::recover(path, options(common));
}
