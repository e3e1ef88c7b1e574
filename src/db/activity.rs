//! What a process has done with a database since it opened it, for whoever watches over it.

use super::add::{Added, Verdict};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts since the database was opened, of this process alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Documents that were given the verdict new.
    pub new: u64,
    /// Unchanged.
    pub unchanged: u64,
    /// Updated.
    pub updated: u64,
    /// Exact.
    pub exact: u64,
    /// Near.
    pub near: u64,
    /// Contained.
    pub contained: u64,
    /// Of all these, those whose search was bounded by a term that too many contents share.
    pub bounded: u64,
    /// Commits.
    pub commits: u64,
    /// Commits that made all before them durable.
    pub durable_commits: u64,
    /// Documents that a crash would lose now: buffered ones since the last durable commit.
    pub buffered: u64,
    /// Jobs that wait for a commit now.
    pub waiting: u64,
    /// How long callers waited for commits, all together.
    pub waited: Duration,
    /// The longest that one of them did.
    pub longest_wait: Duration,
}

impl Activity {
    /// Documents that were given a verdict.
    pub fn documents(&self) -> u64 {
        self.new + self.unchanged + self.updated + self.exact + self.near + self.contained
    }

    fn count(&mut self, added: &Added) {
        self.bounded += u64::from(added.bounded);
        *match added.verdict {
            Verdict::New => &mut self.new,
            Verdict::Unchanged => &mut self.unchanged,
            Verdict::Updated => &mut self.updated,
            Verdict::Exact => &mut self.exact,
            Verdict::Near => &mut self.near,
            Verdict::Contained => &mut self.contained,
        } += 1;
    }
}

/// The counts of a handle.
#[derive(Debug, Default)]
pub(crate) struct Counts(Mutex<Activity>);

impl Counts {
    fn lock(&self) -> MutexGuard<'_, Activity> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So far.
    pub fn now(&self) -> Activity {
        *self.lock()
    }

    /// A commit took effect, with so many documents.
    pub fn committed(&self, weight: u64, durable: bool) {
        let mut counts = self.lock();
        counts.commits += 1;
        counts.durable_commits += u64::from(durable);
        counts.buffered = if durable { 0 } else { counts.buffered + weight };
    }

    /// A caller was given verdicts after this time.
    pub fn answered<'a>(&self, added: impl Iterator<Item = &'a Added>, waited: Duration) {
        let mut counts = self.lock();
        added.for_each(|added| counts.count(added));
        counts.waited += waited;
        counts.longest_wait = counts.longest_wait.max(waited);
    }
}
