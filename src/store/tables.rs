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
/// (kind of mark, id / 65,536) → bitmap of the ids that are marked.
pub(crate) const MARKS: TableDefinition<(u8, u64), &[u8]> = TableDefinition::new("marks");
/// ContentId → the content above it in its cluster, unless it stands at the top.
pub(crate) const PARENTS: TableDefinition<u64, u64> = TableDefinition::new("parents");
/// (ClusterId, ContentId / 65,536) → bitmap of the contents in the cluster, unless it is one alone.
pub(crate) const MEMBERS: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("members");
/// ClusterId → the values that stand for a cluster, where that is not its first member.
pub(crate) const REPRESENTATIVES: TableDefinition<u64, &[u8]> = TableDefinition::new("representatives");
/// Run number → run record.
pub(crate) const RUNS: TableDefinition<u64, &[u8]> = TableDefinition::new("runs");

/// The name of a run's table.
pub(crate) fn run_name(number: u64) -> String {
    format!("run_{number}")
}

/// The number of the run whose table has this name.
pub(crate) fn run_number(name: &str) -> Option<u64> {
    name.strip_prefix("run_")?.parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;
    use crate::store::disk::FileDisk;
    use crate::store::file::{Birth, StoreFile};
    use redb::{Key, TableHandle, Value};
    use std::collections::BTreeSet;

    /// Name, type of the keys, type of the values.
    type Shape = (String, String, String);

    const LISTED: &str = include_str!("../../schema/tables.tsv");
    const FORMAT: &str = include_str!("../../schema/format.md");

    fn shape<K: Key, V: Value>(table: TableDefinition<K, V>) -> Shape {
        (table.name().to_owned(), K::type_name().name().to_owned(), V::type_name().name().to_owned())
    }

    fn rows() -> Vec<Vec<&'static str>> {
        LISTED.lines().skip(1).map(|line| line.split('\t').collect()).collect()
    }

    #[test]
    fn the_list_of_tables_is_that_of_the_code() {
        let run: RunRows = TableDefinition::new("run_N");
        let coded = BTreeSet::from([
            shape(META),
            shape(CONTENTS),
            shape(DOCUMENTS),
            shape(AMENDMENTS),
            shape(HOLDERS),
            shape(MARKS),
            shape(PARENTS),
            shape(MEMBERS),
            shape(REPRESENTATIVES),
            shape(RUNS),
            shape(run),
        ]);
        let listed = rows()
            .iter()
            .map(|row| (row[0].into(), row[1].into(), row[2].into()))
            .collect::<BTreeSet<Shape>>();
        assert_eq!(listed, coded);
        assert_eq!((run_name(7).as_str(), run_number("run_7")), ("run_7", Some(7)));
        assert!(rows().iter().all(|row| run_number(row[0]).is_none()));
    }

    #[test]
    fn a_new_file_has_the_tables_of_the_list() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new");
        StoreFile::create_at(&path, Birth { id: DatabaseId(1), params: b"", known_answer: b"" })
            .expect("a new file");
        let disk = FileDisk::open_read_only(&path).expect("the file");
        let (file, _) = StoreFile::open_read_only(std::sync::Arc::new(disk), 1 << 20).expect("the file");
        let snapshot = file.snapshot().expect("a snapshot");
        let made: BTreeSet<String> =
            snapshot.list_tables().expect("its tables").map(|table| table.name().to_owned()).collect();
        let listed: BTreeSet<String> =
            rows().iter().map(|row| row[0].to_owned()).filter(|name| name != "run_N").collect();
        assert_eq!(made, listed);
    }

    #[test]
    fn the_list_of_tables_points_at_what_is_there() {
        for row in rows() {
            let [_, _, _, kind, writer, section] = row[..] else { panic!("six columns, not {row:?}") };
            assert!(["truth", "derived"].contains(&kind), "{row:?}");
            assert!(
                std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(writer).is_file(),
                "{row:?}"
            );
            assert!(FORMAT.contains(&format!("\n## {section}\n")), "{row:?}");
        }
    }
}
