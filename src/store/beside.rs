//! Database files that are made beside their place, and take it when they are complete.

use super::atomic_file::AtomicFile;
use super::disk::FileDisk;
use crate::error::{Error, Result};
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
            Err(error) => return Err(failed(Path::new(&name), error)),
        }
    }
    Err(Error::Exists(path.to_owned()))
}

fn written(path: &Path, write: impl FnOnce(Arc<FileDisk>) -> Result<()>) -> Result<AtomicFile> {
    let file = AtomicFile::for_place(path)?;
    write(Arc::new(FileDisk::new(file.reopen()?, path)))?;
    Ok(file)
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::io(format!("write {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::Disk;
    use std::fs::File;
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
