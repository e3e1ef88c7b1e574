//! A database written anew into another file: living records, one run, clusters. Compaction and rebuilding are this.

use super::batch::Batch;
use super::clustering::{self, Representative};
use super::clusters::each_cluster;
use super::database::{Database, Options, with_birth_of};
use super::keep::Kept;
use super::params::{ClusterRule, Params};
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::{ClusterId, ContentHash, ContentId, DatabaseId};
use crate::index::indexing::{Indexed, Indexing};
use crate::index::term::Address;
use crate::sketch::{Sample, Signature, Simhash};
use crate::store::build::Builder;
use crate::store::cancel::Cancel;
use crate::store::disk::Disk;
use crate::store::file::StoreFile;
use crate::store::postings::IdSet;
use crate::store::record::{ContentRecord, Counters};
use crate::store::sort::Sorter;
use crate::store::view::View;
use std::sync::Arc;

/// How far a long piece of work has come: what is done now, how much of it, of how much.
pub type Progress<'p> = &'p mut dyn FnMut(&'static str, u64, u64);

/// Contents whose clusters are formed in one commit.
const FORMED: usize = 4096;

/// Where index and clusters of a copy come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The index and the clusters that are there.
    Stored,
    /// The sketches.
    Sketches,
}

impl Database {
    /// Writes what lives in this database to an empty medium, with these parameters. How many searches that formed its clusters
    /// were bounded: none where they are kept, with the count that there was.
    pub(super) fn copy_onto(
        &self,
        disk: &Arc<dyn Disk>,
        params: &Params,
        source: Source,
        memory: usize,
        progress: Progress,
    ) -> Result<u64> {
        if !self.is_read_only() {
            self.form_dirty()?;
        }
        let view = self.view();
        let before = match source {
            Source::Stored => view.counters,
            Source::Sketches => Counters { bounded: 0, ..view.counters },
        };
        write_anew(disk, params, self.file().id(), &before, memory, |builder| {
            copy_records(&view, params, builder, self.cancel(), progress)?;
            let postings = match source {
                Source::Stored => Postings::Stored(&view),
                Source::Sketches => Postings::Sketches(&view, self.cancel()),
            };
            Ok(postings)
        })?;
        let copy = Database::open_on(disk.clone(), Options { memory, ..Options::default() })?;
        let bounded = match source {
            Source::Stored => self.keep_clusters(&view, &copy).map(|()| 0)?,
            Source::Sketches => copy.form_clusters(progress)?,
        };
        complete(copy, disk, memory, progress)?;
        Ok(bounded)
    }

    /// Puts the clusters of another database into a copy of it.
    fn keep_clusters(&self, view: &View, copy: &Database) -> Result<()> {
        let mut waiting: Vec<(ClusterId, IdSet)> = Vec::new();
        let mut weight = 0;
        each_cluster(self, view, false, |id, members| {
            if members.len() > 1 {
                weight += members.len();
                waiting.push((id, members));
            }
            if weight > FORMED as u64 {
                weight = 0;
                let some = std::mem::take(&mut waiting);
                copy.take_clusters(view, some)?;
            }
            Ok(())
        })?;
        copy.take_clusters(view, waiting)
    }

    fn take_clusters(&self, view: &View, clusters: Vec<(ClusterId, IdSet)>) -> Result<()> {
        let mut adopted = Vec::with_capacity(clusters.len());
        for (id, members) in clusters {
            adopted.push((id, members, clustering::representative(&view.clusters, id)?));
        }
        self.adopt_clusters(adopted)
    }

    /// Makes clusters of another database clusters of this one, whose contents have the same numbers.
    pub(super) fn adopt_clusters(
        &self,
        clusters: Vec<(ClusterId, IdSet, Option<Representative>)>,
    ) -> Result<()> {
        let greedy = self.params().clusters == ClusterRule::Greedy;
        self.commit(0, false, move |batch| {
            for (id, members, representative) in clusters {
                // Without what its members were compared to, a greedy cluster is formed anew.
                if greedy && !members.contains(id.0) {
                    for member in &members {
                        batch.form_of_stored(ContentId(member), Some(&members))?;
                    }
                    continue;
                }
                batch.adopt(&members)?;
                if let Some(representative) = representative {
                    batch.clustering.set_representative(id, representative);
                }
            }
            Ok(())
        })
    }

