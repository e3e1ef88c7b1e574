//! The medium below the sealed pages: a file, or whatever stands in for one.

use super::temporary;
use crate::error::{Error, Result};
use std::fmt::Debug;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a file that there is room for behind what was written, and at its end.
const AHEAD: u64 = 1 << 19;

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
    /// What errors call it.
    fn name(&self) -> String {
        "the database".into()
    }
}

/// A locked file: one writer, or any number of readers.
#[derive(Debug)]
pub struct FileDisk {
    file: File,
    /// What errors call it.
    name: String,
    /// Up to where the disk has room for it.
    reserved: AtomicU64,
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
        Self::named_so(file, path.display().to_string())
    }

    fn named_so(file: File, name: String) -> Self {
        // What there is room for lies at the beginning, but for what `set_len` reserved at the end.
        let reserved = room(&file).saturating_sub(AHEAD);
        FileDisk { file, name, reserved: AtomicU64::new(reserved) }
    }

    /// A file that vanishes with its handle.
    pub(crate) fn temporary() -> Result<Self> {
        Ok(Self::named_so(temporary::file()?, temporary::name()))
    }

    /// Gets room on the disk for what is written and for some more. redb makes a file up to twice as long as it needs and
    /// fills it from the beginning: were there holes before what it wrote last, recovery could find no room on a full disk.
    #[cfg(unix)]
    fn reserve(&self, start: u64, end: u64) -> io::Result<()> {
        let from = self.reserved.load(Relaxed);
        if end <= from || start > from + 4 * AHEAD {
            return Ok(());
        }
        let more = self.file.metadata()?.len().min(end + AHEAD).max(end);
        let reserved = match allocate(&self.file, from, more) {
            Ok(()) => more,
            // There may be room for what is written now.
            Err(_) => allocate(&self.file, from, end).map(|()| end)?,
        };
        self.reserved.fetch_max(reserved, Relaxed);
        Ok(())
    }

    /// Whether a path still names a file that was opened by it.
    pub(super) fn is_at(path: &Path, file: &File) -> bool {
        is_at(path, file).unwrap_or(false)
    }

    /// An error that names the file.
    fn named(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.name))
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

/// Bytes of the disk that a file takes.
#[cfg(unix)]
fn room(file: &File) -> u64 {
    use std::os::unix::fs::MetadataExt;
    file.metadata().map_or(0, |file| file.blocks() * 512)
}

/// Gets room for a part of a file that is within its length. Where a file system cannot do that, there is nothing to get.
#[cfg(unix)]
fn allocate(file: &File, from: u64, to: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    match rustix::io::retry_on_intr(|| fallocate(file, FallocateFlags::empty(), from, to - from)) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn failed(path: &Path, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => {
            Error::invalid(path.display(), "it links to a file that is not there: remove the link")
        }
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
        self.reserve(offset, offset + bytes.len() as u64)
            .and_then(|()| std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, offset))
            .map_err(|error| self.named(error))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let before = self.len()?;
        self.reserved.fetch_min(len, Relaxed);
        self.file.set_len(len).map_err(|error| self.named(error))?;
        let end = before.max(len.saturating_sub(AHEAD));
        if end < len
            && let Err(error) = allocate(&self.file, end, len)
        {
            self.file.set_len(before).map_err(|error| self.named(error))?;
            return Err(self.named(error));
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data().map_err(|error| self.named(error))
    }

    fn name(&self) -> String {
        self.name.clone()
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

    fn name(&self) -> String {
        (**self).name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skipped::skipped;

    #[test]
    fn there_is_room_behind_what_was_written_and_at_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let file = File::create_new(&path).expect("a file");
        if rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 1).is_err() {
            return skipped("the file system reserves no room for a file");
        }
        file.set_len(0).expect("cut");
        let mut disk = FileDisk::new(file, &path);
        disk.set_len(64 * AHEAD).expect("a length");
        let mut expected = AHEAD;
        let taken = |disk: &FileDisk, expected: u64, what: &str| {
            assert_eq!(disk.len().expect("a length"), 64 * AHEAD);
            let room = room(&disk.file);
            // File systems take some bytes for themselves.
            assert!((expected..expected + AHEAD / 4).contains(&room), "{what}: {room}, not {expected}");
        };
        taken(&disk, expected, "the end");
        for (number, end) in [4096, 3 * AHEAD, 2 * AHEAD, 5 * AHEAD, 9 * AHEAD].into_iter().enumerate() {
            disk.write_at(end - 4096, &[1; 4096]).expect("a page");
            expected = expected.max(end + 2 * AHEAD);
            taken(&disk, expected, &format!("{end} bytes"));
            if number == 3 {
                // Whoever opens it next goes on.
                disk = FileDisk::open_writable(&path).expect("the file");
            }
        }
        disk.write_at(50 * AHEAD, &[1; 4096]).expect("a page far behind");
        taken(&disk, expected + 4096, "a page far behind");
        disk.set_len(AHEAD).expect("cut");
        disk.set_len(64 * AHEAD).expect("a length");
        disk.write_at(AHEAD, &[1; 4096]).expect("a page");
        taken(&disk, 3 * AHEAD + 4096, "after a cut");
    }

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
