//! Proves that rows which contradict each other are told by each who reads them, in a small file whose seals hold.

use super::common::disk::MemoryDisk;
use super::common::place::{document, exported};
use super::rows::{
    AMENDMENTS, HOLDERS, MARKS, MEMBERS, PARENTS, REPRESENTATIVES, bitmap, count, put, remove,
};
use super::sealed::crafted;
use redb::WriteTransaction;
use sketchdb::{
    ClusterOptions, Database, Error, Options, PairOptions, Params, Policy, Query, Result, Verdict,
};
use std::ops::ControlFlow;

/// Four texts that are alike.
fn text(number: usize) -> String {
    (0..60).map(|word| format!("w{} ", word * 7)).collect::<String>() + &format!("last{number}")
}

/// Documents 0 to 3, of which 1 changed its text and 3 was removed, so that contents 1 and 3 are dead.
fn base() -> Vec<u8> {
    let disk = MemoryDisk::of(Vec::new());
    Database::create_on(disk.clone(), &Params::default()).unwrap();
    let db = Database::open_on(disk.clone(), Options::default()).unwrap();
    let documents = (0..4).map(|number| document(&db, &format!("key {number}"), text(number)));
    db.add_batch(documents.collect(), Policy::Everything).unwrap();
    assert_eq!(db.add("key 1", "another text").unwrap().verdict, Verdict::Updated);
    assert_eq!(db.remove(["key 3"]).unwrap(), [true]);
    db.close().unwrap();
    disk.bytes()
}

/// Changes one row of a table of bitmaps, or puts it there.
fn set_row<K: redb::Key + 'static>(
    of: &WriteTransaction,
    table: redb::TableDefinition<K, &[u8]>,
    key: K::SelfType<'_>,
    ids: &[u64],
) {
    of.open_table(table).unwrap().insert(key, &bitmap(ids)[..]).unwrap();
}

fn set_holders(of: &WriteTransaction, content: u64, holders: &[u64]) {
    set_row(of, HOLDERS, (content, 0), holders);
}

/// What is asked.
type Question = fn(&Database) -> Result<String>;

const GET: Question = |db| db.get("key 0").map(|stored| format!("{stored:?}"));
const GET_REMOVED: Question = |db| db.get("key 3").map(|stored| format!("{stored:?}"));
const QUERY: Question = |db| db.query(&db.sketch(text(0))?, &Query::default()).map(|a| format!("{a:?}"));
const COPIES: Question = |db| {
    let query = Query { copies: true, ..Query::default() };
    db.query(&db.sketch(text(0))?, &query).map(|answer| format!("{answer:?}"))
};
const PAIRS: Question = |db| {
    let (mut pairs, options) = (Vec::new(), PairOptions::default());
    db.pairs(&options, |pair| {
        pairs.push(format!("{pair:?}"));
        ControlFlow::<()>::Continue(())
    })?;
    Ok(pairs.join(", "))
};
const CLUSTERS: Question = |db| {
    let mut clusters = Vec::new();
    db.clusters(ClusterOptions::default())?.each(|cluster| {
        clusters.push(format!("{cluster:?}"));
        ControlFlow::<()>::Continue(())
    })?;
    Ok(clusters.join(", "))
};
const EXPORT: Question = |db| exported(db).map(|lines| lines.concat());
const ADD: Question = |db| db.add("key 9", text(0)).map(|added| format!("{added:?}"));
const REMOVE: Question = |db| db.remove(["key 0"]).map(|removed| format!("{removed:?}"));

/// What is done to the rows.
type Change = fn(&WriteTransaction);

/// Asks a file with changed rows: every answer must be damage.
fn assert_told(name: &str, change: Change, questions: &[(&str, Question)]) {
    let whole = base();
    for read_only in [true, false] {
        for (what, question) in
            questions.iter().filter(|(what, _)| !read_only || !["add", "remove"].contains(what))
        {
            let open = |bytes| {
                let options = Options { read_only, ..Options::default() };
                Database::open_on(MemoryDisk::of(bytes), options).unwrap()
            };
            question(&open(whole.clone())).unwrap();
            let db = open(crafted(&whole, change));
            let answer = question(&db);
            assert!(matches!(answer, Err(Error::Corrupt { .. })), "{name}, {what}: {answer:?}");
        }
    }
}