    /// Forms all clusters from the sketches, in the order in which the contents were stored: how many searches were
    /// bounded, which the file counts.
    pub(super) fn form_clusters(&self, progress: Progress) -> Result<u64> {
        let view = self.view();
        let mut waiting = Vec::new();
        let (mut formed, mut bounded) = (0, 0);
        let mut form = |waiting: &mut Vec<ContentId>| {
            formed += waiting.len() as u64;
            progress("form clusters", formed, view.counters.contents);
            let some = std::mem::take(waiting);
            bounded += self.commit(0, false, move |batch| {
                let mut bounded = 0;
                for &content in &some {
                    bounded += u64::from(batch.form_of_stored(content, None)?);
                }
                batch.counters.bounded += bounded;
                Ok(bounded)
            })?;
            Ok(())
        };
        view.contents_from(0, |id, _| {
            if view.is_alive(ContentId(id)) {
                waiting.push(ContentId(id));
            }
            if waiting.len() < FORMED { Ok(()) } else { form(&mut waiting) }
        })?;
        form(&mut waiting)?;
        Ok(bounded)
    }
}

/// The error for a file that redb closed in silence, and not in order.
pub(super) fn not_closed(name: impl std::fmt::Display) -> Error {
    let unknown =
        "something could not be written; look at the room and the health of its disk and run it again";
    Error::io(format!("close {name}"), std::io::Error::other(unknown))
}

/// Closes a new file, makes it as small as its content and looks at all of it.
pub(super) fn complete(
    copy: Database,
    disk: &Arc<dyn Disk>,
    memory: usize,
    progress: Progress,
) -> Result<()> {
    copy.close()?;
    progress("tighten the file", 0, 0);
    StoreFile::tighten(Box::new(disk.clone()), memory / 2)?;
    progress("verify", 0, 0);
    let options = Options { memory, read_only: true, ..Options::default() };
    let copy = Database::open_on(disk.clone(), options)?;
    if copy.file().was_recovered() {
        return Err(not_closed(format!("the new file for {}", disk.name())));
    }
    let verified = copy.verify(false)?;
    match verified.damage.first() {
        None => Ok(()),
        Some(damage) => Err(Error::corrupt(&damage.at, &damage.what)),
    }
}

impl Batch<'_> {
    /// Makes contents that are one cluster elsewhere one here.
    fn adopt(&mut self, members: &IdSet) -> Result<()> {
        let Some(first) = members.min() else { return Ok(()) };
        members
            .iter()
            .skip(1)
            .try_for_each(|member| self.unite(ContentId(first), ContentId(member)).map(|_| ()))
    }
}

/// What the index of a new file is made of.
pub(super) enum Postings<'v> {
    /// The index of another.
    Stored(&'v View),
    /// The records of another, while nobody cancels it.
    Sketches(&'v View, &'v Cancel),
    /// Postings that were collected while the records came.
    Sorted(Sorter<2>),
}

/// Makes a database on an empty medium: `records` puts its records in and says where the index is.
pub(super) fn write_anew<'v>(
    disk: &Arc<dyn Disk>,
    params: &Params,
    id: DatabaseId,
    before: &Counters,
    memory: usize,
    records: impl FnOnce(&mut Builder) -> Result<Postings<'v>>,
) -> Result<()> {
    let indexing = params.indexing()?;
    let file =
        with_birth_of(params, id, |birth| StoreFile::create_on(Box::new(disk.clone()), birth, memory / 2))?;
    let counters = Counters { epoch: before.epoch.wrapping_add(1), ..*before };
    let mut builder = Builder::new(&file, &counters);
    let sorter = match records(&mut builder)? {
        Postings::Stored(view) => return walked(builder, &indexing, view),
        Postings::Sketches(view, cancel) => {
            derived(view, params.keep_sketches, &indexing, memory / 4, cancel)?
        }
        Postings::Sorted(sorter) => sorter,
    };
    let postings =
        sorter.finish()?.map(|posting| posting.map(|[address, id]| (Address::from_bits(address), id)));
    builder.index(indexing.prefixes(), postings).map(|_| ())
}

