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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::DatabaseId;
    use crate::store::disk::FileDisk;
    use crate::store::file::{Birth, StoreFile};
    use crate::store::record::{Counters, RunRecord};

    const ROWS: u64 = 1000;

    /// A file with two runs, of which one is not listed.
    fn file() -> StoreFile {
        let disk = tempfile::tempfile().expect("a temporary file");
        let disk = || Box::new(FileDisk::new(disk.try_clone().expect("a temporary file"), "runs".as_ref()));
        let birth = Birth { id: DatabaseId(1), params: b"", known_answer: b"" };
        drop(StoreFile::create_on(disk(), birth, 1 << 20).expect("a new file"));
        let file = StoreFile::open_writable(disk(), 1 << 20).expect("the file");
        let commit = Commit::begin(&file, 1).expect("a commit");
        for number in [3, 7] {
            let write = |rows: &mut crate::store::run::RunWriter| {
                // Blocks, and what stands far behind them.
                let rows_of = (0..ROWS as u32 - 1).chain([1 << 31]);
                rows_of.for_each(|row| drop(rows.rows.insert(row, &[7; 3000][..]).expect("a row")));
                Ok(())
            };
            commit.write_run(number, write).expect("a run");
        }
        commit.list_run(3, &RunRecord::empty(0, (0, 1), (0, 1))).expect("a run");
        commit.finish(&Counters::default()).expect("a commit");
        file
    }

    fn dropped(file: &StoreFile, remnants: &mut Remnants, most: u64) -> u64 {
        let commit = Commit::begin(file, 1).expect("a commit");
        let dropped = remnants.drop_some(&commit, most).expect("rows");
        commit.finish(&Counters::default()).expect("a commit");
        dropped
    }

    fn load(file: &StoreFile) -> Remnants {
        Remnants::load(&file.snapshot().expect("a snapshot")).expect("the runs")
    }

    #[test]
    fn what_is_not_listed_goes_a_slice_at_a_time() {
        let file = file();
        let mut remnants = load(&file);
        assert_eq!(remnants.0, [(7, ROWS)], "the listed run is none");
        assert_eq!(dropped(&file, &mut remnants, 0), 0);
        assert_eq!((dropped(&file, &mut remnants, 300), remnants.rows()), (300, 700));
        // Whoever opens the file next goes on.
        let mut remnants = load(&file);
        assert_eq!(remnants.0, [(7, 700)]);
        assert_eq!((dropped(&file, &mut remnants, 699), remnants.rows()), (699, 1));
        assert_eq!((dropped(&file, &mut remnants, 5), remnants.rows()), (1, 0));
        assert_eq!(load(&file).0, []);
        let snapshot = file.snapshot().expect("a snapshot");
        let runs: Vec<String> = (snapshot.list_tables().expect("tables"))
            .map(|table| table.name().to_owned())
            .filter(|name| run_number(name).is_some())
            .collect();
        assert_eq!(runs, ["run_3"]);
        assert_eq!(open_rows(&snapshot, 3).expect("a run").len().expect("rows"), ROWS);
    }

    #[test]
    fn several_go_in_one_slice() {
        let file = file();
        let commit = Commit::begin(&file, 1).expect("a commit");
        commit.unlist_run(3).expect("a run");
        commit.finish(&Counters::default()).expect("a commit");
        let mut remnants = load(&file);
        assert_eq!(remnants.rows(), 2 * ROWS);
        assert_eq!((dropped(&file, &mut remnants, ROWS + 10), remnants.rows()), (ROWS + 10, ROWS - 10));
        assert_eq!((dropped(&file, &mut remnants, u64::MAX), remnants.rows()), (ROWS - 10, 0));
        assert_eq!(load(&file).rows(), 0);
    }
}
