//! Proves that rows which no writer writes are refused or told, though every seal holds: with the place, never with a panic,
//! a hang or memory without bound, and never with a wrong answer.

use super::common::disk::MemoryDisk;
use super::rows::*;
use super::sealed::{crafted, sealed, unsealed};
use super::told::{Base, base, examine_all, read, read_only, write};
use super::{PAGE, whole};
use redb::{ReadableTable, WriteTransaction};
use sketchdb::Database;

const DIRECTORIES: u32 = 1 << 30;
const FILTERS: u32 = 1 << 31;

fn building(of: &WriteTransaction) -> u64 {
    runs(of)[1][0]
}

/// A finished run that no merge reads, or any.
fn run(of: &WriteTransaction, number: usize) -> u64 {
    runs(of)[0][number]
}

fn change_input(of: &WriteTransaction, change: impl FnOnce(&mut [u64])) {
    change_run(of, building(of), |run| change(&mut run[11..]));
}

fn change_frame(of: &WriteTransaction, contents: bool, change: impl FnOnce(&mut Vec<u8>)) {
    let table = if contents { CONTENTS } else { DOCUMENTS };
    let (key, mut frame) = rows(of, table).remove(1);
    change(&mut frame);
    put(of, table, key, &sealed_frame(frame));
}

fn parents(of: &WriteTransaction) -> Vec<(u64, u64)> {
    let table = of.open_table(PARENTS).unwrap();
    table.iter().unwrap().map(|row| row.unwrap()).map(|(a, b)| (a.value(), b.value())).collect()
}

fn set_parent(of: &WriteTransaction, content: u64, parent: u64) {
    of.open_table(PARENTS).unwrap().insert(content, parent).unwrap();
}

fn set_members(of: &WriteTransaction, key: (u64, u64), row: &[u8]) {
    of.open_table(MEMBERS).unwrap().insert(key, row).unwrap();
}

fn set_holders(of: &WriteTransaction, key: (u64, u64), row: &[u8]) {
    of.open_table(HOLDERS).unwrap().insert(key, row).unwrap();
}

fn set_marks(of: &WriteTransaction, key: (u8, u64), row: &[u8]) {
    of.open_table(MARKS).unwrap().insert(key, row).unwrap();
}

/// Marks one more.
fn mark_another(of: &WriteTransaction, mark: u8) {
    let row = of.open_table(MARKS).unwrap().get((mark, 0)).unwrap().unwrap().value().to_vec();
    let marked = roaring::RoaringBitmap::deserialize_from(&row[..]).unwrap();
    let alive = (0..).find(|&id| !marked.contains(id)).unwrap();
    set_marks(of, (mark, 0), &bitmap(&marked.iter().chain([alive]).map(u64::from).collect::<Vec<_>>()));
}

/// The first cluster of several members.
fn cluster(of: &WriteTransaction) -> (u64, u64) {
    of.open_table(MEMBERS).unwrap().iter().unwrap().next().unwrap().unwrap().0.value()
}

#[test]
fn what_is_sealed_again_is_the_same_file() {
    let bytes = &whole().bytes;
    let again = sealed(&bytes[..PAGE], &unsealed(bytes));
    let numbers =
        |at: usize| at / PAGE == 1 && at % PAGE < 4 || at / PAGE == 2 && (504..512).contains(&(at % PAGE));
    // A page of zeros may have been written or not.
    let unwritten = |at: usize| at / PAGE == 1 && bytes[at / 4 * 4..at / 4 * 4 + 4] == [0; 4];
    let known = |at: &usize| !numbers(*at) && !unwritten(*at);
    let other = (0..bytes.len()).filter(known).find(|&at| bytes[at] != again[at]);
    assert_eq!((other, again.len()), (None, bytes.len()));
    let Base { workload, steps, bytes } = base();
    let db = Database::open_on(MemoryDisk::of(bytes.clone()), read_only()).unwrap();
    assert_eq!(workload.differs(&db, *steps).unwrap(), None);
    assert_eq!(db.verify(true).unwrap().damage, []);
    assert!(!write(bytes).unwrap() && !read(bytes).unwrap());
}

