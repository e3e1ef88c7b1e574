//! The clusters of a snapshot: what stands above each content, the members of each cluster, what stands for it.
//!
//! A content without a parent is the top of its cluster, and its number is the cluster's. A cluster of one has no rows.

use super::postings::{self, IdSet};
use super::tables::{self, Doing};
use crate::error::{Error, Result};
use crate::id::ClusterId;
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, ReadableTableMetadata, StorageError, TableStats};

/// The tables that clusters are in.
pub(crate) struct ClusterRows {
    parents: ReadOnlyTable<u64, u64>,
    members: ReadOnlyTable<(u64, u64), &'static [u8]>,
    representatives: ReadOnlyTable<u64, &'static [u8]>,
    /// The first content that was not given out.
    end: u64,
}

const READING: &str = "read the clusters";

impl ClusterRows {
    pub fn open(snapshot: &ReadTransaction, end: u64) -> Result<Self> {
        Ok(ClusterRows {
            parents: snapshot.open_table(tables::PARENTS).doing(READING)?,
            members: snapshot.open_table(tables::MEMBERS).doing(READING)?,
            representatives: snapshot.open_table(tables::REPRESENTATIVES).doing(READING)?,
            end,
        })
    }

    /// What stands above a content. Parents are older than their children, so that going up ends.
    pub fn parent(&self, content: u64) -> Result<Option<u64>> {
        let parent = self.parents.get(content).doing(READING)?.map(|row| row.value());
        match parent {
            Some(parent) if parent >= content => {
                Err(Error::corrupt(format!("parent of content {content}"), "it is not older"))
            }
            parent => Ok(parent),
        }
    }

    /// The members of a cluster of two or more within one row; empty when there are none.
    pub fn member_row(&self, cluster: u64, row: u64) -> Result<IdSet> {
        let mut set = IdSet::new();
        if let Some(bitmap) = self.members.get((cluster, row)).doing(READING)? {
            self.decode_into(&mut set, (cluster, row), bitmap.value())?;
        }
        Ok(set)
    }

    fn decode_into(&self, set: &mut IdSet, key: (u64, u64), bitmap: &[u8]) -> Result<()> {
        let wrong = |error: Error| error.within(format!("row {key:?} of members"));
        postings::decode_into(set, key.1, bitmap).map_err(wrong)?;
        match set.max().is_none_or(|last| last < self.end) {
            true => Ok(()),
            false => Err(wrong(Error::corrupt("bitmap", "it has contents that were never given out"))),
        }
    }

    /// Which rows a cluster has.
    pub fn rows(&self, cluster: u64) -> Result<Vec<u64>> {
        let rows = self.members.range((cluster, 0)..=(cluster, u64::MAX)).doing(READING)?;
        rows.map(|row| Ok(row.doing(READING)?.0.value().1)).collect()
    }

    /// Calls `each` with every cluster of two or more and its members, clusters ascending, one at a time in memory.
    pub fn each(&self, mut each: impl FnMut(ClusterId, IdSet) -> Result<()>) -> Result<()> {
        let mut open: Option<(u64, IdSet)> = None;
        for row in self.members.iter().doing(READING)? {
            let (key, bitmap) = row.doing(READING)?;
            let (cluster, number) = key.value();
            if let Some((done, members)) = open.take_if(|open| open.0 != cluster) {
                each(ClusterId(done), members)?;
            }
            let (_, members) = open.get_or_insert_with(|| (cluster, IdSet::new()));
            self.decode_into(members, (cluster, number), bitmap.value())?;
        }
        open.map_or(Ok(()), |(cluster, members)| each(ClusterId(cluster), members))
    }

    /// Calls `each` with every content that has a parent.
    pub fn each_parent(&self, mut each: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
        for row in self.parents.iter().doing(READING)? {
            let (content, parent) = row.doing(READING)?;
            each(content.value(), parent.value())?;
        }
        Ok(())
    }

    /// Calls `each` with every cluster that has a row of what stands for it.
    pub fn each_represented(&self, mut each: impl FnMut(u64) -> Result<()>) -> Result<()> {
        for row in self.representatives.iter().doing(READING)? {
            each(row.doing(READING)?.0.value())?;
        }
        Ok(())
    }

    /// What stands for a cluster, in its stored form.
    pub fn representative(&self, cluster: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.representatives.get(cluster).doing(READING)?.map(|row| row.value().to_vec()))
    }

    /// How many pages each table takes: walks all of them.
    pub fn stats(&self) -> [std::result::Result<TableStats, StorageError>; 3] {
        [self.parents.stats(), self.members.stats(), self.representatives.stats()]
    }
}
