//! The database: sketches in, verdicts and matches out.
//!
//! A verb has its name on every floor: `sketchdb add` is `cli/add.rs` is `db/add.rs`. Readers work on a view that never
//! changes; writers queue up, and whoever holds the writer's lock commits for all who wait (group commit).

pub(crate) mod params;
mod keep;
mod reader;
mod candidate;
mod measures;
mod pending;
mod clustering;
mod batch;
mod forming;
mod database;
mod writer;
mod add;
mod remove;
mod expire;
mod query;
mod clusters;
mod compare;
mod get;
mod stats;
#[cfg(test)]
mod golden;

pub use add::{AddOptions, Added, Document, Policy, Verdict};
pub use clusters::{Cluster, ClusterOptions, Clusters};
pub use compare::{Compared, compare};
pub use database::{Database, Options};
pub use get::Stored;
pub use keep::Kept;
pub use params::{ClusterRule, Params, RepresentativeRule};
pub use query::{Accept, Answer, Confirm, FoundBy, Match, Measure, Query};
pub use stats::{CurvePoint, Stats};
