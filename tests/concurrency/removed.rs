//! Adds, updates, removals of the same keys at the same time, and documents that expire meanwhile: an order is searched for
//! that agrees with the clock and gives every answer (Wing & Gong 1993; Herlihy & Wing 1990: texts and keys that have
//! nothing to do with each other are searched one by one).

use crate::common::disk::MemoryDisk;
use crate::common::rng::Rng;
use crate::readers::Reader;
use crate::stress::{Board, Clock, SlowDisk, Stops, WRITERS, document, drawn, one_of, pool, rounds};
use sketchdb::{Added, Database, Options, Policy, Verdict};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// So few that calls on one key come into one commit.
const FAMILIES: usize = 3;
const CALLS: usize = 40;
const KEYS: usize = 2;

/// A call on keys and texts of a family, and its answer.
#[derive(Clone, Debug)]
enum What {
    Add { key: usize, text: usize, policy: Policy, added: Added },
    Remove { key: usize, was_there: bool },
}

#[derive(Clone, Debug)]
struct Call {
    began: u64,
    ended: u64,
    what: What,
}

/// What is stored of a family: of each key the document and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    keys: [Option<(u64, usize)>; KEYS],
    next: u64,
}

impl State {
    /// The state after a call, `None` when the answer cannot be.
    fn after(&self, family: usize, what: &What) -> Option<State> {
        let mut state = self.clone();
        let (key, text, policy, added) = match what {
            What::Remove { key, was_there } => {
                return (state.keys[*key].take().is_some() == *was_there).then_some(state);
            }
            What::Add { key, text, policy, added } => (*key, *text, *policy, added),
        };
        let holds =
            |slot: &(usize, &Option<(u64, usize)>)| slot.0 != key && slot.1.is_some_and(|it| it.1 == text);
        let others = self.keys.iter().enumerate().filter(holds);
        let of = others.min_by_key(|slot| slot.1.map(|it| it.0)).map(|slot| name(family, slot.0));
        let (verdict, of) = match self.keys[key] {
            Some((_, own)) if own == text => (Verdict::Unchanged, None),
            Some(_) => (Verdict::Updated, of),
            None if of.is_some() => (Verdict::Exact, of),
            None => (Verdict::New, None),
        };
        let id = match self.keys[key] {
            Some((id, _)) => Some(id),
            None if policy == Policy::OnlyNew && verdict == Verdict::Exact => None,
            // A new document: its number is greater than any before.
            None => Some(added.id.filter(|id| id.0 >= self.next)?.0),
        };
        if (added.verdict, &added.of, added.id.map(|id| id.0)) != (verdict, &of, id) {
            return None;
        }
        state.keys[key] = id.map(|id| (id, text));
        state.next = self.next.max(id.map_or(0, |id| id + 1));
        Some(state)
    }
}

fn name(family: usize, key: usize) -> String {
    format!("{family}/{key}")
}

/// Whether the calls that are not done can come in some order that gives their answers and ends with `last`.
fn explained(
    calls: &[Call],
    done: u128,
    state: &State,
    family: usize,
    last: &[bool],
    seen: &mut HashSet<(u128, State)>,
) -> bool {
    let open = || (0..calls.len()).filter(|call| done >> call & 1 == 0);
    // No call comes before one that had ended when it began.
    let Some(ended) = open().map(|call| calls[call].ended).min() else {
        return state.keys.iter().map(Option::is_some).eq(last.iter().copied());
    };
    seen.insert((done, state.clone()))
        && open().filter(|&call| calls[call].began < ended).any(|call| {
            state
                .after(family, &calls[call].what)
                .is_some_and(|next| explained(calls, done | 1 << call, &next, family, last, seen))
        })
}

struct Shared {
    texts: Vec<Arc<str>>,
    clock: Clock,
    /// Documents with a time before the one that expires.
    old: AtomicU64,
    expired: AtomicU64,
}

