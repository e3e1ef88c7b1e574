//! Ending long work from outside: a flag, and a disk that fails once the flag is raised.
//!
//! Work that writes a new file is given such a disk: every page that it reads or writes asks for the flag, so the store
//! below stops within a page and needs to know nothing about it. The new file is thrown away.

use super::disk::Disk;
use crate::error::{Error, Result};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Cancels work that is under way, from any thread or signal handler. Clones share one flag, which stays raised.
///
/// ```
/// # use sketchdb::{Cancel, Database, Error, Options, Params};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.sketchdb");
/// Database::create(&path, &Params::default())?;
/// let cancel = Cancel::new();
/// let options = Options { cancel: cancel.clone(), ..Options::default() };
/// cancel.cancel();
/// let compacted = Database::compact(&path, options, &mut |_, _, _| {});
/// assert!(matches!(compacted, Err(Error::Cancelled)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels whatever was given this flag: it fails with [`Error::Cancelled`] soon after.
    pub fn cancel(&self) {
        self.0.store(true, Relaxed);
    }

    /// Whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// The outcome of work on a disk that fails when it is cancelled.
    pub(crate) fn outcome<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|error| if self.is_cancelled() { Error::Cancelled } else { error })
    }

    /// A disk that fails once the flag is raised.
    pub(crate) fn over(&self, disk: impl Disk) -> Arc<dyn Disk> {
        Arc::new(Cancellable { disk, cancel: self.clone() })
    }
}

/// A flag that somebody else raises.
impl From<Arc<AtomicBool>> for Cancel {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Cancel(flag)
    }
}

#[derive(Debug)]
struct Cancellable<D> {
    disk: D,
    cancel: Cancel,
}

impl<D: Disk> Cancellable<D> {
    fn check(&self) -> io::Result<&D> {
        self.cancel.check().map_err(io::Error::other)?;
        Ok(&self.disk)
    }
}

impl<D: Disk> Disk for Cancellable<D> {
    fn len(&self) -> io::Result<u64> {
        self.check()?.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.check()?.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check()?.write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.check()?.sync()
    }

    fn name(&self) -> String {
        self.disk.name()
    }
}
