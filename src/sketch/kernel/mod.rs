//! Loops of the sketches, compiled for the vector units of the machine as those of
//! [`text::kernel`](crate::text::kernel) are.

pub(crate) mod common;
pub(crate) mod fours;
pub(crate) mod near;
pub(crate) mod spread;
pub(crate) mod throws;
pub(crate) mod votes;
pub(crate) mod windows;
