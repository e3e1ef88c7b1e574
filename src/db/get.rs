//! `get`: what is stored about one key.

use super::add::check_key;
use super::database::Database;
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::{ClusterId, DocId};
use crate::sketch::Sample;

/// What is stored about a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The document.
    pub id: DocId,
    /// When it was first seen, in seconds since 1970; `None` when it was first added without a time.
    pub first_seen: Option<u64>,
    /// When it was last seen.
    pub last_seen: Option<u64>,
    /// The cluster of the document.
    pub cluster: ClusterId,
    /// How many other keys hold the same text.
    pub copies: u64,
    /// Distinct shingles: exact up to the size of a sample, else estimated. `None` when no sample is kept.
    pub shingles: Option<f64>,
    /// Bytes of the decoded text.
    pub bytes: u64,
}

impl Database {
    /// The document with this key, `None` when there is none.
    pub fn get(&self, key: &str) -> Result<Option<Stored>> {
        check_key(key)?;
        let view = self.view_of(key)?;
        let Some((id, document)) = view.find_document(key)? else { return Ok(None) };
        let (founder, shingles, bytes) = view.content(document.content, |record| {
            let sample = record.sample.map(Sample::decode).transpose()?;
            Ok((DocId(record.founder), sample.map(|sample| sample.shingles()), record.bytes))
        })?;
        let holders = view.holders(document.content, founder)?;
        if !holders.contains(id.0) {
            return Err(Error::corrupt(
                format!("holders of content {}", document.content),
                format!("document {id} is not among them"),
            ));
        }
        Ok(Some(Stored {
            id,
            first_seen: document.times.first_seen,
            last_seen: document.times.last_seen,
            cluster: self.cluster_of_content(&view, document.content)?,
            copies: holders.len().saturating_sub(1),
            shingles,
            bytes,
        }))
    }
}
