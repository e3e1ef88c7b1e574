//! How many records of archives there were of each kind, and what became of those that are no documents.

use super::warc::Kind;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a record that could be a document is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// Its status is not one of a page.
    Status,
    /// It is no text.
    Type,
}

/// Counts what all threads read.
#[derive(Debug, Default)]
pub struct Tally {
    records: [AtomicU64; Kind::NAMES.len()],
    passed: [AtomicU64; 2],
}

impl Tally {
    pub fn record(&self, kind: Kind) {
        self.records[kind as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub fn passed(&self, why: Passed) {
        self.passed[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts in words; `None` when there was no record.
    pub fn said(&self) -> Option<String> {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let records: Vec<String> = (self.records.iter().zip(Kind::NAMES))
            .filter(|(number, _)| count(number) > 0)
            .map(|(number, name)| format!("{} {name}", count(number)))
            .collect();
        let [status, kind] = &self.passed;
        (!records.is_empty()).then(|| {
            format!(
                "records: {}; passed over: {} without a page by their status, {} no text",
                records.join(", "),
                count(status),
                count(kind)
            )
        })
    }
}
