//! Waiting for the lock of a file: for as long as the caller likes, and for whoever recovers the file.
//!
//! Recovery needs the writer's lock. Readers that start together after a crash must not take the one of them that recovers
//! for a writer, so that one also holds a file beside the database, `.sketchdb-recovering-NAME`, while it does. A file
//! that a killed process left is not locked, and the next recovery removes it.

use super::atomic_file::folder;
use super::cancel::Cancel;
use super::disk::FileDisk;
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two looks at a lock.
const PAUSE: Duration = Duration::from_millis(20);

/// How long to wait for a lock, and what ends the wait early.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    pub wait: Duration,
    pub cancel: Cancel,
}

impl Patience {
    /// Makes attempts until one meets no lock, or the time is up.
    pub fn retry<T>(&self, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
        let began = Instant::now();
        loop {
            let outcome = attempt();
            let left = self.wait.saturating_sub(began.elapsed());
            if left.is_zero() || !matches!(outcome, Err(Error::Locked(_))) {
                return outcome;
            }
            std::thread::sleep(PAUSE.min(left));
            self.cancel.check()?;
        }
    }

    /// Opens a file with the writer's lock.
    pub fn open_writable(&self, path: &Path) -> Result<FileDisk> {
        self.retry(|| self.past_recovery(path, FileDisk::open_writable))
    }

    /// Opens a file with a reader's lock.
    pub fn open_read_only(&self, path: &Path) -> Result<FileDisk> {
        self.retry(|| self.past_recovery(path, FileDisk::open_read_only))
    }

    /// Opens a file; when it is locked, once more after whoever recovers it has done so.
    fn past_recovery(&self, path: &Path, open: fn(&Path) -> Result<FileDisk>) -> Result<FileDisk> {
        match open(path) {
            Err(Error::Locked(_)) => {
                while Recovering::is_held(path) {
                    std::thread::sleep(PAUSE);
                    self.cancel.check()?;
                }
                open(path)
            }
            outcome => outcome,
        }
    }
}

/// Says, while it lives, that a file is being recovered.
#[derive(Debug)]
pub(crate) struct Recovering {
    /// `None` where no file can be made: others are not told then.
    held: Option<(PathBuf, File)>,
}

impl Recovering {
    /// Waits for whoever recovers the same file.
    pub fn begin(path: &Path, cancel: &Cancel) -> Result<Self> {
        let Some(beside) = beside(path) else { return Ok(Recovering { held: None }) };
        loop {
            let mut options = OpenOptions::new();
            let Ok(file) = options.create(true).truncate(false).write(true).open(&beside) else {
                return Ok(Recovering { held: None });
            };
            // Whoever held the file before removed it.
            if file.try_lock().is_ok() && FileDisk::is_at(&beside, &file) {
                return Ok(Recovering { held: Some((beside, file)) });
            }
            drop(file);
            std::thread::sleep(PAUSE);
            cancel.check()?;
        }
    }

    fn is_held(path: &Path) -> bool {
        let file = beside(path).and_then(|beside| File::open(beside).ok());
        file.is_some_and(|file| file.try_lock_shared().is_err())
    }
}

impl Drop for Recovering {
    fn drop(&mut self) {
        if let Some((path, file)) = self.held.take() {
            // Another one may lock it as soon as it is closed, and looks whether it is still there.
            let _ = std::fs::remove_file(path);
            drop(file);
        }
    }
}

/// Beside what a link points at.
fn beside(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let name = format!(".sketchdb-recovering-{}", path.file_name()?.to_string_lossy());
    Some(folder(&path).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patience(wait: u64) -> Patience {
        Patience { wait: Duration::from_millis(wait), cancel: Cancel::new() }
    }

    #[test]
    fn a_lock_is_waited_for_as_long_as_was_asked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "bytes").expect("a file");
        let held = FileDisk::open_writable(&path).expect("the file");
        for wait in [0, 50] {
            let began = Instant::now();
            assert!(matches!(patience(wait).open_read_only(&path), Err(Error::Locked(_))));
            assert!(began.elapsed() >= Duration::from_millis(wait));
        }
        let endless = patience(u64::MAX / 4);
        std::thread::scope(|scope| {
            let opening = scope.spawn(|| endless.open_writable(&path).map(drop));
            drop(held);
            opening.join().expect("no panic").expect("the lock");
        });
        let _held = FileDisk::open_read_only(&path).expect("the file");
        endless.cancel.cancel();
        assert!(matches!(endless.open_writable(&path), Err(Error::Cancelled)));
    }

    #[test]
    fn who_recovers_a_file_is_waited_for_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, "bytes").expect("a file");
        // What a killed process left holds nobody up.
        std::fs::write(beside(&path).expect("a name"), "").expect("a file");
        assert!(!Recovering::is_held(&path));
        let recovering = Recovering::begin(&path, &Cancel::new()).expect("a turn");
        let held = FileDisk::open_writable(&path).expect("the file");
        std::thread::scope(|scope| {
            let opening = scope.spawn(|| patience(0).open_read_only(&path).map(drop));
            let next = scope.spawn(|| Recovering::begin(&path, &Cancel::new()).map(drop));
            std::thread::sleep(2 * PAUSE);
            assert!(!opening.is_finished() && !next.is_finished());
            drop(held);
            drop(recovering);
            opening.join().expect("no panic").expect("the lock");
            next.join().expect("no panic").expect("a turn");
        });
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }
}
