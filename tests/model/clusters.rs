//! Clusters as they are defined: a number for each content, changed one by one whenever two clusters become one.

use super::answers::Measured;
use super::oracle::Oracle;
use sketchdb::{ClusterRule, Overlap, RepresentativeRule, Sample, Sketch};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Which contents are one cluster.
#[derive(Clone, Default)]
pub struct Labels {
    /// The cluster of every content there ever was.
    of: Vec<usize>,
    /// By cluster, everything that was put into it, ascending; empty of a number that is no cluster's.
    members: Vec<Vec<usize>>,
    /// Clusters that lost a member.
    dirty: BTreeSet<usize>,
    popular: BTreeMap<usize, Popular>,
    /// How many clusters were formed anew, and how many of them fell apart.
    pub formed: u64,
    pub split: u64,
}

/// The values that most members of a cluster have, and how many members it had since they were first counted.
#[derive(Clone)]
struct Popular {
    joined: usize,
    bound: u64,
    values: Vec<u64>,
}

/// A cluster as the database describes one.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub id: u64,
    pub size: u64,
    pub representative: String,
    pub cohesion: Option<f64>,
    pub members: Vec<String>,
}

impl Labels {
    pub fn of(&self, content: usize) -> usize {
        self.of[content]
    }

    /// A new content is a cluster of its own.
    pub fn push(&mut self) {
        let content = self.of.len();
        self.of.push(content);
        self.members.push(vec![content]);
    }

    fn unite(&mut self, a: usize, b: usize) {
        let (older, younger) = (self.of[a].min(self.of[b]), self.of[a].max(self.of[b]));
        if older == younger {
            return;
        }
        let moved = std::mem::take(&mut self.members[younger]);
        moved.iter().for_each(|&member| self.of[member] = older);
        self.members[older].extend(moved);
        self.members[older].sort_unstable();
        if self.dirty.remove(&younger) {
            self.dirty.insert(older);
        }
    }

    /// Forgets who is dead; of a cluster that lost its top, gives the living members, each a cluster of its own now.
    pub fn drop_dead(&mut self, is_alive: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let mut topless = Vec::new();
        for cluster in 0..self.of.len() {
            let all = std::mem::take(&mut self.members[cluster]);
            let (living, dead): (Vec<usize>, Vec<usize>) =
                all.into_iter().partition(|&member| is_alive(member));
            dead.into_iter().for_each(|member| self.of[member] = member);
            if living.len() < 2 || !is_alive(cluster) {
                self.popular.remove(&cluster);
            }
            if is_alive(cluster) {
                self.members[cluster] = living;
                continue;
            }
            for &member in &living {
                self.of[member] = member;
                self.members[member] = vec![member];
            }
            topless.push(living);
        }
        topless
    }

    /// Makes every content a cluster of its own, the dead of none.
    pub fn dissolve_all(&mut self, is_alive: impl Fn(usize) -> bool) {
        self.of = (0..self.of.len()).collect();
        self.members =
            self.of.iter().map(|&content| Vec::from_iter(is_alive(content).then_some(content))).collect();
        self.dirty.clear();
        self.popular.clear();
    }

    /// Notes that a content died.
    pub fn lose(&mut self, content: usize) {
        let cluster = self.of[content];
        if self.members[cluster].len() > 1 {
            self.dirty.insert(cluster);
        }
    }
}

impl Oracle {
    /// Puts a new content into a cluster, by what was alike or shared a term when it came.
    pub fn form(&mut self, content: usize, candidates: &[Measured]) {
        if self.params.clusters == ClusterRule::Greedy {
            return self.join(content, candidates);
        }
        for near in candidates {
            if self.is_near(near) && self.is_alive(near.content) {
                self.labels.unite(content, near.content);
            }
        }
    }

    fn join(&mut self, content: usize, candidates: &[Measured]) {
        let clusters: BTreeSet<usize> =
            candidates.iter().map(|measured| self.labels.of(measured.content)).collect();
        let sketch = &self.contents[content].sketch;
        let shares = clusters.into_iter().map(|cluster| (self.share_with(sketch, cluster), cluster));
        let near = shares.filter(|(share, _)| share.is_some_and(|share| share >= self.least_share()));
        let best = near.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let Some((_, cluster)) = best else { return };
        self.labels.unite(content, cluster);
        if self.params.representative == RepresentativeRule::Popular {
            let counted = self.labels.popular.get(&cluster);
            let joined = counted.map_or(2, |popular| popular.joined + 1);
            if joined.is_power_of_two() && joined <= 256 {
                let popular = self.popular(cluster, joined);
                self.labels.popular.insert(cluster, popular);
            } else if let Some(popular) = self.labels.popular.get_mut(&cluster) {
                popular.joined = joined;
            }
        }
    }

