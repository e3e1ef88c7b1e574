//! Random calls in small databases: thousands of them, every answer compared.

use super::common::params::{knows_near, sets};
use super::common::texts::{Draw, edited, text};
use super::life::Anew;
use super::pair::{Leave, Pair, near};
use sketchdb::{
    Accept, ClusterRule, Confirm, Document, Kept, Measure, Params, Policy, Query, RepresentativeRule,
    SketchParams, Visit,
};

/// Texts of every kind, and those that were given out before.
pub struct Source {
    pub draw: Draw,
    given: Vec<String>,
    /// Texts that change step by step: each is near to the one before, not to those long before.
    changing: Vec<String>,
    /// Documents as they were given: some are given again.
    documents: Vec<(String, String)>,
}

impl Source {
    pub fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let changing = (0..3).map(|_| text(&mut draw, 60)).collect();
        Source { draw, given: vec!["a first text".into()], changing, documents: Vec::new() }
    }

    fn text(&mut self) -> String {
        let draw = &mut self.draw;
        let earlier = draw.one_of(&self.given).clone();
        let text = match draw.below(100) {
            0..25 => earlier,
            25..40 => {
                let edits = 1 + draw.below(6);
                edited(draw, &earlier, edits)
            }
            40..60 => {
                let at = draw.below(self.changing.len());
                self.changing[at] = match draw.percent(5) {
                    true => text(draw, 60),
                    false => edited(draw, &self.changing[at], 1),
                };
                self.changing[at].clone()
            }
            60..64 => {
                (*draw.one_of(&["", " \n", "!?", "…", "\u{1F600}\u{200D}\u{1F600}", "\u{FEFF}"])).into()
            }
            64..70 => {
                let words = 1 + draw.below(4);
                text(draw, words)
            }
            70..73 => earlier.to_uppercase(),
            73..76 => {
                let words = 800 + draw.below(800);
                text(draw, words)
            }
            _ => {
                let words = 5 + draw.below(300);
                text(draw, words)
            }
        };
        self.given.push(text.clone());
        text
    }

    fn key(&mut self) -> String {
        format!("key/{}", self.draw.below(400))
    }

    fn seen_at(&mut self) -> Option<u64> {
        self.draw.percent(60).then(|| self.draw.number() % 1000)
    }

    /// A page that is the same as another, or as it was, by any date.
    fn visit(&mut self) -> Visit {
        let of = self.draw.percent(60).then(|| self.key());
        Visit { key: self.key(), of, of_date: None, seen_at: self.seen_at() }
    }

    fn policy(&mut self) -> Policy {
        if self.draw.percent(25) { Policy::OnlyNew } else { Policy::Everything }
    }

    pub fn documents(&mut self, pair: &Pair, count: usize) -> Vec<Document> {
        let mut document = || {
            let again = self.documents.len().saturating_sub(1 + self.draw.below(40));
            let (key, text) = match self.documents.get(again).filter(|_| self.draw.percent(10)) {
                Some(document) => document.clone(),
                None => (self.key(), self.text()),
            };
            self.documents.push((key.clone(), text.clone()));
            Document { key, sketch: pair.sketch(&text), seen_at: self.seen_at() }
        };
        (0..count).map(|_| document()).collect()
    }

    /// A query; distances are those for which the tables find everything.
    fn query(&mut self, params: &Params) -> Query {
        let draw = &mut self.draw;
        let above = [params.threshold, 0.5 + params.threshold / 2.0, 0.95, 1.0, params.threshold * 0.7];
        let by = match draw.below(10) {
            _ if !knows_near(params) => Some(Measure::Any(*draw.one_of(&above[..4]))),
            _ if params.keep_sketches != Kept::default() => Some(near(params)),
            0..2 => None,
            2..5 => Some(Measure::Resemblance(*draw.one_of(&above))),
            5 | 6 if !params.containment => None,
            5 => Some(Measure::Containment(*draw.one_of(&above))),
            6 => Some(Measure::Contained(*draw.one_of(&above))),
            7 => Some(Measure::Agreement(*draw.one_of(&above))),
            8 => Some(Measure::Any(*draw.one_of(&above[..4]))),
            _ => Some(Measure::Hamming(draw.below(params.hamming as usize + 1) as u32)),
        };
        // What of more is the best cannot be told: see `Pair::query`.
        let limited = !matches!(by, Some(Measure::Any(_)));
        Query {
            by,
            confirm: match draw.below(4) {
                0 => vec![Confirm::Simhash(draw.below(20) as u32)],
                1 => vec![Confirm::Edit(draw.below(40) as f64 / 100.0)],
                _ => Vec::new(),
            },
            least_values: 0,
            ignore: None,
            accept: *draw.one_of(&[Accept::Estimate, Accept::Low, Accept::High]),
            limit: if limited { *draw.one_of(&[0, 0, 1, 3]) } else { 0 },
            copies: draw.percent(50),
            own: draw.percent(50).then(|| format!("key/{}", draw.below(400))),
        }
    }
}

