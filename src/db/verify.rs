//! `verify`: whether a file is what was written, and whether its parts agree.

use super::clustering;
use super::copy::derived;
use super::database::{Database, Options};
use super::params::Params;
use super::reader::Reader;
use super::salvage::count_saved;
use crate::error::{Error, Result};
use crate::id::{ClusterId, ContentId, DocId};
use crate::index::term::Address;
use crate::sketch::{EditSignature, Sample};
use crate::store::disk::Disk;
use crate::store::postings::IdSet;
use crate::store::record::ContentRecord;
use crate::store::seals;
use crate::store::sort::{Sorted, Sorter};
use crate::store::view::View;
use std::path::Path;
use std::sync::Arc;

/// The most places that are named; all are counted.
const NAMED: usize = 1000;

/// A place where a file is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The place.
    pub at: String,
    /// What is wrong there.
    pub what: String,
}

/// What a look at a whole file found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Pages of 4 KiB whose seals were checked.
    pub pages: u64,
    /// Living documents that were checked.
    pub documents: u64,
    /// Living contents that were checked.
    pub contents: u64,
    /// Index entries that were read.
    pub entries: u64,
    /// Clusters of several contents that were checked.
    pub clusters: u64,
    /// Whether the index was derived again from the sketches and compared.
    pub deep: bool,
    /// Places that are wrong, up to 1,000 of them.
    pub damage: Vec<Damage>,
    /// How many places are wrong.
    pub damaged: u64,
    /// Contents and documents of a damaged file that [`Database::salvage`] saves.
    pub intact: Option<(u64, u64)>,
}

impl Verified {
    fn damage(&mut self, at: impl ToString, what: impl ToString) {
        self.damaged += 1;
        if self.damage.len() < NAMED {
            self.damage.push(Damage { at: at.to_string(), what: what.to_string() });
        }
    }

    /// Notes a failure that is damage; others, such as a disk that cannot be read, end the look. A handle that met damage
    /// reads nothing more: then what the seals say is all there is to say.
    fn note(&mut self, result: Result<()>) -> Result<()> {
        match result {
            Err(Error::Corrupt { at, what }) => {
                // A page that a reader met was named when all were looked at.
                if self.damage.iter().all(|named| named.at != at || named.what != what) {
                    self.damage(at, what);
                }
                Ok(())
            }
            // The store reads nothing more after the first page that it could not read, which was noted.
            Err(Error::Failed(_)) if self.damaged > 0 => Ok(()),
            other => other,
        }
    }
}

impl Database {
    /// Looks at a whole file, also at one that cannot be opened. `deep`: derives the index again and compares.
    pub fn verify_at(path: impl AsRef<Path>, options: Options, deep: bool) -> Result<Verified> {
        let (options, memory) = (Options { read_only: true, ..options }, options.memory);
        let disk: Arc<dyn Disk> = Arc::new(options.patience().open_read_only(path.as_ref())?);
        match Database::load(disk.clone(), options) {
            Ok(db) => db.verify(deep),
            Err(error @ Error::Corrupt { .. }) => {
                let mut verified = Verified { deep, ..Verified::default() };
                verified.check_seals(&disk)?;
                verified.note(Err(error))?;
                verified.count_intact(&disk, memory)?;
                Ok(verified)
            }
            Err(error) => Err(error),
        }
    }

    /// Looks at the whole file: every seal, every record, every block, counts, holders, clusters. `deep`: derives the index
    /// again from the sketches and compares, with temporary files when it does not fit into memory. Writers wait while the
    /// seals are looked at.
    pub fn verify(&self, deep: bool) -> Result<Verified> {
        let view = self.view();
        let mut verified = Verified { deep, ..Verified::default() };
        let disk = self.shared_disk();
        {
            // Pages lie below every view: one that is just being written would look damaged, and so would those whose seals
            // wait for the next sync.
            let _nobody_commits = self.commits().state();
            if !self.is_read_only() {
                self.file().write_seals()?;
            }
            verified.check_seals(&disk)?;
        }
        let mut living = IdSet::new();
        let checked = verified.check_contents(self, &view, &mut living);
        verified.note(checked)?;
        let checked = verified.check_documents(self, &view, &living);
        verified.note(checked)?;
        let checked = verified.check_runs(&view);
        verified.note(checked)?;
        let checked = verified.check_clusters(&view);
        verified.note(checked)?;
        if deep {
            let checked = verified.check_derived(self, &view);
            verified.note(checked)?;
        }
        if verified.damaged > 0 {
            verified.count_intact(&disk, self.memory())?;
        }
        Ok(verified)
    }
}

