//! What a query answers: candidates measured, those that pass, in order.

use super::oracle::{Content, Oracle};
use sketchdb::{Accept, Answer, Confirm, DocId, FoundBy, Interval, Match, Measure, Overlap, Query, Sketch};
use std::collections::BTreeMap;

/// The measures between a sketch and a content.
pub struct Measured {
    pub content: usize,
    exact: bool,
    overlap: Option<Overlap>,
    agreement: Option<f64>,
    hamming: Option<u32>,
    found_by: FoundBy,
}

impl Oracle {
    pub fn measured(&self, sketch: &Sketch, content: usize, found_by: FoundBy) -> Measured {
        let other = &self.contents[content].sketch;
        let exact = other.hash == sketch.hash;
        let signatures = sketch.signature.as_ref().zip(other.signature.as_ref());
        Measured {
            content,
            exact,
            overlap: self.params.keep_sketches.sample.then(|| Overlap::of(&sketch.sample, &other.sample)),
            agreement: signatures.and_then(|(a, b)| a.agreement(b)),
            hamming: sketch.simhash.zip(other.simhash).map(|(a, b)| a.distance(b)),
            found_by,
        }
    }

    pub fn query(&self, sketch: &Sketch, query: &Query) -> Answer {
        let by = query.by.unwrap_or(Measure::Resemblance(self.params.threshold));
        let ((candidates, bounded), expected_recall) = match by {
            Measure::Resemblance(threshold) => {
                let below = threshold < self.params.threshold;
                (
                    self.candidates(sketch, usize::MAX),
                    below.then(|| self.bands.candidate_probability(threshold)),
                )
            }
            Measure::Agreement(threshold) => {
                let below = threshold < self.params.threshold;
                (
                    self.by_bands(sketch, usize::MAX),
                    below.then(|| self.bands.candidate_probability(threshold)),
                )
            }
            Measure::Hamming(distance) => ((self.by_simhash(sketch, distance), false), None),
            Measure::Containment(_) | Measure::Contained(_) => ((self.by_samples(sketch), false), None),
            Measure::Any(_) => (self.by_all(sketch), None),
            _ => unreachable!("no other measure is asked for"),
        };
        let own = query.own.as_ref().and_then(|key| self.keys.get(key)).copied();
        let mut matches: Vec<(usize, Match)> = Vec::new();
        let confirmed = |measured: &Measured| {
            measured.exact || query.confirm.iter().all(|confirm| self.confirms(sketch, measured, *confirm))
        };
        let passes = |measured: &Measured| match by {
            Measure::Any(threshold) => self.passes_any(measured, threshold, query.accept),
            by => measured.passes(by, query.accept),
        };
        for measured in candidates.iter().filter(|measured| passes(measured) && confirmed(measured)) {
            let holders = self.contents[measured.content].holders.iter().map(|&id| id as usize);
            let shown = holders.filter(|&id| Some(id) != own).take(if query.copies { usize::MAX } else { 1 });
            matches.extend(shown.map(|id| (measured.content, self.matched(sketch, measured, id, by))));
        }
        matches.sort_by(|(a, x), (b, y)| better(x, y, by).then(a.cmp(b)).then(x.id.cmp(&y.id)));
        let total = matches.len() as u64;
        matches.truncate(if query.limit == 0 { usize::MAX } else { query.limit });
        let matches = matches.into_iter().map(|found| found.1).collect();
        Answer { matches, total, bounded, expected_recall }
    }

    /// What shares a band, a posted sample value, or lies within the file's distance.
    fn by_all(&self, sketch: &Sketch) -> (Vec<Measured>, bool) {
        let (bands, bounded) = self.by_bands(sketch, usize::MAX);
        let samples = if self.params.containment { self.by_samples(sketch) } else { Vec::new() };
        let mut all: BTreeMap<usize, Measured> = BTreeMap::new();
        for measured in bands.into_iter().chain(samples).chain(self.by_simhash(sketch, self.params.hamming)) {
            let by = measured.found_by;
            let found = &mut all.entry(measured.content).or_insert(measured).found_by;
            found.content |= by.content;
            found.band |= by.band;
            found.sample |= by.sample;
            found.simhash |= by.simhash;
        }
        (all.into_values().collect(), bounded)
    }

    fn passes_any(&self, measured: &Measured, threshold: f64, accept: Accept) -> bool {
        let shares: [fn(f64) -> Measure; 3] =
            [Measure::Resemblance, Measure::Containment, Measure::Contained];
        shares.iter().any(|by| measured.passes(by(threshold), accept))
            || measured.hamming().is_some_and(|hamming| hamming <= self.params.hamming)
    }