/// One call; how many matches it found.
pub fn step(pair: &mut Pair, source: &mut Source, params: &Params) -> usize {
    match source.draw.below(100) {
        0..46 => {
            let (documents, policy) = (source.documents(pair, 1), source.policy());
            pair.add(documents, policy);
        }
        46..53 => {
            let count = 2 + source.draw.below(40);
            let (documents, policy) = (source.documents(pair, count), source.policy());
            pair.add(documents, policy);
        }
        53..60 => {
            let keys: Vec<String> = (0..1 + source.draw.below(6)).map(|_| source.key()).collect();
            pair.remove(&keys);
        }
        60..62 => pair.expire(source.draw.number() % 60),
        62..80 => {
            let (sketch, query) = (pair.sketch(&source.text()), source.query(params));
            return pair.query(&sketch, &query);
        }
        80..87 => pair.get(&source.key()),
        87..91 => pair.counts(),
        91..93 => pair.clusters(source.draw.below(4) as u64),
        93..95 => pair.cluster_of(&source.key()),
        95..97 => {
            let visits = (0..1 + source.draw.below(3)).map(|_| source.visit()).collect();
            pair.see(visits, source.policy());
        }
        97 if params.keep_sketches.simhash => {
            let texts: Vec<String> = (0..4).map(|_| source.text()).collect();
            pair.sweep(&texts, source.draw.below(8) as u32);
        }
        _ => pair.reopen(*source.draw.one_of(&[Leave::Close, Leave::Drop, Leave::Kill])),
    }
    0
}

/// So many random calls; then everything is looked at once more.
fn run(seed: u64, steps: usize, params: &Params) {
    let (mut pair, mut source) = (Pair::new(params), Source::new(seed));
    let matches: usize = (0..steps).map(|_| step(&mut pair, &mut source, params)).sum();
    pair.counts();
    pair.reopen(Leave::Close);
    pair.get_every();
    pair.counts();
    pair.clusters(0);
    pair.reopen(Leave::Kill);
    pair.clusters(2);
    pair.assert_every_verdict(steps as u64 / 200);
    assert!(matches > steps / 25, "{matches} matches in {steps} calls prove little");
    let (largest, labels) = (pair.oracle.clusters(1)[0].members.len(), &pair.oracle.labels);
    assert!(largest > 2, "of {largest} documents is the largest cluster");
    if params.clusters == ClusterRule::Components {
        pair.components();
        assert!(labels.formed > steps as u64 / 100, "{} clusters were formed anew", labels.formed);
        // Being the same set of shingles is transitive.
        assert!(
            labels.split > steps as u64 / 500 || params.threshold == 1.0,
            "{} clusters fell apart",
            labels.split
        );
    }
}

#[test]
fn random_calls_with_default_parameters() {
    for seed in [1, 2] {
        run(seed, 1500, &Params::default());
    }
}

#[test]
fn random_calls_with_a_low_threshold_and_a_small_sample() {
    let sketch = SketchParams { sample: 32, shingle: "words:3".parse().unwrap(), ..SketchParams::default() };
    for seed in [11, 12] {
        run(seed, 1200, &Params { threshold: 0.5, sketch: sketch.clone(), ..Params::default() });
    }
}

#[test]
fn random_calls_with_a_wide_hamming_distance() {
    let sketch = SketchParams { simhash: "words:1".parse().unwrap(), seed: 99, ..SketchParams::default() };
    for (seed, hamming, hamming_tables) in [(21, 7, 8), (22, 3, 10)] {
        run(seed, 1200, &Params { hamming, hamming_tables, sketch: sketch.clone(), ..Params::default() });
    }
}

#[test]
fn random_calls_at_threshold_one() {
    run(31, 1000, &Params { threshold: 1.0, recall: 0.9999, ..Params::default() });
}

#[test]
fn random_calls_with_greedy_clusters() {
    for (seed, representative) in [
        (41, RepresentativeRule::First),
        (42, RepresentativeRule::First),
        (43, RepresentativeRule::Popular),
        (44, RepresentativeRule::Popular),
    ] {
        let params = Params { clusters: ClusterRule::Greedy, representative, ..Params::default() };
        run(seed, 1200, &Params { threshold: if seed % 2 == 0 { 0.6 } else { 0.8 }, ..params });
    }
}

#[test]
fn random_calls_in_a_file_that_keeps_one_sketch() {
    for (seed, kept, clusters) in [
        (51, "simhash", ClusterRule::Components),
        (52, "signature", ClusterRule::Components),
        (55, "sample", ClusterRule::Components),
        (53, "simhash", ClusterRule::Components),
        (54, "signature", ClusterRule::Greedy),
    ] {
        let kept = Params { keep_sketches: kept.parse().unwrap(), clusters, ..Params::default() };
        let sketch = SketchParams { simhash: "words:1".parse().unwrap(), ..SketchParams::default() };
        run(seed, 1000, &Params { hamming: 7, hamming_tables: 8, sketch, ..kept });
    }
}

#[test]
fn random_calls_with_drawn_parameters() {
    for (seed, params) in (100..).zip(sets(11)) {
        let (mut pair, mut source) = (Pair::new(&params), Source::new(seed));
        let matches: usize = (0..300).map(|_| step(&mut pair, &mut source, &params)).sum();
        assert!(matches > 5, "{matches} matches prove little, {params:?}");
        for leave in [Leave::Close, Leave::Kill] {
            pair.reopen(leave);
            pair.get_every();
            pair.counts();
            pair.clusters(0);
        }
        if let Some(options) = pair.pair_options(&mut source.draw) {
            pair.pairs(&options);
        }
        pair.compact(Anew::Onto);
    }
}
