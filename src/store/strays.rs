//! Rows beyond what the counters know: numbers that were never given out, which the next additions would meet.
//!
//! Only the last row of each table is looked at, so that opening a file stays quick.

use super::frame::{Frame, Kind};
use super::marks::Marks;
use super::postings::IdSet;
use super::record::Counters;
use super::tables::{self, Doing};
use crate::error::{Error, Result};
use crate::id::DatabaseId;
use redb::{Key, ReadOnlyTable, ReadTransaction, ReadableTable, TableDefinition, Value};

const READING: &str = "read the last rows";

/// Refuses a snapshot with rows of contents or documents that were never given out.
pub(crate) fn check(
    snapshot: &ReadTransaction,
    database: DatabaseId,
    counters: &Counters,
    marks: &Marks,
) -> Result<()> {
    let (contents, documents) = (counters.next_content, counters.next_document);
    for (kind, table, end) in
        [(Kind::Contents, tables::CONTENTS, contents), (Kind::Documents, tables::DOCUMENTS, documents)]
    {
        let last = last(snapshot, table, |key, frame| {
            let records = Frame::of_row(kind, database, key, frame)?.records();
            records.last().transpose().map(|record| record.map_or(key, |record| record.0))
        });
        below(end, &format!("frame of {kind:?}"), last?)?;
    }
    let amended = last(snapshot, tables::AMENDMENTS, |id, _| Ok(id))?;
    below(documents, "row of amendments", amended)?;
    let clustered = [
        ("row of holders", last(snapshot, tables::HOLDERS, |key, _| Ok(key.0))?),
        ("row of parents", last(snapshot, tables::PARENTS, |content, _| Ok(content))?),
        ("row of members", last(snapshot, tables::MEMBERS, |key, _| Ok(key.0))?),
        ("row of representatives", last(snapshot, tables::REPRESENTATIVES, |cluster, _| Ok(cluster))?),
        ("mark of the dead", marks.dead.max()),
        ("mark of dirty clusters", marks.dirty.max()),
    ];
    clustered.into_iter().try_for_each(|(what, last)| below(contents, what, last))?;
    below(documents, "mark of the removed", marks.removed.max())?;
    room("the dead", counters.contents, &marks.dead, contents)?;
    room("the removed", counters.documents, &marks.removed, documents)
}

/// What lives and what is marked gone was given out. What was dropped is counted nowhere, so that marks may be too few.
fn room(what: &str, alive: u64, gone: &IdSet, end: u64) -> Result<()> {
    match alive + gone.len() <= end {
        true => Ok(()),
        false => Err(Error::corrupt(format!("marks of {what}"), "they are more than the counters leave")),
    }
}

fn below(end: u64, what: &str, last: Option<u64>) -> Result<()> {
    match last.filter(|&last| last >= end) {
        Some(last) => {
            Err(Error::corrupt(format!("{what} {last}"), "the counters say that it was never given"))
        }
        None => Ok(()),
    }
}

/// What `number` makes of the last row.
fn last<K: Key + 'static, V: Value + 'static>(
    snapshot: &ReadTransaction,
    table: TableDefinition<K, V>,
    number: impl FnOnce(K::SelfType<'_>, V::SelfType<'_>) -> Result<u64>,
) -> Result<Option<u64>> {
    let rows: ReadOnlyTable<K, V> = snapshot.open_table(table).doing(READING)?;
    let last = rows.last().doing(READING)?;
    last.map(|(key, value)| number(key.value(), value.value())).transpose()
}
