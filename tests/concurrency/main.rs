//! Proves what threads do to each other by running the very sources under schedules of the checker's choice: random ones,
//! ones with few forced changes of thread, and every one there is up to a bound.
//!
//! Locks are shuttle's: whoever waits for one gives way to any other thread, and a schedule in which all wait fails. Every
//! run begins with another seed and a failure names the schedule. `SKETCHDB_SCHEDULES` is how many random ones, 10,000 by
//! default. What is too large for that, a whole database, is run by many threads in `SKETCHDB_STRESS` rounds, 18 by
//! default, and each answer is compared with what some order of the calls would give. (How readers come to the next view,
//! an exchange of one pointer under a lock, needs no checker.)

/// Group commit, with locks that the checker schedules.
#[path = "."]
mod db {
    mod sync {
        pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    }
    #[path = "../../src/db/group.rs"]
    pub(crate) mod group;
}

/// The budget of bytes, likewise.
#[path = "."]
mod cli {
    mod sync {
        pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
    }
    #[path = "../../src/cli/budget.rs"]
    pub mod budget;
}

#[path = "../common/mod.rs"]
mod common;
mod budgets;
mod groups;
mod stress;
mod readers;
mod history;
mod removed;
mod callbacks;
mod sightings;

/// Runs a body under many schedules.
fn check(body: fn()) {
    let asked = std::env::var("SKETCHDB_SCHEDULES").ok().and_then(|asked| asked.parse().ok());
    let schedules: usize = asked.unwrap_or(10_000);
    shuttle::check_random(body, schedules);
    (1..=4).for_each(|depth| shuttle::check_pct(body, schedules / 10, depth));
    shuttle::check_dfs(body, Some(schedules / 5));
}