#[test]
fn an_index_of_other_sketches_is_named_by_a_deep_look() {
    let bytes = crafted(&base().bytes, |of| {
        // The hash of the first text of the frame.
        change_frame(of, true, |frame| {
            let behind_slots = FRAME_HEADER + 4 * usize::from(frame[6]);
            frame[behind_slots + 1] ^= 1;
        })
    });
    let db = Database::open_on(MemoryDisk::of(bytes), read_only()).unwrap();
    assert_eq!(db.verify(false).unwrap().damage, []);
    let damage = db.verify(true).unwrap().damage;
    for what in ["the index lacks it", "no sketch gives it"] {
        assert!(damage.iter().any(|damage| damage.what == what), "{what}: {damage:?}");
    }
}

#[test]
fn merges_and_runs_that_cannot_be_are_told() {
    examine_all(
        &[
            ("a merge of a run that is not there", |of| change_input(of, |inputs| inputs[0] = 999)),
            ("a merge of one run twice", |of| change_input(of, |inputs| inputs[3] = inputs[0])),
            ("a merge of itself", |of| change_input(of, |inputs| inputs[0] = building(of))),
            ("a merge that read too much", |of| change_input(of, |inputs| inputs[1] += 1)),
            ("a merge that read everything", |of| change_input(of, |inputs| inputs[1] = u64::from(u32::MAX))),
            ("a merge that read too little", |of| {
                change_input(of, |inputs| inputs.chunks_mut(3).take(1).for_each(|input| input[1..].fill(0)))
            }),
            ("a merge of nothing", |of| {
                change_run(of, building(of), |run| {
                    run.truncate(10);
                    run.push(0);
                })
            }),
            ("a merge of other ranges", |of| change_run(of, building(of), |run| run[2] += 1)),
            ("two runs that are being built", |of| {
                let run = run_integers(of, building(of));
                put(of, RUNS, 2, &record(&run));
            }),
            ("a run without its table", |of| put(of, RUNS, 0, &record(&run_integers(of, run(of, 0))))),
            ("a run removed", |of| remove(of, RUNS, run(of, 1))),
            ("a number never given to a run", |of| {
                put(of, RUNS, 1 << 40, &record(&run_integers(of, run(of, 0))))
            }),
            ("fewer groups", |of| change_run(of, run(of, 0), |run| run[6] = 0)),
            ("more groups", |of| change_run(of, run(of, 0), |run| run[6] += 1)),
            ("four billion groups", |of| change_run(of, run(of, 0), |run| run[6] = u64::from(u32::MAX))),
            ("another level", |of| change_run(of, run(of, 0), |run| run[0] = u64::from(u32::MAX))),
            ("fewer entries", |of| change_run(of, run(of, 0), |run| run[5] -= 1)),
            ("entries without number", |of| change_run(of, run(of, 0), |run| run[5] = u64::MAX)),
            ("other contents", |of| change_run(of, run(of, 0), |run| run[2] += 1)),
            ("ranges that end before they begin", |of| change_run(of, run(of, 0), |run| run.swap(1, 2))),
            ("a record of a run cut short", |of| {
                let mut row = record(&run_integers(of, run(of, 0)));
                row.pop();
                put(of, RUNS, run(of, 0), &row);
            }),
            ("blocks of two runs exchanged", |of| {
                let (a, b) = (run(of, 0), run(of, 1));
                let (first, second) = (run_row(of, a, 0), run_row(of, b, 0));
                change_row(of, a, 0, |row| *row = second);
                change_row(of, b, 0, |row| *row = first);
            }),
            ("blocks of one run exchanged", |of| {
                let (first, second) = (run_row(of, run(of, 0), 0), run_row(of, run(of, 0), 1));
                change_row(of, run(of, 0), 0, |row| *row = second);
                change_row(of, run(of, 0), 1, |row| *row = first);
            }),
            ("a block cut short", |of| change_row(of, run(of, 0), 0, |row| row.truncate(row.len() - 1))),
            ("a block of many entries", |of| change_row(of, run(of, 0), 0, |row| row[..2].fill(255))),
            ("a block of zeros", |of| change_row(of, run(of, 0), 0, |row| row.fill(0))),
            ("numbers of a block beyond the run", |of| {
                change_row(of, run(of, 0), 0, |row| {
                    row.iter_mut().rev().take(20).for_each(|byte| *byte = 255)
                })
            }),
            ("a directory cut short", |of| {
                change_row(of, run(of, 0), DIRECTORIES, |row| row.truncate(row.len() - 6))
            }),
            ("a directory of noise", |of| change_row(of, run(of, 0), DIRECTORIES, |row| row.reverse())),
            ("a filter that denies everything", |of| change_row(of, run(of, 0), FILTERS, |row| row.fill(0))),
            ("a filter of another run", |of| {
                let other = run_row(of, run(of, 1), FILTERS);
                change_row(of, run(of, 0), FILTERS, |row| *row = other);
            }),
            ("an empty filter", |of| change_row(of, run(of, 0), FILTERS, Vec::clear)),
        ],
        // What is not a whole block of a filter denies nothing.
        &["an empty filter"],
        &[],
    );
}

