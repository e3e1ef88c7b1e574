//! Bytes → shingle fingerprints, in one pass and in chunks of any size.
//!
//! bytes → [`decode`] → text → [`canonical`] → canonical text → [`token`] → 64-bit units → [`shingle`] → fingerprints
//! ([`rabin`]), and [`feature`]s. Nothing here knows of sketches; nothing depends on how the input was cut into chunks.

#[allow(unsafe_code)]
pub(crate) mod kernel;
pub(crate) mod decode;
pub(crate) mod canonical;
pub(crate) mod rabin;
pub(crate) mod token;
pub(crate) mod sliding;
pub(crate) mod shingle;
pub(crate) mod feature;

pub use shingle::{Fingerprint, Shingling};
pub use token::Unit;
