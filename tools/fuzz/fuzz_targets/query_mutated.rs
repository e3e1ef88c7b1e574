//! A database whose bytes were changed, opened and asked everything: the same answers, or errors. When what lies behind the
//! checksums is changed, and every checksum made to hold, answers may be others, but nothing panics, hangs, or takes much memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sketchdb::fuzzing::rewrite;
use sketchdb::{
    Accept, ClusterOptions, Confirm, Database, Error, Measure, PairOptions, Policy, Query, Result, Sketch,
};
use sketchdb_fuzz::base::{MOST, bytes, document, keys, options, text};
use sketchdb_fuzz::{Input, MemoryDisk, within};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

const PAGE: usize = 4096;
/// Memory that all questions may take.
const MEMORY: usize = 48 << 20;

type Answer = Result<String>;

struct Whole {
    bytes: Vec<u8>,
    rows: Vec<Vec<u8>>,
    read: Vec<String>,
    written: Vec<String>,
}

fn whole() -> &'static Whole {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let bytes = bytes();
        let mut rows = Vec::new();
        let disk = MemoryDisk::of(bytes.clone(), MOST);
        rewrite(disk, &mut |_, row| {
            rows.push(row.clone());
            true
        })
        .unwrap();
        let answers = |read_only| {
            let disk = MemoryDisk::of(bytes.clone(), MOST);
            let answers = ask(disk, read_only, 0).unwrap();
            answers.into_iter().flatten().map(|answer| answer.unwrap()).collect()
        };
        Whole { read: answers(true), written: answers(false), rows, bytes }
    })
}

/// Kinds of questions; the input says which are not asked.
const KINDS: u32 = 8;

/// All that can be asked, in order, and then what writing says: none of the kinds that are `left_out`.
fn ask(disk: Arc<MemoryDisk>, read_only: bool, left_out: u8) -> Result<Vec<Option<Answer>>> {
    let db = Database::open_on(disk, options(read_only))?;
    let mut answers = Vec::new();
    for kind in 0..KINDS {
        let asked = left_out >> kind & 1 == 0;
        for question in questions(kind, read_only) {
            answers.push(asked.then(|| question(&db)));
        }
    }
    Ok(answers)
}

type Question = Box<dyn Fn(&Database) -> Answer>;

fn questions(kind: u32, read_only: bool) -> Vec<Question> {
    fn get(key: String) -> Question {
        Box::new(move |db| db.get(&key).map(|stored| format!("{stored:?}")))
    }
    fn query(number: usize) -> Question {
        Box::new(move |db| {
            let (sketch, query) = probe(db, number)?;
            db.query(&sketch, &query).map(|answer| format!("{answer:?}"))
        })
    }
    match kind {
        0 => keys().map(get).collect(),
        1 => (0..8).map(query).collect(),
        2 => vec![Box::new(pairs)],
        3 => vec![
            Box::new(clusters),
            Box::new(|db| db.cluster_of("key 8").map(|cluster| format!("{cluster:?}"))),
        ],
        4 => vec![Box::new(export)],
        5 => vec![Box::new(|db| db.stats().map(|_| String::new()))],
        6 => vec![Box::new(|db| db.verify(true).map(|_| String::new()))],
        _ if read_only => Vec::new(),
        _ => vec![
            Box::new(|db| add(db, vec![("one more".into(), 9)])),
            Box::new(|db| db.remove(["key 1", "key 8", "none"]).map(|removed| format!("{removed:?}"))),
            Box::new(|db| db.expire(1011).map(|expired| format!("{expired}"))),
            Box::new(|db| {
                add(db, (0..10).map(|number| (format!("more {number}"), 200 + 4 * number)).collect())
            }),
            Box::new(clusters),
        ],
    }
}

fn probe(db: &Database, number: usize) -> Result<(Sketch, Query)> {
    let by = [
        None,
        Some(Measure::Resemblance(0.5)),
        Some(Measure::Containment(0.7)),
        Some(Measure::Contained(0.7)),
        Some(Measure::Agreement(0.7)),
        Some(Measure::Edit(0.4)),
        Some(Measure::Hamming(3)),
        Some(Measure::Any(0.8)),
    ];
    let query = Query {
        by: by[number],
        copies: number % 2 == 0,
        accept: [Accept::Estimate, Accept::High][number % 2],
        confirm: if number % 3 == 2 { vec![Confirm::Simhash(20), Confirm::Edit(0.9)] } else { Vec::new() },
        ..Query::default()
    };
    Ok((db.sketch(text(4 * number + 1))?, query))
}

fn add(db: &Database, texts: Vec<(String, usize)>) -> Answer {
    let documents = texts.into_iter().map(|(key, number)| document(db, key, &text(number), 3000));
    db.add_batch(documents.collect(), Policy::Everything).map(|added| format!("{added:?}"))
}