impl Verified {
    fn check_seals(&mut self, disk: &Arc<dyn Disk>) -> Result<()> {
        let checked = seals::check_all(disk.clone(), &mut |broken| {
            self.damage(format!("page at byte {}", broken.at), broken.what)
        });
        self.pages = checked?;
        Ok(())
    }

    /// Counts what salvaging saves: nothing of a file that it refuses.
    fn count_intact(&mut self, disk: &Arc<dyn Disk>, memory: usize) -> Result<()> {
        self.intact = Some(match count_saved(disk, memory) {
            Err(Error::Lost(_) | Error::Corrupt { .. } | Error::Incompatible { .. }) => (0, 0),
            counted => counted?,
        });
        Ok(())
    }

    fn check_contents(&mut self, db: &Database, view: &View, living: &mut IdSet) -> Result<()> {
        let mut last: Option<u64> = None;
        view.contents_from(0, |id, record| {
            if last.replace(id).is_some_and(|last| last >= id) {
                self.damage(format!("content {id}"), "its number does not ascend");
            }
            if !view.is_alive(ContentId(id)) {
                return Ok(());
            }
            living.insert(id);
            self.contents += 1;
            match check_sketches(db.params(), &record) {
                Err(Error::Corrupt { at, what }) => {
                    self.damage(format!("content {id}"), format!("{at}: {what}"))
                }
                other => other?,
            }
            Ok(())
        })?;
        let counters = &view.counters;
        if self.contents != counters.contents {
            self.damage(
                "contents",
                format!("there are {}, counted were {}", self.contents, counters.contents),
            );
        }
        if last.is_some_and(|last| last >= counters.next_content) {
            self.damage("contents", "there are more than the counters know");
        }
        Ok(())
    }

    /// Joins contents with the documents that say that they hold them: both are read once, in order.
    fn check_documents(&mut self, db: &Database, view: &View, living: &IdSet) -> Result<()> {
        let mut there = IdSet::new();
        let mut claims = Sorter::<2>::new(db.memory() / 8);
        view.living_documents(0, |id, document| {
            self.documents += 1;
            there.insert(id.0);
            claims.push([document.content.0, id.0]).map(|()| true)
        })?;
        view.each_amended(&mut |id| {
            if !there.contains(id) {
                self.damage(format!("row {id} of amendments"), "there is no such document");
            }
        })?;
        let mut shared = IdSet::new();
        view.each_held(&mut |content| {
            shared.insert(content);
            if !living.contains(content) {
                self.damage(format!("holders of content {content}"), "there is no such content");
            }
            Ok(())
        })?;
        let mut claims = Claims { sorted: claims.finish()?, next: None };
        let mut held = 0;
        view.contents_from(0, |id, record| {
            claims.below(id.into(), |claim| self.unknown(claim))?;
            if !living.contains(id) {
                return Ok(());
            }
            let founder = DocId(record.founder);
            // Read once for all who say that they hold it: they may be a million.
            let holders: IdSet = match shared.contains(id) {
                true => view.holders(ContentId(id), founder)?,
                false => std::iter::once(founder.0).collect(),
            };
            held += holders.len();
            let mut claimed = 0;
            claims.below(u128::from(id) + 1, |[content, document]| match holders.contains(document) {
                true => {
                    claimed += 1;
                    Ok(())
                }
                false => self.unknown([content, document]),
            })?;
            if claimed == 0 {
                self.damage(format!("content {id}"), "it is not marked dead, and nobody holds it");
            }
            Ok(())
        })?;
        claims.below(u128::MAX, |claim| self.unknown(claim))?;
        let counted = view.counters.documents;
        if (self.documents, held) != (counted, counted) {
            self.damage(
                "documents",
                format!("there are {}, held are {held}, counted were {counted}", self.documents),
            );
        }
        Ok(())
    }

    fn unknown(&mut self, [content, document]: [u64; 2]) -> Result<()> {
        self.damage(format!("document {document}"), format!("content {content} does not know it"));
        Ok(())
    }

