//! What several tests share: disks that fail, and a workload with a model that says what must be stored.
#![allow(dead_code)]

pub mod disk;
pub mod rng;
pub mod workload;