    fn confirms(&self, sketch: &Sketch, measured: &Measured, confirm: Confirm) -> bool {
        let other = &self.contents[measured.content].sketch;
        match confirm {
            Confirm::Simhash(distance) => measured.hamming().is_some_and(|hamming| hamming <= distance),
            Confirm::Edit(share) => sketch
                .edit
                .as_ref()
                .zip(other.edit.as_ref())
                .is_some_and(|(a, b)| self.params.sketch.edit.estimate(a, b).share <= share),
        }
    }

    fn matched(&self, sketch: &Sketch, measured: &Measured, id: usize, by: Measure) -> Match {
        let Content { sketch: other, holders } = &self.contents[measured.content];
        let or_same = |share: Option<f64>| if measured.exact { Some(1.0) } else { share };
        let one = Interval { low: 1.0, high: 1.0 };
        let or_one = |interval: Option<Interval>| if measured.exact { Some(one) } else { interval };
        let overlap = measured.overlap;
        // A share of no values is none.
        let values = match by {
            Measure::Containment(_) => overlap.map(|overlap| overlap.first),
            Measure::Contained(_) => overlap.map(|overlap| overlap.second),
            _ => overlap.map(|overlap| overlap.first + overlap.second - overlap.both),
        };
        Match {
            key: self.documents[id].key.clone(),
            id: DocId(id as u64),
            resemblance: measured.resemblance(),
            interval: measured.interval(),
            containment: or_same(overlap.and_then(|overlap| overlap.containment())),
            containment_interval: or_one(overlap.and_then(|overlap| overlap.containment_interval())),
            contained: or_same(overlap.and_then(|overlap| overlap.contained())),
            contained_interval: or_one(overlap.and_then(|overlap| overlap.contained_interval())),
            values: if measured.exact {
                Some(sketch.sample.values().len() as u64)
            } else {
                values.filter(|&values| values > 0)
            },
            hamming: measured.hamming(),
            agreement: measured.agreement(),
            edit: sketch
                .edit
                .as_ref()
                .zip(other.edit.as_ref())
                .map(|(a, b)| self.params.sketch.edit.estimate(a, b)),
            exact: measured.exact,
            copies: holders.len() as u64 - 1,
            found_by: measured.found_by,
        }
    }
}

impl Measured {
    pub fn resemblance(&self) -> Option<f64> {
        if self.exact { Some(1.0) } else { self.overlap?.resemblance() }
    }

    pub fn agreement(&self) -> Option<f64> {
        if self.exact { Some(1.0) } else { self.agreement }
    }

    pub fn hamming(&self) -> Option<u32> {
        if self.exact { Some(0) } else { self.hamming }
    }

    pub fn interval(&self) -> Option<Interval> {
        if self.exact { Some(Interval { low: 1.0, high: 1.0 }) } else { self.overlap?.resemblance_interval() }
    }

    pub fn passes(&self, by: Measure, accept: Accept) -> bool {
        let overlap = |share: fn(&Overlap) -> Option<f64>| self.overlap.as_ref().and_then(share);
        let interval = |of: fn(&Overlap) -> Option<Interval>| self.overlap.as_ref().and_then(of);
        let (value, interval, threshold) = match by {
            _ if self.exact => return true,
            Measure::Resemblance(t) => (self.resemblance(), self.interval(), t),
            Measure::Containment(t) => {
                (overlap(Overlap::containment), interval(Overlap::containment_interval), t)
            }
            Measure::Contained(t) => (overlap(Overlap::contained), interval(Overlap::contained_interval), t),
            Measure::Agreement(t) => return self.agreement.is_some_and(|agreement| agreement >= t),
            _ => return true,
        };
        let end = match accept {
            Accept::Low => interval.map(|interval| interval.low),
            Accept::Estimate => value,
            Accept::High => interval.map(|interval| interval.high),
        };
        end.is_some_and(|end| end >= threshold)
    }
}

/// The same text first, then the greater resemblance or the smaller distance, then the other of the two.
fn better(x: &Match, y: &Match, by: Measure) -> std::cmp::Ordering {
    let resemblance = y.resemblance.unwrap_or(0.0).total_cmp(&x.resemblance.unwrap_or(0.0));
    let distance = x.hamming.unwrap_or(64).cmp(&y.hamming.unwrap_or(64));
    let down = |a: Option<f64>, b: Option<f64>| b.unwrap_or(0.0).total_cmp(&a.unwrap_or(0.0));
    let by = match by {
        Measure::Hamming(_) => distance.then(resemblance),
        Measure::Containment(_) => down(x.containment, y.containment).then(resemblance),
        Measure::Contained(_) => down(x.contained, y.contained).then(resemblance),
        Measure::Agreement(_) => down(x.agreement, y.agreement).then(resemblance),
        _ => resemblance.then(distance),
    };
    y.exact.cmp(&x.exact).then(by)
}
