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

/// Lets others read a database that a verb had to leave because the disk is full: how the verb ended.
pub fn recovered(ended: Ended, path: Option<&Path>, common: &Common) -> Ended {
    if let (Err(Stop::Failed(error)), Some(path)) = (&ended, path)
        && error.is_disk_full()
    {
        // When this fails too, the next verb that writes does it.
        let _ = Database::recover(path, options(common));
    }
    ended
}