#[test]
fn clusters_that_cannot_be_are_told() {
    examine_all(
        &[
            ("a content above itself", |of| {
                let (content, _) = parents(of)[0];
                set_parent(of, content, content);
            }),
            ("a cycle", |of| {
                let (content, parent) = parents(of)[0];
                set_parent(of, parent, content);
            }),
            ("a cycle of three", |of| {
                let (content, parent) = *parents(of).last().unwrap();
                set_parent(of, parent, content + 1);
                set_parent(of, content + 1, content);
            }),
            ("a parent that was never given", |of| set_parent(of, 1 << 40, 3)),
            ("a parent of one alone", |of| {
                let below: Vec<u64> = parents(of).iter().map(|row| row.0).collect();
                let alone = (2..).find(|content| !below.contains(content)).unwrap();
                set_parent(of, alone, 1);
            }),
            ("a parent missing", |of| remove(of, PARENTS, parents(of)[0].0)),
            ("members never given", |of| set_members(of, (cluster(of).0, 900), &bitmap(&[5]))),
            ("members near the end", |of| {
                let next = counters(of)[1];
                set_members(of, cluster(of), &bitmap(&[cluster(of).0, next, next + 1]));
            }),
            ("members in a row beyond all", |of| set_members(of, (cluster(of).0, 1 << 60), &bitmap(&[5]))),
            ("members that are none", |of| set_members(of, cluster(of), b"noise")),
            ("a cluster never given", |of| set_members(of, (1 << 40, 0), &bitmap(&[1, 2]))),
            ("members of two clusters", |of| set_members(of, (1, 0), &bitmap(&[1, cluster(of).0]))),
            ("what stands for a cluster of another", |of| {
                put(of, REPRESENTATIVES, parents(of)[0].0, &[4, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            }),
            ("what stands for nothing", |of| put(of, REPRESENTATIVES, 1 << 40, &[4, 0])),
            ("what stands for a cluster cut short", |of| put(of, REPRESENTATIVES, cluster(of).0, &[4, 3, 1])),
            ("holders of nothing", |of| set_holders(of, (1 << 40, 0), &bitmap(&[1]))),
            ("holders never given", |of| set_holders(of, (0, 900), &bitmap(&[1]))),
            ("holders that hold another", |of| set_holders(of, (0, 0), &bitmap(&[0, 1, 2, 3]))),
            ("holders that are none", |of| set_holders(of, (0, 0), b"")),
            ("dead that were never given", |of| set_marks(of, (1, 900), &bitmap(&[1]))),
            ("removed that were never given", |of| set_marks(of, (2, 900), &bitmap(&[1]))),
            ("dirty that were never given", |of| set_marks(of, (3, 900), &bitmap(&[1]))),
            ("a mark that is none", |of| set_marks(of, (9, 0), &bitmap(&[1]))),
            ("one who lives is dead", |of| mark_another(of, 1)),
            ("one who lives is removed", |of| mark_another(of, 2)),
            ("nothing is dead", |of| remove(of, MARKS, (1, 0))),
            ("nothing is removed", |of| remove(of, MARKS, (2, 0))),
        ],
        &[],
        // How many hold a text is told without a look at each of them.
        &["holders that hold another"],
    );
}

#[test]
fn records_and_counters_that_cannot_be_are_told() {
    examine_all(
        &[
            ("a content cut short", |of| {
                change_frame(of, true, |frame| {
                    // The last record of the frame, and its slot.
                    let slot = FRAME_HEADER + 4 * (usize::from(frame[6]) - 1) + 2;
                    frame.pop();
                    frame[slot] = frame[slot].wrapping_sub(1);
                    let body = (frame.len() - FRAME_HEADER) as u32;
                    frame[24..28].copy_from_slice(&body.to_le_bytes());
                })
            }),
            ("a frame cut short", |of| change_frame(of, true, |frame| frame.truncate(frame.len() - 1))),
            ("a slot too long", |of| change_frame(of, true, |frame| frame[FRAME_HEADER + 3] = 255)),
            ("a frame of another content", |of| change_frame(of, true, |frame| frame[16] ^= 1)),
            ("a frame of documents of another", |of| change_frame(of, false, |frame| frame[16] ^= 1)),
            ("a frame of another database", |of| change_frame(of, true, |frame| frame[9] ^= 1)),
            ("a frame without records", |of| change_frame(of, true, |frame| frame[6..8].fill(0))),
            ("a frame of contents missing", |of| {
                let (key, _) = rows(of, CONTENTS).remove(1);
                remove(of, CONTENTS, key);
            }),
            ("a frame of documents twice", |of| {
                let (_, frame) = rows(of, DOCUMENTS).remove(1);
                put(of, DOCUMENTS, 1 << 30, &frame);
            }),
            ("amendments of nobody", |of| put(of, AMENDMENTS, 1 << 40, &[1, 0, 0, 0])),
            ("an amendment of one who was removed", |of| {
                let removed = of.open_table(MARKS).unwrap().get((2, 0)).unwrap().unwrap().value().to_vec();
                let first = roaring::RoaringBitmap::deserialize_from(&removed[..]).unwrap().min().unwrap();
                put(of, AMENDMENTS, u64::from(first), &[1, 0, 0, 0]);
            }),
            ("an amendment to a content never given", |of| {
                let (key, _) = rows(of, AMENDMENTS).remove(0);
                put(of, AMENDMENTS, key, &record(&[1 << 40, 0, 0, 0]));
            }),
            ("an amendment cut short", |of| {
                let (key, row) = rows(of, AMENDMENTS).remove(0);
                put(of, AMENDMENTS, key, &row[..row.len() - 1]);
            }),
            ("documents go back", |of| count(of, |counters| counters[0] -= 3)),
            ("contents go back", |of| count(of, |counters| counters[1] -= 3)),
            ("runs go back", |of| count(of, |counters| counters[2] = 1)),
            ("runs index more", |of| count(of, |counters| counters[5] += 1)),
            ("runs index less", |of| count(of, |counters| counters[5] -= 1)),
            ("everything was given", |of| count(of, |counters| counters[0] = u64::MAX)),
            ("contents beyond a memtable", |of| count(of, |counters| counters[1] += 1 << 20)),
            ("fewer documents alive", |of| count(of, |counters| counters[6] = 1)),
            ("fewer contents alive", |of| count(of, |counters| counters[7] = 1)),
            ("counters cut short", |of| count(of, |counters| counters.truncate(10))),
            ("no counters", |of| remove(of, META, "counters")),
            ("no parameters", |of| remove(of, META, "params")),
            ("no known answer", |of| remove(of, META, "known_answer")),
            ("another threshold", |of| change_params(of, "\"threshold\":0.8", "\"threshold\":0.5")),
            ("a threshold that cannot be", |of| change_params(of, "\"threshold\":0.8", "\"threshold\":-1")),
            ("a sample without end", |of| change_params(of, "\"sample\":256", "\"sample\":99999999999")),
            ("minhashes without end", |of| {
                change_params(of, "\"minhashes\":128", "\"minhashes\":4294967296")
            }),
            ("another parameter", |of| change_params(of, "\"seed\":1", "\"seed\":1,\"more\":1")),
            ("parameters that are no JSON", |of| change_params(of, "{", "[")),
            ("a table missing", |of| assert!(of.delete_table(MARKS).unwrap())),
        ],
        &[],
        &[],
    );
}
