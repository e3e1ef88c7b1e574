//! `expire`: documents out that were not seen for long.

use super::batch::Batch;
use super::database::Database;
use super::reader::Reader;
use crate::error::Result;
use crate::id::DocId;

/// Documents looked at or removed in one commit.
const AT_ONCE: usize = 8192;

impl Database {
    /// Removes every document that was last seen before a time, in seconds since 1970: how many. One that was never given a
    /// time stays. Each commit removes up to 8,192; a document seen meanwhile stays.
    pub fn expire(&self, before: u64) -> Result<u64> {
        let mut expired = 0;
        let mut next = Some(0);
        while let Some(first) = next {
            self.cancel().check()?;
            let (stale, rest) = self.stale(first, before)?;
            next = rest;
            if !stale.is_empty() {
                expired += self.commit(stale.len(), false, move |batch| {
                    let gone = stale.iter().map(|&id| batch.expire(id, before));
                    Ok(gone.collect::<Result<Vec<bool>>>()?.into_iter().map(u64::from).sum::<u64>())
                })?;
            }
        }
        Ok(expired)
    }

    /// Some documents from `first` on that were last seen before a time, and where to go on.
    fn stale(&self, first: u64, before: u64) -> Result<(Vec<DocId>, Option<u64>)> {
        let (mut stale, mut next) = (Vec::new(), None);
        self.view().living_documents(first, |id, document| {
            if stale.len() == AT_ONCE {
                next = Some(id.0);
                return Ok(false);
            }
            if document.times.last_seen.is_some_and(|seen| seen < before) {
                stale.push(id);
            }
            Ok(true)
        })?;
        Ok((stale, next))
    }
}

impl Batch<'_> {
    fn expire(&mut self, id: DocId, before: u64) -> Result<bool> {
        if self.is_removed(id) {
            return Ok(false);
        }
        let document = self.document(id)?;
        match document.times.last_seen {
            Some(seen) if seen < before => self.remove(id, &document).map(|()| true),
            _ => Ok(false),
        }
    }
}
