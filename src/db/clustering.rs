//! The clusters of a batch: which contents are one cluster, kept as a forest on top of what the view has.
//!
//! A cluster's number is that of the content at its top, the oldest one. Uniting two clusters puts the younger top under
//! the older; going up shortens the way for the next time (Tarjan's path compression), so that a union costs next to
//! nothing however large the clusters are. The members are kept beside it as bitmaps.

use crate::error::{Error, Result};
use crate::id::{ClusterId, ContentId};
use crate::sketch::Sample;
use crate::store::clusters::ClusterRows;
use crate::store::commit::Commit;
use crate::store::postings::{self, IdSet};
use crate::store::record::RepresentativeRecord;
use std::collections::BTreeMap;

/// Changes to clusters that are not written yet.
pub(crate) struct Clustering<'v> {
    below: &'v ClusterRows,
    /// `None` for a top.
    parents: BTreeMap<u64, Option<u64>>,
    /// Rows of members, by (cluster, row).
    rows: BTreeMap<(u64, u64), IdSet>,
    representatives: BTreeMap<u64, Option<Representative>>,
}

/// What stands for a cluster, and how many members it had when that was last looked at.
#[derive(Clone, Debug)]
pub(crate) struct Representative {
    pub members: u64,
    pub sample: Sample,
}

impl<'v> Clustering<'v> {
    pub fn new(below: &'v ClusterRows) -> Self {
        let (parents, rows, representatives) = Default::default();
        Clustering { below, parents, rows, representatives }
    }

    fn parent(&self, content: u64) -> Result<Option<u64>> {
        self.parents.get(&content).map_or_else(|| self.below.parent(content), |&parent| Ok(parent))
    }

    /// The cluster of a content.
    pub fn cluster(&self, content: ContentId) -> Result<ClusterId> {
        let mut top = content.0;
        while let Some(parent) = self.parent(top)? {
            top = parent;
        }
        Ok(ClusterId(top))
    }

    /// The cluster of a content; its way up is made short.
    fn find(&mut self, content: ContentId) -> Result<ClusterId> {
        let top = self.cluster(content)?;
        let mut at = content.0;
        while let Some(parent) = self.parent(at)?.filter(|&parent| parent != top.0) {
            self.parents.insert(at, Some(top.0));
            at = parent;
        }
        Ok(top)
    }

    fn row(&mut self, cluster: u64, row: u64) -> Result<&mut IdSet> {
        if !self.rows.contains_key(&(cluster, row)) {
            let stored = self.below.member_row(cluster, row)?;
            self.rows.insert((cluster, row), stored);
        }
        Ok(self.rows.get_mut(&(cluster, row)).expect("it was just put there"))
    }

    fn row_numbers(&self, cluster: ClusterId) -> Result<Vec<u64>> {
        let mut rows = self.below.rows(cluster.0)?;
        rows.extend(self.rows.range((cluster.0, 0)..=(cluster.0, u64::MAX)).map(|row| row.0.1));
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }

    /// Every content that was put into a cluster, the dead among them.
    pub fn members(&mut self, cluster: ClusterId) -> Result<IdSet> {
        let mut all: IdSet = std::iter::once(cluster.0).collect();
        for row in self.row_numbers(cluster)? {
            all |= &*self.row(cluster.0, row)?;
        }
        Ok(all)
    }

    /// Whether a content is a cluster of its own.
    pub fn is_alone(&mut self, content: ContentId) -> Result<bool> {
        let own = self.row(content.0, postings::row_of(content.0))?.is_empty();
        Ok(own && self.parent(content.0)?.is_none())
    }

    /// Makes the clusters of two contents one: the older, and the younger unless they were one already.
    pub fn unite(&mut self, a: ContentId, b: ContentId) -> Result<(ClusterId, Option<ClusterId>)> {
        let (a, b) = (self.find(a)?, self.find(b)?);
        if a == b {
            return Ok((a, None));
        }
        let (older, younger) = (a.min(b), a.max(b));
        self.parents.insert(younger.0, Some(older.0));
        self.row(older.0, postings::row_of(older.0))?.insert(older.0);
        self.row(older.0, postings::row_of(younger.0))?.insert(younger.0);
        for number in self.row_numbers(younger)? {
            let moved = std::mem::take(self.row(younger.0, number)?);
            *self.row(older.0, number)? |= moved;
        }
        Ok((older, Some(younger)))
    }

    /// Makes every member of a cluster one of its own: the members.
    pub fn dissolve(&mut self, cluster: ClusterId) -> Result<IdSet> {
        let members = self.members(cluster)?;
        self.parents.extend(members.iter().map(|member| (member, None)));
        for row in self.row_numbers(cluster)? {
            self.row(cluster.0, row)?.clear();
        }
        self.representatives.insert(cluster.0, None);
        Ok(members)
    }

    /// What stands for a cluster, when that is not its first member.
    pub fn representative(&self, cluster: ClusterId) -> Result<Option<Representative>> {
        match self.representatives.get(&cluster.0) {
            Some(representative) => Ok(representative.clone()),
            None => representative(self.below, cluster),
        }
    }

    pub fn set_representative(&mut self, cluster: ClusterId, representative: Representative) {
        self.representatives.insert(cluster.0, Some(representative));
    }

    /// Puts all changes into a commit.
    pub fn write(self, commit: &Commit) -> Result<()> {
        if self.parents.is_empty() && self.rows.is_empty() && self.representatives.is_empty() {
            return Ok(());
        }
        commit.set_parents(self.parents.into_iter())?;
        let rows = self.rows.into_iter();
        commit.set_members(rows.map(|(key, members)| (key, postings::encode(&members, key.1))))?;
        let stored = |representative: Representative| {
            let Representative { members, sample } = representative;
            RepresentativeRecord { members, sample: &sample.encode() }.encode()
        };
        let rows = self.representatives.into_iter();
        commit.set_representatives(rows.map(|(cluster, value)| (cluster, value.map(stored))))
    }
}

/// What stands for a stored cluster, when that is not its first member.
pub(crate) fn representative(rows: &ClusterRows, cluster: ClusterId) -> Result<Option<Representative>> {
    let Some(bytes) = rows.representative(cluster.0)? else { return Ok(None) };
    let decoded = || {
        let record = RepresentativeRecord::decode(&bytes)?;
        Ok(Representative { members: record.members, sample: Sample::decode(record.sample)? })
    };
    decoded().map(Some).map_err(|error: Error| error.within(format!("row {} of representatives", cluster.0)))
}
