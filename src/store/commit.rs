//! One durable step from a view to the next: records appended, rows changed, memtable flushed, runs merged a little.

use super::file::{COUNTERS, StoreFile};
use super::frame::{Kind, frames};
use super::postings::{self, IdSet};
use super::record::{Amendment, Counters, RunRecord};
use super::run::RunWriter;
use super::tables::{self, Doing, RunRows, run_name};
use crate::error::Result;
use crate::id::{ContentId, DatabaseId, DocId};
use redb::{TableDefinition, WriteTransaction};

/// A write transaction in this crate's words. Dropped without [`finish`](Self::finish), nothing happened.
pub(crate) struct Commit {
    transaction: WriteTransaction,
    id: DatabaseId,
}

impl Commit {
    pub fn begin(file: &StoreFile) -> Result<Self> {
        Ok(Commit { transaction: file.begin()?, id: file.id() })
    }

    /// Appends records with ascending ids, packed into frames; the bytes of the records.
    pub fn append(&self, kind: Kind, records: &[(u64, Vec<u8>)]) -> Result<u64> {
        let definition = match kind {
            Kind::Contents => tables::CONTENTS,
            Kind::Documents => tables::DOCUMENTS,
        };
        let mut table = self.transaction.open_table(definition).doing("append records")?;
        for (first, frame) in frames(kind, self.id, records.iter().map(|(id, bytes)| (*id, &bytes[..]))) {
            table.insert(first, &frame[..]).doing("append records")?;
        }
        Ok(records.iter().map(|record| record.1.len() as u64).sum())
    }

    /// Sets the newest state of documents.
    pub fn amend<'a>(&self, amendments: impl Iterator<Item = (DocId, &'a Amendment)>) -> Result<()> {
        let mut table = self.transaction.open_table(tables::AMENDMENTS).doing("amend documents")?;
        for (id, amendment) in amendments {
            table.insert(id.0, &amendment.encode()[..]).doing("amend documents")?;
        }
        Ok(())
    }

    /// Rewrites some rows of the set of documents that hold a content.
    pub fn set_holders(
        &self,
        content: ContentId,
        holders: &IdSet,
        rows: impl Iterator<Item = u64>,
    ) -> Result<()> {
        let mut table = self.transaction.open_table(tables::HOLDERS).doing("note holders")?;
        for row in rows {
            match postings::encode(holders, row) {
                Some(bytes) => table.insert((content.0, row), &bytes[..]).doing("note holders")?,
                None => table.remove((content.0, row)).doing("note holders")?,
            };
        }
        Ok(())
    }

    /// Rewrites some rows of the set of dead contents.
    pub fn set_dead(&self, dead: &IdSet, rows: impl Iterator<Item = u64>) -> Result<()> {
        let mut table = self.transaction.open_table(tables::DEAD).doing("bury contents")?;
        for row in rows {
            if let Some(bytes) = postings::encode(dead, row) {
                table.insert(row, &bytes[..]).doing("bury contents")?;
            }
        }
        Ok(())
    }

    /// Hands `write` the rows of a run, made when they are not there.
    pub fn write_run<T>(&self, number: u64, write: impl FnOnce(&mut RunWriter) -> Result<T>) -> Result<T> {
        let name = run_name(number);
        let definition: RunRows = TableDefinition::new(&name);
        write(&mut RunWriter::new(self.transaction.open_table(definition).doing("write a run")?))
    }

    /// Lists a run.
    pub fn list_run(&self, number: u64, record: &RunRecord) -> Result<()> {
        let mut table = self.transaction.open_table(tables::RUNS).doing("list a run")?;
        table.insert(number, &record.encode()[..]).doing("list a run").map(|_| ())
    }

    /// Removes a run and its rows.
    pub fn drop_run(&self, number: u64) -> Result<()> {
        let mut table = self.transaction.open_table(tables::RUNS).doing("drop a run")?;
        table.remove(number).doing("drop a run")?;
        drop(table);
        let name = run_name(number);
        let definition: RunRows = TableDefinition::new(&name);
        self.transaction.delete_table(definition).doing("drop a run").map(|_| ())
    }

    /// Makes everything durable at once, together with the counters.
    pub fn finish(self, counters: &Counters) -> Result<()> {
        let mut meta = self.transaction.open_table(tables::META).doing("write the counters")?;
        meta.insert(COUNTERS, &counters.encode()[..]).doing("write the counters")?;
        drop(meta);
        self.transaction.commit().doing("commit")
    }
}
