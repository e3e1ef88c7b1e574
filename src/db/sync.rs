//! The locks that group commit waits on: those of the standard library; `tests/concurrency` puts others in their place.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