    /// How alike a text is to what stands for a cluster.
    fn share_with(&self, sketch: &Sketch, cluster: usize) -> Option<f64> {
        match self.labels.popular.get(&cluster) {
            Some(popular) => popular.overlap(&sketch.sample).resemblance(),
            None => self.share(&self.measured(sketch, cluster, Default::default())),
        }
    }

    fn popular(&self, cluster: usize, joined: usize) -> Popular {
        let first = self.labels.members[cluster].iter().take(256);
        let samples: Vec<&Sample> = first.map(|&member| &self.contents[member].sketch.sample).collect();
        let bound = samples.iter().map(|sample| sample.bound()).min().unwrap();
        let all: BTreeSet<u64> = samples.iter().flat_map(|sample| sample.values().to_vec()).collect();
        let having = |value: &u64| samples.iter().filter(|sample| sample.values().contains(value)).count();
        let mut ranked: Vec<(Reverse<usize>, u64)> = all
            .into_iter()
            .filter(|value| *value < bound)
            .map(|value| (Reverse(having(&value)), value))
            .collect();
        ranked.sort_unstable();
        ranked.truncate(self.params.sketch.sample);
        Popular { joined, bound, values: ranked.into_iter().map(|ranked| ranked.1).collect() }
    }

    /// Forms a cluster anew when it lost a member.
    pub fn form_again(&mut self, cluster: usize) {
        if !self.labels.dirty.remove(&cluster) {
            return;
        }
        let all = std::mem::take(&mut self.labels.members[cluster]);
        for &member in &all {
            self.labels.of[member] = member;
            self.labels.members[member] = vec![member];
        }
        let living: BTreeSet<usize> = all.into_iter().filter(|&member| self.is_alive(member)).collect();
        for &member in &living {
            let sketch = &self.contents[member].sketch;
            let united: Vec<usize> = self
                .candidates(sketch, member)
                .0
                .iter()
                .filter(|earlier| living.contains(&earlier.content) && self.is_near(earlier))
                .map(|earlier| earlier.content)
                .collect();
            united.into_iter().for_each(|earlier| self.labels.unite(member, earlier));
        }
        let parts = living.iter().filter(|&&member| self.labels.of(member) == member).count();
        self.labels.formed += 1;
        self.labels.split += u64::from(parts > 1);
    }

    pub fn form_dirty(&mut self) {
        self.labels.dirty.clone().into_iter().for_each(|cluster| self.form_again(cluster));
    }

    /// How many clusters there are once those that lost a member are formed anew.
    pub fn count_clusters(&self) -> u64 {
        let mut formed = self.clone();
        formed.form_dirty();
        let living = (0..formed.contents.len()).filter(|&content| formed.is_alive(content));
        living.map(|content| formed.labels.of(content)).collect::<BTreeSet<usize>>().len() as u64
    }

    /// The clusters of so many documents, largest first.
    pub fn clusters(&mut self, min_size: u64) -> Vec<Group> {
        self.form_dirty();
        let all = (0..self.contents.len()).filter_map(|cluster| self.group(cluster));
        let mut listed: Vec<Group> = all.filter(|group| group.size >= min_size).collect();
        listed.sort_by_key(|group| (Reverse(group.size), group.id));
        listed
    }

    pub fn cluster_of(&mut self, key: &str) -> Option<Group> {
        let content = self.holder(key)?.content;
        self.form_again(self.labels.of(content));
        self.group(self.labels.of(content))
    }

    /// A cluster that has a living member.
    fn group(&self, cluster: usize) -> Option<Group> {
        let all = self.labels.members[cluster].iter().copied();
        let contents: Vec<usize> = all.filter(|&content| self.is_alive(content)).collect();
        let holders = contents.iter().flat_map(|&content| &self.contents[content].holders);
        let members: Vec<String> = holders.map(|&id| self.documents[id as usize].key.clone()).collect();
        let top = match self.params.clusters {
            ClusterRule::Greedy => cluster,
            _ => *contents.first()?,
        };
        let popular = self.labels.popular.get(&cluster);
        let shares = contents.iter().filter_map(|&content| match popular {
            Some(popular) => popular.overlap(&self.contents[content].sketch.sample).resemblance(),
            None => self.share(&self.measured(&self.contents[top].sketch, content, Default::default())),
        });
        let cohesion = shares.reduce(f64::min);
        let representative = members.first()?.clone();
        Some(Group { id: cluster as u64, size: members.len() as u64, representative, cohesion, members })
    }
}

impl Popular {
    fn overlap(&self, sample: &Sample) -> Overlap {
        let bound = self.bound.min(sample.bound());
        let below = |values: &[u64]| values.iter().copied().filter(|&value| value < bound).collect();
        let (own, other): (BTreeSet<u64>, BTreeSet<u64>) = (below(&self.values), below(sample.values()));
        let both = own.intersection(&other).count() as u64;
        Overlap { first: other.len() as u64, second: own.len() as u64, both, bound }
    }
}
