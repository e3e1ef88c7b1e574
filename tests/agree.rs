//! Real text: pairs, clusters and dedup say what queries say, document by document.

mod common;

use common::corpus::{Corpus, corpus};
use sketchdb::{
    Cluster, ClusterOptions, ClusterRule, Database, Dedup, DedupOptions, Document, Duplicate, Error, Keep,
    Options, Overlap, PairEvent, PairOptions, Params, Policy, Query, Sketch,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Two keys in order, and the bits of their resemblance.
type Pairs = BTreeMap<(String, String), u64>;
type Sets = BTreeSet<BTreeSet<String>>;

struct Stored {
    _folder: tempfile::TempDir,
    db: Database,
    documents: Vec<Document>,
}

fn sketched(corpus: &Corpus, params: &Params) -> Vec<Document> {
    let mut sketcher = sketchdb::Sketcher::new(&params.sketch).unwrap();
    let document = |(number, (key, text)): (usize, &(String, String))| Document {
        key: key.clone(),
        sketch: sketcher.sketch(text.as_bytes()),
        seen_at: Some((number * 7919 % 1000) as u64),
    };
    corpus.documents.iter().enumerate().map(document).collect()
}

/// The documents, given so many at once.
fn stored(corpus: &Corpus, params: &Params, at_once: usize) -> Stored {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agree.sketchdb");
    Database::create(&path, params).unwrap();
    let db = Database::open(&path, Options::default()).unwrap();
    let documents = sketched(corpus, params);
    for some in documents.chunks(at_once) {
        db.add_batch(some.to_vec(), Policy::Everything).unwrap();
    }
    Stored { _folder: folder, db, documents }
}

fn ordered(a: String, b: String) -> (String, String) {
    if a < b { (a, b) } else { (b, a) }
}

/// By queries: the first holder of each text, and every pair of distinct texts.
fn queried(stored: &Stored) -> Pairs {
    let mut pairs = Pairs::new();
    let mut seen = BTreeSet::new();
    for Document { key, sketch, .. } in &stored.documents {
        if !seen.insert(sketch.hash.0) {
            continue;
        }
        let answer = stored.db.query(sketch, &Query { own: Some(key.clone()), ..Query::default() }).unwrap();
        assert!(!answer.bounded);
        for found in answer.matches.into_iter().filter(|found| !found.exact) {
            let resemblance = found.resemblance.unwrap().to_bits();
            let before = pairs.insert(ordered(key.clone(), found.key), resemblance);
            assert!(before.is_none_or(|before| before == resemblance));
        }
    }
    pairs
}

fn listed(db: &Database, threads: usize, memory: usize) -> (Pairs, Vec<(String, String)>) {
    let (mut pairs, mut exact) = (Pairs::new(), Vec::new());
    let options = PairOptions { threads, memory, ..PairOptions::default() };
    let each = |event| {
        if let PairEvent::Pair(pair) = event {
            match pair.exact {
                true => exact.push((pair.a, pair.b)),
                false => {
                    let resemblance = pair.resemblance.unwrap().to_bits();
                    assert_eq!(pairs.insert(ordered(pair.a, pair.b), resemblance), None, "told once");
                }
            }
        }
        ControlFlow::<()>::Continue(())
    };
    assert_eq!(db.pairs(&options, each).unwrap().0.bounded, 0);
    (pairs, exact)
}

fn clusters(db: &Database) -> Sets {
    let (listed, mut all) = (db.clusters(ClusterOptions { min_size: 1 }).unwrap(), Sets::new());
    let each = |cluster: Cluster| {
        let mut members = BTreeSet::new();
        let add = |key| {
            members.insert(key);
            ControlFlow::<()>::Continue(())
        };
        listed.members(&cluster, add).unwrap();
        all.insert(members);
        ControlFlow::<()>::Continue(())
    };
    listed.each(each).unwrap();
    all
}

/// Connected components, by union and find.
struct Forest(Vec<usize>);

impl Forest {
    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn components<'p>(keys: &[Document], pairs: impl Iterator<Item = (&'p String, &'p String)>) -> Sets {
        let numbers: BTreeMap<&str, usize> =
            keys.iter().enumerate().map(|(number, document)| (document.key.as_str(), number)).collect();
        let mut forest = Forest((0..keys.len()).collect());
        for (a, b) in pairs {
            let (a, b) = (forest.find(numbers[a.as_str()]), forest.find(numbers[b.as_str()]));
            forest.0[a] = b;
        }
        let mut sets: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for (number, document) in keys.iter().enumerate() {
            sets.entry(forest.find(number)).or_default().insert(document.key.clone());
        }
        sets.into_values().collect()
    }
}