    fn check_runs(&mut self, view: &View) -> Result<()> {
        for run in &view.runs {
            let checked = run.check();
            match checked {
                Ok(entries) => self.entries += entries,
                Err(error) => self.note(Err(error))?,
            }
        }
        Ok(())
    }

    fn check_clusters(&mut self, view: &View) -> Result<()> {
        let (mut below, mut members_below) = (0u64, 0u64);
        view.clusters.each_parent(|content, parent| {
            below += 1;
            if parent >= content || content >= view.counters.next_content {
                self.damage(format!("cluster of content {content}"), "its parent is not older");
            }
            Ok(())
        })?;
        view.clusters.each(|cluster, members| {
            self.clusters += 1;
            members_below += members.len().saturating_sub(1);
            let mut astray = members.iter().filter_map(|member| match view.cluster(ContentId(member)) {
                Ok(of) if of == cluster => None,
                Ok(_) => Some(Ok(member)),
                Err(error) => Some(Err(error)),
            });
            match astray.next().transpose()? {
                Some(member) => {
                    self.damage(format!("cluster {cluster}"), format!("content {member} is in another"))
                }
                None if members.min() != Some(cluster.0) => {
                    self.damage(format!("cluster {cluster}"), "its first member is another")
                }
                None => {}
            }
            Ok(())
        })?;
        view.clusters.each_represented(|cluster| {
            clustering::representative(&view.clusters, ClusterId(cluster))?;
            if view.cluster(ContentId(cluster))?.0 != cluster {
                self.damage(format!("row {cluster} of representatives"), "there is no such cluster");
            }
            Ok(())
        })?;
        if below != members_below {
            self.damage("clusters", format!("{below} contents have a parent, {members_below} are members"));
        }
        Ok(())
    }

    fn check_derived(&mut self, db: &Database, view: &View) -> Result<()> {
        let mut derived =
            derived(view, db.params().keep_sketches, db.indexing(), db.memory() / 4, db.cancel())?
                .finish()?
                .peekable();
        let name = |[address, id]: [u64; 2]| format!("posting {address:012x} of {id}");
        let mut last = None;
        view.walk(Address::from_bits(0), |address, id| {
            let stored = [address.bits(), id];
            // A term may come twice from one content.
            if last.replace(stored) == Some(stored) {
                return Ok(true);
            }
            while let Some(expected) = derived.next_if(|next| next.as_ref().is_ok_and(|next| *next < stored))
            {
                self.damage(name(expected?), "the index lacks it");
            }
            match derived
                .next_if(|next| next.as_ref().is_err() || next.as_ref().is_ok_and(|next| *next == stored))
            {
                Some(Err(error)) => return Err(error),
                Some(Ok(_)) => {}
                None => self.damage(name(stored), "no sketch gives it"),
            }
            Ok(true)
        })?;
        for expected in derived {
            self.damage(name(expected?), "the index lacks it");
        }
        Ok(())
    }
}

/// Contents with documents that say that they hold them, ascending.
struct Claims {
    sorted: Sorted<2>,
    next: Option<[u64; 2]>,
}

impl Claims {
    /// Gives `take` those of contents below `end` that are left.
    fn below(&mut self, end: u128, mut take: impl FnMut([u64; 2]) -> Result<()>) -> Result<()> {
        loop {
            let next = match self.next.take() {
                None => self.sorted.next().transpose()?,
                next => next,
            };
            match next {
                Some(claim) if u128::from(claim[0]) < end => take(claim)?,
                next => {
                    self.next = next;
                    return Ok(());
                }
            }
        }
    }
}

/// Whether the sketches of a record are what the parameters say.
pub(super) fn check_sketches(params: &Params, record: &ContentRecord) -> Result<()> {
    let wrong = |what| Err(Error::corrupt("sketches", what));
    let sample = record.sample.map(Sample::decode).transpose()?;
    record.edit.map(EditSignature::decode).transpose()?;
    let params = &params.sketch;
    if sample.is_some_and(|sample| sample.values().len() > params.sample) {
        return wrong("its sample has more values than the parameters say");
    }
    match record.signature {
        Some(signature) if signature.len() != 2 * params.minhashes => {
            wrong("its signature is not of as many entries as the parameters say")
        }
        _ => Ok(()),
    }
}