impl Shared {
    fn call(&self, db: &Database, family: usize, rng: &mut Rng) -> Call {
        let key = rng.below(KEYS);
        if rng.once_in(2) {
            let began = self.clock.tick();
            let was_there = db.remove([name(family, key)]).unwrap()[0];
            return Call { began, ended: self.clock.tick(), what: What::Remove { key, was_there } };
        }
        let text = rng.below(2);
        let policy = if rng.once_in(4) { Policy::OnlyNew } else { Policy::Everything };
        // Of a family of near texts only one is taken: they are near to nothing.
        let given = document(db, &name(family, key), &self.texts[(family * 2 + text) * 3]);
        let began = self.clock.tick();
        let added = db.add_batch(vec![given], policy).unwrap().remove(0);
        Call { began, ended: self.clock.tick(), what: What::Add { key, text, policy, added } }
    }

    fn write(&self, db: &Database, writer: usize, mut rng: Rng) -> Vec<(usize, Call)> {
        let mut calls = Vec::new();
        for number in 0..CALLS {
            let family = rng.below(FAMILIES);
            calls.push((family, self.call(db, family, &mut rng)));
            let seen_at = Some(if rng.once_in(2) { 50 } else { 150 });
            let text = one_of(&mut rng, &self.texts[FAMILIES * 6..]).clone();
            let aging = document(db, &format!("aging/{writer}/{number}"), &text);
            db.add_batch(vec![sketchdb::Document { seen_at, ..aging }], Policy::Everything).unwrap();
            self.old.fetch_add(u64::from(seen_at == Some(50)), Ordering::Relaxed);
            if number % 8 == 0 {
                self.expired.fetch_add(db.expire(100).unwrap(), Ordering::Relaxed);
            }
        }
        calls
    }
}

#[test]
fn answers_are_explained_by_some_order_that_agrees_with_the_clock() {
    rounds("removals", |seed| {
        let disk = MemoryDisk::of(Vec::new());
        Database::create_on(disk.clone(), &drawn(seed)).unwrap();
        let options = Options { flush_contents: [40, 200][seed as usize % 2], ..Options::default() };
        let db = Database::open_on(Arc::new(SlowDisk(disk.clone())), options).unwrap();
        let shared = Shared {
            texts: pool(seed, FAMILIES * 2 + 10),
            clock: Clock::default(),
            old: AtomicU64::new(0),
            expired: AtomicU64::new(0),
        };
        let (stop, board) = (AtomicBool::new(false), Board::default());
        let (calls, looks) = std::thread::scope(|scope| {
            let stops = Stops(&stop);
            let (db, shared, stop, board) = (&db, &shared, &stop, &board);
            let reader = move |number| {
                let rng = Rng(seed << 8 | number);
                Reader { db, board, texts: &shared.texts, grows: false, rng }.read(stop)
            };
            let readers: Vec<_> = (0..2).map(|number| scope.spawn(move || reader(number))).collect();
            let write = |writer| shared.write(db, writer, Rng(seed << 16 | writer as u64));
            let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
            let calls: Vec<_> =
                writers.into_iter().flat_map(|writer| writer.join().expect("a writer")).collect();
            drop(stops);
            (calls, readers.into_iter().map(|reader| reader.join().expect("a reader")).sum())
        });
        let expired = shared.expired.into_inner() + db.expire(100).unwrap();
        assert_eq!(expired, shared.old.into_inner(), "every old document expired once");
        for family in 0..FAMILIES {
            let of_family = calls.iter().filter(|call| call.0 == family);
            let own: Vec<Call> = of_family.map(|call| call.1.clone()).collect();
            let last: Vec<bool> =
                (0..KEYS).map(|key| db.get(&name(family, key)).unwrap().is_some()).collect();
            let start = State::default();
            let found = explained(&own, 0, &start, family, &last, &mut HashSet::new());
            assert!(found, "no order gives these answers, and then {last:?}: {own:#?}");
        }
        let made = calls.len() as u64;
        let removed = |call: &&(usize, Call)| matches!(call.1.what, What::Remove { was_there: true, .. });
        let removed = calls.iter().filter(removed).count() as u64;
        db.close().unwrap();
        let again = Database::open_on(disk, Options::default()).unwrap();
        assert_eq!(again.verify(true).unwrap().damage, []);
        vec![("calls", made), ("removed", removed), ("expired", expired), ("looks", looks)]
    });
}
