//! What several tests share: corpora, disks that fail, and a workload with a model that says what must be stored.
#![allow(dead_code)]

pub mod corpus;
pub mod disk;
pub mod rng;
pub mod workload;
