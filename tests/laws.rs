//! Laws of the whole database, on collections and parameters that are drawn: each is an equality of two files.

mod common;

use common::disk::MemoryDisk;
use common::params::{in_units, sets};
use common::place::exported;
use common::texts::{Draw, edited, text};
use proptest::prelude::*;
use sketchdb::{
    Added, ClusterOptions, ClusterRule, Database, Disk, Document, Options, PairEvent, PairOptions, Params,
    Policy,
};
use std::ops::ControlFlow;
use std::sync::Arc;

const MEMORY: usize = 4 << 20;

/// A collection: what becomes of each document, out of a seed.
#[derive(Clone, Debug)]
struct Collection {
    seed: u64,
    documents: usize,
    params: Params,
}

/// Every set of parameters, and collections of up to so many documents.
fn collections(most: usize) -> impl Strategy<Value = Collection> {
    let params = prop_oneof![Just(Params::default()), proptest::sample::select(sets(29))];
    (any::<u64>(), 1..most, params).prop_map(|(seed, documents, params)| Collection {
        seed,
        documents,
        params,
    })
}

impl Collection {
    /// Keys and texts: new ones, copies, variants, and keys that come again.
    fn texts(&self) -> Vec<(String, String)> {
        let mut draw = Draw::new(self.seed);
        let mut texts: Vec<String> = vec![text(&mut draw, 40)];
        let mut documents = Vec::new();
        for number in 0..self.documents {
            let earlier = draw.one_of(&texts).clone();
            let text = match draw.below(4) {
                0 => earlier,
                1 => edited(&mut draw, &earlier, 2),
                _ => text(&mut draw, 40),
            };
            let key = if draw.percent(10) { draw.below(number + 1) } else { number };
            documents.push((format!("key/{key}"), in_units(&self.params, &text)));
            texts.push(text);
        }
        documents
    }

    fn documents(&self, db: &Database) -> Vec<Document> {
        let document = |(number, (key, text)): (usize, (String, String))| Document {
            key,
            sketch: db.sketch(text).unwrap(),
            seen_at: Some(number as u64),
        };
        self.texts().into_iter().enumerate().map(document).collect()
    }

    /// An empty database with these options.
    fn open(&self, options: Options) -> Database {
        let disk = MemoryDisk::of(Vec::new());
        Database::create_on(disk.clone(), &self.params).unwrap();
        Database::open_on(disk, options).unwrap()
    }

    /// A database of all documents, some of them removed.
    fn filled(&self, options: Options) -> Database {
        let db = self.open(options);
        db.add_batch(self.documents(&db), Policy::Everything).unwrap();
        db.remove((0..self.documents).step_by(5).map(|number| format!("key/{number}"))).unwrap();
        db
    }
}

/// Everything that an export says, with clusters formed.
fn told(db: &Database) -> Vec<String> {
    db.clusters(ClusterOptions::default()).unwrap();
    exported(db).unwrap()
}

fn open(disk: Arc<dyn Disk>) -> Database {
    let db = Database::open_on(disk, Options::default()).unwrap();
    assert_eq!(db.verify(true).unwrap().damage, []);
    db
}

fn compacted(db: &Database) -> Database {
    let disk = MemoryDisk::of(Vec::new());
    db.compact_onto(disk.clone(), MEMORY, &mut |_, _, _| {}).unwrap();
    open(disk)
}

/// Pairs, in whatever order.
fn pairs(db: &Database, options: &PairOptions) -> Vec<String> {
    let mut pairs = Vec::new();
    db.pairs(options, |event| {
        if let PairEvent::Pair(pair) = event {
            pairs.push(format!("{pair:?}"));
        }
        ControlFlow::<()>::Continue(())
    })
    .unwrap();
    pairs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_batch_is_its_documents_one_by_one(
        collection in collections(80),
        sizes in proptest::collection::vec(1..20usize, 1..8),
    ) {
        let (batches, single) = (collection.open(Options::default()), collection.open(Options::default()));
        let mut documents = collection.documents(&batches).into_iter().peekable();
        let mut by_batch: Vec<Added> = Vec::new();
        for size in sizes.iter().cycle() {
            if documents.peek().is_none() {
                break;
            }
            let batch = documents.by_ref().take(*size).collect();
            by_batch.extend(batches.add_batch(batch, Policy::Everything).unwrap());
        }
        let one_by_one = collection.documents(&single).into_iter();
        let one_by_one = one_by_one.flat_map(|one| single.add_batch(vec![one], Policy::Everything).unwrap());
        prop_assert_eq!(by_batch, one_by_one.collect::<Vec<_>>());
        prop_assert_eq!(told(&batches), told(&single));
    }

    #[test]
    fn compaction_changes_nothing_that_is_told(collection in collections(80)) {
        let db = collection.filled(Options::default());
        let (once, before) = (compacted(&db), told(&db));
        // A greedy cluster without its first member is formed anew.
        if collection.params.clusters == ClusterRule::Components {
            prop_assert_eq!(&told(&once), &before);
        }
        prop_assert_eq!(told(&compacted(&once)), told(&once));
    }

    #[test]
    fn what_is_imported_is_what_was_exported(collection in collections(80)) {
        let db = compacted(&collection.filled(Options::default()));
        let lines = told(&db);
        let disk = MemoryDisk::of(Vec::new());
        let mut input = lines.iter().cloned().map(Ok);
        let imported = Database::import_onto(disk.clone(), &mut input, MEMORY, &mut |_, _, _| {}).unwrap();
        prop_assert_eq!(imported, db.stats().unwrap().documents);
        prop_assert_eq!(told(&open(disk)), lines);
    }

    #[test]
    fn any_memory_and_any_memtable_give_the_same(
        collection in collections(150),
        memory in prop_oneof![Just(0), 0..32usize << 20],
        flush_contents in 1..100u64,
    ) {
        let small = collection.filled(Options { memory, flush_contents, ..Options::default() });
        prop_assert_eq!(told(&small), told(&collection.filled(Options::default())));
        prop_assert_eq!(small.verify(true).unwrap().damage, vec![]);
    }

    #[test]
    fn any_number_of_threads_lists_the_same_pairs(
        collection in collections(150),
        threads in 1..6usize,
        memory in prop_oneof![Just(0), 0..32usize << 20],
    ) {
        prop_assume!(common::params::lists_pairs(&collection.params));
        let db = collection.filled(Options::default());
        let one = pairs(&db, &PairOptions { threads: 1, copies: true, ..PairOptions::default() });
        let many = PairOptions { threads, memory, copies: true, ..PairOptions::default() };
        prop_assert_eq!(pairs(&db, &many), one);
    }
}
