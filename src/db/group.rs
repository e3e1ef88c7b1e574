//! Group commit: one of those who wait commits for all of them.
//!
//! Whoever waits does so for the commit that is under way and for those that take what was in the queue before the own job,
//! be there never so many others.
//!
//! A commit that failed acknowledges nothing and latches: whether it took effect is known only after reopening. What a
//! commit does is not known here, so that `tests/concurrency` runs this very source under every kind of schedule.

use super::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// What commits fail with.
pub(crate) trait Failure: Display {
    /// What a thread is told that finds that something failed before, or with the job of another.
    fn earlier(what: String) -> Self;
}

/// How a job ended, once it has.
pub(crate) type Outcome<E> = Arc<Mutex<Option<Result<(), E>>>>;

/// A job that waits for a commit.
struct Waiting<J, E> {
    weight: usize,
    job: J,
    outcome: Outcome<E>,
}

/// A queue of jobs, and the state that only one commit at a time touches.
pub(crate) struct GroupCommit<S, J, E> {
    /// The most weight of a commit of several jobs.
    most: usize,
    /// The longest that a commit waits for company.
    patience: Duration,
    /// How many jobs the last commit had, and those that came while it was made: as many may come again.
    company: Mutex<usize>,
    state: Mutex<S>,
    queue: Mutex<VecDeque<Waiting<J, E>>>,
    /// Whether somebody is at a commit.
    led: Mutex<bool>,
    /// Told whenever a commit has ended.
    ended: Condvar,
    failed: Mutex<Option<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S, J, E: Failure> GroupCommit<S, J, E> {
    pub fn new(most: usize, patience: Duration, state: S) -> Self {
        let company = Mutex::new(0);
        let (queue, failed) = (Mutex::default(), Mutex::default());
        let (led, ended) = (Mutex::new(false), Condvar::new());
        GroupCommit { most, patience, company, state: Mutex::new(state), queue, led, ended, failed }
    }

    /// The state, for as long as no commit may run.
    pub fn state(&self) -> MutexGuard<'_, S> {
        lock(&self.state)
    }

    /// Puts a job in the queue.
    pub fn enqueue(&self, weight: usize, job: J) -> Outcome<E> {
        let outcome = Outcome::default();
        lock(&self.queue).push_back(Waiting { weight, job, outcome: outcome.clone() });
        outcome
    }

    /// Jobs that nobody has begun with.
    pub fn waiting(&self) -> usize {
        lock(&self.queue).len()
    }

    /// Waits until somebody has committed the job with this outcome: this thread, when nobody else is at it.
    pub fn wait(&self, own: &Outcome<E>, commit: impl Fn(&mut S, Vec<J>) -> Result<(), E>) -> Result<(), E> {
        loop {
            if let Some(outcome) = self.outcome_or_lead(own) {
                return outcome;
            }
            self.lead(own, &commit);
            *lock(&self.led) = false;
            self.ended.notify_all();
        }
    }

    /// Waits for the outcome, or until nobody is at a commit: then this thread is.
    fn outcome_or_lead(&self, own: &Outcome<E>) -> Option<Result<(), E>> {
        let mut led = lock(&self.led);
        loop {
            let outcome = lock(own).take();
            if outcome.is_some() {
                return outcome;
            }
            if !*led {
                *led = true;
                return None;
            }
            led = self.ended.wait(led).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Commits the next group.
    fn lead(&self, own: &Outcome<E>, commit: impl Fn(&mut S, Vec<J>) -> Result<(), E>) {
        let mut state = self.state();
        self.wait_for_company();
        let (jobs, outcomes) = self.next_group();
        // A panic must not leave the threads waiting whose jobs are in the group.
        let committed = catch_unwind(AssertUnwindSafe(|| {
            self.usable()?;
            commit(&mut state, jobs)
        }));
        *lock(&self.company) = outcomes.len() + self.waiting();
        self.settle(committed.ok(), &outcomes, own);
    }

    /// Waits a little for those whose jobs were in the last commit: they are about to come with their next.
    fn wait_for_company(&self) {
        let (began, expected) = (Instant::now(), *lock(&self.company));
        while self.waiting() < expected && began.elapsed() < self.patience {
            std::thread::sleep(self.patience / 8);
        }
    }

    /// The jobs at the head of the queue, as many as one commit takes, and where their outcomes go.
    fn next_group(&self) -> (Vec<J>, Vec<Outcome<E>>) {
        let mut queue = lock(&self.queue);
        let (mut jobs, mut outcomes, mut sum) = (Vec::new(), Vec::new(), 0);
        let fits = |sum: usize, next: &Waiting<J, E>| sum == 0 || sum + next.weight <= self.most;
        while queue.front().is_some_and(|next| fits(sum, next))
            && let Some(Waiting { weight, job, outcome }) = queue.pop_front()
        {
            sum += weight;
            jobs.push(job);
            outcomes.push(outcome);
        }
        (jobs, outcomes)
    }

    /// Tells a group how its commit ended, `None` when it panicked. Only its own thread is handed the very error.
    fn settle(&self, committed: Option<Result<(), E>>, group: &[Outcome<E>], own: &Outcome<E>) {
        let (failed, error) = match committed {
            Some(Ok(())) => return group.iter().for_each(|outcome| *lock(outcome) = Some(Ok(()))),
            Some(Err(error)) => (self.fail(&error), Some(error)),
            None => (self.fail(&"a commit panicked"), None),
        };
        let earlier = || E::earlier(failed.clone());
        group.iter().for_each(|outcome| *lock(outcome) = Some(Err(earlier())));
        if group.iter().any(|outcome| Arc::ptr_eq(outcome, own)) {
            *lock(own) = Some(Err(error.unwrap_or_else(earlier)));
        }
    }

    /// An error when something failed before.
    pub fn usable(&self) -> Result<(), E> {
        lock(&self.failed).clone().map_or(Ok(()), |failed| Err(E::earlier(failed)))
    }

    /// Makes everything fail from now on; what failed first, in words.
    pub fn fail(&self, error: &impl Display) -> String {
        lock(&self.failed).get_or_insert_with(|| error.to_string()).clone()
    }
}
