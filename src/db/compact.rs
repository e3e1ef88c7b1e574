//! `compact`: a file without what is dead: one run, no tombstones, as small as its content.

use super::copy::{Progress, Source};
use super::database::{Database, Options};
use crate::error::{Error, Result};
use crate::store::beside;
use crate::store::disk::Disk;
use std::path::Path;
use std::sync::Arc;

/// What a file was and has become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Living documents.
    pub documents: u64,
    /// Living contents.
    pub contents: u64,
    /// The file before, in bytes.
    pub bytes_before: u64,
    /// The file after.
    pub bytes_after: u64,
    /// Of a rebuild, texts for which a term shared by too many contents was not followed to its end when the clusters were
    /// formed; compaction keeps the clusters, and the count of [`Stats::bounded`](super::Stats::bounded).
    pub bounded: u64,
}

impl Database {
    /// Writes what lives in a database beside it, verifies that, and puts it in its place. Numbers of documents and contents stay as they are,
    /// and so do those of clusters, but for greedy ones whose first member is gone: they are formed anew.
    /// Whenever this is interrupted, the file at the path is the old one or the new one, whole.
    pub fn compact(path: impl AsRef<Path>, options: Options, progress: Progress) -> Result<Compacted> {
        let path = path.as_ref();
        // Two files are open.
        let memory = options.memory / 2;
        let db = Database::open(path, Options { read_only: false, memory, ..options })?;
        db.replace(path, |disk| db.compact_onto(disk, memory, progress))
    }

    /// Writes what lives in this database to an empty medium.
    pub fn compact_onto(&self, disk: Arc<dyn Disk>, memory: usize, progress: Progress) -> Result<()> {
        self.copy_onto(&disk, self.params(), Source::Stored, memory, progress).map(|_| ())
    }

    /// Puts another file in the place of this one, whose lock is held meanwhile.
    pub(super) fn replace(
        &self,
        path: &Path,
        write: impl FnOnce(Arc<dyn Disk>) -> Result<()>,
    ) -> Result<Compacted> {
        let length = |disk: &dyn Disk| disk.len().map_err(|error| Error::io("measure the file", error));
        let bytes_before = length(self.disk())?;
        let mut bytes_after = 0;
        let replaced = beside::replace(path, |disk| {
            write(self.cancel().over(disk.clone()))?;
            bytes_after = length(&*disk)?;
            Ok(())
        });
        // Whether the other has its place or the disk is full: this file is to stay as it is.
        self.abandon();
        self.cancel().outcome(replaced)?;
        let counters = self.view().counters;
        Ok(Compacted {
            documents: counters.documents,
            contents: counters.contents,
            bytes_before,
            bytes_after,
            bounded: 0,
        })
    }
}
