//! One durable step from a view to the next: records appended, rows changed, memtable flushed, runs merged a little.

use super::file::{COUNTERS, StoreFile};
use super::frame::{Kind, Label, frames};
use super::marks::Mark;
use super::postings::{self, IdSet};
use super::record::{Amendment, Counters, RunRecord};
use super::run::RunWriter;
use super::tables::{self, Doing, RunRows, run_name};
use crate::error::{Error, Result};
use crate::id::{ContentId, DatabaseId, DocId};
use redb::{Key, ReadableTable, ReadableTableMetadata, Table, TableDefinition, WriteTransaction};

/// A write transaction in this crate's words. Dropped without [`finish`](Self::finish), nothing happened.
pub(crate) struct Commit {
    transaction: WriteTransaction,
    id: DatabaseId,
    epoch: u32,
}

impl Commit {
    /// Frames written with it carry `epoch`.
    pub fn begin(file: &StoreFile, epoch: u32) -> Result<Self> {
        Ok(Commit { transaction: file.begin(true)?, id: file.id(), epoch })
    }

    /// One that reaches the medium with the next that is durable.
    pub fn begin_buffered(file: &StoreFile, epoch: u32) -> Result<Self> {
        Ok(Commit { transaction: file.begin(false)?, id: file.id(), epoch })
    }

    /// Appends records with ascending ids, packed into frames; the bytes of the records.
    pub fn append(&self, kind: Kind, records: &[(u64, Vec<u8>)]) -> Result<u64> {
        let definition = match kind {
            Kind::Contents => tables::CONTENTS,
            Kind::Documents => tables::DOCUMENTS,
            Kind::Params => return Err(Error::invalid("parameters", "they are written once, at creation")),
        };
        let label = Label { kind, database: self.id, epoch: self.epoch };
        let mut table = self.transaction.open_table(definition).doing("append records")?;
        for (first, frame) in frames(label, records.iter().map(|(id, bytes)| (*id, &bytes[..]))) {
            table.insert(first, &frame[..]).doing("append records")?;
        }
        Ok(records.iter().map(|record| record.1.len() as u64).sum())
    }

    /// Sets the newest state of documents; `None` when nothing is to be known of one.
    pub fn amend<'a>(&self, amendments: impl Iterator<Item = (DocId, Option<&'a Amendment>)>) -> Result<()> {
        let mut table = self.transaction.open_table(tables::AMENDMENTS).doing("amend documents")?;
        for (id, amendment) in amendments {
            match amendment {
                Some(amendment) => table.insert(id.0, &amendment.encode()[..]).doing("amend documents")?,
                None => table.remove(id.0).doing("amend documents")?,
            };
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
        let table = self.transaction.open_table(tables::HOLDERS).doing("note holders")?;
        rows_of(table, rows.map(|row| ((content.0, row), postings::encode(holders, row))), "note holders")
    }

    /// Rewrites some rows of the set of what is marked.
    pub fn set_marks(&self, mark: Mark, set: &IdSet, rows: impl Iterator<Item = u64>) -> Result<()> {
        let table = self.transaction.open_table(tables::MARKS).doing("write marks")?;
        rows_of(table, rows.map(|row| ((mark as u8, row), postings::encode(set, row))), "write marks")
    }

    /// Sets what stands above contents in their clusters, `None` when nothing does.
    pub fn set_parents(&self, parents: impl Iterator<Item = (u64, Option<u64>)>) -> Result<()> {
        let mut table = self.transaction.open_table(tables::PARENTS).doing("write clusters")?;
        for (content, parent) in parents {
            match parent {
                Some(parent) => table.insert(content, parent).doing("write clusters")?,
                None => table.remove(content).doing("write clusters")?,
            };
        }
        Ok(())
    }

    /// Rewrites rows of the members of clusters, each by (cluster, row); `None` when a row has no member left.
    pub fn set_members(&self, rows: impl Iterator<Item = ((u64, u64), Option<Vec<u8>>)>) -> Result<()> {
        rows_of(self.transaction.open_table(tables::MEMBERS).doing("write clusters")?, rows, "write clusters")
    }

    /// Sets what stands for clusters.
    pub fn set_representatives(&self, rows: impl Iterator<Item = (u64, Option<Vec<u8>>)>) -> Result<()> {
        let table = self.transaction.open_table(tables::REPRESENTATIVES).doing("write clusters")?;
        rows_of(table, rows, "write clusters")
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

    /// Removes a run, but for its rows.
    pub fn unlist_run(&self, number: u64) -> Result<()> {
        let mut table = self.transaction.open_table(tables::RUNS).doing("drop a run")?;
        table.remove(number).doing("drop a run").map(|_| ())
    }

    /// Takes up to `most` rows of a run away, from the first on, and its table when they were fewer: how many.
    pub fn drop_rows(&self, number: u64, most: u64) -> Result<u64> {
        let (name, doing) = (run_name(number), "drop a run");
        let definition: RunRows = TableDefinition::new(&name);
        let mut table = self.transaction.open_table(definition).doing(doing)?;
        let mut dropped = 0;
        while dropped < most {
            let first = table.first().doing(doing)?.map(|row| row.0.value());
            let Some(first) = first else { break };
            let before = table.len().doing(doing)?;
            let end = first.saturating_add(u32::try_from(most - dropped).unwrap_or(u32::MAX));
            table.retain_in(first..end, |_, _| false).doing(doing)?;
            dropped += before - table.len().doing(doing)?;
        }
        drop(table);
        if dropped < most {
            self.transaction.delete_table(definition).doing(doing)?;
        }
        Ok(dropped)
    }

    /// Makes everything take effect at once, together with the counters.
    pub fn finish(self, counters: &Counters) -> Result<()> {
        let mut meta = self.transaction.open_table(tables::META).doing("write the counters")?;
        meta.insert(COUNTERS, &counters.encode()[..]).doing("write the counters")?;
        drop(meta);
        self.transaction.commit().doing("commit")
    }
}

/// Puts rows into a table and takes those away that are empty now.
fn rows_of<'k, K: Key + 'static>(
    mut table: Table<K, &'static [u8]>,
    rows: impl Iterator<Item = (K::SelfType<'k>, Option<Vec<u8>>)>,
    what: &str,
) -> Result<()> {
    for (key, bytes) in rows {
        match bytes {
            Some(bytes) => table.insert(key, &bytes[..]).doing(what)?,
            None => table.remove(key).doing(what)?,
        };
    }
    Ok(())
}
