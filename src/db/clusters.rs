//! `clusters`: which documents belong together.

use super::batch::Batch;
use super::clustering;
use super::database::{Database, Options};
use super::keep::Likeness;
use super::measures::measure;
use super::params::{ClusterRule, Params};
use super::reader::Reader;
use crate::error::Result;
use crate::id::{ClusterId, ContentId, DocId};
use crate::sketch::{Overlap, Sample, Sketch};
use crate::store::disk::FileDisk;
use crate::store::postings::IdSet;
use crate::store::view::View;
use crate::store::waiting::Recovering;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Members of the clusters that are formed anew in one commit, unless one alone has more.
const FORMED: u64 = 8192;

/// Documents that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The cluster.
    pub id: ClusterId,
    /// How many documents it has, copies among them.
    pub size: u64,
    /// The key of its first document.
    pub representative: String,
    /// The least resemblance of a member's text to the first one's, or to what stands for the cluster; without samples the
    /// least share that its documents are compared by. `None` when nothing can be compared.
    pub cohesion: Option<f64>,
    /// Whether it may depend on a bounded search: whether there was one since the file was made or rebuilt, as one that is cut
    /// short may leave clusters apart that belong together. It is known of the whole file, not of each cluster.
    pub bounded: bool,
    /// The contents in it.
    contents: Vec<ContentId>,
}

/// Which clusters to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterOptions {
    /// The fewest documents of a cluster, copies among them; 2 by default.
    pub min_size: u64,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        ClusterOptions { min_size: 2 }
    }
}

/// The clusters of a database at one moment.
pub struct Clusters<'d> {
    db: &'d Database,
    view: Arc<View>,
    /// Size and number of each, the largest first.
    order: Vec<(u64, ClusterId)>,
    /// What clusters that lost a member fell apart into, under a reader who may not write it down.
    parts: BTreeMap<ClusterId, IdSet>,
}

impl Database {
    /// The clusters, the largest first, of equal ones the older first. Clusters that lost a member are formed anew first, in
    /// the file unless it was opened read-only. Sizes are kept in memory, 16 bytes a cluster listed.
    pub fn clusters(&self, options: ClusterOptions) -> Result<Clusters<'_>> {
        if !self.is_read_only() {
            self.form_dirty()?;
        }
        let view = self.view();
        let (mut order, mut parts) = (Vec::new(), BTreeMap::new());
        each_cluster(self, &view, options.min_size < 2, |id, contents| {
            let size = size(&view, &contents)?;
            if size >= options.min_size {
                order.push((size, id));
                if !view.marks.dirty.is_empty() && contents.len() > 1 {
                    parts.insert(id, contents);
                }
            }
            Ok(())
        })?;
        order.sort_unstable_by_key(|&(size, id)| (std::cmp::Reverse(size), id));
        Ok(Clusters { db: self, view, order, parts })
    }

    /// Clusters that lost a member. Each is formed anew when it is next read: in the file, by a handle that may write, else
    /// for as long as nothing is written.
    pub fn unformed_clusters(&self) -> u64 {
        self.view().marks.dirty.len()
    }

    /// Forms every cluster anew that lost a member, in a file that nobody has open, so that no reader has to: whether there was
    /// one. Readers that start meanwhile wait for it.
    pub fn form_unformed_at(path: impl AsRef<Path>, options: Options) -> Result<bool> {
        let path = path.as_ref();
        let reading = Options { read_only: true, ..options.clone() };
        if Database::open(path, reading)?.unformed_clusters() == 0 {
            return Ok(false);
        }
        let _others_wait = Recovering::begin(path, &options.cancel)?;
        let db = Database::load(Arc::new(FileDisk::open_writable(path)?), options)?;
        db.form_dirty()?;
        db.close()?;
        Ok(true)
    }

    /// The cluster of a document, `None` when there is no such document.
    pub fn cluster_of(&self, key: &str) -> Result<Option<Cluster>> {
        let view = self.view_of(key)?;
        let Some((_, document)) = view.find_document(key)? else { return Ok(None) };
        let (id, contents) = self.group_of(&view, document.content)?;
        described(&view, self.params(), id, &contents).map(Some)
    }

    /// The view to look at a document in: when its cluster lost a member, after it was formed anew, if that may be done.
    pub(super) fn view_of(&self, key: &str) -> Result<Arc<View>> {
        let view = self.view();
        if self.is_read_only() || view.marks.dirty.is_empty() {
            return Ok(view);
        }
        let Some((_, document)) = view.find_document(key)? else { return Ok(view) };
        let cluster = view.cluster(document.content)?;
        if view.marks.dirty.contains(cluster.0) {
            self.form_again(vec![cluster])?;
        }
        Ok(self.view())
    }

    /// The number of the cluster of a living content.
    pub(super) fn cluster_of_content(&self, view: &View, content: ContentId) -> Result<ClusterId> {
        match view.marks.dirty.is_empty() {
            true => view.cluster(content),
            false => Ok(self.group_of(view, content)?.0),
        }
    }

    /// The cluster of a content and its living members.
    pub(super) fn group_of(&self, view: &View, content: ContentId) -> Result<(ClusterId, IdSet)> {
        let cluster = view.cluster(content)?;
        let groups = groups(self, view, cluster, members(view, cluster)?)?;
        let found = groups.into_iter().find(|(_, members)| members.contains(content.0));
        Ok(found.unwrap_or_else(|| (ClusterId(content.0), std::iter::once(content.0).collect())))
    }

    /// The contents of clusters that lost a member, and the clusters that they are in now.
    pub(super) fn parts(&self, view: &View) -> Result<BTreeMap<u64, ClusterId>> {
        let mut parts = BTreeMap::new();
        for cluster in view.marks.dirty.iter().map(ClusterId) {
            for (id, members) in groups(self, view, cluster, members(view, cluster)?)? {
                parts.extend(members.iter().map(|member| (member, id)));
            }
        }
        Ok(parts)
    }

    /// Forms every cluster anew that lost a member.
    pub(super) fn form_dirty(&self) -> Result<()> {
        let view = self.view();
        let (mut some, mut weight) = (Vec::new(), 0);
        for cluster in view.marks.dirty.iter().map(ClusterId) {
            weight += members(&view, cluster)?.len();
            some.push(cluster);
            if weight > FORMED {
                self.form_again(std::mem::take(&mut some))?;
                weight = 0;
            }
        }
        self.form_again(some)
    }

    fn form_again(&self, clusters: Vec<ClusterId>) -> Result<()> {
        if clusters.is_empty() {
            return Ok(());
        }
        self.commit(0, false, move |batch| {
            // Another thread may have formed one anew meanwhile, or put it into another.
            let dirty = clusters.iter().filter(|cluster| batch.is_dirty(**cluster)).copied();
            dirty.collect::<Vec<_>>().into_iter().try_for_each(|cluster| batch.form_again(cluster))
        })
    }
}

