//! Salvaging: a new file from every record of a damaged one that is still whole, with a list of what is lost.

use super::add::check_key;
use super::copy::{Postings, Progress, complete, post_content, write_anew};
use super::database::{Database, Options, check_known_answer};
use super::params::Params;
use super::verify::check_sketches;
use crate::error::{Error, Result};
use crate::id::{ContentId, DatabaseId};
use crate::index::indexing::Indexing;
use crate::index::term::Term;
use crate::store::beside;
use crate::store::build::Builder;
use crate::store::disk::Disk;
use crate::store::document::StoredDocument;
use crate::store::frame::Kind;
use crate::store::postings::IdSet;
use crate::store::record::{ContentRecord, Counters, DocumentRecord};
use crate::store::remains::Remains;
use crate::store::salvage::{Frames, scan};
use crate::store::sort::Sorter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was saved of a damaged file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Documents in the new file.
    pub documents: u64,
    /// Contents in the new file.
    pub contents: u64,
    /// Keys whose record is there and whose text's sketches are lost: add those texts again.
    pub lost_keys: Vec<String>,
    /// Documents whose record is lost too: their keys are not known. At most so many; what was removed and compacted away
    /// cannot be told from them. `None` when it cannot be told, because the changes are not known.
    pub lost_documents: Option<u64>,
    /// Whether what changed since documents were added could be read: new texts, last-seen times, removals. Without it,
    /// documents are as they were first added, and removed ones are back.
    pub changes_known: bool,
    /// Places that looked like a long record and were not read, after too many that looked so and were none: what is lost
    /// there is not counted.
    pub passed_over: u64,
    /// Where the damaged file is kept, when anything in it is lost.
    pub damaged: Option<PathBuf>,
}

impl Salvaged {
    /// Whether anything is lost.
    pub fn is_lossy(&self) -> bool {
        !self.lost_keys.is_empty()
            || self.lost_documents != Some(0)
            || self.passed_over > 0
            || !self.changes_known
    }
}

impl Database {
    /// Writes every whole record of a damaged file beside it, with index and clusters made from the sketches, and puts that
    /// in its place.
    pub fn salvage(path: impl AsRef<Path>, options: Options, progress: Progress) -> Result<Salvaged> {
        let path = path.as_ref();
        // It is never written to, and all of it is read.
        let disk = options.cancel.over(options.patience().open_writable(path)?);
        let mut salvaged = Salvaged::default();
        let replaced = beside::replace(path, |new| {
            salvaged = Self::salvage_onto(disk.clone(), options.cancel.over(new), options.memory, progress)?;
            if salvaged.is_lossy() {
                salvaged.damaged = Some(beside::keep_another_name(path, "damaged")?);
            }
            Ok(())
        });
        options.cancel.outcome(replaced).map(|()| salvaged)
    }

    /// Writes every whole record of a damaged database to an empty medium.
    pub fn salvage_onto(
        damaged: Arc<dyn Disk>,
        disk: Arc<dyn Disk>,
        memory: usize,
        progress: Progress,
    ) -> Result<Salvaged> {
        progress("search for records", 0, 1);
        let found = Found::of(&damaged, memory)?;
        let mut salvaging = found.salvaging(&*damaged, memory)?;
        let counted = found.remains.counters().unwrap_or_default();
        let before = Counters { epoch: found.frames.epoch, bounded: 0, ..counted };
        write_anew(&disk, &found.params, found.id, &before, memory, |builder| salvaging.copy(builder))?;
        let salvaged = salvaging.salvaged;
        if salvaged.documents == 0 && salvaged.lost_keys.is_empty() && salvaged.lost_documents != Some(0) {
            return Err(Error::Lost("no document in it is whole".into()));
        }
        let copy = Database::open_on(disk.clone(), Options { memory, ..Options::default() })?;
        copy.form_clusters(progress)?;
        complete(copy, &disk, memory, progress)?;
        Ok(salvaged)
    }
}

/// Counts the contents and documents of a damaged database that salvaging saves.
pub(super) fn count_saved(damaged: &Arc<dyn Disk>, memory: usize) -> Result<(u64, u64)> {
    Found::of(damaged, memory)?.salvaging(&**damaged, memory)?.count()
}

/// What can be read of a damaged database.
struct Found {
    frames: Frames,
    remains: Remains,
    params: Params,
    id: DatabaseId,
}

impl Found {
    fn of(damaged: &Arc<dyn Disk>, memory: usize) -> Result<Self> {
        let frames = scan(&**damaged)?;
        let lost = || Error::Lost("its parameters are lost, without which nothing in it can be read".into());
        let params = Params::from_json(frames.params.as_ref().ok_or_else(lost)?)?;
        let id = frames.database.ok_or_else(lost)?;
        let remains = Remains::of(damaged.clone(), memory / 4);
        remains.known_answer().map_or(Ok(()), |found| check_known_answer(&params, found))?;
        Ok(Found { frames, remains, params, id })
    }

    fn salvaging<'s>(&'s self, damaged: &'s dyn Disk, memory: usize) -> Result<Salvaging<'s>> {
        let Found { frames, remains, params, .. } = self;
        let salvaged = Salvaged {
            changes_known: remains.is_whole(),
            passed_over: frames.passed_over,
            ..Salvaged::default()
        };
        Ok(Salvaging { damaged, frames, remains, indexing: params.indexing()?, params, memory, salvaged })
    }
}

