//! What look-ups are made on: a view, or a batch that sees its own additions on top of one.

use crate::error::{Error, Result};
use crate::id::{ClusterId, ContentHash, ContentId, DocId};
use crate::index::indexing::Indexing;
use crate::index::term::Address;
use crate::store::document::StoredDocument;
use crate::store::postings::IdSet;
use crate::store::record::ContentRecord;
use crate::store::view::View;
use std::ops::RangeInclusive;

pub(crate) trait Reader {
    /// Calls `each` with the address and id of every posting within the range, ids of one address ascending and alive,
    /// until it returns false.
    fn scan(&self, range: &RangeInclusive<Address>, each: &mut dyn FnMut(Address, u64) -> bool)
    -> Result<()>;

    /// Calls `each` with the id of every posting within the range at an address that is wanted: few of many.
    fn scan_some(
        &self,
        range: &RangeInclusive<Address>,
        wanted: &impl Fn(Address) -> bool,
        each: &mut dyn FnMut(u64),
    ) -> Result<()> {
        self.scan(range, &mut |address, id| {
            if wanted(address) {
                each(id);
            }
            true
        })
    }

    /// Told of addresses that will be scanned next: it may have a look at them together.
    fn foresee(&self, addresses: &[Address]);

    /// Reads the record of a content that was given out.
    fn content<T>(&self, id: ContentId, read: impl FnOnce(ContentRecord) -> Result<T>) -> Result<T>;

    /// Reads the record of a content that may have been dropped since it died.
    fn content_if_there<T>(
        &self,
        id: ContentId,
        read: impl FnOnce(ContentRecord) -> Result<T>,
    ) -> Result<Option<T>>;

    /// The cluster of a content.
    fn cluster(&self, content: ContentId) -> Result<ClusterId>;

    /// Whether a content is alive.
    fn is_alive(&self, content: ContentId) -> bool;

    /// A document that was given out, in its newest state.
    fn document(&self, id: DocId) -> Result<StoredDocument>;

    /// Reads the documents that hold a living content founded by `founder`.
    fn holders<T>(&self, content: ContentId, founder: DocId, read: impl FnOnce(&IdSet) -> T) -> Result<T>;

    /// Whether a document was removed.
    fn is_removed(&self, document: DocId) -> bool;

    /// A document that is among the holders of a content.
    fn holder(&self, content: ContentId, id: DocId) -> Result<StoredDocument> {
        let document = self.document(id)?;
        match document.content == content && !self.is_removed(id) {
            true => Ok(document),
            false => Err(Error::corrupt(
                format!("holders of content {content}"),
                format!("document {id} does not hold it"),
            )),
        }
    }

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
            if document.key == key {
                if !self.is_alive(document.content) {
                    return Err(Error::corrupt(format!("document {id}"), "its content is marked dead"));
                }
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
        View::scan(self, range, |_| true, each).map(|_| ())
    }

    fn scan_some(
        &self,
        range: &RangeInclusive<Address>,
        wanted: &impl Fn(Address) -> bool,
        each: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let each = |_, id| {
            each(id);
            true
        };
        View::scan(self, range, wanted, each).map(|_| ())
    }

    fn foresee(&self, addresses: &[Address]) {
        View::foresee(self, addresses);
    }

    fn content<T>(&self, id: ContentId, read: impl FnOnce(ContentRecord) -> Result<T>) -> Result<T> {
        View::content(self, id, read)
    }

    fn content_if_there<T>(
        &self,
        id: ContentId,
        read: impl FnOnce(ContentRecord) -> Result<T>,
    ) -> Result<Option<T>> {
        View::content_if_there(self, id, read)
    }

    fn cluster(&self, content: ContentId) -> Result<ClusterId> {
        let mut top = content.0;
        while let Some(parent) = self.clusters.parent(top)? {
            top = parent;
        }
        Ok(ClusterId(top))
    }

    fn is_alive(&self, content: ContentId) -> bool {
        !self.marks.is_dead(content.0)
    }

    fn is_removed(&self, document: DocId) -> bool {
        self.marks.is_removed(document.0)
    }

    fn document(&self, id: DocId) -> Result<StoredDocument> {
        View::document(self, id)
    }

    fn holders<T>(&self, content: ContentId, founder: DocId, read: impl FnOnce(&IdSet) -> T) -> Result<T> {
        Ok(read(&View::holders(self, content, founder)?))
    }
}
