//! What lies behind the checksums, changed: only tests and fuzzers do that.

use super::disk::Disk;
use super::file::StoreFile;
#[cfg(fuzzing)]
use super::frame::Frame;
use super::frame::{self, HEADER, MAGIC};
use super::tables::{self, Doing, RunRows};
use crate::error::Result;
use redb::{Key, ReadableTable, TableDefinition, Value, WriteTransaction};
use std::sync::Arc;

/// What becomes of a row of a table: `false` takes it away.
pub type Change<'c> = &'c mut dyn FnMut(&str, &mut Vec<u8>) -> bool;

/// Gives every row of every table to `change`, and commits what becomes of them; all checksums hold afterwards.
pub fn rewrite(disk: Arc<dyn Disk>, change: Change) -> Result<()> {
    let file = StoreFile::open_writable(Box::new(disk), 1 << 20)?;
    let transaction = file.begin(true)?;
    let runs: Vec<u64> = keys(&transaction, tables::RUNS)?;
    names(&transaction, change)?;
    rows(&transaction, tables::CONTENTS, "contents", change)?;
    rows(&transaction, tables::DOCUMENTS, "documents", change)?;
    rows(&transaction, tables::AMENDMENTS, "amendments", change)?;
    rows(&transaction, tables::HOLDERS, "holders", change)?;
    rows(&transaction, tables::MARKS, "marks", change)?;
    rows(&transaction, tables::MEMBERS, "members", change)?;
    rows(&transaction, tables::REPRESENTATIVES, "representatives", change)?;
    parents(&transaction, change)?;
    for run in runs {
        let name = tables::run_name(run);
        let definition: RunRows = TableDefinition::new(&name);
        rows(&transaction, definition, "run", change)?;
    }
    rows(&transaction, tables::RUNS, "runs", change)?;
    transaction.commit().doing("rewrite")
}

fn keys<K>(transaction: &WriteTransaction, table: TableDefinition<K, &[u8]>) -> Result<Vec<K>>
where
    K: Key + for<'k> Value<SelfType<'k> = K> + 'static,
{
    let table = transaction.open_table(table).doing("rewrite")?;
    let rows = table.iter().doing("rewrite")?;
    rows.map(|row| row.doing("rewrite").map(|row| row.0.value())).collect()
}

fn rows<K>(
    transaction: &WriteTransaction,
    definition: TableDefinition<K, &[u8]>,
    name: &str,
    change: Change,
) -> Result<()>
where
    K: Key + for<'k> Value<SelfType<'k> = K> + 'static,
{
    for key in keys(transaction, definition)? {
        let mut table = transaction.open_table(definition).doing("rewrite")?;
        let old = table.remove(&key).doing("rewrite")?.map(|row| row.value().to_vec()).unwrap_or_default();
        if let Some(new) = changed(name, old, change) {
            table.insert(&key, &new[..]).doing("rewrite")?;
        }
    }
    Ok(())
}

fn names(transaction: &WriteTransaction, change: Change) -> Result<()> {
    let mut table = transaction.open_table(tables::META).doing("rewrite")?;
    for name in ["counters", "known_answer", "params"] {
        let old = table.remove(name).doing("rewrite")?.map(|row| row.value().to_vec()).unwrap_or_default();
        if let Some(new) = changed(name, old, change) {
            table.insert(name, &new[..]).doing("rewrite")?;
        }
    }
    Ok(())
}

fn parents(transaction: &WriteTransaction, change: Change) -> Result<()> {
    let mut table = transaction.open_table(tables::PARENTS).doing("rewrite")?;
    let rows = table.iter().doing("rewrite")?.map(|row| row.map(|row| (row.0.value(), row.1.value())));
    for (key, parent) in rows.collect::<std::result::Result<Vec<_>, _>>().doing("rewrite")? {
        table.remove(key).doing("rewrite")?;
        if let Some(new) = changed("parents", parent.to_le_bytes().to_vec(), change) {
            let number = new.iter().take(8).rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
            table.insert(key, number).doing("rewrite")?;
        }
    }
    Ok(())
}

fn changed(name: &str, mut row: Vec<u8>, change: Change) -> Option<Vec<u8>> {
    let old = row.clone();
    let stays = change(name, &mut row);
    if row != old && row.len() >= HEADER && row.starts_with(MAGIC) {
        frame::seal(&mut row);
    }
    stays.then_some(row)
}

/// Makes the checksum of every frame hold whose header fits into the bytes.
#[cfg(fuzzing)]
pub fn seal_frames(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<HEADER>()) {
        let length = Frame::label(head).map_or(0, |label| label.3);
        match bytes.get_mut(at..at + length) {
            Some(frame) if length > 0 => {
                frame::seal(frame);
                at += length;
            }
            _ => at += 1,
        }
    }
}
