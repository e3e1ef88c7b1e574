//! The budget of bytes: nobody takes too much, nobody waits for ever.

use crate::check;
use crate::cli::budget::Budget;
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const MOST: usize = 10;

/// Takes and gives back amounts one after the other.
fn take_and_give(budget: &Budget, taken: &[AtomicUsize], own: usize, amounts: &[usize]) {
    for &amount in amounts {
        budget.take(amount);
        taken[own].store(amount, Relaxed);
        let all: Vec<usize> = taken.iter().map(|taken| taken.load(Relaxed)).filter(|&n| n > 0).collect();
        assert!(all.len() == 1 || all.iter().sum::<usize>() <= MOST, "{all:?} at a time");
        thread::yield_now();
        taken[own].store(0, Relaxed);
        budget.give(amount);
    }
}

#[test]
fn what_is_taken_fits_or_is_alone_and_everybody_comes_to_it() {
    check(|| {
        let budget = Arc::new(Budget::new(MOST));
        let taken: Arc<[AtomicUsize; 4]> = Arc::default();
        let threads: [&'static [usize]; 4] = [&[6, 3], &[5, 25], &[MOST, 1], &[4, 4]];
        let threads = threads.into_iter().enumerate().map(|(own, amounts)| {
            let (budget, taken) = (budget.clone(), taken.clone());
            thread::spawn(move || take_and_give(&budget, &*taken, own, amounts))
        });
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
        // All of it is there again.
        budget.take(MOST);
        budget.give(MOST);
    });
}

#[test]
fn nobody_waits_any_longer_once_it_is_closed() {
    check(|| {
        let budget = Arc::new(Budget::new(MOST));
        budget.take(MOST);
        let wait = |amount| {
            let budget = budget.clone();
            thread::spawn(move || budget.take(amount))
        };
        let waiting: Vec<_> = [1, MOST, 3 * MOST].map(wait).into();
        budget.close();
        waiting.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
