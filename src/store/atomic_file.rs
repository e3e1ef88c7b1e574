//! A file that appears under its name when it is complete: a crash leaves no half file there.
//!
//! Until then it has a name of its own beside that place ([`stale`](super::stale)), only its owner may read it, and it is
//! locked, so that a sweeper can tell it from one whose process has died.

use super::stale;
use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// How often a name is tried that a sweeper took away before it was locked.
const TRIES: usize = 16;

/// A file beside the place that it will take. When it is dropped before it has, nothing is left of it.
#[derive(Debug)]
pub struct AtomicFile {
    temporary: NamedTempFile,
    place: PathBuf,
    /// Those that the file has in its place.
    permissions: Permissions,
    /// User and group of the file that is replaced.
    owner: Option<(u32, u32)>,
}

impl AtomicFile {
    /// A file for a place where none needs to be. Of a link, the place is where it points. What processes that died left in
    /// the folder is removed.
    pub fn for_place(path: &Path) -> Result<Self> {
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let folder = folder(&place);
        let made = (|| {
            let (permissions, owner) = match std::fs::metadata(&place) {
                Ok(before) => (before.permissions(), Some((before.uid(), before.gid()))),
                Err(_) => (new_file_permissions(folder)?, None),
            };
            Ok((permissions, owner, locked(folder)?))
        })();
        let (permissions, owner, temporary) = made.map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Error::invalid(folder.display(), "no such folder: make it first")
            }
            _ => failed(path, error),
        })?;
        Ok(AtomicFile { temporary, place, permissions, owner })
    }

    /// Whether a name in a folder is kept for such files.
    pub fn reserves(name: &OsStr) -> bool {
        stale::is_reserved(name)
    }

    /// Another handle of the file.
    pub fn reopen(&self) -> Result<File> {
        self.temporary.reopen().map_err(|error| failed(&self.place, error))
    }

    /// Puts what was written so far on the disk.
    pub fn sync(&self) -> Result<()> {
        self.temporary.as_file().sync_all().map_err(|error| failed(&self.place, error))
    }

    /// Takes the place, and that of a file that is there, with the permissions of that. Whoever has the old one open keeps it.
    pub fn replace(self) -> Result<()> {
        let (temporary, place) = self.complete()?;
        temporary.persist(&place).map_err(|error| failed(&place, error.error))?;
        sync_folder(&place)
    }

    /// Takes the place; [`Error::Exists`] when a file is there.
    pub fn take_empty_place(self) -> Result<()> {
        let (temporary, place) = self.complete()?;
        temporary.persist_noclobber(&place).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists(place.clone()),
            _ => failed(&place, error.error),
        })?;
        sync_folder(&place)
    }

    fn complete(self) -> Result<(NamedTempFile, PathBuf)> {
        self.sync()?;
        let AtomicFile { temporary, place, permissions, owner } = self;
        if let Some((user, group)) = owner {
            // Only root may give a file away; whoever else could replace it owns it, or may write to its folder.
            let _ = fchown(temporary.as_file(), Some(user), Some(group));
        }
        temporary.as_file().set_permissions(permissions).map_err(|error| failed(&place, error))?;
        Ok((temporary, place))
    }
}

/// A temporary file that this process has the lock of, after those were swept that nobody has the lock of.
fn locked(folder: &Path) -> io::Result<NamedTempFile> {
    for _ in 0..TRIES {
        let temporary = stale::builder().permissions(Permissions::from_mode(0o600)).tempfile_in(folder)?;
        // Where files cannot be locked a sweeper cannot lock them either, and leaves them.
        let lock = temporary.as_file().lock();
        let own = temporary.as_file().metadata()?;
        if lock.is_err() || is_at(temporary.path(), &own) {
            stale::sweep(folder, own.uid());
            return Ok(temporary);
        }
    }
    Err(io::Error::other("temporary files vanish as soon as they are made"))
}

/// Whether a path names this very file.
pub(super) fn is_at(path: &Path, file: &Metadata) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (file.dev(), file.ino()))
}

