//! Group commit: whatever the schedule, everybody is told once how the own job ended, and only then.

use crate::check;
use crate::db::group::{Failure, GroupCommit, Outcome};
use shuttle::thread;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// The most weight of a group.
const MOST: usize = 4;

/// What a commit makes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Well,
    Badly,
    InPanic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Job {
    number: usize,
    weight: usize,
    ends: Ends,
}

/// How a job failed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Failed {
    /// Its thread committed it and was handed the error itself.
    Own(usize),
    Earlier(String),
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Own(number) => write!(f, "job {number} failed"),
            Failed::Earlier(what) => f.write_str(what),
        }
    }
}

impl Failure for Failed {
    fn earlier(what: String) -> Self {
        Failed::Earlier(what)
    }
}

/// What stands for the file and for what readers are shown.
struct Store {
    commits: GroupCommit<Vec<usize>, Job, Failed>,
    /// Jobs that readers see. The checker does not look at this lock: nobody may come to wait for it.
    shown: Mutex<Vec<usize>>,
    /// Every job that was begun, in order, and the weights of each group.
    begun: Mutex<Vec<usize>>,
    groups: Mutex<Vec<Vec<usize>>>,
    broken: Mutex<Option<String>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

impl Store {
    fn new() -> Arc<Self> {
        let commits = GroupCommit::new(MOST, Duration::ZERO, Vec::new());
        let (shown, begun) = Default::default();
        Arc::new(Store { commits, shown, begun, groups: Mutex::default(), broken: Mutex::default() })
    }

    /// Like a commit on a file: reads what is there, works for a while, shows all of it.
    fn commit(&self, written: &mut Vec<usize>, group: Vec<Job>) -> Result<(), Failed> {
        assert_eq!(*held(&self.broken), None, "nothing is committed after a failure");
        let mut next = held(&self.shown).clone();
        assert_eq!(*written, next, "what was written before is shown");
        thread::yield_now();
        held(&self.groups).push(group.iter().map(|job| job.weight).collect());
        for job in group {
            held(&self.begun).push(job.number);
            match job.ends {
                Ends::Well => next.push(job.number),
                Ends::Badly => {
                    let failure = Failed::Own(job.number);
                    *held(&self.broken) = Some(failure.to_string());
                    return Err(failure);
                }
                Ends::InPanic => {
                    *held(&self.broken) = Some("a commit panicked".into());
                    // Unwinds without a word on stderr.
                    std::panic::resume_unwind(Box::new("a panic that was asked for"));
                }
            }
        }
        thread::yield_now();
        *written = next.clone();
        thread::yield_now();
        *held(&self.shown) = next;
        Ok(())
    }

    /// Waits for the outcome of a job, and compares it with what came of it.
    fn wait(&self, job: Job, outcome: &Outcome<Failed>) -> Result<(), Failed> {
        let ended = self.commits.wait(outcome, |written, group| self.commit(written, group));
        let times =
            |list: &Mutex<Vec<usize>>| held(list).iter().filter(|&&number| number == job.number).count();
        let broken = held(&self.broken).clone();
        match &ended {
            Ok(()) => assert_eq!((job.ends, times(&self.shown), times(&self.begun)), (Ends::Well, 1, 1)),
            Err(failure) => {
                assert_eq!(broken, Some(failure.to_string()), "what failed first is told");
                assert_eq!(times(&self.shown), 0);
                assert!(times(&self.begun) <= 1, "{job:?} was begun twice");
            }
        }
        ended
    }

    fn submit(&self, job: Job) -> Result<(), Failed> {
        let outcome = self.commits.enqueue(job.weight, job);
        let ended = self.wait(job, &outcome);
        assert!(outcome.lock().unwrap().is_none(), "an outcome is told once");
        ended
    }

