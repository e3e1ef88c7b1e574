//! Fingerprints → sketches, and sketches → estimates.
//!
//! A [`Sketch`] is all that is kept of a text. Its parts are pure values, the same on every machine.

#[allow(unsafe_code)]
pub(crate) mod kernel;
pub(crate) mod sample;
pub(crate) mod signature;
pub(crate) mod simhash;
mod track;
pub(crate) mod align;
pub(crate) mod edit;
pub(crate) mod edit_distance;
pub(crate) mod occurrence;
pub(crate) mod retained;
pub(crate) mod params;
pub(crate) mod sketcher;
mod stages;
pub(crate) mod estimate;
pub(crate) mod meeting;
pub(crate) mod portable;

pub use edit::{EditParams, EditSignature};
pub use edit_distance::{EditContext, EditEstimate};
pub use estimate::{Interval, Overlap, expected_distinct, precision, reach_probability};
pub use params::{SketchParams, Weights};
pub use portable::PortableSketch;
pub use sample::Sample;
pub use signature::Signature;
pub use simhash::Simhash;
pub use sketcher::{Sketch, Sketcher};
#[doc(hidden)]
pub use stages::{Stage, stages};