fn pairs(db: &Database) -> Answer {
    let mut pairs = Vec::new();
    let options = PairOptions { memory: 1 << 20, ..PairOptions::default() };
    let summary = db.pairs(&options, |event| {
        pairs.push(event);
        ControlFlow::<()>::Continue(())
    })?;
    Ok(format!("{summary:?} {pairs:?}"))
}

fn clusters(db: &Database) -> Answer {
    let mut all = Vec::new();
    db.clusters(ClusterOptions::default())?.each(|cluster| {
        all.push(format!("{cluster:?}"));
        ControlFlow::<()>::Continue(())
    })?;
    Ok(all.join("\n"))
}

fn export(db: &Database) -> Answer {
    let mut lines = String::new();
    db.export::<Error>(&mut |_, _, _| {}, |line| {
        lines.push_str(line);
        Ok(())
    })?;
    Ok(lines)
}

fuzz_target!(init: { whole(); }, |input: &[u8]| {
    let mut input = Input(input);
    let (mode, left_out) = (input.byte(), input.byte());
    let (behind, read_only) = (mode & 1 == 1, mode & 2 == 2);
    let (answers, expected) = within(MEMORY, || {
        let changed = if behind { behind_the_checksums(&mut input) } else { changed(&mut input) };
        let disk = MemoryDisk::of(changed, MOST);
        (ask(disk, read_only, left_out), if read_only { &whole().read } else { &whole().written })
    });
    if behind {
        return;
    }
    match answers {
        Err(error) => check_error(&error),
        Ok(answers) => {
            let asked = answers.iter().zip(expected).enumerate();
            for (number, (answer, expected)) in asked {
                match answer {
                    Some(Ok(answer)) => assert_eq!(answer, expected, "question {number}"),
                    Some(Err(error)) => check_error(error),
                    None => {}
                }
            }
        }
    }
});

/// What damage may be answered with.
fn check_error(error: &Error) {
    let damage = matches!(
        error,
        Error::Corrupt { .. }
            | Error::Incompatible { .. }
            | Error::Version { .. }
            | Error::Failed(_)
    );
    assert!(damage, "{error:?}");
}

/// The bytes of the file with changes: bits flipped, pages zeroed or copied, the end cut off.
fn changed(input: &mut Input) -> Vec<u8> {
    let mut bytes = whole().bytes.clone();
    while !input.is_empty() {
        let (change, pages) = (input.byte(), (bytes.len() / PAGE).max(1));
        let (page, at) = (input.below(pages), input.below(PAGE));
        let place = (page * PAGE + at).min(bytes.len().saturating_sub(1));
        let of = |page: usize| page * PAGE..(page + 1) * PAGE;
        match change % 8 {
            0 if bytes.len() >= of(page).end => bytes[of(page)].fill(0),
            1 => {
                let other = input.below(pages);
                if of(page).end.max(of(other).end) <= bytes.len() {
                    bytes.copy_within(of(other), page * PAGE);
                }
            }
            2 if at == 0 => bytes.truncate(page * PAGE),
            3 => bytes.truncate(place),
            4 => bytes.extend(std::iter::repeat_n(0, at)),
            _ if !bytes.is_empty() => bytes[place] ^= input.byte().max(1),
            _ => {}
        }
    }
    bytes
}

/// The bytes of a file of which some rows were changed.
fn behind_the_checksums(input: &mut Input) -> Vec<u8> {
    let Whole { bytes, rows, .. } = whole();
    let mut changes: Vec<(usize, u8, Input)> = Vec::new();
    while !input.is_empty() {
        let (row, change) = (input.below(rows.len()), input.byte());
        changes.push((row, change, Input(input.bytes(5))));
    }
    let disk = MemoryDisk::of(bytes.clone(), MOST);
    let mut number = 0;
    let rewritten = rewrite(disk.clone(), &mut |_, row| {
        let mut stays = true;
        for (_, change, arguments) in changes.iter().filter(|(row, ..)| *row == number) {
            stays &= change_row(row, *change, *arguments, rows);
        }
        number += 1;
        stays
    });
    rewritten.expect("a file that is whole");
    disk.bytes()
}

/// Whether the row stays.
fn change_row(row: &mut Vec<u8>, change: u8, mut arguments: Input, rows: &[Vec<u8>]) -> bool {
    let at = arguments.below(row.len() + 1);
    match change % 10 {
        0 => return false,
        1 => row.truncate(at),
        2 => row.extend(arguments.bytes(3)),
        3 => row.clone_from(&rows[arguments.below(rows.len())]),
        4 => row.splice(at..at, arguments.bytes(3).iter().copied()).for_each(drop),
        5 => row.drain(at..(at + 1 + usize::from(arguments.byte())).min(row.len()).max(at)).for_each(drop),
        6 => {
            let end = (at + 1 + usize::from(arguments.byte()) % 8).min(row.len());
            row[at..end].fill(arguments.byte());
        }
        _ => {
            if let Some(byte) = row.get_mut(at) {
                *byte = byte.wrapping_add(arguments.byte().max(1));
            }
        }
    }
    true
}
