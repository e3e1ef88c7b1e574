//! The tables of a file, and redb's errors in this crate's words.

use super::pages::BrokenSeal;
use crate::error::{Error, Result};
use redb::TableDefinition;

/// Name → bytes: parameters, known answer, counters.
pub(crate) const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
/// First ContentId → frame of content records.
pub(crate) const CONTENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("contents");
/// First DocId → frame of document records.
pub(crate) const DOCUMENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("documents");
/// DocId → what changed since the document's record was written.
pub(crate) const AMENDMENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("amendments");
/// (ContentId, DocId / 65,536) → bitmap of the documents that hold the content, unless it is its founder alone.
pub(crate) const HOLDERS: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("holders");
/// ContentId / 65,536 → bitmap of the contents that no document holds any more.
pub(crate) const DEAD: TableDefinition<u64, &[u8]> = TableDefinition::new("dead");
/// Run number → run record.
pub(crate) const RUNS: TableDefinition<u64, &[u8]> = TableDefinition::new("runs");

/// The name of a run's table.
pub(crate) fn run_name(number: u64) -> String {
    format!("run_{number}")
}

/// Rows of a run, by a number: blocks from 0, directories and filters behind them.
pub(crate) type RunRows<'a> = TableDefinition<'a, u32, &'static [u8]>;

/// Says what was being done when redb failed.
pub(crate) trait Doing<T> {
    fn doing(self, what: &str) -> Result<T>;
}

impl<T, E: Into<redb::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: &str) -> Result<T> {
        self.map_err(|error| translate(what, error.into()))
    }
}

fn translate(what: &str, error: redb::Error) -> Error {
    match error {
        redb::Error::Io(io) => match io.get_ref().and_then(|inner| inner.downcast_ref::<BrokenSeal>()) {
            Some(seal) => Error::corrupt(format!("page at byte {}", seal.at), seal.what),
            None if io.kind() == std::io::ErrorKind::UnexpectedEof => {
                Error::corrupt("file", "it was cut off")
            }
            None => Error::io(what, io),
        },
        redb::Error::Corrupted(message) => Error::corrupt(what, message),
        redb::Error::PreviousIo => Error::Failed("an I/O operation failed before".into()),
        redb::Error::TableDoesNotExist(name) => Error::corrupt(format!("table {name}"), "it is missing"),
        redb::Error::DatabaseClosed => Error::Failed("it was closed".into()),
        other => Error::corrupt(what, other),
    }
}