/// The permissions of a new file in a folder, which nobody knows but the system: those of one that is made for that.
fn new_file_permissions(folder: &Path) -> io::Result<Permissions> {
    let probe = stale::builder().permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?;
    Ok(probe.as_file().metadata()?.permissions())
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).expect("a file").mode() & 0o777
    }

    /// The temporary files of a folder.
    fn temporary(folder: &Path) -> Vec<PathBuf> {
        let entries =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.filter(|path| path.file_name().is_some_and(stale::is_temporary)).collect()
    }

    fn write(path: &Path, bytes: &[u8]) -> AtomicFile {
        let file = AtomicFile::for_place(path).expect("a file");
        file.reopen().and_then(|mut file| file.write_all(bytes).map_err(|e| failed(path, e))).expect("bytes");
        file
    }

    #[test]
    fn only_its_owner_reads_a_file_before_it_has_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let [new, old, plain] = ["new", "old", "plain"].map(|name| folder.path().join(name));
        File::create(&plain).expect("a file");
        std::fs::write(&old, "old").expect("a file");
        std::fs::set_permissions(&old, Permissions::from_mode(0o640)).expect("its permissions");
        for (path, after) in [(&new, mode(&plain)), (&old, 0o640)] {
            let file = write(path, b"new");
            let [beside] = &temporary(folder.path())[..] else { panic!("one temporary file") };
            assert_eq!(mode(beside), 0o600);
            file.replace().expect("its place");
            assert_eq!((mode(path), temporary(folder.path()).len()), (after, 0));
            assert_eq!(std::fs::read(path).expect("the file"), b"new");
        }
        assert!(matches!(write(&new, b"newer").take_empty_place(), Err(Error::Exists(_))));
        assert_eq!(std::fs::read(&new).expect("the file"), b"new");
        drop(write(&new, b"newer"));
        assert_eq!(temporary(folder.path()).len(), 0);
    }

    #[test]
    fn files_of_the_dead_are_swept_and_those_of_the_living_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let living = write(&at("living"), b"1");
        let dead = at(".sketchdb-aB3aB3aB3aB3.tmp");
        let public = at(".sketchdb-pubLicpubLic.tmp");
        let others = [
            ".sketchdb-notes",
            ".sketchdb-a.tmp",
            "x.sketchdb-aB3aB3aB3aB3.tmp",
            ".sketchdb-aB3aB3aB3aB-.tmp",
        ];
        let others = others.map(at);
        for (path, mode) in others.iter().chain([&dead]).map(|path| (path, 0o600)).chain([(&public, 0o644)]) {
            std::fs::write(path, "left").expect("a file");
            std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("its permissions");
        }
        let link = at(".sketchdb-linklinklink.tmp");
        std::os::unix::fs::symlink(&others[0], &link).expect("a link");
        std::fs::create_dir(at(".sketchdb-foldfoldfold.tmp")).expect("a folder");
        let next = write(&at("next"), b"2");
        assert!(!dead.exists() && public.exists(), "what a dead process left stays, or what none left goes");
        assert!(others.iter().all(|path| path.exists()) && std::fs::symlink_metadata(&link).is_ok());
        living.replace().expect("its place");
        next.replace().expect("its place");
        assert_eq!(
            (std::fs::read(at("living")).unwrap(), std::fs::read(at("next")).unwrap()),
            (b"1".to_vec(), b"2".to_vec())
        );
    }

    #[test]
    fn whoever_makes_files_while_others_sweep_keeps_them() {
        let folder = tempfile::tempdir().expect("a folder");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let folder = folder.path();
                scope.spawn(move || {
                    for round in 0..50 {
                        let path = folder.join(format!("{thread}-{round}"));
                        write(&path, b"whole").replace().expect("its place");
                        assert_eq!(std::fs::read(&path).expect("the file"), b"whole");
                    }
                });
            }
        });
        assert_eq!(temporary(folder.path()).len(), 0);
    }
}
