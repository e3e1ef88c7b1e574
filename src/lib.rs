//! A persistent near-duplicate database for text: one file on disk, any number of threads.
//!
//! For every distinct text the file keeps small sketches, never the text itself: Broder's sample (resemblance and
//! containment), minhash bands, simhash tables, and Coates's edit signature. A new document gets a [`Verdict`] against all that
//! are stored; a [`Query`] finds what a text is alike to.
//!
//! ```
//! use sketchdb::{Database, Measure, Options, Params, Query, Verdict};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("pages.sketchdb");
//! Database::create(&path, &Params::default())?;
//! let db = Database::open(&path, Options::default())?;
//!
//! let page: String = (0..200).map(|i| format!("word{i} ")).collect();
//! assert_eq!(db.add("a", &page)?.verdict, Verdict::New);
//! let edited = db.add("b", page.replace("word77 ", "other "))?;
//! assert_eq!((edited.verdict, edited.of.as_deref()), (Verdict::Near, Some("a")));
//!
//! // Which stored page contains this paragraph?
//! let paragraph: String = (50..75).map(|i| format!("word{i} ")).collect();
//! let query = Query { by: Some(Measure::Containment(0.9)), ..Query::default() };
//! assert_eq!(db.query(&db.sketch(&paragraph)?, &query)?.matches[0].key, "a");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Database`]: `create`, `open`, `seen_or_add`, `add`, `add_batch`, `add_later`, `see_later`, `flush`, `remove`, `expire`; `query`, `sweep`, `get`, `pairs`, `clusters`,
//!   `stats`;
//!   `compact`, `rebuild`, `salvage`, `merge`, `export`, `import`, `verify`. It is `Send + Sync`; `add` takes `&self`.
//! - [`Database::seen_or_add`] is a crawler's seen-before store: one call for a fetched page, a [`Sighting`] back.
//! - [`Dedup`] says which documents of a collection to keep.
//! - [`Params`] belong to the file, [`Options`] to the process.
//! - [`Sketcher`] makes a [`Sketch`] of a text without any database; [`compare`] holds two of them side by side.
//! - [`web`] makes the text of web pages, in any charset.
//!
//! The layers, each using only those before it: `text`, `web` → `sketch` → `index` → `store` → `db`. The file format is
//! described in `schema/format.md`.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod id;
mod bits;
mod text;
pub mod web;
mod sketch;
mod index;
mod store;
mod db;
#[cfg(fuzzing)]
pub mod fuzzing;

pub use db::{
    Accept, Activity, AddOptions, Added, Adding, Answer, Close, Cluster, ClusterOptions, ClusterRule,
    Clusters, CommonShingle, CommonShingles, Compacted, Compared, Confirm, CurvePoint, Damage, Database,
    Dedup, DedupOptions, Document, Duplicate, Durability, FoundBy, Keep, Kept, Match, Measure, Merged,
    Options, Pair, PairEvent, PairOptions, PairSummary, Params, Policy, Progress, Query, RepresentativeRule,
    Salvaged, Seeing, Shares, Sighting, Stats, Stored, Swept, Verdict, Verified, Visit, compare,
};
pub use error::{Error, FormatVersion, Result};
pub use id::{ClusterId, ContentHash, ContentId, DatabaseId, DocId};
pub use index::{Bands, TableDesign};
pub use sketch::{
    EditContext, EditEstimate, EditParams, EditSignature, Interval, Overlap, PortableSketch, Sample,
    Signature, Simhash, Sketch, SketchParams, Sketcher, Weights, expected_distinct, precision,
    reach_probability,
};
#[doc(hidden)]
pub use sketch::{Stage, stages};
#[doc(hidden)]
pub use store::AtomicFile;
pub use store::{Cancel, Disk, FileDisk, is_database};
pub use text::{Fingerprint, Shingling, Unit};

#[cfg(test)]
#[path = "../tests/common/skipped.rs"]
mod skipped;
