//! A database and its oracle, given the same calls; whatever they say must be equal.

use super::clusters::Group;
use super::common::disk::MemoryDisk;
use super::common::params::in_units;
use super::oracle::Oracle;
use sketchdb::{
    AddOptions, Cluster, ClusterOptions, ClusterRule, Database, Document, Durability, FoundBy, Kept, Measure,
    Options, Params, Policy, Query, Simhash, Sketch, Verdict, Visit,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How a database is left before it is opened again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leave {
    Close,
    Drop,
    /// As if the process had been killed after what was buffered had been flushed.
    Kill,
}

pub struct Pair {
    pub disk: Arc<MemoryDisk>,
    pub db: Option<Database>,
    pub oracle: Oracle,
    /// How often each verdict was given.
    pub verdicts: BTreeMap<&'static str, u64>,
    calls: u64,
}

impl Pair {
    pub fn new(params: &Params) -> Self {
        let disk = Arc::new(MemoryDisk::default());
        Database::create_on(disk.clone(), params).unwrap();
        let db = Some(Database::open_on(disk.clone(), Options::default()).unwrap());
        Pair { disk, db, oracle: Oracle::new(params), verdicts: BTreeMap::new(), calls: 0 }
    }

    pub fn db(&self) -> &Database {
        self.db.as_ref().unwrap()
    }

    pub fn sketch(&self, text: &str) -> Sketch {
        self.db().sketch(in_units(self.db().params(), text)).unwrap()
    }

    pub fn add(&mut self, documents: Vec<Document>, policy: Policy) {
        let expected: Vec<_> = documents.iter().map(|document| self.oracle.add(document, policy)).collect();
        let keys: Vec<String> = documents.iter().map(|document| document.key.clone()).collect();
        // Every third call is buffered.
        self.calls += 1;
        let durability =
            if self.calls.is_multiple_of(3) { Durability::Buffered } else { Durability::Durable };
        let options = AddOptions { durability, ..AddOptions::from(policy) };
        let added = self.db().add_batch(documents, options).unwrap();
        assert_eq!(added.len(), expected.len());
        for ((key, added), expected) in keys.iter().zip(&added).zip(&expected) {
            assert_eq!(added, expected, "adding {key}");
            *self.verdicts.entry(added.verdict.name()).or_default() += 1;
        }
    }

    /// Sees pages that are said to be the same as others.
    pub fn see(&mut self, visits: Vec<Visit>, policy: Policy) {
        let expected: Vec<_> = visits.iter().map(|visit| self.oracle.visit(visit, policy)).collect();
        let seen = self.db().see_later(visits, policy).unwrap().wait().unwrap();
        assert_eq!(seen, expected);
    }

    /// Every text within a distance of some, found in one pass.
    pub fn sweep(&self, texts: &[String], distance: u32) {
        let simhashes: Vec<Simhash> = texts.iter().filter_map(|text| self.sketch(text).simhash).collect();
        let swept = self.db().sweep(&simhashes, distance).unwrap();
        let found = swept.close.iter().map(|close| (close.asked, close.id.0, close.hamming));
        assert_eq!(found.collect::<BTreeSet<_>>(), self.oracle.within(&simhashes, distance), "{distance}");
    }

    /// Queries both; how many matches there were.
    pub fn query(&self, sketch: &Sketch, query: &Query) -> usize {
        let mut answer = self.db().query(sketch, query).unwrap();
        if let Some(Measure::Any(_)) = query.by {
            // Tables also yield some of what lies beyond the distance.
            for found in &mut answer.matches {
                let within = |hamming| hamming <= self.oracle.params.hamming;
                found.found_by.simhash &= found.hamming.is_some_and(within);
            }
            answer.matches.retain(|found| found.found_by != FoundBy::default());
            answer.total = answer.matches.len() as u64;
            // What is told of it is a bound, which tests/database holds against what is found.
            answer.expected_recall = None;
        }
        assert_eq!(answer, self.oracle.query(sketch, query), "{query:?}");
        answer.matches.len()
    }

    pub fn get(&mut self, key: &str) {
        assert_eq!(self.db().get(key).unwrap(), self.oracle.get(key), "{key}");
    }

    pub fn get_every(&mut self) {
        self.oracle.keys().iter().for_each(|key| self.get(key));
    }

    pub fn remove(&mut self, keys: &[String]) {
        let expected: Vec<bool> = keys.iter().map(|key| self.oracle.remove(key)).collect();
        assert_eq!(self.db().remove(keys).unwrap(), expected, "removing {keys:?}");
        keys.iter().for_each(|key| assert_eq!(self.db().get(key).unwrap(), None, "{key}"));
    }

    pub fn expire(&mut self, before: u64) {
        assert_eq!(self.db().expire(before).unwrap(), self.oracle.expire(before), "before {before}");
        assert_eq!(self.db().expire(before).unwrap(), 0, "none stays");
    }

    pub fn clusters(&mut self, min_size: u64) {
        let found = clusters(self.db(), min_size);
        assert_eq!(found, self.oracle.clusters(min_size), "of {min_size} and more");
    }

    pub fn cluster_of(&mut self, key: &str) {
        let found = cluster_of(self.db(), key);
        assert_eq!(found, self.oracle.cluster_of(key), "{key}");
    }

    pub fn counts(&self) {
        let (stats, oracle) = (self.db().stats().unwrap(), &self.oracle);
        assert_eq!((stats.documents, stats.removed_documents), (oracle.documents(), oracle.removed()));
        assert_eq!((stats.contents, stats.dead_contents), (oracle.living(), oracle.dead()));
        assert_eq!((stats.clusters, stats.bounded), (oracle.count_clusters(), oracle.bounded));
    }

    /// The clusters are the connected components of what queries with every living text find.
    pub fn components(&self) {
        assert_eq!(self.oracle.params.clusters, ClusterRule::Components);
        let mut cluster: BTreeMap<String, usize> = self.oracle.keys().into_iter().zip(0..).collect();
        let by = Some(near(&self.oracle.params));
        for (sketch, key) in self.oracle.texts() {
            let query = Query { by, copies: true, ..Query::default() };
            let answer = self.db().query(sketch, &query).unwrap();
            assert!(!answer.bounded, "what a hot band yields is not all");
            for found in answer.matches {
                let (one, other) = (cluster[key], cluster[&found.key]);
                cluster.values_mut().filter(|cluster| **cluster == other).for_each(|cluster| *cluster = one);
            }
        }
        let mut components: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for (key, cluster) in cluster {
            components.entry(cluster).or_default().insert(key);
        }
        let clusters =
            clusters(self.db(), 1).into_iter().map(|cluster| cluster.members.into_iter().collect());
        assert_eq!(clusters.collect::<BTreeSet<_>>(), components.into_values().collect::<BTreeSet<_>>());
    }

    /// A reader who may not write sees what others see after forming clusters anew.
    fn read_only(&self) {
        let db = Database::open_on(self.disk.clone(), Options { read_only: true, ..Options::default() });
        let (db, mut oracle) = (db.unwrap(), self.oracle.clone());
        for key in self.oracle.keys().iter().step_by(7) {
            assert_eq!(db.get(key).unwrap(), oracle.get(key), "{key}, read-only");
            assert_eq!(cluster_of(&db, key), oracle.cluster_of(key), "{key}, read-only");
        }
        assert_eq!(db.stats().unwrap().clusters, oracle.count_clusters());
        (1..4).for_each(|size| assert_eq!(clusters(&db, size), oracle.clusters(size), "{size}, read-only"));
    }

    pub fn reopen(&mut self, leave: Leave) {
        let db = self.db.take().unwrap();
        if leave == Leave::Kill {
            db.flush().unwrap();
        }
        let disk = if leave == Leave::Kill { self.disk.image() } else { self.disk.clone() };
        match leave {
            Leave::Close => db.close().unwrap(),
            Leave::Drop | Leave::Kill => drop(db),
        }
        self.disk = disk;
        if leave == Leave::Close {
            self.read_only();
        }
        self.db = Some(Database::open_on(self.disk.clone(), Options::default()).unwrap());
    }

    /// Every verdict there is was given at least so often.
    pub fn assert_every_verdict(&self, least: u64) {
        let all = [Verdict::Unchanged, Verdict::Updated, Verdict::Exact, Verdict::Near, Verdict::New];
        for verdict in all.map(Verdict::name) {
            let given = self.verdicts.get(verdict).copied().unwrap_or(0);
            assert!(given >= least, "{verdict} was given {given} times");
        }
    }
}

/// By what texts are near duplicates.
pub fn near(params: &Params) -> Measure {
    match params.keep_sketches {
        Kept { sample: true, signature: true, .. } => Measure::Resemblance(params.threshold),
        Kept { signature: true, .. } => Measure::Agreement(params.threshold),
        Kept { simhash: true, .. } => Measure::Hamming(params.hamming),
        _ => Measure::Resemblance(params.threshold),
    }
}

fn clusters(db: &Database, min_size: u64) -> Vec<Group> {
    let (listed, mut groups) = (db.clusters(ClusterOptions { min_size }).unwrap(), Vec::new());
    let none = listed.each(|cluster| -> ControlFlow<()> {
        let mut members = Vec::new();
        let none = listed.members(&cluster, |key| -> ControlFlow<()> {
            members.push(key);
            ControlFlow::Continue(())
        });
        assert_eq!(none.unwrap(), None);
        groups.push(group(cluster, members));
        ControlFlow::Continue(())
    });
    assert_eq!(none.unwrap(), None);
    assert_eq!((listed.len(), listed.is_empty()), (groups.len(), groups.is_empty()));
    groups
}

fn cluster_of(db: &Database, key: &str) -> Option<Group> {
    let (cluster, mut members) = (db.cluster_of(key).unwrap()?, Vec::new());
    let none = db.cluster_members(&cluster, |key| -> ControlFlow<()> {
        members.push(key);
        ControlFlow::Continue(())
    });
    assert_eq!(none.unwrap(), None);
    Some(group(cluster, members))
}

fn group(cluster: Cluster, members: Vec<String>) -> Group {
    let Cluster { id, size, representative, cohesion, .. } = cluster;
    Group { id: id.0, size, representative, cohesion, members }
}