impl Clusters<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Calls `each` with every cluster until it breaks.
    pub fn each<B>(&self, mut each: impl FnMut(Cluster) -> ControlFlow<B>) -> Result<Option<B>> {
        for &(_, id) in &self.order {
            let contents = match self.parts.get(&id) {
                Some(part) => part.clone(),
                None if self.view.marks.dirty.is_empty() => living(&self.view, members(&self.view, id)?),
                None => std::iter::once(id.0).collect(),
            };
            let cluster = described(&self.view, self.db.params(), id, &contents)?;
            if let ControlFlow::Break(value) = each(cluster) {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Calls `each` with the key of every member of a cluster, in the order of its texts and then of its documents, until it
    /// breaks.
    pub fn members<B>(
        &self,
        cluster: &Cluster,
        each: impl FnMut(String) -> ControlFlow<B>,
    ) -> Result<Option<B>> {
        keys(&self.view, cluster, each)
    }
}

impl Database {
    /// The keys of a cluster's members, as [`Clusters::members`] gives them.
    pub fn cluster_members<B>(
        &self,
        cluster: &Cluster,
        each: impl FnMut(String) -> ControlFlow<B>,
    ) -> Result<Option<B>> {
        keys(&self.view(), cluster, each)
    }
}

fn keys<B>(
    view: &View,
    cluster: &Cluster,
    mut each: impl FnMut(String) -> ControlFlow<B>,
) -> Result<Option<B>> {
    for &content in &cluster.contents {
        // The cluster may be older than the view.
        if !view.is_alive(content) {
            continue;
        }
        for document in holders(view, content)? {
            if let ControlFlow::Break(value) = each(view.holder(content, DocId(document))?.key) {
                return Ok(Some(value));
            }
        }
    }
    Ok(None)
}

fn holders(view: &View, content: ContentId) -> Result<IdSet> {
    let Some(founder) = view.content_if_there(content, |record| Ok(DocId(record.founder)))? else {
        return Ok(IdSet::new());
    };
    view.holders(content, founder)
}

/// Everything that was put into a cluster.
fn members(view: &View, cluster: ClusterId) -> Result<IdSet> {
    let mut all: IdSet = std::iter::once(cluster.0).collect();
    for row in view.clusters.rows(cluster.0)? {
        all |= view.clusters.member_row(cluster.0, row)?;
    }
    Ok(all)
}

fn living(view: &View, mut members: IdSet) -> IdSet {
    members -= &*view.marks.dead;
    members
}

/// What clusters that lost a member fell apart into, as a view has them.
#[derive(Debug, Default)]
pub(crate) struct Formed {
    view: u64,
    groups: BTreeMap<ClusterId, Vec<(ClusterId, IdSet)>>,
}

/// The clusters that the living members of a stored one are: itself, unless it lost a member.
pub(super) fn groups(
    db: &Database,
    view: &View,
    cluster: ClusterId,
    members: IdSet,
) -> Result<Vec<(ClusterId, IdSet)>> {
    let alive = living(view, members);
    if !view.marks.dirty.contains(cluster.0) {
        return Ok(vec![(cluster, alive)]);
    }
    // Nothing of this is written: a verb that may write forms it anew in the file. What is formed stands for as long as the view.
    let mut formed = db.formed();
    if formed.view != view.number() {
        *formed = Formed { view: view.number(), groups: BTreeMap::new() };
    }
    if let Some(groups) = formed.groups.get(&cluster) {
        return Ok(groups.clone());
    }
    let mut batch = Batch::new(view, db.params(), db.indexing(), false);
    batch.form_again(cluster)?;
    let mut groups: BTreeMap<ClusterId, IdSet> = BTreeMap::new();
    for member in &alive {
        groups.entry(batch.cluster(ContentId(member))?).or_default().insert(member);
    }
    let groups: Vec<(ClusterId, IdSet)> = groups.into_iter().collect();
    formed.groups.insert(cluster, groups.clone());
    Ok(groups)
}

/// Calls `each` with every cluster that has a living member, those of one content among them if `alone`.
pub(super) fn each_cluster(
    db: &Database,
    view: &View,
    alone: bool,
    mut each: impl FnMut(ClusterId, IdSet) -> Result<()>,
) -> Result<()> {
    let mut clustered = IdSet::new();
    view.clusters.each(|cluster, members| {
        clustered |= &members;
        for (id, members) in groups(db, view, cluster, members)? {
            if !members.is_empty() {
                each(id, members)?;
            }
        }
        Ok(())
    })?;
    // A text of several keys is a cluster too.
    let mut of_one = |content: u64| match clustered.contains(content) || view.marks.is_dead(content) {
        true => Ok(()),
        false => each(ClusterId(content), std::iter::once(content).collect()),
    };
    match alone {
        true => view.contents_from(0, |id, _| of_one(id)),
        false => view.each_held(&mut of_one),
    }
}

/// How many documents hold these contents.
fn size(view: &View, contents: &IdSet) -> Result<u64> {
    contents.iter().map(|content| Ok(holders(view, ContentId(content))?.len())).sum()
}

fn described(view: &View, params: &Params, id: ClusterId, contents: &IdSet) -> Result<Cluster> {
    let size = size(view, contents)?;
    let contents: Vec<ContentId> = contents.iter().map(ContentId).collect();
    let mut representative = String::new();
    if let Some(&content) = contents.first()
        && let Some(first) = holders(view, content)?.min()
    {
        representative = view.holder(content, DocId(first))?.key;
    }
    let cohesion = cohesion(view, params, id, &contents)?;
    let bounded = view.counters.bounded > 0;
    Ok(Cluster { id, size, representative, cohesion, bounded, contents })
}

fn cohesion(view: &View, params: &Params, id: ClusterId, contents: &[ContentId]) -> Result<Option<f64>> {
    let Some(&first) = contents.first() else { return Ok(None) };
    let least = |least: Option<f64>, share: f64| Some(least.map_or(share, |least| least.min(share)));
    if let Some(representative) = clustering::representative(&view.clusters, id)? {
        return contents.iter().try_fold(None, |so_far, &content| {
            let sample = view.content(content, |record| record.sample.map(Sample::decode).transpose())?;
            let share = sample.and_then(|sample| Overlap::of(&sample, &representative.sample).resemblance());
            Ok(share.map_or(so_far, |share| least(so_far, share)))
        });
    }
    // Of a greedy cluster its founder, though it may be dead, is what the others were compared to.
    let top = match params.clusters {
        ClusterRule::Greedy => ContentId(id.0),
        ClusterRule::Components => first,
    };
    let sketch = view.content(top, |record| Sketch::of_record(params.sketch.id(), record))?;
    let likeness = Likeness::of(params);
    contents.iter().try_fold(None, |so_far, &content| {
        let share = likeness.share(&measure(view, &sketch, content)?);
        Ok(share.or((content == top).then_some(1.0)).map_or(so_far, |share| least(so_far, share)))
    })
}
