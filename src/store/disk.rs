//! The medium below the sealed pages: a file, or whatever stands in for one.

use crate::error::{Error, Result};
use std::fmt::Debug;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// A random-access medium. What was written before [`sync`](Self::sync) returned survives a crash; what was written
/// after may survive whole, torn at 512-byte sectors, or not at all.
pub trait Disk: Debug + Send + Sync + 'static {
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether nothing is there.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Fills `out` from `offset`; an error when that goes beyond the end.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`, within the length.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts, or grows with zeros.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes everything written so far durable.
    fn sync(&self) -> io::Result<()>;
}

/// A locked file: one writer, or any number of readers.
#[derive(Debug)]
pub struct FileDisk(File);

impl FileDisk {
    /// Opens an existing file and takes the writer's lock.
    pub fn open_writable(path: &Path) -> Result<Self> {
        check_regular(path)?;
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|e| failed(path, e))?;
        Self::locked(path, file.try_lock(), file)
    }

    /// Opens an existing file and takes a reader's lock.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        check_regular(path)?;
        let file = File::open(path).map_err(|e| failed(path, e))?;
        Self::locked(path, file.try_lock_shared(), file)
    }

    /// An empty file that nobody else knows yet.
    pub(crate) fn new(file: File) -> Self {
        FileDisk(file)
    }

    fn locked(path: &Path, lock: std::result::Result<(), TryLockError>, file: File) -> Result<Self> {
        match lock {
            Ok(()) if is_at(path, &file).map_err(|error| failed(path, error))? => Ok(FileDisk(file)),
            // Another file was put in its place meanwhile.
            Ok(()) => Err(Error::Locked(path.to_owned())),
            Err(TryLockError::WouldBlock) => Err(Error::Locked(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(Error::io(format!("lock {}", path.display()), error)),
        }
    }
}

/// Whether a path still names a file that was opened by it.
#[cfg(unix)]
fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (named, opened) = (std::fs::metadata(path)?, file.metadata()?);
    Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino()))
}

/// Refuses anything else before it is opened: opening a named pipe would wait for its other end.
fn check_regular(path: &Path) -> Result<()> {
    match std::fs::metadata(path).map_err(|error| failed(path, error))?.is_file() {
        true => Ok(()),
        false => Err(Error::invalid(path.display(), "a database is a regular file")),
    }
}

fn failed(path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::Missing(path.to_owned()),
        _ => Error::io(format!("open {}", path.display()), error),
    }
}

#[cfg(unix)]
impl Disk for FileDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, out, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

impl<D: Disk + ?Sized> Disk for std::sync::Arc<D> {
    fn len(&self) -> io::Result<u64> {
        (**self).len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        (**self).read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        (**self).write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        (**self).set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        (**self).sync()
    }
}
