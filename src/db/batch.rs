//! The additions of one commit, seen on top of the view that they are made on.
//!
//! Nothing is written until [`Batch::write`]; look-ups find what the batch added before, so that adding many documents at
//! once says what adding them one at a time would say.

use super::add::Document;
use super::clustering::Clustering;
use super::keep::Likeness;
use super::measures::{Candidate, CandidateCache, Measures};
use super::params::{ClusterRule, Params};
use super::pending::{PendingEntries, Sought};
use super::probe::{self, Absent};
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::{ClusterId, ContentId, DocId};
use crate::index::indexing::{Indexed, Indexing};
use crate::index::memtable::Memtable;
use crate::index::term::{Address, Space};
use crate::sketch::Sketch;
use crate::sketch::params::SketchParamsId;
use crate::store::commit::Commit;
use crate::store::document::StoredDocument;
use crate::store::frame::Kind;
use crate::store::marks::{Mark, Marks};
use crate::store::postings::{self, IdSet};
use crate::store::record::{Amendment, ContentRecord, Counters, DocumentRecord, Times};
use crate::store::view::View;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The holders of a content, and which rows of the set changed.
struct Held {
    set: IdSet,
    rows: BTreeSet<u64>,
}

/// Additions and changes on top of a view.
pub(crate) struct Batch<'v> {
    view: &'v View,
    pub params: &'v Params,
    indexing: &'v Indexing,
    pub counters: Counters,
    contents: Vec<(u64, Vec<u8>)>,
    documents: Vec<(u64, Vec<u8>)>,
    /// `None` of a document that was removed.
    amendments: BTreeMap<DocId, Option<Amendment>>,
    held: BTreeMap<ContentId, Held>,
    buried: IdSet,
    removed: IdSet,
    dirty: IdSet,
    pub clustering: Clustering<'v>,
    entries: PendingEntries,
    candidates: CandidateCache,
    /// What the view is known not to have.
    pub absent: Absent,
}

/// What a batch leaves behind once it is written.
pub(crate) struct Written {
    pub counters: Counters,
    pub memtable: Memtable,
    pub marks: Marks,
    /// How many index entries were added.
    pub entries: u64,
}

impl<'v> Batch<'v> {
    /// An empty batch; `samples` tells whether its own sample values are looked up, though near duplicates are found by
    /// other terms.
    pub fn new(view: &'v View, params: &'v Params, indexing: &'v Indexing, samples: bool) -> Self {
        let near = Likeness::of(params).sought(params);
        let sought = Sought { samples: samples || near.samples, ..near };
        Batch {
            view,
            params,
            indexing,
            counters: view.counters,
            contents: Vec::new(),
            documents: Vec::new(),
            amendments: BTreeMap::new(),
            held: BTreeMap::new(),
            buried: IdSet::new(),
            removed: IdSet::new(),
            dirty: (*view.marks.dirty).clone(),
            clustering: Clustering::new(&view.clusters),
            candidates: CandidateCache::default(),
            absent: Absent::default(),
            entries: PendingEntries::new(sought, indexing.prefixes()),
        }
    }

    pub fn sketch_params(&self) -> SketchParamsId {
        self.params.sketch.id()
    }

