//! Which contents are dead, which documents removed, which clusters to be formed again: sets of ids, held in memory.

use super::postings::{self, IdSet};
use super::tables::{self, Doing};
use crate::error::{Error, Result};
use redb::{ReadTransaction, ReadableTable};
use std::sync::Arc;

/// What an id is marked as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A content that no document holds.
    Dead = 1,
    /// A document that was removed.
    Removed = 2,
    /// A cluster that lost a member and may fall apart.
    Dirty = 3,
}

/// All marks; cloning shares them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    pub dead: Arc<IdSet>,
    pub removed: Arc<IdSet>,
    pub dirty: Arc<IdSet>,
}

impl Marks {
    /// Reads all marks of a file.
    pub fn load(snapshot: &ReadTransaction) -> Result<Self> {
        let doing = "read the marks";
        let mut sets = [IdSet::new(), IdSet::new(), IdSet::new()];
        let rows = snapshot.open_table(tables::MARKS).doing(doing)?;
        for row in rows.iter().doing(doing)? {
            let (key, bitmap) = row.doing(doing)?;
            let (mark, number) = key.value();
            let set = usize::from(mark).checked_sub(1).and_then(|at| sets.get_mut(at));
            let place = || format!("row {:?} of marks", (mark, number));
            let set = set.ok_or_else(|| Error::corrupt(place(), "there is no such mark"))?;
            postings::decode_into(set, number, bitmap.value()).map_err(|e| e.within(place()))?;
        }
        let [dead, removed, dirty] = sets.map(Arc::new);
        Ok(Marks { dead, removed, dirty })
    }

    /// Whether a content is dead.
    pub fn is_dead(&self, content: u64) -> bool {
        !self.dead.is_empty() && self.dead.contains(content)
    }

    /// Whether a document was removed.
    pub fn is_removed(&self, document: u64) -> bool {
        !self.removed.is_empty() && self.removed.contains(document)
    }
}