/// Writes the index of a view as it is walked over.
fn walked(builder: Builder, indexing: &Indexing, view: &View) -> Result<()> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(64);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut some = Vec::with_capacity(4096);
            let walked = view.walk(Address::from_bits(0), |address, id| {
                some.push(Ok((address, id)));
                // Whoever reads may have given up.
                Ok(some.len() < 4096 || sender.send(std::mem::take(&mut some)).is_ok())
            });
            some.extend(walked.err().map(Err));
            let _ = sender.send(some);
        });
        builder.index(indexing.prefixes(), receiver.into_iter().flatten()).map(|_| ())
    })
}

/// Every posting of the living records of a view, made from those of their sketches that are kept.
pub(super) fn derived(
    view: &View,
    kept: Kept,
    indexing: &Indexing,
    memory: usize,
    cancel: &Cancel,
) -> Result<Sorter<2>> {
    let mut sorter = Sorter::new(memory);
    view.contents_from(0, |id, record| {
        cancel.check()?;
        match view.is_alive(ContentId(id)) {
            true => post_content(indexing, &only(kept, record), |address| sorter.push([address.bits(), id])),
            false => Ok(()),
        }
    })?;
    view.living_documents(0, |id, document| {
        sorter.push([Indexing::key(&document.key).bits(), id.0])?;
        Ok(true)
    })?;
    Ok(sorter)
}

/// Calls `post` with every address of a stored content.
pub(super) fn post_content(
    indexing: &Indexing,
    record: &ContentRecord,
    post: impl FnMut(Address) -> Result<()>,
) -> Result<()> {
    let (hash, signature) = (ContentHash(record.hash), record.signature.map(Signature::decode));
    let sample = match indexing.containment {
        true => record.sample.map(Sample::decode).transpose()?,
        false => None,
    };
    let indexed = Indexed {
        hash: &hash,
        sample: sample.as_ref(),
        signature: signature.as_ref(),
        simhash: record.simhash.map(Simhash),
    };
    indexing.addresses(indexed).try_for_each(post)
}

/// A record with those of its sketches that are kept.
fn only(kept: Kept, record: ContentRecord) -> ContentRecord {
    ContentRecord {
        sample: record.sample.filter(|_| kept.sample),
        signature: record.signature.filter(|_| kept.signature),
        simhash: record.simhash.filter(|_| kept.simhash),
        edit: record.edit.filter(|_| kept.edit),
        ..record
    }
}

/// Copies the living records; of sketches, those that are to be kept.
fn copy_records(
    view: &View,
    params: &Params,
    builder: &mut Builder,
    cancel: &Cancel,
    progress: Progress,
) -> Result<()> {
    let kept = params.keep_sketches;
    let (mut done, all) = (0, view.counters.contents + view.counters.documents);
    let mut step = || {
        done += 1;
        if done % 4096 == 0 {
            progress("copy records", done, all);
        }
    };
    view.contents_from(0, |id, record| {
        cancel.check()?;
        let content = ContentId(id);
        if !view.is_alive(content) {
            return Ok(());
        }
        step();
        let holders = view.holders(content, crate::id::DocId(record.founder))?;
        let founder = holders.min().unwrap_or(record.founder);
        builder.content(content, &ContentRecord { founder, ..only(kept, record) })?;
        builder.hold(content, holders)
    })?;
    view.living_documents(0, |id, document| {
        cancel.check()?;
        step();
        builder.document(id.0, &document.record()).map(|()| true)
    })
}
