//! How many bytes of input may wait in memory at a time.

use super::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;

/// A number of bytes that pieces of input take and give back.
pub struct Budget {
    most: usize,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    used: usize,
    closed: bool,
}

impl Budget {
    pub fn new(most: usize) -> Self {
        Budget { most, state: Mutex::default(), freed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until this many bytes are free. What is larger than everything goes alone.
    pub fn take(&self, bytes: usize) {
        let full = |state: &mut State| !state.closed && state.used > 0 && state.used + bytes > self.most;
        let mut state = self.freed.wait_while(self.state(), full).unwrap_or_else(PoisonError::into_inner);
        state.used += bytes;
    }

    /// Gives bytes back.
    pub fn give(&self, bytes: usize) {
        self.state().used -= bytes;
        self.freed.notify_all();
    }

    /// Lets everybody go on who waits: the work is over.
    pub fn close(&self) {
        self.state().closed = true;
        self.freed.notify_all();
    }
}