    /// What holds when all have returned.
    fn check_end(&self, jobs: usize, fails: bool) {
        let (shown, begun) = (held(&self.shown).clone(), held(&self.begun).clone());
        assert_eq!(*self.commits.state(), shown);
        assert_eq!(self.commits.waiting(), 0);
        assert!(begun.starts_with(&shown), "in one order: {shown:?} of {begun:?}");
        assert_eq!(self.commits.usable().is_err(), fails);
        assert_eq!(fails, shown.len() < jobs, "{shown:?}");
        for weights in held(&self.groups).iter() {
            assert!(weights.len() == 1 || weights.iter().sum::<usize>() <= MOST, "a group of {weights:?}");
        }
    }
}

/// Threads that submit these jobs, each its own one after the other.
fn run(threads: &[&[(usize, Ends)]]) {
    let store = Store::new();
    let mut number = 0;
    let mut number_of = |&(weight, ends): &(usize, Ends)| {
        number += 1;
        Job { number, weight, ends }
    };
    let threads: Vec<Vec<Job>> =
        threads.iter().map(|jobs| jobs.iter().map(&mut number_of).collect()).collect();
    let all = threads.concat();
    let submit = |jobs: Vec<Job>| {
        let store = store.clone();
        thread::spawn(move || jobs.into_iter().map(|job| store.submit(job)).collect::<Vec<_>>())
    };
    let threads: Vec<_> = threads.into_iter().map(submit).collect();
    let ended: Vec<Result<(), Failed>> =
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    assert_eq!(ended.len(), all.len());
    let own = ended.iter().filter(|ended| matches!(ended, Err(Failed::Own(_)))).count();
    let fails = all.iter().any(|job| job.ends != Ends::Well);
    assert!(own <= 1, "the error itself is handed to one thread");
    for (job, ended) in all.iter().zip(&ended) {
        assert_eq!(ended.is_ok(), held(&store.shown).contains(&job.number), "{job:?}");
    }
    store.check_end(all.len(), fails);
}

use Ends::{Badly, InPanic, Well};

#[test]
fn everybody_is_told_once_that_the_own_job_is_committed_and_shown() {
    check(|| run(&[&[(1, Well), (2, Well)], &[(3, Well), (1, Well)], &[(4, Well)], &[(9, Well)]]));
    check(|| run(&[&[(1, Well)], &[(1, Well)]]));
}

#[test]
fn a_job_that_fails_takes_its_group_along_and_all_that_come_later() {
    check(|| run(&[&[(1, Well), (1, Well)], &[(1, Badly), (1, Well)], &[(2, Well), (4, Well)]]));
    check(|| run(&[&[(1, Badly)], &[(1, Badly)]]));
}

#[test]
fn a_job_that_panics_leaves_nobody_waiting() {
    check(|| run(&[&[(1, Well), (1, Well)], &[(1, InPanic), (1, Well)], &[(2, Well)], &[(3, Well)]]));
    check(|| run(&[&[(1, InPanic)], &[(1, Badly)], &[(1, Well)]]));
}

#[test]
fn jobs_are_done_in_the_order_of_the_queue_in_groups_as_large_as_they_may_be() {
    check(|| {
        let store = Store::new();
        let weights = [1, 3, 2, 9, 1, 1, 2, 1];
        let jobs = weights.iter().enumerate().map(|(number, &weight)| Job { number, weight, ends: Well });
        let waiting: Vec<_> = jobs.map(|job| (job, store.commits.enqueue(job.weight, job))).collect();
        let wait = |(job, outcome): (Job, Outcome<Failed>)| {
            let store = store.clone();
            thread::spawn(move || store.wait(job, &outcome).unwrap())
        };
        // The last come first: not the order of waiting counts.
        let threads: Vec<_> = waiting.into_iter().rev().step_by(3).map(wait).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*held(&store.begun), (0..weights.len()).collect::<Vec<_>>());
        assert_eq!(*held(&store.groups), [vec![1, 3], vec![2], vec![9], vec![1, 1, 2], vec![1]]);
    });
}
