//! Memtable → run.

use super::commit::Commit;
use super::record::{Counters, RunRecord};
use super::run::{FilterBudget, Run};
use crate::bits::width_of;
use crate::error::Result;
use crate::index::memtable::Memtable;
use crate::index::run::{Directory, RunBuilder};
use crate::index::term::Prefixes;
use std::sync::Arc;

/// Bits of the numbers in a run over these ranges of contents and documents, which may reach beyond the last id in it.
pub(crate) fn number_width(contents: (u64, u64), documents: (u64, u64)) -> u32 {
    let span = (contents.1 - contents.0).max(documents.1 - documents.0).saturating_sub(1);
    width_of(span.min(u64::from(u32::MAX)))
}

/// Writes the memtable as a run of level 0 and moves the counters behind it.
pub(crate) fn flush(
    memtable: &Memtable,
    prefixes: Prefixes,
    commit: &Commit,
    counters: &mut Counters,
    filters: &Arc<FilterBudget>,
) -> Result<Arc<Run>> {
    let number = counters.next_run;
    let contents = (counters.unflushed_content, counters.next_content);
    let documents = (counters.unflushed_document, counters.next_document);
    let mut builder = RunBuilder::new(number_width(contents, documents), prefixes, Directory::default());
    let (block_bytes, filter_bytes) = commit.write_run(number, |rows| {
        memtable.entries().try_for_each(|entry| builder.push(entry, rows))?;
        builder.pause(rows)?;
        Ok((rows.block_bytes, rows.filter_bytes))
    })?;
    let directory = builder.directory().clone();
    let record = RunRecord {
        level: 0,
        contents,
        documents,
        entries: memtable.len() as u64,
        groups: directory.groups() as u32,
        block_bytes,
        filter_bytes,
        building: None,
    };
    commit.list_run(number, &record)?;
    counters.next_run += 1;
    (counters.unflushed_content, counters.unflushed_document) = (contents.1, documents.1);
    Ok(Arc::new(Run::new(number, record, directory, prefixes, filters.clone())))
}