struct Salvaging<'s> {
    damaged: &'s dyn Disk,
    frames: &'s Frames,
    remains: &'s Remains,
    indexing: Indexing,
    params: &'s Params,
    memory: usize,
    salvaged: Salvaged,
}

impl Salvaging<'_> {
    fn copy(&mut self, builder: &mut Builder) -> Result<Postings<'static>> {
        let (twice, whole) = (self.keys_given_twice()?, self.whole_contents()?);
        let mut postings = Sorter::new(self.memory / 4);
        let mut held = Sorter::<2>::new(self.memory / 8);
        let mut lost_keys = Vec::new();
        self.documents(|id, document| {
            if twice.contains(id) {
                return Ok(());
            }
            if !whole.contains(document.content.0) {
                lost_keys.push(document.key);
                return Ok(());
            }
            held.push([document.content.0, id])
        })?;
        self.contents(builder, held, &mut postings)?;
        let mut documents = 0;
        self.documents(|id, document| {
            if twice.contains(id) || !whole.contains(document.content.0) {
                return Ok(());
            }
            documents += 1;
            postings.push([Indexing::key(&document.key).bits(), id])?;
            builder.document(id, &document.record())
        })?;
        let given = self.remains.counters().map_or(0, |counters| counters.documents);
        self.salvaged.documents = documents;
        self.salvaged.contents = builder.counters.contents;
        let lost = given.saturating_sub(documents + lost_keys.len() as u64);
        self.salvaged.lost_documents = self.remains.is_whole().then_some(lost);
        self.salvaged.lost_keys = lost_keys;
        Ok(Postings::Sorted(postings))
    }

    /// Counts the contents and documents that [`Salvaging::copy`] copies.
    fn count(&self) -> Result<(u64, u64)> {
        let (twice, whole) = (self.keys_given_twice()?, self.whole_contents()?);
        let (mut held, mut documents) = (IdSet::new(), 0);
        self.documents(|id, document| {
            if !twice.contains(id) && whole.contains(document.content.0) {
                held.insert(document.content.0);
                documents += 1;
            }
            Ok(())
        })?;
        Ok((held.len(), documents))
    }

    /// The contents whose newest record can be read.
    fn whole_contents(&self) -> Result<IdSet> {
        let mut whole = IdSet::new();
        self.frames.records(self.damaged, Kind::Contents, self.memory / 8, |id, record| {
            if self.readable(id, record).is_some() {
                whole.insert(id);
            }
            Ok(())
        })?;
        Ok(whole)
    }

    /// A content whose record and sketches are what the parameters say.
    fn readable<'r>(&self, id: u64, record: &'r [u8]) -> Option<ContentRecord<'r>> {
        let record = ContentRecord::decode(id, record).ok()?;
        check_sketches(self.params, &record).ok().map(|()| record)
    }

    /// Every document that was not removed, as far as that is known, in its newest state.
    fn documents(&self, mut each: impl FnMut(u64, StoredDocument) -> Result<()>) -> Result<()> {
        self.frames.records(self.damaged, Kind::Documents, self.memory / 8, |id, record| {
            // A record that cannot be read is lost, and harms no other.
            let Ok(record) = DocumentRecord::decode(id, record) else { return Ok(()) };
            match self.remains.newest(id, StoredDocument::recorded(record)) {
                Some(document) if check_key(&document.key).is_ok() => each(id, document),
                _ => Ok(()),
            }
        })
    }

    /// Documents whose key a later one has: they were removed before that was added.
    fn keys_given_twice(&self) -> Result<IdSet> {
        let mut keys = Sorter::<3>::new(self.memory / 8);
        self.documents(|id, document| {
            let [high, low] = Term::wide_of_key(&document.key);
            keys.push([high, low, id])
        })?;
        let (mut last, mut twice): (Option<[u64; 3]>, IdSet) = (None, IdSet::new());
        for key in keys.finish()? {
            let key = key?;
            if let Some(earlier) = last.replace(key).filter(|earlier| earlier[..2] == key[..2]) {
                twice.insert(earlier[2]);
            }
        }
        Ok(twice)
    }

    /// Copies the contents that documents hold.
    fn contents(&self, builder: &mut Builder, held: Sorter<2>, postings: &mut Sorter<2>) -> Result<()> {
        let mut held = held.finish()?.peekable();
        self.frames.records(self.damaged, Kind::Contents, self.memory / 8, |id, bytes| {
            let Some(record) = self.readable(id, bytes) else { return Ok(()) };
            let mut holders = IdSet::new();
            while let Some(pair) = held.next_if(|pair| pair.as_ref().map_or(true, |pair| pair[0] <= id)) {
                let [content, document] = pair?;
                if content == id {
                    holders.insert(document);
                }
            }
            let Some(founder) = holders.min() else { return Ok(()) };
            builder.content(ContentId(id), &ContentRecord { founder, ..record.clone() })?;
            builder.hold(ContentId(id), holders)?;
            post_content(&self.indexing, &record, |address| postings.push([address.bits(), id]))
        })
    }
}
