//! Boilerplate, learnt: the shingles that many of the stored texts share, counted in their samples. Broder's run over
//! AltaVista's pages ignored the commonest likewise (*Syntactic clustering of the Web*, 1997).
//!
//! Counts are exact. A first pass over the samples counts buckets of values and how far the samples reach; a second one sorts
//! the values whose bucket was met often enough, which are few, on disk where they do not fit into memory.

use super::database::Database;
use super::params::check_share;
use super::reader::Reader;
use crate::error::Result;
use crate::id::ContentId;
use crate::sketch::params::SketchParamsId;
use crate::sketch::{Sample, Sketch};
use crate::store::sort::Sorter;
use crate::store::view::View;
use crate::text::rabin::mix;
use std::borrow::Cow;

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
#[derive(Clone, Debug, PartialEq)]
pub struct CommonShingles {
    /// What the samples were made with that they were counted in.
    params: SketchParamsId,
    /// By value, ascending.
    shingles: Vec<CommonShingle>,
}

/// Fewer texts than these make nothing common.
const LEAST: u64 = 16;

impl Database {
    /// The shingles that more than this share, in (0, 1], of the stored texts have, and 16 texts at least: of the texts whose
    /// samples reach so far. Reads every sample twice: some seconds a million texts.
    pub fn common_shingles(&self, share: f64) -> Result<CommonShingles> {
        check_share("share of common shingles", share)?;
        self.params().check_kept("common shingles", self.params().keep_sketches.sample)?;
        let view = self.view();
        let mut first = FirstPass::new(self.memory() / 8)?;
        each_sample(&view, |sample| first.take(&sample))?;
        let mut second = first.second(share, self.memory() / 8);
        each_sample(&view, |sample| second.take(&sample))?;
        Ok(CommonShingles { params: self.sketch_params(), shingles: second.common(share)? })
    }
}

/// Calls `each` with the sample of every living text.
fn each_sample(view: &View, mut each: impl FnMut(Sample) -> Result<()>) -> Result<()> {
    view.contents_from(0, |id, record| match record.sample.filter(|_| view.is_alive(ContentId(id))) {
        Some(sample) => each(Sample::decode(sample)?),
        None => Ok(()),
    })
}

impl CommonShingles {
    /// All of them, by value.
    pub fn shingles(&self) -> &[CommonShingle] {
        &self.shingles
    }

