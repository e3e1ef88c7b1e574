//! Whether what was measured of a pair of texts makes it a match.

use super::measures::{Estimate, Measures};
use super::query::{Accept, Measure};
use crate::sketch::EditEstimate;
use crate::sketch::meeting::Floor;

impl Accept {
    /// What of an estimate must reach the threshold.
    pub(super) fn end(self, estimate: Estimate) -> f64 {
        match self {
            Accept::Low => estimate.interval.low,
            Accept::Estimate => estimate.value,
            Accept::High => estimate.interval.high,
        }
    }
}

/// The estimate that a match must reach: the lower end of an interval is never above it, the upper end may be.
pub(super) fn floor(by: Measure, accept: Accept) -> Option<Floor> {
    match by {
        _ if accept == Accept::High => None,
        Measure::Resemblance(floor) => Some(Floor::Resemblance(floor)),
        Measure::Containment(floor) => Some(Floor::Containment(floor)),
        Measure::Contained(floor) => Some(Floor::Contained(floor)),
        Measure::Agreement(_) | Measure::Edit(_) | Measure::Hamming(_) | Measure::Any(_) => None,
    }
}

/// Whether measures reach the threshold, shares with at least so many values; `max_distance` is that of the file.
pub(super) fn passes(
    measures: &Measures,
    edit: Option<EditEstimate>,
    by: Measure,
    accept: Accept,
    least_values: u64,
    max_distance: u32,
) -> bool {
    let reaches = |estimate: Option<Estimate>, threshold: f64| {
        estimate.is_some_and(|estimate| {
            let enough = measures.exact || estimate.values >= least_values;
            enough && accept.end(estimate) >= threshold
        })
    };
    let resemblance = measures.resemblance;
    match by {
        Measure::Resemblance(threshold) => reaches(resemblance, threshold),
        Measure::Containment(threshold) => reaches(measures.containment, threshold),
        Measure::Contained(threshold) => reaches(measures.contained, threshold),
        Measure::Agreement(threshold) => measures.agreement.is_some_and(|agreement| agreement >= threshold),
        Measure::Edit(share) => measures.exact || edit.is_some_and(|edit| edit.share <= share),
        Measure::Hamming(distance) => measures.hamming.is_some_and(|hamming| hamming <= distance),
        Measure::Any(threshold) => {
            reaches(resemblance, threshold)
                || reaches(measures.containment, threshold)
                || reaches(measures.contained, threshold)
                || measures.hamming.is_some_and(|hamming| hamming <= max_distance)
        }
    }
}
