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
mod probe;
mod batch;
mod forming;
mod sync;
mod group;
mod activity;
mod shares;
mod database;
mod writer;
mod add;
mod seen;
mod remove;
mod see;
mod expire;
mod common;
mod passing;
mod evidence;
mod query;
mod sweep;
mod clusters;
mod pairs;
mod copy;
mod verify;
mod compact;
mod recover;
mod rebuild;
mod salvage;
mod restore;
mod merge;
mod export;
mod import;
mod dedup;
mod compare;
mod get;
mod stats;
#[cfg(test)]
mod golden;

pub use activity::Activity;
pub use add::{AddOptions, Added, Document, Durability, Policy, Verdict};
pub use clusters::{Cluster, ClusterOptions, Clusters};
pub use common::{CommonShingle, CommonShingles};
pub use compact::Compacted;
pub use compare::{Compared, compare};
pub use copy::Progress;
pub use database::{Adding, Database, Options};
pub use dedup::{Dedup, DedupOptions, Duplicate, Keep};
pub use get::Stored;
pub use keep::Kept;
pub use merge::Merged;
pub use pairs::{Pair, PairEvent, PairOptions, PairSummary};
pub use params::{ClusterRule, Params, RepresentativeRule};
pub use query::{Accept, Answer, Confirm, FoundBy, Match, Measure, Query};
pub use salvage::Salvaged;
pub use see::{Seeing, Visit};
pub use seen::Sighting;
pub use shares::Shares;
pub use stats::{CurvePoint, Stats};
pub use sweep::{Close, Swept};
pub use verify::{Damage, Verified};
