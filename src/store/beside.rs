//! A file written beside its place and renamed into it when it is complete: a crash leaves no half file there.

use super::disk::FileDisk;
use crate::error::{Error, Result};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::NamedTempFile;

/// Makes a new file; fails when something is at the path.
pub(crate) fn create(path: &Path, write: impl FnOnce(Arc<FileDisk>) -> Result<()>) -> Result<()> {
    if path.exists() {
        return Err(Error::Exists(path.to_owned()));
    }
    let complete = written(path, permissions(None), write)?;
    complete.persist_noclobber(path).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
        _ => failed(path, error.error),
    })?;
    sync_folder(path)
}

/// Puts another file in the place of one that there is, with its permissions. Whoever has the old one open keeps it.
pub(crate) fn replace(path: &Path, write: impl FnOnce(Arc<FileDisk>) -> Result<()>) -> Result<()> {
    // What a link points at is replaced, not the link.
    let path = &path.canonicalize().map_err(|error| failed(path, error))?;
    let before = std::fs::metadata(path).map_err(|error| failed(path, error))?;
    let complete = written(path, permissions(Some(&before)), write)?;
    complete.as_file().set_permissions(before.permissions()).map_err(|error| failed(path, error))?;
    complete.persist(path).map_err(|error| failed(path, error.error))?;
    sync_folder(path)
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

fn written(
    path: &Path,
    permissions: std::fs::Permissions,
    write: impl FnOnce(Arc<FileDisk>) -> Result<()>,
) -> Result<NamedTempFile> {
    let folder = folder(path);
    let temporary =
        tempfile::Builder::new().prefix(".sketchdb-").permissions(permissions).tempfile_in(folder).map_err(
            |error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    Error::invalid(folder.display(), "no such folder: make it first")
                }
                _ => failed(path, error),
            },
        )?;
    write(Arc::new(FileDisk::new(temporary.reopen().map_err(|error| failed(path, error))?, path)))?;
    temporary.as_file().sync_all().map_err(|error| failed(path, error))?;
    Ok(temporary)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes the name of a file durable. A folder that may be written to and not read cannot be opened for that: the file is
/// in its place all the same.
fn sync_folder(path: &Path) -> Result<()> {
    match File::open(folder(path)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        opened => opened.and_then(|folder| folder.sync_all()).map_err(|error| failed(path, error)),
    }
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::io(format!("write {}", path.display()), error)
}

/// Those of a new file, unless another is replaced: then nobody else may read it before it has those of the other.
#[cfg(unix)]
fn permissions(before: Option<&std::fs::Metadata>) -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(if before.is_some() { 0o600 } else { 0o666 })
}
