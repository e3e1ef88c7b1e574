//! A persistent near-duplicate database for text.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
mod id;
mod bits;
mod text;
mod sketch;
mod index;
mod store;
mod db;

pub use db::{
    Accept, Added, Answer, CurvePoint, Database, Document, FoundBy, Match, Measure, Options, Params, Policy,
    Query, Stats, Stored, Verdict,
};
pub use error::{Error, Result};
pub use id::{ContentHash, ContentId, DatabaseId, DocId};
pub use index::{Bands, TableDesign};
pub use sketch::{Interval, Overlap, Sample, Signature, Simhash, Sketch, SketchParams, Sketcher};
pub use store::{Disk, FileDisk};
pub use text::{Fingerprint, Shingling, Unit};
