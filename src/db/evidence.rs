//! The evidence that it takes to drop or hide a document as a part of another: one rule for every verb that does so.
//!
//! A containment is the share of those values of the part's sample that lie below the smaller bound of both samples. Of a
//! short text in a long one few values are left, and a single one that both have would read as a containment of 1. So the
//! lower end of the 95 % interval must reach the share asked for, and it takes [`LEAST_VALUES`], whichever end decides. Texts
//! of fewer shingles than that are never dropped as a part, though two whole samples give their containment exactly: a few
//! words are in some long text by chance or by custom.

use super::measures::Estimate;
use super::query::Accept;

/// The fewest values that a containment must be a share of for a document to be dropped by it. All of 16 have a lower end of
/// .81.
pub(super) const LEAST_VALUES: u64 = 16;

/// Which ends of the intervals decide that a document is a near duplicate, or a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acceptance {
    pub near: Accept,
    pub contained: Accept,
}

impl Default for Acceptance {
    fn default() -> Self {
        Acceptance { near: Accept::Estimate, contained: Accept::Low }
    }
}

impl Acceptance {
    /// The share of a document that is shown to be in another, `None` when too few values tell.
    pub fn part(self, containment: Option<Estimate>) -> Option<f64> {
        let evident = containment.filter(|containment| containment.values >= LEAST_VALUES);
        evident.map(|containment| self.contained.end(containment))
    }
}
