//! Temporary files in the folder of what they will become: their names, and those that a process left when it was killed.

use super::atomic_file::is_at;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use tempfile::Builder;

const PREFIX: &str = ".sketchdb-";
const SUFFIX: &str = ".tmp";
/// Letters and digits between them.
const DRAWN: usize = 12;

/// Makes files with such names.
pub(super) fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(DRAWN);
    builder
}

/// Whether a name is kept for temporary files.
pub(super) fn is_reserved(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}

/// Whether a file has the name that temporary ones are given.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    let drawn = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    drawn.is_some_and(|drawn| drawn.len() == DRAWN && drawn.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Removes the temporary files of a user that no process has the lock of. Their content tells nothing: it may be anything,
/// cut off anywhere. What cannot be looked at stays.
pub(super) fn sweep(folder: &Path, user: u32) {
    let Ok(entries) = folder.read_dir() else { return };
    for entry in entries.flatten().filter(|entry| is_temporary(&entry.file_name())) {
        // One that cannot be swept now is left to the next.
        let _ = remove_unlocked(&entry.path(), user);
    }
}

fn remove_unlocked(path: &Path, user: u32) -> io::Result<()> {
    // No link is followed, and no pipe waited for.
    let before = std::fs::symlink_metadata(path)?;
    // One that is not private was never such a file.
    if !before.is_file() || before.uid() != user || before.mode() & 0o777 != 0o600 {
        return Ok(());
    }
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    // Who makes a file locks it and then looks whether it still has its name: the lock is held until that is gone.
    if file.try_lock().is_ok() && is_at(path, &file.metadata()?) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}
