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
            Err(error) => return Err(failed(Path::new(&name), error)),
        }
    }
    Err(Error::Exists(path.to_owned()))
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

/// The folder that a file is in.
pub(super) fn folder(path: &Path) -> &Path {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::Disk;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_need_not_be_readable() {
        let above = tempfile::tempdir().expect("a folder");
        let folder = above.path().join("inbox");
        std::fs::create_dir(&folder).expect("a folder");
        let allow = |mode| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode));
        allow(0o333).expect("its permissions");
        if File::open(&folder).is_ok() {
            return eprintln!("a folder that may not be read: not tested: this user reads everything");
        }
        let path = folder.join("new");
        create(&path, |disk| disk.set_len(1).map_err(|error| failed(&path, error))).expect("a new file");
        replace(&path, |disk| disk.set_len(2).map_err(|error| failed(&path, error))).expect("another");
        assert_eq!(std::fs::metadata(&path).expect("the file").len(), 2);
        allow(0o755).expect("its permissions");
    }
}
