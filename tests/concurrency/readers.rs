//! What readers see while others write: whole commits, one state an answer, nothing acknowledged missing, no way back.

use crate::common::params::{in_units, knows_near, lists_pairs};
use crate::common::rng::Rng;
use crate::stress::{Board, one_of};
use sketchdb::{Answer, ClusterOptions, Database, Error, Measure, Pair, PairEvent, PairOptions, Query};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Documents of one batch: all of one text, whose key begins with the same words.
pub const WHOLE: usize = 3;

/// A document of a batch that readers must see whole.
pub fn whole_key(batch: &str, number: usize) -> String {
    format!("whole/{batch}/{number}")
}

fn batch_of(key: &str) -> Option<&str> {
    key.strip_prefix("whole/")?.rsplit_once('/').map(|parts| parts.0)
}

/// What a reader looks at.
pub struct Reader<'a> {
    pub db: &'a Database,
    pub board: &'a Board,
    /// Texts of batches that must be seen whole, there or not.
    pub texts: &'a [Arc<str>],
    /// Whether documents are never removed.
    pub grows: bool,
    pub rng: Rng,
}

impl Reader<'_> {
    /// Looks until told to stop, at least once at everything; how often.
    pub fn read(mut self, stop: &AtomicBool) -> u64 {
        let (mut looks, mut most, mut going) = (0, 0, true);
        while going {
            going = !stop.load(Ordering::Acquire);
            for _ in 0..8 {
                self.query();
                self.acknowledged();
            }
            let documents = self.db.stats().unwrap().documents;
            assert!(!self.grows || documents >= most, "{most} documents were there, now {documents}");
            most = documents;
            match looks % 4 {
                0 => self.export(),
                1 => self.pairs(),
                2 => self.clusters(),
                _ => assert_eq!(self.db.verify(false).unwrap().damage, [], "while others write"),
            }
            looks += 1;
        }
        looks
    }

    fn assert_whole<'k>(&self, keys: impl Iterator<Item = &'k str>, what: &str) {
        let mut batches: BTreeMap<&str, usize> = BTreeMap::new();
        keys.filter_map(batch_of).for_each(|batch| *batches.entry(batch).or_default() += 1);
        assert!(batches.values().all(|&count| count == WHOLE), "{what} shows parts of batches: {batches:?}");
    }

    /// Every copy of what is like a text, or the same where nothing tells more.
    fn ask(&self, text: &str) -> Answer {
        let params = self.db.params();
        let sketch = self.db.sketch(in_units(params, text)).unwrap();
        let by = (!knows_near(params)).then_some(Measure::Any(params.threshold));
        self.db.query(&sketch, &Query { by, copies: true, limit: 0, ..Query::default() }).unwrap()
    }

    fn query(&mut self) {
        let text = one_of(&mut self.rng, self.texts);
        let answer = self.ask(text);
        self.assert_whole(answer.matches.iter().map(|found| found.key.as_str()), "a query");
        for found in answer.matches.iter().filter(|found| found.exact) {
            let exact = answer.matches.iter().filter(|found| found.exact).count() as u64;
            assert_eq!(found.copies, exact - 1, "copies are counted and listed alike: {answer:?}");
        }
    }

    /// What any thread was told to be stored is there for every thread.
    fn acknowledged(&mut self) {
        let Some((key, text)) = self.board.last() else { return };
        assert!(self.db.get(&key).unwrap().is_some(), "{key} was acknowledged");
        let answer = self.ask(&text);
        assert!(answer.matches.iter().any(|found| found.key == key && found.exact), "{key}: {answer:?}");
    }

    fn export(&self) {
        let (mut contents, mut keys, mut end) = (BTreeSet::new(), Vec::new(), None);
        let line = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            if let Some(content) = line.get("content") {
                contents.insert(content["id"].as_u64().unwrap());
            } else if let Some(document) = line.get("document") {
                let content = document["content"].as_u64().unwrap();
                assert!(contents.contains(&content), "content {content} of a document is exported");
                keys.push(document["key"].as_str().unwrap().to_owned());
            } else if let Some(counts) = line.get("end") {
                end = Some((counts["contents"].as_u64().unwrap(), counts["documents"].as_u64().unwrap()));
            }
            Ok(())
        };
        self.db.export::<Error>(&mut |_, _, _| {}, line).unwrap();
        assert_eq!(end, Some((contents.len() as u64, keys.len() as u64)));
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "a key is exported once");
        self.assert_whole(keys.iter().map(String::as_str), "an export");
    }

    fn pairs(&self) {
        if !lists_pairs(self.db.params()) {
            return;
        }
        let mut exact: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
        let each = |event| {
            if let PairEvent::Pair(Pair { a, b, exact: true, .. }) = event
                && let (Some(batch), true) = (batch_of(&a), batch_of(&a) == batch_of(&b))
            {
                exact.entry(batch.to_owned()).or_default().insert((a, b));
            }
            ControlFlow::<()>::Continue(())
        };
        self.db.pairs(&PairOptions { copies: true, threads: 2, ..PairOptions::default() }, each).unwrap();
        for (batch, pairs) in exact {
            assert_eq!(pairs.len(), WHOLE * (WHOLE - 1) / 2, "pairs of {batch}: {pairs:?}");
        }
    }

    fn clusters(&self) {
        let clusters = self.db.clusters(ClusterOptions { min_size: 2 }).unwrap();
        let mut seen = BTreeSet::new();
        clusters
            .each(|cluster| {
                let mut keys = Vec::new();
                let member = |key| {
                    keys.push(key);
                    ControlFlow::<()>::Continue(())
                };
                clusters.members(&cluster, member).unwrap();
                assert_eq!(keys.len() as u64, cluster.size, "{cluster:?}: {keys:?}");
                self.assert_whole(keys.iter().map(String::as_str), "a cluster");
                keys.into_iter().for_each(|key| assert!(seen.insert(key), "a key is in one cluster"));
                ControlFlow::<()>::Continue(())
            })
            .unwrap();
    }
}