#[test]
fn who_is_said_to_hold_a_text_must_hold_it() {
    let more: Change = |of| set_holders(of, 0, &[0, 1]);
    assert_told("one more holder", more, &[("copies", COPIES), ("pairs", PAIRS)]);
    let other: Change = |of| set_holders(of, 0, &[2]);
    let all = [
        ("get", GET),
        ("query", QUERY),
        ("pairs", PAIRS),
        ("clusters", CLUSTERS),
        ("add", ADD),
        ("remove", REMOVE),
    ];
    assert_told("another holder", other, &all);
    let removed: Change = |of| set_holders(of, 0, &[3]);
    assert_told("a removed holder", removed, &all);
}

#[test]
fn texts_whose_mark_is_gone_are_held_by_nobody() {
    let unmarked: Change = |of| remove(of, MARKS, (1, 0));
    let questions = [("query", QUERY), ("pairs", PAIRS), ("export", EXPORT)];
    assert_told("no text is dead", unmarked, &questions);
    // Nobody is about to form the cluster again that lost it either.
    let clean: Change = |of| [1, 3].into_iter().for_each(|mark| remove(of, MARKS, (mark, 0)));
    assert_told("no text is dead, no cluster dirty", clean, &[("clusters", CLUSTERS)]);
}

#[test]
fn documents_whose_mark_is_gone_have_no_text() {
    let unmarked: Change = |of| remove(of, MARKS, (2, 0));
    assert_told("no document is removed", unmarked, &[("get", GET_REMOVED), ("export", EXPORT)]);
}

#[test]
fn verifying_names_who_holds_what_he_does_not() {
    let cases: [(Change, &str, &str); 4] = [
        (|of| remove(of, MARKS, (1, 0)), "content 1", "it is not marked dead, and nobody holds it"),
        (|of| remove(of, MARKS, (2, 0)), "document 3", "content 3 does not know it"),
        (|of| set_holders(of, 0, &[2]), "document 0", "content 0 does not know it"),
        (
            // The largest number there is, and no time.
            |of| put(of, AMENDMENTS, 0, &[&[253][..], &[255; 8], &[0; 3]].concat()),
            "document 0",
            "content 18446744073709551615 does not know it",
        ),
    ];
    for (change, at, what) in cases {
        let disk = MemoryDisk::of(crafted(&base(), change));
        let db = Database::open_on(disk, Options { read_only: true, ..Options::default() }).unwrap();
        let damage = db.verify(false).unwrap().damage;
        assert!(damage.iter().any(|damage| damage.at == at && damage.what == what), "{at}: {damage:?}");
    }
}

/// In the base the next document is 4 and the next content 5: the very numbers that the next addition gives out.
#[test]
fn a_row_of_the_next_number_is_refused_when_the_file_is_opened() {
    let cases: [(&str, Change); 10] = [
        ("frame of Documents 3", |of| count(of, |counters| counters[0] = 3)),
        ("frame of Contents 4", |of| count(of, |counters| counters[1] = 4)),
        ("row of amendments 4", |of| put(of, AMENDMENTS, 4, &[1, 0])),
        ("row of holders 5", |of| set_holders(of, 5, &[0])),
        ("row of parents 5", |of| drop(of.open_table(PARENTS).unwrap().insert(5, 0).unwrap())),
        ("row of members 5", |of| set_row(of, MEMBERS, (5, 0), &[5])),
        ("row of representatives 5", |of| put(of, REPRESENTATIVES, 5, &[4, 0])),
        ("mark of the dead 5", |of| set_row(of, MARKS, (1, 0), &[1, 3, 5])),
        ("mark of the removed 4", |of| set_row(of, MARKS, (2, 0), &[3, 4])),
        ("mark of dirty clusters 5", |of| set_row(of, MARKS, (3, 0), &[5])),
    ];
    let whole = base();
    for (expected, change) in cases {
        let disk = MemoryDisk::of(crafted(&whole, change));
        let opened = Database::open_on(disk, Options::default());
        let Err(Error::Corrupt { at, what }) = opened else { panic!("{expected}: {opened:?}") };
        assert_eq!((&*at, &*what), (expected, "the counters say that it was never given"));
    }
}
