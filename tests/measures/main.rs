//! Proves that every measure finds what it says, no more and no less: containment, agreement, edit distance, hamming, any,
//! each confirmed by another, over every unit that texts are cut into, and passages of texts that change.

#[path = "../common/mod.rs"]
mod common;
mod shapes;
mod containment;
mod levels;
mod corpora;
mod adding;
mod agreement;
mod confirmed;
mod units;
mod updated;
