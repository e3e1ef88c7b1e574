//! The locks that the budget waits on: those of the standard library; `tests/concurrency` puts others in their place.

pub use std::sync::{Condvar, Mutex, MutexGuard};
