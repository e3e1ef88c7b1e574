//! Rows as redb's tables hold them, read and changed by their bytes.

use redb::{Key, ReadableTable, TableDefinition, Value, WriteTransaction};
use std::borrow::Borrow;

pub const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
pub const CONTENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("contents");
pub const DOCUMENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("documents");
pub const AMENDMENTS: TableDefinition<u64, &[u8]> = TableDefinition::new("amendments");
pub const HOLDERS: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("holders");
pub const MARKS: TableDefinition<(u8, u64), &[u8]> = TableDefinition::new("marks");
pub const PARENTS: TableDefinition<u64, u64> = TableDefinition::new("parents");
pub const MEMBERS: TableDefinition<(u64, u64), &[u8]> = TableDefinition::new("members");
pub const REPRESENTATIVES: TableDefinition<u64, &[u8]> = TableDefinition::new("representatives");
pub const RUNS: TableDefinition<u64, &[u8]> = TableDefinition::new("runs");
pub const FRAME_HEADER: usize = 36;

/// The integers of a record that has nothing else.
pub fn integers(mut bytes: &[u8]) -> Vec<u64> {
    let mut out = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        let width = match first {
            0xFB => 2,
            0xFC => 4,
            0xFD => 8,
            _ => 0,
        };
        let (own, behind) = rest.split_at(width);
        let value = own.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        out.push(if width == 0 { u64::from(first) } else { value });
        bytes = behind;
    }
    out
}

/// The record of integers.
pub fn record(integers: &[u64]) -> Vec<u8> {
    let encoded = integers.iter().map(|&value| match value {
        0..=250 => vec![value as u8],
        251..=0xFFFF => [&[0xFB][..], &(value as u16).to_le_bytes()].concat(),
        0x1_0000..=0xFFFF_FFFF => [&[0xFC][..], &(value as u32).to_le_bytes()].concat(),
        _ => [&[0xFD][..], &value.to_le_bytes()].concat(),
    });
    encoded.flatten().collect()
}

/// A row of a set of ids.
pub fn bitmap(ids: &[u64]) -> Vec<u8> {
    let set: roaring::RoaringBitmap = ids.iter().map(|&id| id as u32).collect();
    let mut bytes = Vec::new();
    set.serialize_into(&mut bytes).unwrap();
    bytes
}

/// A frame whose checksum holds again.
pub fn sealed_frame(mut frame: Vec<u8>) -> Vec<u8> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[..FRAME_HEADER - 4]);
    hasher.update(&frame[FRAME_HEADER..]);
    frame[FRAME_HEADER - 4..FRAME_HEADER].copy_from_slice(&hasher.finalize().to_le_bytes());
    frame
}

/// Every row of a table that is keyed by numbers.
pub fn rows(of: &WriteTransaction, table: TableDefinition<u64, &[u8]>) -> Vec<(u64, Vec<u8>)> {
    let table = of.open_table(table).unwrap();
    let rows = table.iter().unwrap().map(|row| row.unwrap());
    rows.map(|(key, value)| (key.value(), value.value().to_vec())).collect()
}

pub fn put(of: &WriteTransaction, table: TableDefinition<u64, &[u8]>, key: u64, value: &[u8]) {
    of.open_table(table).unwrap().insert(key, value).unwrap();
}

pub fn remove<'k, K: Key + 'static, V: Value + 'static>(
    of: &WriteTransaction,
    table: TableDefinition<K, V>,
    key: impl Borrow<K::SelfType<'k>>,
) {
    drop(of.open_table(table).unwrap().remove(key).unwrap());
}

/// Changes the counters: see `Counters` in `schema/format.md` for their order.
pub fn count(of: &WriteTransaction, change: impl FnOnce(&mut Vec<u64>)) {
    let mut meta = of.open_table(META).unwrap();
    let mut counters = integers(meta.get("counters").unwrap().unwrap().value());
    change(&mut counters);
    meta.insert("counters", &record(&counters)[..]).unwrap();
}

pub fn counters(of: &WriteTransaction) -> Vec<u64> {
    let meta = of.open_table(META).unwrap();
    let row = meta.get("counters").unwrap().unwrap();
    integers(row.value())
}

/// Changes the record of a run: level, contents, documents, entries, groups, bytes of blocks and filters, and what follows.
pub fn change_run(of: &WriteTransaction, number: u64, change: impl FnOnce(&mut Vec<u64>)) {
    let (_, row) = rows(of, RUNS).into_iter().find(|row| row.0 == number).unwrap();
    let mut run = integers(&row);
    change(&mut run);
    put(of, RUNS, number, &record(&run));
}

/// The record of a run, as integers.
pub fn run_integers(of: &WriteTransaction, run: u64) -> Vec<u64> {
    integers(&rows(of, RUNS).into_iter().find(|row| row.0 == run).unwrap().1)
}

/// Numbers of the runs that are finished, and of those that are being built.
pub fn runs(of: &WriteTransaction) -> [Vec<u64>; 2] {
    let building = |row: &[u8]| integers(row)[9] == 1;
    let (built, finished): (Vec<_>, Vec<_>) = rows(of, RUNS).into_iter().partition(|row| building(&row.1));
    [finished, built].map(|runs| runs.into_iter().map(|row| row.0).collect())
}

/// Changes a row of a run.
pub fn change_row(of: &WriteTransaction, run: u64, key: u32, change: impl FnOnce(&mut Vec<u8>)) {
    let name = format!("run_{run}");
    let mut table = of.open_table(TableDefinition::<u32, &[u8]>::new(&name)).unwrap();
    let mut row = table.get(key).unwrap().unwrap().value().to_vec();
    change(&mut row);
    table.insert(key, &row[..]).unwrap();
}

pub fn run_row(of: &WriteTransaction, run: u64, key: u32) -> Vec<u8> {
    let mut out = Vec::new();
    change_row(of, run, key, |row| out = row.clone());
    out
}

/// Changes a part of the parameters.
pub fn change_params(of: &WriteTransaction, from: &str, to: &str) {
    let mut meta = of.open_table(META).unwrap();
    let mut frame = meta.get("params").unwrap().unwrap().value().to_vec();
    let at = frame.windows(from.len()).position(|part| part == from.as_bytes()).unwrap();
    frame.splice(at..at + from.len(), to.bytes());
    let body = (frame.len() - FRAME_HEADER) as u32;
    frame[24..28].copy_from_slice(&body.to_le_bytes());
    meta.insert("params", &sealed_frame(frame)[..]).unwrap();
}
