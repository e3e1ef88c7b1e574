//! Which pairs are listed: by definition, every two contents compared.

use super::common::texts::{Draw, edited, text};
use super::oracle::Oracle;
use super::pair::{Pair, near};
use sketchdb::{
    Accept, Confirm, Document, Interval, Kept, Measure, Pair as Alike, PairEvent, PairOptions, PairSummary,
    Params, Policy,
};
use std::ops::ControlFlow;

impl Oracle {
    pub fn pairs(&self, options: &PairOptions) -> (Vec<Alike>, u64) {
        let by = options.by.unwrap_or(near(&self.params));
        let (mut pairs, mut candidates) = (self.exact_pairs(options.copies), 0);
        let living: Vec<usize> = (0..self.contents.len()).filter(|&content| self.is_alive(content)).collect();
        for &later in &living {
            let sketch = &self.contents[later].sketch;
            let measured = match by {
                Measure::Hamming(distance) => self.by_simhash(sketch, distance),
                _ => {
                    let (measured, bounded) = self.by_bands(sketch, usize::MAX);
                    assert!(!bounded, "what a hot band yields is not all");
                    measured
                }
            };
            for other in measured.into_iter().filter(|other| other.content < later) {
                candidates += 1;
                let edit = || {
                    let of = |content: usize| self.contents[content].sketch.edit.as_ref();
                    let edits = of(later).zip(of(other.content))?;
                    Some(self.params.sketch.edit.estimate(edits.0, edits.1).share)
                };
                let confirmed = options.confirm.iter().all(|confirm| match *confirm {
                    Confirm::Simhash(distance) => other.hamming().is_some_and(|hamming| hamming <= distance),
                    Confirm::Edit(share) => edit().is_some_and(|edit| edit <= share),
                });
                if !confirmed || !other.passes(by, options.accept) {
                    continue;
                }
                for a in self.holding(other.content, options.copies) {
                    pairs.extend(self.holding(later, options.copies).into_iter().map(|b| Alike {
                        a: a.clone(),
                        b,
                        resemblance: other.resemblance(),
                        interval: other.interval(),
                        hamming: other.hamming(),
                        exact: false,
                        bounded: false,
                    }));
                }
            }
        }
        (pairs, candidates)
    }

    fn exact_pairs(&self, copies: bool) -> Vec<Alike> {
        let mut pairs = Vec::new();
        for content in 0..self.contents.len() {
            let holders = self.holding(content, true);
            let firsts = if copies { holders.len() } else { 1 };
            for (at, a) in holders.iter().enumerate().take(firsts) {
                pairs.extend(holders[at + 1..].iter().map(|b| Alike {
                    a: a.clone(),
                    b: b.clone(),
                    resemblance: Some(1.0),
                    interval: Some(Interval { low: 1.0, high: 1.0 }),
                    hamming: Some(0),
                    exact: true,
                    bounded: false,
                }));
            }
        }
        pairs
    }

    /// The keys that hold a content, the first only unless `copies`.
    fn holding(&self, content: usize, copies: bool) -> Vec<String> {
        let holders = self.contents[content].holders.iter().take(if copies { usize::MAX } else { 1 });
        holders.map(|&id| self.documents[id as usize].key.clone()).collect()
    }
}

impl Pair {
    /// Lists pairs with both; how many there were, and how the listing went.
    pub fn pairs(&self, options: &PairOptions) -> (usize, PairSummary) {
        let (expected, candidates) = self.oracle.pairs(options);
        let mut found = Vec::new();
        let (summary, none) = self
            .db()
            .pairs(options, |event| -> ControlFlow<()> {
                if let PairEvent::Pair(pair) = event {
                    found.push(pair);
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!((none, summary.bounded), (None, 0));
        assert!(found == expected, "{options:?}: {} pairs, expected {}", found.len(), expected.len());
        let params = &self.oracle.params;
        let recall = match options.by.unwrap_or(near(params)) {
            Measure::Hamming(_) => None,
            Measure::Resemblance(threshold) | Measure::Agreement(threshold) => {
                assert_eq!(summary.candidates, candidates);
                (threshold < params.threshold).then(|| self.oracle.bands.candidate_probability(threshold))
            }
            _ => unreachable!("no other measure is asked for"),
        };
        assert_eq!(summary.expected_recall, recall);
        (found.len(), summary)
    }

    /// Options that the sketches of the database allow, drawn; `None` where they allow none.
    pub fn pair_options(&self, draw: &mut Draw) -> Option<PairOptions> {
        let params = &self.oracle.params;
        let Kept { sample, signature, simhash, .. } = params.keep_sketches;
        if !signature && (sample || !simhash) {
            return None;
        }
        let share = *draw.one_of(&[params.threshold, 0.9, 1.0, params.threshold * 0.7]);
        let by = match draw.below(4) {
            0 if sample && signature => Some(Measure::Resemblance(share)),
            1 if signature => Some(Measure::Agreement(share)),
            2 if simhash => Some(Measure::Hamming(draw.below(params.hamming as usize + 1) as u32)),
            _ => None,
        };
        let confirms =
            [Confirm::Simhash(draw.below(20) as u32), Confirm::Edit(draw.below(40) as f64 / 100.0)];
        Some(PairOptions {
            by,
            accept: *draw.one_of(&[Accept::Estimate, Accept::Low, Accept::High]),
            confirm: confirms.into_iter().filter(|_| draw.percent(25)).collect(),
            copies: draw.percent(50),
            ignore: None,
            memory: *draw.one_of(&[0, 1 << 20]),
            threads: 1 + draw.below(3),
        })
    }
}

/// More candidates than memory sorts at once, more than one batch verifies.
#[test]
fn pairs_are_the_same_however_they_are_sorted_and_verified() {
    let (mut pair, mut draw) = (Pair::new(&Params::default()), Draw::new(3));
    let mut documents = Vec::new();
    let templates: Vec<String> = (0..20).map(|_| text(&mut draw, 100)).collect();
    for number in 0..620 {
        let edits = 1 + draw.below(2);
        let text = edited(&mut draw, &templates[number * 7 % 20], edits);
        documents.push(Document { key: format!("key/{number}"), sketch: pair.sketch(&text), seen_at: None });
    }
    pair.add(documents, Policy::Everything);
    for by in [Measure::Resemblance(0.8), Measure::Agreement(0.8), Measure::Hamming(3)] {
        for (memory, threads) in [(0, 1), (0, 3), (64 << 20, 2)] {
            let options = PairOptions { by: Some(by), memory, threads, ..PairOptions::default() };
            let (listed, summary) = pair.pairs(&options);
            assert!(listed > 300, "{listed} pairs {by:?}");
            assert!(by == Measure::Hamming(3) || summary.candidates > 8192, "{summary:?}");
        }
    }
}
