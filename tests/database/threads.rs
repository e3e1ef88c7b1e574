//! Many threads on one handle.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use sketchdb::{Added, Database, Document, Policy, Query, Verdict};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn of_two_threads_with_one_new_text_exactly_one_is_new() {
    let db = Place::new().open();
    let mut draw = Draw::new(10);
    for round in 0..40 {
        let text = text(&mut draw, 50);
        let start = Barrier::new(4);
        let add = |thread: usize| {
            start.wait();
            db.add(format!("{round}/{thread}"), &text).unwrap()
        };
        let added: Vec<Added> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || add(thread))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let first = added.iter().position(|added| added.verdict == Verdict::New).unwrap();
        for (thread, added) in added.iter().enumerate().filter(|(thread, _)| *thread != first) {
            let of = Some(format!("{round}/{first}"));
            assert_eq!((added.verdict, &added.of), (Verdict::Exact, &of), "round {round}, thread {thread}");
        }
    }
    assert_eq!(db.stats().unwrap().contents, 40);
}

#[test]
fn documents_that_are_begun_before_others_are_before_them_whoever_waits_first() {
    let place = Place::new();
    let db = place.open();
    let mut draw = Draw::new(12);
    let texts: Vec<String> = (0..50).map(|_| text(&mut draw, 40)).collect();
    let mut begun = Vec::new();
    for (number, text) in texts.iter().chain(&texts).enumerate() {
        let documents = vec![document(&db, &number.to_string(), text)];
        begun.push((number, db.add_later(documents, Policy::Everything).unwrap()));
    }
    assert_eq!(db.stats().unwrap().documents, 0, "nobody waited yet");
    for (number, begun) in begun.into_iter().rev() {
        let added = begun.wait().unwrap().remove(0);
        let (verdict, of) = match number < 50 {
            true => (Verdict::New, None),
            false => (Verdict::Exact, Some((number - 50).to_string())),
        };
        assert_eq!((added.verdict, added.of), (verdict, of), "document {number}");
    }
    // Whoever does not wait learns nothing, and harms nobody.
    drop(db.add_later(vec![document(&db, "begun", &texts[0])], Policy::Everything).unwrap());
    db.close().unwrap();
    let db = place.open();
    assert_eq!((db.stats().unwrap().contents, db.get("99").unwrap().is_some()), (50, true));
}

#[test]
fn a_batch_looked_up_by_many_threads_says_what_its_documents_say_one_by_one() {
    let mut draw = Draw::new(13);
    let texts: Vec<String> = (0..400).map(|_| text(&mut draw, 60)).collect();
    // Every third is an earlier text, every third alike to one, and every tenth has a key that is there.
    let of = |number: usize| match number % 3 {
        0 => texts[number].clone(),
        1 => texts[number / 2 / 3 * 3].clone(),
        _ => texts[number / 2 / 3 * 3].clone() + " more",
    };
    let key = |number: usize| if number % 10 == 9 { number / 2 } else { number }.to_string();
    let [together, alone] = [Place::new(), Place::new()].map(|place| place.open());
    let documents = |db: &Database, from: usize| -> Vec<Document> {
        (from..from + 200).map(|number| document(db, &key(number), of(number))).collect()
    };
    for from in [0, 200] {
        let at_once = together.add_batch(documents(&together, from), Policy::Everything).unwrap();
        let one = |document| alone.add_batch(vec![document], Policy::Everything).unwrap().remove(0);
        let one_by_one: Vec<Added> = documents(&alone, from).into_iter().map(one).collect();
        assert_eq!(at_once, one_by_one, "from document {from}");
        let count = |verdict| at_once.iter().filter(|added| added.verdict == verdict).count();
        let counts = [Verdict::New, Verdict::Exact, Verdict::Near, Verdict::Updated].map(count);
        assert!(counts.iter().all(|&count| count >= 5), "{counts:?}");
    }
}

/// Adds documents of a thread's own, some alone and some in batches.
fn add_many(db: &Database, thread: u64, count: usize) {
    let mut draw = Draw::new(thread);
    let texts: Vec<String> = (0..count).map(|_| text(&mut draw, 40)).collect();
    for (number, texts) in texts.chunks(7).enumerate() {
        let batch = texts
            .iter()
            .enumerate()
            .map(|(at, text)| document(db, &format!("{thread}/{}", number * 7 + at), text));
        let added = match number % 3 {
            0 => batch
                .map(|document| db.add_batch(vec![document], Policy::Everything).unwrap().remove(0))
                .collect(),
            _ => db.add_batch(batch.collect(), Policy::Everything).unwrap(),
        };
        assert!(added.iter().all(|added| added.verdict == Verdict::New), "{added:?}");
    }
}

#[test]
fn adds_of_many_threads_are_all_there_after_reopening() {
    const THREADS: u64 = 8;
    const EACH: usize = 140;
    let place = Place::new();
    let db = place.open();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let db = &db;
            scope.spawn(move || add_many(db, thread, EACH));
        }
    });
    drop(db);
    let db = place.read().unwrap();
    let mut ids = Vec::new();
    for thread in 0..THREADS {
        let mut draw = Draw::new(thread);
        for number in 0..EACH {
            let key = format!("{thread}/{number}");
            let answer = db.query(&db.sketch(text(&mut draw, 40)).unwrap(), &Query::default()).unwrap();
            assert_eq!((answer.matches.len(), &answer.matches[0].key), (1, &key));
            ids.push(db.get(&key).unwrap().unwrap().id.0);
        }
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..THREADS * EACH as u64).collect::<Vec<_>>(), "every document has an id of its own");
}

/// Looks for a text that is there until told to stop; how often.
fn keep_reading(db: &Database, text: &str, stop: &AtomicBool) -> u64 {
    let sketch = db.sketch(text).unwrap();
    let mut reads = 0;
    let (mut documents, mut going) = (0, true);
    while going {
        going = !stop.load(Ordering::Acquire);
        let matches = db.query(&sketch, &Query::default()).unwrap().matches;
        assert_eq!((matches.len(), matches[0].key.as_str(), matches[0].exact), (1, "first", true));
        assert_eq!(db.get("first").unwrap().unwrap().copies, 0);
        let now = db.stats().unwrap().documents;
        assert!(now >= documents, "a later look never shows an earlier state");
        documents = now;
        reads += 1;
    }
    reads
}

#[test]
fn readers_go_on_while_a_writer_commits() {
    let db = Place::new().open();
    let first = text(&mut Draw::new(11), 60);
    db.add("first", &first).unwrap();
    let stop = AtomicBool::new(false);
    let reads: u64 = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(|| keep_reading(&db, &first, &stop))).collect();
        (20..24).for_each(|seed| add_many(&db, seed, 200));
        stop.store(true, Ordering::Release);
        readers.into_iter().map(|reader| reader.join().unwrap()).sum()
    });
    assert!(reads >= 3);
    assert_eq!(db.stats().unwrap().documents, 801);
}

#[test]
fn readers_see_a_batch_whole_or_not_at_all() {
    let db = Place::new().open();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                let documents = db.stats().unwrap().documents;
                assert_eq!(documents % 100, 0, "{documents} documents");
            }
        });
        let mut draw = Draw::new(12);
        for batch in 0..30 {
            let batch =
                (0..100).map(|n| document(&db, &format!("{batch}/{n}"), text(&mut draw, 12))).collect();
            db.add_batch(batch, Policy::Everything).unwrap();
        }
        stop.store(true, Ordering::Release);
    });
}