    /// Refuses to leave them out of sketches that were made with other parameters.
    pub(crate) fn check(&self, params: SketchParamsId) -> Result<()> {
        params.check(self.params)
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

/// How often the values of each bucket were met, and how far the samples reach.
struct FirstPass {
    buckets: Vec<u32>,
    /// The bound of each sample that is not whole, and the number of its text.
    bounds: Sorter<2>,
    /// Texts by the step of their bound.
    reach: Vec<u64>,
    texts: u64,
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

impl FirstPass {
    fn new(memory: usize) -> Result<Self> {
        let buckets = vec![0; (memory / 8).max(1 << 16)];
        Ok(FirstPass { buckets, bounds: Sorter::new(memory / 2), reach: vec![0; STEPS + 2], texts: 0 })
    }

    fn take(&mut self, sample: &Sample) -> Result<()> {
        for &value in sample.values() {
            let at = bucket(value, self.buckets.len());
            self.buckets[at] = self.buckets[at].saturating_add(1);
        }
        self.texts += 1;
        self.reach[step(sample.bound())] += 1;
        if sample.is_whole() { Ok(()) } else { self.bounds.push([sample.bound(), self.texts]) }
    }

    fn second(mut self, share: f64, memory: usize) -> SecondPass {
        for step in (0..=STEPS).rev() {
            self.reach[step] += self.reach[step + 1];
        }
        // Bounds within the step of a value may lie on either side of it: fewer texts reach the value than the step.
        let enough = |step: usize| {
            let beyond = self.reach.get(step + 1).copied().unwrap_or(0);
            ((beyond as f64 * share) as u64).max(LEAST)
        };
        let least = (0..=STEPS).map(enough).collect();
        let FirstPass { buckets, bounds, texts, .. } = self;
        SecondPass { buckets, least, bounds, texts, values: Sorter::new(memory), taken: 0 }
    }
}

fn bucket(value: u64, buckets: usize) -> usize {
    (mix(value) % buckets as u64) as usize
}

/// The values that may be common.
struct SecondPass {
    buckets: Vec<u32>,
    /// How often a value of each step must be met to be common.
    least: Vec<u64>,
    bounds: Sorter<2>,
    texts: u64,
    /// Each with the number of its text: of equal records one is kept.
    values: Sorter<2>,
    taken: u64,
}

impl SecondPass {
    fn take(&mut self, sample: &Sample) -> Result<()> {
        self.taken += 1;
        for &value in sample.values() {
            if u64::from(self.buckets[bucket(value, self.buckets.len())]) >= self.least[step(value)] {
                self.values.push([value, self.taken])?;
            }
        }
        Ok(())
    }

    /// The values that more than this share of the texts have that reach so far.
    fn common(self, share: f64) -> Result<Vec<CommonShingle>> {
        let mut bounds = self.bounds.finish()?.peekable();
        let mut values = self.values.finish()?.peekable();
        let (mut reaching, mut common) = (self.texts, Vec::new());
        while let Some([value, _]) = values.next().transpose()? {
            let is_same = |next: &Result<[u64; 2]>| next.as_ref().is_ok_and(|next| next[0] == value);
            let mut texts = 1;
            while values.next_if(is_same).is_some() {
                texts += 1;
            }
            while let Some(bound) =
                bounds.next_if(|bound| bound.as_ref().map_or(true, |bound| bound[0] <= value))
            {
                bound?;
                reaching -= 1;
            }
            let found = CommonShingle { value, texts, share: texts as f64 / reaching as f64 };
            if found.share > share && texts >= LEAST {
                common.push(found);
            }
        }
        Ok(common)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::sample::WHOLE;
    use std::collections::HashMap;

    /// The sample of a text of `size` shingles: of a hundred phrases, each in more texts than the next, some of them only in
    /// the last texts; the others its own.
    fn sample(number: u64, size: usize) -> Sample {
        let shingles = [40, 300, 2000, 9000][mix(number) as usize % 4];
        let late = |phrase: u64| phrase % 10 != 9 || number > 4000;
        let phrases = (0..100u64).filter(|&phrase| late(phrase) && mix(number << 8 | phrase) % 100 > phrase);
        let own = (0..shingles).map(|at| mix(1 << 40 | number << 16 | at));
        let mut hashes: Vec<u64> = phrases.map(mix).chain(own).collect();
        hashes.sort_unstable();
        Sample::of_sorted(&hashes, size)
    }

    /// Memory so small that buckets are shared and values are sorted on disk changes no count.
    #[test]
    fn counts_are_exact_at_every_sample_size() {
        for (size, share, memory) in [(16, 0.2, 0), (256, 0.2, 0), (256, 0.01, 1 << 20), (4096, 0.004, 0)] {
            let samples: Vec<Sample> = (0..5000).map(|number| sample(number, size)).collect();
            let mut first = FirstPass::new(memory).unwrap();
            samples.iter().for_each(|sample| first.take(sample).unwrap());
            let mut second = first.second(share, memory);
            samples.iter().for_each(|sample| second.take(sample).unwrap());
            let found = second.common(share).unwrap();
            let mut times = HashMap::<u64, u64>::new();
            samples.iter().flat_map(Sample::values).for_each(|&value| *times.entry(value).or_default() += 1);
            let reaching = |value: u64| samples.iter().filter(|sample| sample.bound() > value).count() as u64;
            let mut expected: Vec<CommonShingle> = times
                .into_iter()
                .filter(|&(_, texts)| texts >= LEAST)
                .map(|(value, texts)| {
                    let share = texts as f64 / reaching(value) as f64;
                    CommonShingle { value, texts, share }
                })
                .filter(|shingle| shingle.share > share)
                .collect();
            expected.sort_unstable_by_key(|shingle| shingle.value);
            assert!(expected.len() >= 8, "{} common ones", expected.len());
            assert_eq!(found, expected, "samples of {size}, share {share}");
        }
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
