//! Real sizes: memtables flushed while adding and while closing, runs merged in slices, a merge cut short by a kill.

use super::common::texts::{Draw, edited, text};
use super::pair::{Leave, Pair};
use sketchdb::{Document, Measure, Params, Policy, Query, SketchParams};

/// Adds and remembers many short texts.
struct Crowd {
    pair: Pair,
    draw: Draw,
    texts: Vec<String>,
}

impl Crowd {
    fn new(seed: u64) -> Self {
        let sketch =
            SketchParams { minhashes: 32, shingle: "words:2".parse().unwrap(), ..SketchParams::default() };
        let pair = Pair::new(&Params { sketch, ..Params::default() });
        Crowd { pair, draw: Draw::new(seed), texts: vec![text(&mut Draw::new(0), 12)] }
    }

    /// One in ten repeats a text, one in ten is a variant of one; one in twenty comes under an earlier key.
    fn add(&mut self, count: usize) {
        let mut documents = Vec::with_capacity(count);
        for _ in 0..count {
            let draw = &mut self.draw;
            let text = match draw.below(10) {
                0 if draw.percent(5) => self.texts[self.texts.len() - 1].clone(),
                0 => draw.one_of(&self.texts).clone(),
                1 => {
                    let earlier = draw.one_of(&self.texts).clone();
                    edited(draw, &earlier, 1)
                }
                _ => text(draw, 12),
            };
            let number = match draw.below(40) {
                0 => draw.below(self.texts.len()),
                1 => self.texts.len() - 1,
                _ => self.texts.len(),
            };
            let sketch = self.pair.sketch(&text);
            documents.push(Document {
                key: format!("crowd/{number}"),
                sketch,
                seen_at: Some(draw.number() % 9999),
            });
            self.texts.push(text);
        }
        self.pair.add(documents, Policy::Everything);
    }

    /// Takes documents away and looks at the clusters.
    fn thin_out(&mut self, count: usize) {
        let keys: Vec<String> =
            (0..count).map(|_| format!("crowd/{}", self.draw.below(self.texts.len()))).collect();
        self.pair.remove(&keys);
        self.pair.expire(200);
        self.pair.counts();
        self.pair.clusters(2);
    }

    fn runs(&self) -> u64 {
        self.pair.db().stats().unwrap().runs
    }

    /// Looks at everything by key and at some texts by resemblance and distance.
    fn check(&mut self) {
        self.pair.counts();
        self.pair.get_every();
        for _ in 0..300 {
            let sketch = self.pair.sketch(self.draw.one_of::<String>(&self.texts));
            let copies = self.draw.percent(50);
            self.pair.query(&sketch, &Query { copies, ..Query::default() });
        }
        for _ in 0..30 {
            let sketch = self.pair.sketch(self.draw.one_of::<String>(&self.texts));
            self.pair.query(&sketch, &Query { by: Some(Measure::Hamming(3)), ..Query::default() });
        }
    }
}

#[test]
fn flushes_and_merges_change_no_answer() {
    let mut crowd = Crowd::new(5);
    for runs in 1..=3 {
        crowd.add(10_000);
        crowd.thin_out(500);
        crowd.pair.reopen(Leave::Close);
        assert_eq!(crowd.runs(), runs, "closing flushes 8,192 contents or more");
    }
    crowd.check();
    crowd.thin_out(2000);
    crowd.add(40_000);
    assert_eq!(crowd.runs(), 4, "adding flushes at 32,768 contents");
    crowd.check();
    for _ in 0..4 {
        crowd.add(1000);
    }
    crowd.thin_out(500);
    assert_eq!(crowd.runs(), 4, "a merge is under way");
    crowd.pair.reopen(Leave::Kill);
    assert_eq!(crowd.runs(), 4, "a merge is under way again");
    crowd.check();
    let mut batches = 0;
    while crowd.runs() > 1 {
        crowd.add(1000);
        batches += 1;
    }
    assert!(batches > 1, "the merge was done in slices");
    crowd.check();
    crowd.pair.reopen(Leave::Drop);
    crowd.check();
    crowd.pair.assert_every_verdict(1);
}
