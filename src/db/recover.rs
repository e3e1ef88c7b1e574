//! `recover`: what a writer that died left behind, put in order.

use super::copy::not_closed;
use super::database::{Database, Options};
use crate::error::Result;
use crate::store::disk::FileDisk;
use crate::store::file::StoreFile;
use crate::store::waiting::{Patience, Recovering};
use std::path::Path;
use std::sync::Arc;

impl Database {
    /// Recovers a database whose last writer did not close it, and does no more: that takes no room which the file does not
    /// have. Returns whether there was anything to recover. Readers that start meanwhile wait for it.
    ///
    /// Opening recovers too: a writer for good, a reader in memory and each time.
    pub fn recover(path: impl AsRef<Path>, options: Options) -> Result<bool> {
        let (path, patience) = (path.as_ref(), options.patience());
        patience.retry(|| recover_once(path, &options, &patience))
    }
}

fn recover_once(path: &Path, options: &Options, patience: &Patience) -> Result<bool> {
    if !is_unclosed(path, patience)? {
        return Ok(false);
    }
    let _recovering = Recovering::begin(path, &options.cancel)?;
    // Another process may have done it meanwhile.
    if !StoreFile::is_unclosed(Box::new(FileDisk::open_read_only(path)?))? {
        return Ok(false);
    }
    let disk = Arc::new(FileDisk::open_writable(path)?);
    let options = Options { read_only: false, ..options.clone() };
    let opened = Database::load(disk, options).map(|db| db.abandon());
    // The outcome of opening does not tell: redb closes in silence, and may have done so after a failure.
    match StoreFile::is_unclosed(Box::new(FileDisk::open_read_only(path)?))? {
        false => Ok(true),
        true => Err(opened.err().unwrap_or_else(|| not_closed(path.display()))),
    }
}

fn is_unclosed(path: &Path, patience: &Patience) -> Result<bool> {
    StoreFile::is_unclosed(Box::new(patience.open_read_only(path)?))
}
