//! Proves that every measure finds what it says, no more and no less: containment, agreement, edit distance, hamming, any,
//! each confirmed by another, over every unit that texts are cut into.

#[path = "../common/mod.rs"]
mod common;
mod shapes;
mod containment;
mod levels;
mod corpora;
mod adding;
mod evidence;
mod any;
mod agreement;
mod confirmed;
mod units;
