//! Boilerplate, learnt: the shingles that many of the stored texts share, counted in their samples. Broder's run over
//! AltaVista's pages ignored the commonest likewise (*Syntactic clustering of the Web*, 1997).
//!
//! Counting is lossy (Manku, Motwani 2002): texts come in rounds, and what occurred no more than once a round so far is let
//! go of, so that memory holds one round's values and few others, and a count is too low by one a round at most.

use super::database::Database;
use super::params::check_share;
use super::reader::Reader;
use crate::error::Result;
use crate::id::ContentId;
use crate::sketch::{Sample, Sketch};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A shingle that many texts have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonShingle {
    /// Its value, as [`Sample::values`] has it.
    pub value: u64,
    /// Texts that have it, of those whose samples reach up to it.
    pub texts: u64,
    /// The share of them.
    pub share: f64,
}

/// Shingles to leave out of estimates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommonShingles {
    /// By value, ascending.
    shingles: Vec<CommonShingle>,
}

/// Fewer texts than these make nothing common.
const LEAST: u64 = 16;
/// Texts of a round, and the most values of one.
const ROUND: usize = 1024;
const ROUND_VALUES: usize = 1 << 20;

impl Database {
    /// The shingles that more than this share, in (0, 1], of the stored texts have, and 16 texts at least. Reads every
    /// sample: some seconds a million texts.
    pub fn common_shingles(&self, share: f64) -> Result<CommonShingles> {
        check_share("share of common shingles", share)?;
        self.params().check_kept("common shingles", self.params().keep_sketches.sample)?;
        let view = self.view();
        let mut counting = Counting::new(self.params().sketch.sample);
        view.contents_from(0, |id, record| {
            let counts = view.is_alive(ContentId(id));
            if let Some(sample) = record.sample.filter(|_| counts) {
                counting.take(&Sample::decode(sample)?);
            }
            Ok(())
        })?;
        Ok(CommonShingles { shingles: counting.more_than(share) })
    }
}

impl CommonShingles {
    /// All of them, by value.
    pub fn shingles(&self) -> &[CommonShingle] {
        &self.shingles
    }

    fn has(&self, value: u64) -> bool {
        self.shingles.binary_search_by_key(&value, |shingle| shingle.value).is_ok()
    }

    /// A sample without them.
    pub(crate) fn left_out_of(&self, sample: &Sample) -> Sample {
        let values = sample.values().iter().copied().filter(|&value| !self.has(value)).collect();
        Sample::of_values(sample.bound(), values)
    }

    /// A sketch whose sample is without them; of a sketch that has none of them, the sketch itself.
    pub(crate) fn left_out_of_sketch<'s>(&self, sketch: &'s Sketch) -> Cow<'s, Sketch> {
        match sketch.sample.values().iter().any(|&value| self.has(value)) {
            true => Cow::Owned(Sketch { sample: self.left_out_of(&sketch.sample), ..sketch.clone() }),
            false => Cow::Borrowed(sketch),
        }
    }
}

/// A value that may be common: how often it was met, and how many rounds were over when it first was.
#[derive(Clone, Copy, Debug)]
struct Counted {
    value: u64,
    times: u64,
    missed: u64,
}

/// Values under way.
struct Counting {
    round: usize,
    rounds: u64,
    /// Of this round.
    texts: usize,
    values: Vec<u64>,
    /// By value, ascending.
    counted: Vec<Counted>,
    /// Texts by how far their samples reach.
    reach: Vec<u64>,
}

/// So many steps to a power of two.
const FINE: usize = 256;
const STEPS: usize = 41 * FINE;

/// The step of a value, or of a bound: the greater the value, the greater the step.
fn step(value: u64) -> usize {
    let bits = (64 - value.leading_zeros()) as usize;
    let next = if bits > 8 { value >> (bits - 9) & 255 } else { 0 };
    (bits * FINE + next as usize).min(STEPS)
}

impl Counting {
    fn new(sample: usize) -> Self {
        let round = (ROUND_VALUES / sample).clamp(LEAST as usize, ROUND);
        let (rounds, texts, values, counted) = Default::default();
        Counting { round, rounds, texts, values, counted, reach: vec![0; STEPS + 1] }
    }

