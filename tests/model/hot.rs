//! Hot bands: what is united through the tops of clusters, and what falls apart where bands are hot.

use super::common::texts::{Draw, edited, text};
use super::pair::{Leave, Pair};
use sketchdb::{ClusterRule, Document, Params, Policy, Query, RepresentativeRule, SketchParams};

/// Variants of a template that all share a band, and texts on the way to it and away from it.
struct Template {
    pair: Pair,
    draw: Draw,
    /// Step by step, each near to those beside it.
    steps: Vec<String>,
    keys: usize,
}

impl Template {
    fn new(seed: u64, params: &Params) -> Self {
        let mut draw = Draw::new(seed);
        let mut steps = vec![text(&mut draw, 150)];
        for _ in 0..12 {
            let last = steps[steps.len() - 1].clone();
            steps.push(edited(&mut draw, &last, 1));
        }
        Template { pair: Pair::new(params), draw, steps, keys: 0 }
    }

    /// Steps and variants of the middle one, so many of a hundred.
    fn add(&mut self, count: usize, steps: usize) {
        let mut documents = Vec::with_capacity(count);
        for _ in 0..count {
            // The oldest of all, and so the top, is two steps from the middle.
            let step = if self.keys == 0 {
                4
            } else if self.draw.percent(steps) {
                self.draw.below(self.steps.len())
            } else {
                6
            };
            let mark = |bit: usize| if self.keys >> bit & 1 == 1 { "!" } else { "?" };
            let text = self.steps[step].clone() + &(0..16).map(mark).collect::<String>();
            let (key, sketch) = (format!("key/{}", self.keys), self.pair.sketch(&text));
            documents.push(Document { key, sketch, seen_at: Some(self.keys as u64) });
            self.keys += 1;
        }
        self.pair.add(documents, Policy::Everything);
    }

    fn remove(&mut self, count: usize, below: usize) {
        let keys: Vec<String> = (0..count).map(|_| format!("key/{}", self.draw.below(below))).collect();
        self.pair.remove(&keys);
    }

    fn check(&mut self) {
        self.pair.counts();
        for step in 0..self.steps.len() {
            let sketch = self.pair.sketch(&self.steps[step]);
            self.pair.query(&sketch, &Query::default());
        }
        let key = format!("key/{}", self.draw.below(self.keys));
        self.pair.cluster_of(&key);
    }
}

/// How often the top of a cluster counted that shared no band.
fn run(seed: u64, params: &Params) -> u64 {
    let mut template = Template::new(seed, params);
    template.add(40, 100);
    template.add(1100, 4);
    template.check();
    template.remove(30, 40);
    template.add(100, 30);
    template.check();
    template.remove(20, 150);
    template.pair.expire(20);
    template.add(100, 30);
    template.pair.reopen(Leave::Kill);
    template.add(100, 30);
    template.pair.clusters(1);
    template.check();
    assert!(template.pair.oracle.bounded > 200, "{} were bounded", template.pair.oracle.bounded);
    template.pair.oracle.by_top
}

fn small() -> Params {
    let sketch = SketchParams { sample: 128, ..SketchParams::default() };
    // With few bands, many near duplicates share none.
    Params { sketch, containment: false, recall: 0.02, ..Params::default() }
}

#[test]
fn clusters_where_bands_are_hot() {
    let by_top: u64 = (61..65).map(|seed| run(seed, &small())).sum();
    assert!(by_top > 0, "no text was near to a top that no band led to");
}

#[test]
fn greedy_clusters_where_bands_are_hot() {
    for (seed, representative) in [(65, RepresentativeRule::First), (66, RepresentativeRule::Popular)] {
        run(seed, &Params { clusters: ClusterRule::Greedy, representative, ..small() });
    }
}
