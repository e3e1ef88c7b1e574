//! Database files that are made beside their place, and take it when they are complete.

use super::atomic_file::AtomicFile;
use super::disk::FileDisk;
use crate::error::{Error, Result};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Makes a new file; fails when something is at the path.
pub(crate) fn create(path: &Path, write: impl FnOnce(Arc<FileDisk>) -> Result<()>) -> Result<()> {
    if path.exists() {
        return Err(Error::Exists(path.to_owned()));
    }
    written(path, write)?.take_empty_place()
}

/// Puts another file in the place of one that there is, with its permissions. Whoever has the old one open keeps it.
pub(crate) fn replace(path: &Path, write: impl FnOnce(Arc<FileDisk>) -> Result<()>) -> Result<()> {
    std::fs::metadata(path).map_err(|error| failed(path, error))?;
    written(path, write)?.replace()
}

/// Gives a file another name besides its own: its path with `suffix`, and a number when that is taken.
pub(crate) fn keep_another_name(path: &Path, suffix: &str) -> Result<PathBuf> {
    let path = &path.canonicalize().map_err(|error| failed(path, error))?;
    for number in 0.. {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{suffix}"));
        if number > 0 {
            name.push(format!(".{number}"));
        }
        match std::fs::hard_link(path, &name) {
            Ok(()) => return Ok(name.into()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // A file system without hard links.
            Err(_) => match copy_new(path, Path::new(&name)) {
                Ok(()) => return Ok(name.into()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(Path::new(&name), error)),
            },
        }
    }
    Err(Error::Exists(path.to_owned()))
}

/// Copies a file to a name that is not taken.
fn copy_new(path: &Path, name: &Path) -> io::Result<()> {
    let mut copy = File::create_new(name)?;
    let copied = io::copy(&mut File::open(path)?, &mut copy).and_then(|_| copy.sync_all());
    copied.inspect_err(|_| drop(std::fs::remove_file(name)))
}

fn written(path: &Path, write: impl FnOnce(Arc<FileDisk>) -> Result<()>) -> Result<AtomicFile> {
    let file = AtomicFile::for_place(path)?;
    write(Arc::new(FileDisk::new(file.reopen()?, path)))?;
    Ok(file)
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::io(format!("write {}", path.display()), error)
}
