//! `remove`: documents out, by their keys.

use super::add::check_key;
use super::batch::Batch;
use super::database::{Database, jobs};
use super::reader::Reader;
use crate::error::Result;

impl Database {
    /// Removes documents: whether each key was there. Up to 8,192 go together; what is left of a text that others hold is
    /// not touched. No answer names a removed document once this has returned.
    pub fn remove<K: Into<String>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<bool>> {
        let keys: Vec<String> = keys.into_iter().map(Into::into).collect();
        keys.iter().try_for_each(|key| check_key(key))?;
        let mut removed = Vec::with_capacity(keys.len());
        for job in jobs(keys) {
            self.cancel().check()?;
            removed.extend(self.commit(job.len(), false, move |batch| {
                job.iter().map(|key| batch.remove_key(key)).collect::<Result<Vec<bool>>>()
            })?);
        }
        Ok(removed)
    }
}

impl Batch<'_> {
    fn remove_key(&mut self, key: &str) -> Result<bool> {
        match self.find_document(key)? {
            Some((id, state)) => self.remove(id, &state).map(|()| true),
            None => Ok(false),
        }
    }
}
