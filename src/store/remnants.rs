//! What is left of runs that were merged: tables that no row of `runs` names, dropped a slice at a time.
//!
//! redb reads every page of a table that it deletes, a second for a run of half a million contents; rows taken away from its
//! beginning cost half as much, and no commit waits for all of them. They mean nothing; a writer that finds some drops them.

use super::commit::Commit;
use super::run::open_rows;
use super::tables::{self, Doing, run_number};
use crate::error::Result;
use redb::{ReadTransaction, ReadableTableMetadata, TableHandle};

/// The numbers of merged runs, each with the rows that its table still has.
#[derive(Debug, Default)]
pub(crate) struct Remnants(Vec<(u64, u64)>);

impl Remnants {
    /// Those in a snapshot.
    pub fn load(snapshot: &ReadTransaction) -> Result<Self> {
        let doing = "list the tables of runs";
        let runs = snapshot.open_table(tables::RUNS).doing(doing)?;
        let mut left = Vec::new();
        for table in snapshot.list_tables().doing(doing)? {
            let Some(number) = run_number(table.name()) else { continue };
            if runs.get(number).doing(doing)?.is_none() {
                left.push((number, open_rows(snapshot, number)?.len().doing(doing)?));
            }
        }
        Ok(Remnants(left))
    }

    /// A run of so many rows was merged.
    pub fn push(&mut self, number: u64, rows: u64) {
        self.0.push((number, rows));
    }

    /// How many rows are left.
    pub fn rows(&self) -> u64 {
        self.0.iter().map(|left| left.1).sum()
    }

    /// Drops up to `most` rows: how many.
    pub fn drop_some(&mut self, commit: &Commit, most: u64) -> Result<u64> {
        let mut dropped = 0;
        while let Some((number, rows)) = self.0.last_mut().filter(|_| dropped < most) {
            let now = commit.drop_rows(*number, most - dropped)?;
            dropped += now;
            *rows = rows.saturating_sub(now);
            if dropped < most {
                self.0.pop();
            }
        }
        Ok(dropped)
    }
}
