//! Verdicts of threads that add at the same time are those of the same calls one after the other, in an order that agrees
//! with the clock: every batch begins with a document that is nobody else's, whose number tells the order.

use crate::common::disk::MemoryDisk;
use crate::common::place::Place;
use crate::common::rng::Rng;
use crate::readers::{Reader, WHOLE, whole_key};
use crate::stress::{Board, Clock, READERS, Stops, WRITERS, document, one_of, pool, rounds, small_runs};
use sketchdb::{Added, Database, Document, Options, Params, Policy, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Calls of each writer in a round.
const CALLS: usize = 30;

/// A call, when it began and ended, and its answer.
struct Call {
    began: u64,
    ended: u64,
    documents: Vec<(String, Arc<str>)>,
    added: Vec<Added>,
}

/// What the writers of a round share.
struct Round {
    texts: Vec<Arc<str>>,
    /// Texts of batches that readers must see whole, to each its own.
    wholes: Vec<Arc<str>>,
    updates: bool,
    board: Board,
    clock: Clock,
}

impl Round {
    fn new(seed: u64) -> Self {
        let (texts, wholes) = (pool(seed, 12), pool(seed + (1 << 32), WRITERS * 4));
        let (board, clock) = Default::default();
        Round { texts, wholes, updates: seed.is_multiple_of(2), board, clock }
    }

    /// The documents of a call; the key of the first is nobody else's.
    fn documents(&self, writer: usize, call: usize, rng: &mut Rng) -> Vec<(String, Arc<str>)> {
        let name = format!("{writer}/{call}");
        let mut some = |count: usize| {
            (0..count)
                .map(|number| (format!("{name}/{number}"), one_of(rng, &self.texts).clone()))
                .collect::<Vec<_>>()
        };
        match call % 4 {
            0 => some(1),
            1 => some(2 + call % 4),
            2 if call % 8 == 2 => {
                let text = self.wholes[writer * CALLS.div_ceil(8) + call / 8].clone();
                (0..WHOLE).map(|number| (whole_key(&name, number), text.clone())).collect()
            }
            _ if self.updates => {
                let mut documents = some(1 + call % 2);
                let key = format!("shared/{}", rng.below(5));
                documents.push((key, one_of(rng, &self.texts).clone()));
                documents
            }
            _ => some(1),
        }
    }

    fn write(&self, db: &Database, writer: usize, mut rng: Rng) -> Vec<Call> {
        let mut calls = Vec::new();
        for call in 0..CALLS {
            let documents = self.documents(writer, call, &mut rng);
            let given = documents.iter().map(|(key, text)| document(db, key, text)).collect();
            let began = self.clock.tick();
            let added = db.add_batch(given, Policy::Everything).unwrap();
            let ended = self.clock.tick();
            self.board.post(documents.iter().take(1).cloned());
            calls.push(Call { began, ended, documents, added });
        }
        calls
    }
}

/// Compares every answer with that of a database that is given the calls one by one.
fn replay(params: &Params, mut calls: Vec<Call>, updates: bool) -> [u64; 3] {
    calls.sort_by_key(|call| call.added[0].id);
    let disk = MemoryDisk::of(Vec::new());
    Database::create_on(disk.clone(), params).unwrap();
    let db = Database::open_on(disk, Options::default()).unwrap();
    let (mut latest, mut new, mut exact, mut others) = (0, 0, 0, 0);
    for Call { began, ended, documents, added } in calls {
        assert!(ended > latest, "{documents:?} was over before another began that comes before it");
        latest = latest.max(began);
        let given: Vec<Document> = documents.iter().map(|(key, text)| document(&db, key, text)).collect();
        let mut expected = db.add_batch(given, Policy::Everything).unwrap();
        for (added, expected) in added.into_iter().zip(&mut expected) {
            if updates {
                // Readers form clusters anew that lost a member, some time.
                expected.cluster = added.cluster;
            }
            assert_eq!(&added, expected, "{documents:?}");
            match added.verdict {
                Verdict::New => new += 1,
                Verdict::Exact => exact += 1,
                _ => others += 1,
            }
        }
    }
    [new, exact, others]
}

/// Without looking at any order: of the documents of a text one was the first of it.
fn check_firsts(calls: &[Call]) {
    let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
    for call in calls {
        for ((_, text), added) in call.documents.iter().zip(&call.added) {
            *firsts.entry(text).or_default() += usize::from(added.verdict != Verdict::Exact);
        }
    }
    assert!(firsts.values().all(|&count| count == 1), "firsts of each text: {firsts:?}");
}

#[test]
fn verdicts_of_many_threads_are_those_of_one() {
    rounds("verdicts", |seed| {
        let (place, round) = (Place::empty(), Round::new(seed));
        let db = small_runs(seed, &place.path());
        let stop = AtomicBool::new(false);
        let (calls, looks) = std::thread::scope(|scope| {
            let _stops = Stops(&stop);
            let (db, round, stop) = (&db, &round, &stop);
            let reader = |number: usize| Reader {
                db,
                board: &round.board,
                texts: &round.wholes,
                grows: true,
                rng: Rng(seed << 8 | number as u64),
            };
            let readers: Vec<_> =
                (0..READERS).map(|number| scope.spawn(move || reader(number).read(stop))).collect();
            let write = |writer| round.write(db, writer, Rng(seed << 16 | writer as u64));
            let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
            let calls: Vec<Call> =
                writers.into_iter().flat_map(|writer| writer.join().expect("a writer")).collect();
            drop(_stops);
            (calls, readers.into_iter().map(|reader| reader.join().expect("a reader")).sum())
        });
        if !round.updates {
            check_firsts(&calls);
        }
        let counts = db.stats().unwrap();
        let made = calls.len() as u64;
        let [new, exact, others] = replay(db.params(), calls, round.updates);
        db.close().unwrap();
        let again = place.open();
        assert_eq!(again.stats().unwrap().documents, counts.documents);
        assert_eq!(again.verify(true).unwrap().damage, []);
        vec![("calls", made), ("new", new), ("exact", exact), ("near or updated", others), ("looks", looks)]
    });
}