fn deduplicated(documents: &[Document], params: &Params, keep: Keep) -> Vec<Option<Duplicate>> {
    let mut dedup = Dedup::new(params, None, DedupOptions { keep, ..DedupOptions::default() }).unwrap();
    let mut told = Vec::new();
    for some in documents.chunks(700) {
        told.extend(dedup.push(some.to_vec()).unwrap());
    }
    let each = |duplicate| -> Result<(), Error> {
        told.push(duplicate);
        Ok(())
    };
    dedup.finish(each).unwrap();
    assert_eq!(told.len(), documents.len());
    told
}

fn resemblance(a: &Sketch, b: &Sketch) -> f64 {
    if a.hash == b.hash { 1.0 } else { Overlap::of(&a.sample, &b.sample).resemblance().unwrap_or(0.0) }
}

/// What is removed is like what it is said to be like, which is kept; no two kept are alike.
fn removes_only_duplicates(stored: &Stored, pairs: &Pairs, keep: Keep) {
    let (documents, params) = (&stored.documents, stored.db.params());
    let told = deduplicated(documents, params, keep);
    let by_key: BTreeMap<&str, usize> =
        documents.iter().enumerate().map(|(number, document)| (document.key.as_str(), number)).collect();
    let rank = |document: &Document| match keep {
        Keep::First => 0,
        Keep::Longest => u64::MAX - document.sketch.bytes,
        Keep::Oldest => document.seen_at.unwrap(),
        Keep::ShortestKey => document.key.len() as u64,
    };
    let mut texts = BTreeSet::new();
    for (number, (document, duplicate)) in documents.iter().zip(&told).enumerate() {
        let Some(Duplicate { of, resemblance: share, .. }) = duplicate else {
            assert!(texts.insert(document.sketch.hash.0), "{} is a copy of what is kept", document.key);
            continue;
        };
        let other = by_key[of.as_str()];
        assert_eq!(told[other], None, "{} is a duplicate of {of}, which is removed", document.key);
        let direct = resemblance(&document.sketch, &documents[other].sketch);
        assert_eq!(*share, Some(direct), "{} and {of}", document.key);
        assert!(direct >= params.threshold, "{} and {of} resemble each other {direct}", document.key);
        let order = |at: usize| (rank(&documents[at]), at);
        assert!(order(other) < order(number), "{of} is not preferred to {}", document.key);
    }
    let kept = |key: &String| told[by_key[key.as_str()]].is_none();
    let left = pairs.keys().find(|(a, b)| kept(a) && kept(b));
    assert_eq!(left, None, "{keep:?}: both are kept and alike");
}

fn agrees(name: &str) {
    let Some(corpus) = corpus(name) else { return };
    let params = Params::default();
    let stored = stored(&corpus, &params, usize::MAX);
    let expected = queried(&stored);
    assert!(expected.len() >= 5, "{} pairs prove little", expected.len());
    let (pairs, exact) = listed(&stored.db, 1, 64 << 20);
    assert!(pairs == expected, "{name}: {} pairs are listed, queries find {}", pairs.len(), expected.len());
    assert_eq!(listed(&stored.db, 3, 0), (pairs, exact.clone()), "with little memory, by three threads");
    let alike = expected.keys().map(|(a, b)| (a, b)).chain(exact.iter().map(|(a, b)| (a, b)));
    let components = Forest::components(&stored.documents, alike);
    assert!(clusters(&stored.db) == components, "{name}: clusters are other than the components");
    for keep in [Keep::First, Keep::Longest, Keep::Oldest, Keep::ShortestKey] {
        removes_only_duplicates(&stored, &expected, keep);
    }
    let params = Params { clusters: ClusterRule::Greedy, ..params };
    let [one, many] = [usize::MAX, 37].map(|at_once| clusters(&self::stored(&corpus, &params, at_once).db));
    assert!(one == many, "{name}: greedy clusters depend on the batches");
}

macro_rules! corpora {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            agrees(stringify!($name));
        }
    )*};
}

corpora!(
    mccormick_100 mccormick_1000 mccormick_2500 licences_spdx revisions_peps revisions_symfony short_tldr_en
    zh_react_docs
);
