//! Nameless files in the folder for temporary files, and errors that say where that is and how to choose another.

use crate::error::{Error, Result};
use std::fs::File;
use std::io;

/// What errors call such a file.
pub(super) fn name() -> String {
    format!("a temporary file in {} (TMPDIR names another folder)", std::env::temp_dir().display())
}

/// A file that vanishes with its handle.
pub(super) fn file() -> Result<File> {
    tempfile::tempfile().map_err(failed)
}

/// The error when something is wrong with such a file.
pub(super) fn failed(error: io::Error) -> Error {
    // The library that makes the file names a path that nobody ever sees.
    let error = error.raw_os_error().map_or(error, io::Error::from_raw_os_error);
    Error::io(format!("use {}", name()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_folder_and_how_to_choose_another() {
        let folder = std::env::temp_dir().display().to_string();
        let full = io::Error::from_raw_os_error(28);
        let said = failed(full).to_string();
        assert!(said.contains(&folder) && said.contains("TMPDIR"), "{said}");
        assert!(said.contains("No space left") && said.ends_with("make room on that disk and run it again"));
    }
}
