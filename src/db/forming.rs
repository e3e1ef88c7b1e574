//! Which cluster a content belongs to: the rules, applied when it is added and again when a cluster is formed anew.

use super::batch::Batch;
use super::candidate::{Candidates, Search};
use super::clustering::Representative;
use super::keep::Likeness;
use super::params::{ClusterRule, RepresentativeRule};
use super::reader::Reader;
use crate::error::Result;
use crate::id::{ClusterId, ContentId};
use crate::sketch::{Overlap, Sample, Sketch};
use crate::store::postings::IdSet;
use crate::store::record::ContentRecord;
use std::collections::{BTreeMap, BTreeSet};

/// Members of a cluster whose values are counted for its representative.
const COUNTED: u64 = 256;

impl Batch<'_> {
    /// Puts a content that was just added into a cluster: `alike` are the near duplicates among its candidates, ascending.
    pub fn form(
        &mut self,
        content: ContentId,
        sketch: &Sketch,
        alike: &[ContentId],
        candidates: &Candidates,
    ) -> Result<()> {
        match self.params.clusters {
            ClusterRule::Components => {
                for &other in alike {
                    if self.is_alive(other) {
                        self.unite(content, other)?;
                    }
                }
                Ok(())
            }
            ClusterRule::Greedy => self.join(content, sketch, candidates, None),
        }
    }

    /// Forms a cluster anew from its living members, in the order in which they were added.
    pub fn form_again(&mut self, cluster: ClusterId) -> Result<()> {
        let members = self.dissolve(cluster)?;
        for member in &members {
            self.form_of_stored(ContentId(member), Some(&members))?;
        }
        Ok(())
    }

    /// Puts a stored content into a cluster with contents before it, those of `among` if that is given. Whether the search for
    /// them was bounded; then it was when the content was added, too, unless the parameters were others.
    pub fn form_of_stored(&mut self, content: ContentId, among: Option<&IdSet>) -> Result<bool> {
        let sketch = self.content(content, |record| Sketch::of_record(self.sketch_params(), record))?;
        let likeness = Likeness::of(self.params);
        let search = Search::again(self, self.indexing(), &sketch, content);
        let candidates = likeness.search(self.params, search)?.candidates()?;
        match self.params.clusters {
            ClusterRule::Components => {
                for &(other, _) in &candidates.list {
                    if among.is_none_or(|among| among.contains(other.0)) {
                        self.unite_if_alike(content, &sketch, other, likeness)?;
                    }
                }
            }
            ClusterRule::Greedy => self.join(content, &sketch, &candidates, among)?,
        }
        Ok(candidates.bounded)
    }

    /// One verified match makes two clusters one; where they are one already, nothing is to be verified.
    fn unite_if_alike(
        &mut self,
        content: ContentId,
        sketch: &Sketch,
        other: ContentId,
        likeness: Likeness,
    ) -> Result<()> {
        if self.cluster(content)? == self.cluster(other)? {
            return Ok(());
        }
        let share = likeness.share(&self.measure(sketch, other)?);
        if share.is_some_and(|share| share >= likeness.threshold(self.params)) {
            self.unite(content, other)?;
        }
        Ok(())
    }

    /// The greedy rule: of the clusters of the candidates, the one whose representative is most alike, when near enough.
    fn join(
        &mut self,
        content: ContentId,
        sketch: &Sketch,
        candidates: &Candidates,
        among: Option<&IdSet>,
    ) -> Result<()> {
        let likeness = Likeness::of(self.params);
        let mut clusters = BTreeSet::new();
        for (other, _) in &candidates.list {
            if *other != content && among.is_none_or(|among| among.contains(other.0)) {
                clusters.insert(self.cluster(*other)?);
            }
        }
        let mut best: Option<(f64, ClusterId)> = None;
        for cluster in clusters {
            let share = self.share_with(sketch, cluster, likeness)?;
            if let Some(share) = share.filter(|&share| best.is_none_or(|(best, _)| share > best)) {
                best = Some((share, cluster));
            }
        }
        let Some((_, cluster)) = best else { return Ok(()) };
        self.unite(content, ContentId(cluster.0))?;
        match self.params.representative {
            RepresentativeRule::First => Ok(()),
            RepresentativeRule::Popular => self.count_again(cluster),
        }
    }

    /// How alike a text is to what stands for a cluster, when that is near enough.
    fn share_with(&self, sketch: &Sketch, cluster: ClusterId, likeness: Likeness) -> Result<Option<f64>> {
        let (share, threshold) = match self.clustering.representative(cluster)? {
            Some(Representative { sample, .. }) => {
                (Overlap::of(&sketch.sample, &sample).resemblance(), self.params.threshold)
            }
            None => {
                let measures = self.measure(sketch, ContentId(cluster.0))?;
                (likeness.share(&measures), likeness.threshold(self.params))
            }
        };
        Ok(share.filter(|&share| share >= threshold))
    }

    /// Notes that a cluster has a member more; whenever the members have doubled, their values are counted anew.
    fn count_again(&mut self, cluster: ClusterId) -> Result<()> {
        let before = self.clustering.representative(cluster)?;
        let members = before.as_ref().map_or(1, |representative| representative.members) + 1;
        let sample = match before {
            Some(Representative { sample, .. }) if !members.is_power_of_two() || members > COUNTED => sample,
            _ => self.popular(cluster)?,
        };
        self.clustering.set_representative(cluster, Representative { members, sample });
        Ok(())
    }

    /// The most popular values of a cluster's first members, the smaller of equally popular ones.
    fn popular(&mut self, cluster: ClusterId) -> Result<Sample> {
        let members = self.clustering.members(cluster)?;
        let mut samples = Vec::new();
        for member in members.iter().take(COUNTED as usize) {
            let sample = |record: ContentRecord| record.sample.map(Sample::decode).transpose();
            samples.extend(self.content_if_there(ContentId(member), sample)?.flatten());
        }
        Ok(most_popular(&samples, self.params.sketch.sample))
    }
}

/// Up to `size` values of samples below the least of their bounds, those that most of the samples have.
fn most_popular(samples: &[Sample], size: usize) -> Sample {
    let bound = samples.iter().map(Sample::bound).min().unwrap_or(crate::sketch::sample::WHOLE);
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for &value in samples.iter().flat_map(|sample| sample.below(bound)) {
        *counts.entry(value).or_default() += 1;
    }
    let mut popular: Vec<(u64, u64)> = counts.into_iter().collect();
    popular.sort_by_key(|&(value, count)| (std::cmp::Reverse(count), value));
    popular.truncate(size);
    let mut values: Vec<u64> = popular.into_iter().map(|(value, _)| value).collect();
    values.sort_unstable();
    Sample::of_values(bound, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_that_most_have_stand_for_all() {
        let sample = |values: &[u64]| Sample::of_values(1000, values.to_vec());
        let samples = [sample(&[1, 5, 9]), sample(&[5, 9, 20]), sample(&[2, 9])];
        assert_eq!(most_popular(&samples, 3).values(), [1, 5, 9]);
        assert_eq!(most_popular(&samples, 2).values(), [5, 9]);
        let narrow = [sample(&[5, 400]), Sample::of_values(300, vec![5, 6])];
        assert_eq!((most_popular(&narrow, 9).values(), most_popular(&narrow, 9).bound()), (&[5, 6][..], 300));
    }
}
