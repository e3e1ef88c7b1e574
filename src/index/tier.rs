//! Which runs to merge: four adjacent runs of one level make a run of the next (tiered compaction).
//!
//! Every entry is rewritten once a level, log₄ of the number of memtables in all. Runs at the top level are left alone, so
//! that no single merge grows with the database.

use std::ops::Range;

/// Runs merged at a time.
pub(crate) const FAN_OUT: usize = 4;
/// Runs of this level are merged no further: 4^5 memtables, some 33 million contents.
pub(crate) const TOP_LEVEL: u32 = 5;

/// The next merge: the first four adjacent runs of one level that fit into one run, lowest levels first. `levels` is in the
/// order of the runs.
pub(crate) fn next_merge(levels: &[u32], fits: impl Fn(&Range<usize>) -> bool) -> Option<Range<usize>> {
    let mergeable = |range: &Range<usize>| {
        let window = &levels[range.clone()];
        window[0] < TOP_LEVEL && window.iter().all(|&level| level == window[0]) && fits(range)
    };
    (0..(levels.len() + 1).saturating_sub(FAN_OUT))
        .map(|start| start..start + FAN_OUT)
        .filter(mergeable)
        .min_by_key(|range| levels[range.start])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_stay_and_each_entry_moves_once_a_level() {
        let (mut runs, mut moved): (Vec<(u32, u64)>, u64) = (Vec::new(), 0);
        for _ in 0..1000 {
            runs.push((0, 1));
            while let Some(range) = next_merge(&runs.iter().map(|run| run.0).collect::<Vec<_>>(), |_| true) {
                let size = runs[range.clone()].iter().map(|run| run.1).sum();
                moved += size;
                let level = runs[range.start].0 + 1;
                runs.splice(range, [(level, size)]);
            }
            assert!(runs.len() <= (FAN_OUT - 1) * TOP_LEVEL as usize + 1, "{runs:?}");
        }
        assert_eq!(runs.iter().map(|run| run.1).sum::<u64>(), 1000);
        assert!(moved <= 1000 * 5, "{moved}");
    }

    #[test]
    fn only_adjacent_runs_of_one_level_are_merged() {
        let next = |levels: &[u32]| next_merge(levels, |_| true);
        assert_eq!(next(&[2, 0, 0, 0]), None);
        assert_eq!(next(&[1, 1, 1, 1, 0, 0, 0, 0]), Some(4..8));
        assert_eq!(next(&[TOP_LEVEL; 9]), None);
        assert_eq!(next(&[]), None);
    }

    #[test]
    fn runs_that_do_not_fit_into_one_are_passed_over() {
        assert_eq!(next_merge(&[0; 6], |range| range.start > 1), Some(2..6));
        assert_eq!(next_merge(&[0; 6], |_| false), None);
    }
}
