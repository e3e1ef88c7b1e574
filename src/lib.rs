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
    Accept, AddOptions, Added, Answer, Compared, Confirm, CurvePoint, Database, Document, FoundBy, Match,
    Measure, Options, Params, Policy, Query, Stats, Stored, Verdict, compare,
};
pub use error::{Error, Result};
pub use id::{ContentHash, ContentId, DatabaseId, DocId};
pub use index::{Bands, TableDesign};
pub use sketch::{
    EditContext, EditEstimate, EditParams, EditSignature, Interval, Overlap, Passage, PortableSketch, Sample,
    Signature, Simhash, Sketch, SketchParams, Sketcher, Weights, expected_distinct, precision,
    reach_probability,
};
pub use store::{Disk, FileDisk};
pub use text::{Fingerprint, Shingling, Unit};
