//! The medium below the sealed pages: a file, or whatever stands in for one.

use crate::error::{Error, Result};
use std::fmt::Debug;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

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
pub struct FileDisk {
    file: File,
    /// What errors name.
    path: PathBuf,
}

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

    /// An empty file that nobody else knows yet; errors name the path that it is made for.
    pub(crate) fn new(file: File, path: &Path) -> Self {
        FileDisk { file, path: path.to_owned() }
    }

    /// A file that vanishes with its handle.
    pub(crate) fn temporary() -> Result<Self> {
        let file = tempfile::tempfile().map_err(|error| Error::io("make a temporary file", error))?;
        Ok(Self::new(file, &std::env::temp_dir()))
    }

    /// An error that names the file.
    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }

    fn locked(path: &Path, lock: std::result::Result<(), TryLockError>, file: File) -> Result<Self> {
        match lock {
            Ok(()) if is_at(path, &file).map_err(|error| failed(path, error))? => Ok(Self::new(file, path)),
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
        self.file.metadata().map(|file| file.len()).map_err(|error| self.named(error))
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, out, offset).map_err(|e| self.named(e))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset).map_err(|e| self.named(e))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len).map_err(|error| self.named(error))
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data().map_err(|error| self.named(error))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_another_took_the_place_of_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, other] = ["file", "other"].map(|name| folder.path().join(name));
        std::fs::write(&path, "old").expect("a file");
        let opened = File::open(&path).expect("the file");
        assert!(FileDisk::locked(&path, opened.try_lock(), opened).is_ok());
        let opened = File::open(&path).expect("the file");
        std::fs::write(&other, "new").expect("another file");
        std::fs::rename(&other, &path).expect("in its place");
        assert!(matches!(FileDisk::locked(&path, opened.try_lock(), opened), Err(Error::Locked(_))));
    }
}