    pub fn indexing(&self) -> &'v Indexing {
        self.indexing
    }

    /// For each document what of it the view does not have.
    pub fn look_up(&self, documents: &[Document]) -> Result<Absent> {
        probe::absent(self.view, self.params, self.indexing, documents)
    }

    /// A new document that holds a content, which is new too when `content` is `None`.
    pub fn insert(
        &mut self,
        key: &str,
        sketch: &Sketch,
        content: Option<(ContentId, DocId)>,
        times: Times,
    ) -> Result<(DocId, ContentId)> {
        let document = DocId(self.counters.next_document);
        self.counters.next_document += 1;
        self.counters.documents += 1;
        let content = self.take_hold(document, sketch, content)?;
        let record = DocumentRecord { key, content: content.0, times };
        self.documents.push((document.0, record.encode(document.0)));
        self.entries.push(Indexing::key(key), (document.0 - self.counters.unflushed_document) as u16);
        Ok((document, content))
    }

    /// A document lets go of its content and holds another, which is new when `content` is `None`.
    pub fn update(
        &mut self,
        document: DocId,
        state: &StoredDocument,
        sketch: &Sketch,
        content: Option<(ContentId, DocId)>,
        times: Times,
    ) -> Result<ContentId> {
        let content = self.take_hold(document, sketch, content)?;
        self.let_go(document, state.content)?;
        self.amendments.insert(document, Some(Amendment { content: content.0, times }));
        Ok(content)
    }

    /// Takes a document away; its content goes with the last document that holds it.
    pub fn remove(&mut self, document: DocId, state: &StoredDocument) -> Result<()> {
        self.let_go(document, state.content)?;
        self.amendments.insert(document, None);
        self.removed.insert(document.0);
        Counters::less(&mut self.counters.documents)?;
        Ok(())
    }

    /// Gives a document that keeps its text other times.
    pub fn set_times(&mut self, document: DocId, state: &StoredDocument, times: Times) {
        if times != state.times {
            self.amendments.insert(document, Some(Amendment { content: state.content.0, times }));
        }
    }

    fn take_hold(
        &mut self,
        document: DocId,
        sketch: &Sketch,
        content: Option<(ContentId, DocId)>,
    ) -> Result<ContentId> {
        let Some((content, founder)) = content else { return Ok(self.found(document, sketch)) };
        let held = self.held(content, founder)?;
        // The first row of a set that was its founder alone is written with it.
        held.rows.insert(postings::row_of(founder.0));
        held.set.insert(document.0);
        held.rows.insert(postings::row_of(document.0));
        Ok(content)
    }

    /// A new content.
    fn found(&mut self, founder: DocId, sketch: &Sketch) -> ContentId {
        let content = ContentId(self.counters.next_content);
        self.counters.next_content += 1;
        self.counters.contents += 1;
        let kept = self.params.keep_sketches;
        let sample = kept.sample.then(|| sketch.sample.encode());
        let signature = sketch.signature.as_ref().filter(|_| kept.signature).map(|s| s.encode());
        let edit = sketch.edit.as_ref().filter(|_| kept.edit).map(|edit| edit.encode());
        let record = ContentRecord {
            hash: sketch.hash.0,
            founder: founder.0,
            bytes: sketch.bytes,
            sample: sample.as_deref(),
            signature: signature.as_deref(),
            simhash: sketch.simhash.filter(|_| kept.simhash).map(|simhash| simhash.0),
            edit: edit.as_deref(),
        };
        self.contents.push((content.0, record.encode(content.0)));
        self.post(content, kept.indexed(sketch));
        content
    }

    fn post(&mut self, content: ContentId, indexed: Indexed) {
        let number = (content.0 - self.counters.unflushed_content) as u16;
        self.indexing.addresses(indexed).for_each(|address| self.entries.push(address, number));
    }

    /// A content that nobody holds is dead. Its cluster may fall apart without it.
    fn bury(&mut self, content: ContentId) -> Result<()> {
        Counters::less(&mut self.counters.contents)?;
        self.buried.insert(content.0);
        if self.params.clusters == ClusterRule::Components && !self.clustering.is_alone(content)? {
            self.dirty.insert(self.clustering.cluster(content)?.0);
        }
        Ok(())
    }

    /// Makes the clusters of two contents one.
    pub fn unite(&mut self, a: ContentId, b: ContentId) -> Result<ClusterId> {
        let (cluster, younger) = self.clustering.unite(a, b)?;
        if younger.is_some_and(|younger| self.dirty.remove(younger.0)) {
            self.dirty.insert(cluster.0);
        }
        Ok(cluster)
    }

    /// Makes every living member of a cluster one of its own, to be put together again.
    pub fn dissolve(&mut self, cluster: ClusterId) -> Result<IdSet> {
        self.dirty.remove(cluster.0);
        let members = self.clustering.dissolve(cluster)?;
        Ok(members - &*self.view.marks.dead - &self.buried)
    }

    fn let_go(&mut self, document: DocId, content: ContentId) -> Result<()> {
        let founder = self.content(content, |record| Ok(DocId(record.founder)))?;
        let held = self.held(content, founder)?;
        if !held.set.remove(document.0) {
            return Err(Error::corrupt(
                format!("holders of content {content}"),
                format!("document {document} is not among them"),
            ));
        }
        held.rows.insert(postings::row_of(document.0));
        match held.set.is_empty() {
            true => self.bury(content),
            false => Ok(()),
        }
    }

    fn held(&mut self, content: ContentId, founder: DocId) -> Result<&mut Held> {
        if !self.held.contains_key(&content) {
            let set = Reader::holders(self, content, founder, IdSet::clone)?;
            self.held.insert(content, Held { set, rows: BTreeSet::new() });
        }
        Ok(self.held.get_mut(&content).expect("it was just put there"))
    }

    /// The record of a document or content that this batch added.
    fn added(records: &[(u64, Vec<u8>)], id: u64) -> Option<&[u8]> {
        let first = records.first()?.0;
        records.get(id.checked_sub(first)? as usize).map(|record| &record.1[..])
    }

    /// Measures a candidate by its stored sketches.
    pub fn measure(&self, sketch: &Sketch, content: ContentId) -> Result<Measures> {
        let read = || Reader::content(self, content, Candidate::of);
        Ok(Measures::of(sketch, content, &*self.candidates.get(content, read)?))
    }

    pub fn is_dirty(&self, cluster: ClusterId) -> bool {
        self.dirty.contains(cluster.0)
    }

    /// Puts everything into a commit.
    pub fn write(self, commit: &Commit) -> Result<Written> {
        let mut counters = self.counters;
        counters.content_bytes += commit.append(Kind::Contents, &self.contents)?;
        counters.document_bytes += commit.append(Kind::Documents, &self.documents)?;
        commit.amend(self.amendments.iter().map(|(id, amendment)| (*id, amendment.as_ref())))?;
        for (content, held) in &self.held {
            commit.set_holders(*content, &held.set, held.rows.iter().copied())?;
        }
        let mut marks = self.view.marks.clone();
        mark(commit, Mark::Dead, &mut marks.dead, self.buried)?;
        mark(commit, Mark::Removed, &mut marks.removed, self.removed)?;
        if self.dirty != *marks.dirty {
            let changed = &self.dirty ^ &*marks.dirty;
            commit.set_marks(Mark::Dirty, &self.dirty, rows_of(&changed).into_iter())?;
            marks.dirty = Arc::new(self.dirty);
        }
        self.clustering.write(commit)?;
        let entries = self.entries.into_packed();
        let added = entries.len() as u64;
        let memtable = match entries.is_empty() {
            true => self.view.memtable.clone(),
            false => self.view.memtable.with_part(entries),
        };
        Ok(Written { counters, memtable, marks, entries: added })
    }
}

