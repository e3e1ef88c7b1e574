//! What can go wrong, sorted by what the caller does next.
//!
//! Absence is never an error (it is `Option`); an error always names the thing and the remedy.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Everything a call of this crate can fail with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option or argument lies outside its range: fix the call.
    #[error("{what}: {remedy}")]
    Invalid {
        /// The option and the value it was given.
        what: String,
        /// What would be accepted.
        remedy: String,
    },
    /// No database is at this path.
    #[error("no database at {}: `sketchdb add` or `sketchdb create` makes one", .0.display())]
    Missing(PathBuf),
    /// A database would be written over.
    #[error("{} exists already: choose another path or remove it", .0.display())]
    Exists(PathBuf),
    /// The file has another format version than this build reads.
    #[error("the file has format version {found}, this build reads version {known}: {}", way(*found, *known))]
    Version {
        /// The version of the file.
        found: FormatVersion,
        /// The version that this build reads and writes.
        known: FormatVersion,
    },
    /// The file was made with other parameters, or by a build whose hashes differ.
    #[error("incompatible {name}: the file has {found}, asked for was {expected}")]
    Incompatible {
        /// The parameter that differs.
        name: String,
        /// The value of this build or call.
        expected: String,
        /// The value in the file.
        found: String,
    },
    /// Another process holds the file.
    #[error("{} is in use by another process: wait for it to end (one writer, or any number of readers)", .0.display())]
    Locked(PathBuf),
    /// The caller cancelled the work. What was durable before stays so.
    #[error("the work was cancelled")]
    Cancelled,
    /// Stored bytes are not what was written.
    #[error("corrupt {at}: {what}")]
    Corrupt {
        /// The place: a page, a table row, a frame.
        at: String,
        /// What was wrong there.
        what: String,
    },
    /// Of a damaged file nothing can be saved.
    #[error("nothing of the file can be saved: {0}; take a backup, or add the texts again")]
    Lost(String),
    /// The system failed: disk full, permission, I/O error.
    #[error("{doing}: {source}{}", remedy(source))]
    Io {
        /// What was being done, to what.
        doing: String,
        /// The system's own word.
        source: std::io::Error,
    },
    /// An earlier failure left this handle unusable; the file is safe.
    #[error("the database handle failed earlier ({0}): close it and open the database again")]
    Failed(String),
}

/// Whether a disk has no room left, or a file may not grow.
fn is_full(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

/// A version of the file format: released ones have draft 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FormatVersion {
    /// The version.
    pub number: u32,
    /// Which state of a version that is not released yet.
    pub draft: u32,
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.draft {
            0 => write!(f, "{}", self.number),
            draft => write!(f, "{} (draft {draft})", self.number),
        }
    }
}

/// How to go on with a file of another version.
fn way(found: FormatVersion, known: FormatVersion) -> &'static str {
    match found < known {
        true => "add its texts to a new database",
        false => "open it with a newer build",
    }
}

fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::FileTooLarge => "; raise the limit of file sizes, or use another disk, and run it again",
        _ if is_full(error) => "; make room on that disk and run it again",
        _ => "",
    }
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether it is that a disk has no room left, or that a file may not grow.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Error::Io { source, .. } if is_full(source))
    }

    pub(crate) fn invalid(what: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Error::Invalid { what: what.to_string(), remedy: remedy.to_string() }
    }

    pub(crate) fn corrupt(at: impl fmt::Display, what: impl fmt::Display) -> Self {
        Error::Corrupt { at: at.to_string(), what: what.to_string() }
    }

    /// The same damage, placed in the row that it was found in, unless a page is its place.
    pub(crate) fn within(self, row: impl fmt::Display) -> Self {
        match self {
            Error::Corrupt { at, what } if !at.starts_with("page at") => {
                Error::corrupt(row, format!("{at}: {what}"))
            }
            other => other,
        }
    }

    pub(crate) fn io(doing: impl fmt::Display, source: std::io::Error) -> Self {
        Error::Io { doing: doing.to_string(), source }
    }
}
