//! What look-ups are made on: a view, or a batch that sees its own additions on top of one.

use crate::error::Result;
use crate::id::{ContentHash, ContentId, DocId};
use crate::index::indexing::Indexing;
use crate::index::term::Address;
use crate::store::postings::IdSet;
use crate::store::record::ContentRecord;
use crate::store::view::{StoredDocument, View};
use std::ops::RangeInclusive;

pub(crate) trait Reader {
    /// Calls `each` with the address and id of every posting within the range, ids of one address ascending and alive,
    /// until it returns false.
    fn scan(&self, range: &RangeInclusive<Address>, each: &mut dyn FnMut(Address, u64) -> bool)
    -> Result<()>;

    /// Reads the record of a content that was given out.
    fn content<T>(&self, id: ContentId, read: impl FnOnce(ContentRecord) -> Result<T>) -> Result<T>;

    /// A document that was given out, in its newest state.
    fn document(&self, id: DocId) -> Result<StoredDocument>;

    /// Reads the documents that hold a living content founded by `founder`.
    fn holders<T>(&self, content: ContentId, founder: DocId, read: impl FnOnce(&IdSet) -> T) -> Result<T>;

    /// All ids at one address.
    fn ids(&self, address: Address) -> Result<Vec<u64>> {
        let mut ids = Vec::new();
        self.scan(&(address..=address), &mut |_, id| {
            ids.push(id);
            true
        })?;
        Ok(ids)
    }

    /// The living document with this key.
    fn find_document(&self, key: &str) -> Result<Option<(DocId, StoredDocument)>> {
        for id in self.ids(Indexing::key(key))? {
            let document = self.document(DocId(id))?;
            if document.key == key && !document.removed {
                return Ok(Some((DocId(id), document)));
            }
        }
        Ok(None)
    }

    /// The living content with this text, and its founder.
    fn find_content(&self, hash: &ContentHash) -> Result<Option<(ContentId, DocId)>> {
        for id in self.ids(Indexing::content(hash))? {
            let found = self.content(ContentId(id), |record| {
                Ok((record.hash == hash.0).then_some((ContentId(id), DocId(record.founder))))
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

impl Reader for View {
    fn scan(
        &self,
        range: &RangeInclusive<Address>,
        each: &mut dyn FnMut(Address, u64) -> bool,
    ) -> Result<()> {
        View::scan(self, range, each).map(|_| ())
    }

    fn content<T>(&self, id: ContentId, read: impl FnOnce(ContentRecord) -> Result<T>) -> Result<T> {
        View::content(self, id, read)
    }

    fn document(&self, id: DocId) -> Result<StoredDocument> {
        View::document(self, id)
    }

    fn holders<T>(&self, content: ContentId, founder: DocId, read: impl FnOnce(&IdSet) -> T) -> Result<T> {
        Ok(read(&View::holders(self, content, founder)?))
    }
}