fn rows_of(set: &IdSet) -> BTreeSet<u64> {
    set.iter().map(postings::row_of).collect()
}

/// Adds to a set of marks.
fn mark(commit: &Commit, mark: Mark, marked: &mut Arc<IdSet>, more: IdSet) -> Result<()> {
    if more.is_empty() {
        return Ok(());
    }
    *Arc::make_mut(marked) |= &more;
    commit.set_marks(mark, marked, rows_of(&more).into_iter())
}

impl Reader for Batch<'_> {
    fn scan(
        &self,
        range: &RangeInclusive<Address>,
        each: &mut dyn FnMut(Address, u64) -> bool,
    ) -> Result<()> {
        let keys = range.start().space() == Space::KEYS;
        let gone = if keys { &self.removed } else { &self.buried };
        let mut each = |address, id| gone.contains(id) || each(address, id);
        let absent = range.start() == range.end() && self.absent.contains(*range.start());
        if !absent && !self.view.scan(range, |_| true, &mut each)? {
            return Ok(());
        }
        let base = if keys { self.counters.unflushed_document } else { self.counters.unflushed_content };
        for (address, number) in self.entries.within(range) {
            if !each(address, base + u64::from(number)) {
                break;
            }
        }
        Ok(())
    }

    fn foresee(&self, addresses: &[Address]) {
        let asked: Vec<Address> =
            addresses.iter().copied().filter(|&address| !self.absent.contains(address)).collect();
        self.view.foresee(&asked);
    }

    fn content<T>(&self, id: ContentId, read: impl FnOnce(ContentRecord) -> Result<T>) -> Result<T> {
        match Self::added(&self.contents, id.0) {
            Some(bytes) => read(ContentRecord::decode(id.0, bytes)?),
            None => self.view.content(id, read),
        }
    }

    fn content_if_there<T>(
        &self,
        id: ContentId,
        read: impl FnOnce(ContentRecord) -> Result<T>,
    ) -> Result<Option<T>> {
        match Self::added(&self.contents, id.0) {
            Some(bytes) => read(ContentRecord::decode(id.0, bytes)?).map(Some),
            None => self.view.content_if_there(id, read),
        }
    }

    fn cluster(&self, content: ContentId) -> Result<ClusterId> {
        self.clustering.cluster(content)
    }

    fn is_alive(&self, content: ContentId) -> bool {
        !self.buried.contains(content.0) && !self.view.marks.is_dead(content.0)
    }

    fn is_removed(&self, document: DocId) -> bool {
        self.removed.contains(document.0) || self.view.marks.is_removed(document.0)
    }

    fn document(&self, id: DocId) -> Result<StoredDocument> {
        let document = match Self::added(&self.documents, id.0) {
            None => self.view.document(id)?,
            Some(bytes) => StoredDocument::recorded(DocumentRecord::decode(id.0, bytes)?),
        };
        Ok(match self.amendments.get(&id) {
            Some(Some(amendment)) => document.amended(amendment),
            _ => document,
        })
    }

    fn holders<T>(&self, content: ContentId, founder: DocId, read: impl FnOnce(&IdSet) -> T) -> Result<T> {
        match self.held.get(&content) {
            Some(held) => Ok(read(&held.set)),
            None if Self::added(&self.contents, content.0).is_some() => {
                Ok(read(&std::iter::once(founder.0).collect()))
            }
            None => Reader::holders(self.view, content, founder, read),
        }
    }
}