    fn take(&mut self, sample: &Sample) {
        self.values.extend_from_slice(sample.values());
        self.reach[step(sample.bound())] += 1;
        self.texts += 1;
        if self.texts == self.round {
            self.end_round();
        }
    }

    /// Counts the values of a round, and lets go of those that occurred once a round or less.
    fn end_round(&mut self) {
        self.texts = 0;
        self.values.sort_unstable();
        let before = std::mem::take(&mut self.counted);
        let mut before = before.into_iter().peekable();
        let (missed, ended) = (self.rounds, self.rounds + 1);
        let mut keep = |counted: Counted| {
            if counted.times + counted.missed > ended {
                self.counted.push(counted);
            }
        };
        for same in self.values.chunk_by(|a, b| a == b) {
            let (value, times) = (same[0], same.len() as u64);
            while let Some(other) = before.next_if(|other| other.value < value) {
                keep(other);
            }
            match before.next_if(|other| other.value.cmp(&value) == Ordering::Equal) {
                Some(known) => keep(Counted { times: known.times + times, ..known }),
                None => keep(Counted { value, times, missed }),
            }
        }
        before.for_each(keep);
        self.values.clear();
        self.rounds = ended;
    }

    /// What was met in more than this share of the texts that reach so far.
    fn more_than(mut self, share: f64) -> Vec<CommonShingle> {
        self.end_round();
        let mut reaching = self.reach;
        for step in (0..STEPS).rev() {
            reaching[step] += reaching[step + 1];
        }
        let common = self.counted.into_iter().map(|Counted { value, times, .. }| CommonShingle {
            value,
            texts: times,
            share: times as f64 / reaching[step(value)].max(times) as f64,
        });
        common.filter(|shingle| shingle.share > share && shingle.texts >= LEAST).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sample::WHOLE;
    use crate::text::rabin::mix;
    use std::collections::HashMap;

    /// The sample of a text of `size` shingles: of a hundred phrases, each in more texts than the next; the others its own.
    fn sample(number: u64) -> Sample {
        let size = [40, 300, 2000, 9000][mix(number) as usize % 4];
        let phrases = (0..100u64).filter(|phrase| mix(number << 8 | phrase) % 100 > *phrase);
        let own = (0..size).map(|at| mix(1 << 40 | number << 16 | at));
        let mut hashes: Vec<u64> = phrases.map(mix).chain(own).collect();
        hashes.sort_unstable();
        Sample::of_sorted(&hashes, 256)
    }

    #[test]
    fn counts_are_near_those_of_all_texts() {
        const TEXTS: u64 = 5000;
        let mut counting = Counting::new(4096);
        let (mut times, mut reached) = (HashMap::<u64, u64>::new(), Vec::new());
        for sample in (0..TEXTS).map(sample) {
            counting.take(&sample);
            sample.values().iter().for_each(|&value| *times.entry(value).or_default() += 1);
            reached.push(sample.bound());
        }
        let rounds = TEXTS / counting.round as u64 + 1;
        assert!(counting.counted.len() < 5000, "{} values held", counting.counted.len());
        let found: HashMap<u64, CommonShingle> =
            counting.more_than(0.2).into_iter().map(|shingle| (shingle.value, shingle)).collect();
        let (mut common, mut rare) = (0, 0);
        for (value, times) in times {
            let reach = reached.iter().filter(|&&bound| bound > value).count() as f64;
            match (times as f64 / reach, found.get(&value)) {
                (share, Some(shingle)) => {
                    assert!(share > 0.19 && (share - shingle.share).abs() < 0.03, "{share}: {shingle:?}");
                    assert!(shingle.texts <= times && times <= shingle.texts + rounds);
                    common += 1;
                }
                (share, None) => {
                    assert!(share < 0.23 || times < LEAST + rounds, "{times} of {reach} texts");
                    rare += 1;
                }
            }
        }
        assert!(common >= 70 && rare > 100_000, "{common} common, {rare} not");
    }

    #[test]
    fn steps_ascend() {
        let mut values: Vec<u64> = (0..2000).map(|i| mix(i) >> (24 + i % 40)).chain([0, 1, WHOLE]).collect();
        values.sort_unstable();
        assert!(values.is_sorted_by_key(|&value| step(value)));
        assert_eq!(step(WHOLE), STEPS);
        assert!(step(WHOLE - 1) < STEPS && step(1 << 39) > step((1 << 39) - 1));
    }
}
