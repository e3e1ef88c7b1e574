//! A database and its oracle, given the same calls; whatever they say must be equal.

use super::common::disk::MemoryDisk;
use super::oracle::Oracle;
use sketchdb::{Database, Document, Options, Params, Policy, Query, Sketch, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a database is left before it is opened again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leave {
    Close,
    Drop,
    /// As if the process had been killed between two calls.
    Kill,
}

pub struct Pair {
    disk: Arc<MemoryDisk>,
    db: Option<Database>,
    pub oracle: Oracle,
    /// How often each verdict was given.
    pub verdicts: BTreeMap<&'static str, u64>,
}

impl Pair {
    pub fn new(params: &Params) -> Self {
        let disk = Arc::new(MemoryDisk::default());
        Database::create_on(disk.clone(), params).unwrap();
        let db = Some(Database::open_on(disk.clone(), Options::default()).unwrap());
        Pair { disk, db, oracle: Oracle::new(params), verdicts: BTreeMap::new() }
    }

    pub fn db(&self) -> &Database {
        self.db.as_ref().unwrap()
    }

    pub fn sketch(&self, text: &str) -> Sketch {
        self.db().sketch(text).unwrap()
    }

    pub fn add(&mut self, documents: Vec<Document>, policy: Policy) {
        let expected: Vec<_> = documents.iter().map(|document| self.oracle.add(document, policy)).collect();
        let keys: Vec<String> = documents.iter().map(|document| document.key.clone()).collect();
        let added = self.db().add_batch(documents, policy).unwrap();
        assert_eq!(added.len(), expected.len());
        for ((key, added), expected) in keys.iter().zip(&added).zip(&expected) {
            assert_eq!(added, expected, "adding {key}");
            *self.verdicts.entry(added.verdict.name()).or_default() += 1;
        }
    }

    /// Queries both; how many matches there were.
    pub fn query(&self, sketch: &Sketch, query: &Query) -> usize {
        let answer = self.db().query(sketch, query).unwrap();
        assert_eq!(answer, self.oracle.query(sketch, query), "{query:?}");
        answer.matches.len()
    }

    pub fn get(&self, key: &str) {
        assert_eq!(self.db().get(key).unwrap(), self.oracle.get(key), "{key}");
    }

    pub fn get_every(&self) {
        self.oracle.keys().for_each(|key| self.get(key));
    }

    pub fn counts(&self) {
        let stats = self.db().stats().unwrap();
        assert_eq!(
            (stats.documents, stats.contents, stats.dead_contents, stats.bounded),
            (self.oracle.documents(), self.oracle.living(), self.oracle.dead(), self.oracle.bounded),
        );
    }

    pub fn reopen(&mut self, leave: Leave) {
        let db = self.db.take().unwrap();
        let disk = if leave == Leave::Kill { self.disk.image() } else { self.disk.clone() };
        match leave {
            Leave::Close => db.close().unwrap(),
            Leave::Drop | Leave::Kill => drop(db),
        }
        self.disk = disk;
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
