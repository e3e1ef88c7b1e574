//! The database as its documentation defines it: plain maps and lists, every answer from the definitions.
//!
//! A candidate of a text shares all entries of a band with it; of more than 1,024 that share one band the lowest 64 count.

use sketchdb::{
    Accept, Added, Answer, Bands, DocId, Document, FoundBy, Interval, Match, Measure, Overlap, Params,
    Policy, Query, Sample, Sketch, Stored, Verdict,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A key and the content it holds.
struct Holder {
    key: String,
    content: usize,
    first_seen: Option<u64>,
    last_seen: Option<u64>,
}

struct Content {
    sketch: Sketch,
    holders: BTreeSet<u64>,
}

/// The number of a band and its entries.
type Band = (usize, Box<[u16]>);

/// What is stored.
pub struct Oracle {
    params: Params,
    bands: Bands,
    documents: Vec<Holder>,
    keys: HashMap<String, usize>,
    contents: Vec<Content>,
    /// Living contents only.
    texts: HashMap<[u8; 16], usize>,
    shared: HashMap<Band, Vec<usize>>,
    /// Verdicts for which a band was not followed to its end.
    pub bounded: u64,
}

/// The measures between a sketch and a content.
struct Measured {
    content: usize,
    exact: bool,
    overlap: Overlap,
    agreement: Option<f64>,
    found_by: FoundBy,
}

impl Oracle {
    pub fn new(params: &Params) -> Self {
        Oracle {
            params: params.clone(),
            bands: params.bands().unwrap(),
            documents: Vec::new(),
            keys: HashMap::new(),
            contents: Vec::new(),
            texts: HashMap::new(),
            shared: HashMap::new(),
            bounded: 0,
        }
    }

    pub fn documents(&self) -> u64 {
        self.documents.len() as u64
    }

    pub fn living(&self) -> u64 {
        self.texts.len() as u64
    }

    pub fn dead(&self) -> u64 {
        (self.contents.len() - self.texts.len()) as u64
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.documents.iter().map(|document| document.key.as_str())
    }

    /// The bands of a sketch.
    fn bands(&self, sketch: &Sketch) -> Vec<Band> {
        let entries =
            sketch.signature.iter().flat_map(|signature| signature.entries().chunks_exact(self.bands.rows));
        entries.take(self.bands.bands).enumerate().map(|(number, rows)| (number, rows.into())).collect()
    }

    pub fn add(&mut self, document: &Document, policy: Policy) -> Added {
        let own = self.keys.get(&document.key).copied();
        let same = self.texts.get(&document.sketch.hash.0).copied();
        if let (Some(own), Some(same)) = (own, same)
            && self.documents[own].content == same
        {
            self.see(own, document.seen_at);
            let id = Some(DocId(own as u64));
            return Added {
                id,
                verdict: Verdict::Unchanged,
                of: None,
                resemblance: None,
                containment: None,
                bounded: false,
            };
        }
        let (other, bounded) = match same {
            Some(content) => (self.first_holder(content, own).map(|holder| (holder, 1.0)), false),
            None => self.most_alike(&document.sketch, own),
        };
        self.bounded += u64::from(bounded);
        let verdict = match (own, same, other) {
            (Some(_), ..) => Verdict::Updated,
            (None, Some(_), _) => Verdict::Exact,
            (None, None, Some(_)) => Verdict::Near,
            (None, None, None) => Verdict::New,
        };
        let of = other.map(|(holder, _)| self.documents[holder].key.clone());
        let stored = policy == Policy::Everything || matches!(verdict, Verdict::New | Verdict::Updated);
        if !stored && let Some((holder, _)) = other {
            self.see(holder, document.seen_at);
        }
        let id = stored.then(|| DocId(self.store(document, own, same) as u64));
        Added { id, verdict, of, resemblance: other.map(|other| other.1), containment: None, bounded }
    }

    fn see(&mut self, holder: usize, seen: Option<u64>) {
        let last = &mut self.documents[holder].last_seen;
        *last = (*last).max(seen);
    }

    fn first_holder(&self, content: usize, own: Option<usize>) -> Option<usize> {
        self.contents[content].holders.iter().map(|&id| id as usize).find(|&id| Some(id) != own)
    }

    fn most_alike(&self, sketch: &Sketch, own: Option<usize>) -> (Option<(usize, f64)>, bool) {
        let (candidates, bounded) = self.by_bands(sketch);
        let mut best: Option<(usize, f64)> = None;
        for measured in candidates {
            let Some(resemblance) = measured.resemblance().filter(|&r| r >= self.params.threshold) else {
                continue;
            };
            let better = best.is_none_or(|(_, best)| resemblance > best);
            if let Some(holder) = self.first_holder(measured.content, own).filter(|_| better) {
                best = Some((holder, resemblance));
            }
        }
        (best, bounded)
    }

    /// Stores a document; its number.
    fn store(&mut self, document: &Document, own: Option<usize>, same: Option<usize>) -> usize {
        let Document { key, sketch, seen_at } = document;
        let content = same.unwrap_or_else(|| self.found(sketch));
        let holder = own.unwrap_or(self.documents.len());
        self.contents[content].holders.insert(holder as u64);
        if own.is_some() {
            let before = std::mem::replace(&mut self.documents[holder].content, content);
            self.see(holder, *seen_at);
            self.let_go(holder, before);
        } else {
            self.keys.insert(key.clone(), holder);
            self.documents.push(Holder {
                key: key.clone(),
                content,
                first_seen: *seen_at,
                last_seen: *seen_at,
            });
        }
        holder
    }

    fn found(&mut self, sketch: &Sketch) -> usize {
        let content = self.contents.len();
        self.texts.insert(sketch.hash.0, content);
        for band in self.bands(sketch) {
            self.shared.entry(band).or_default().push(content);
        }
        self.contents.push(Content { sketch: sketch.clone(), holders: BTreeSet::new() });
        content
    }

    fn let_go(&mut self, holder: usize, content: usize) {
        let Content { sketch, holders } = &mut self.contents[content];
        holders.remove(&(holder as u64));
        if !holders.is_empty() {
            return;
        }
        let sketch = sketch.clone();
        self.texts.remove(&sketch.hash.0);
        for band in self.bands(&sketch) {
            self.shared.get_mut(&band).unwrap().retain(|&other| other != content);
        }
    }

    fn measured(&self, sketch: &Sketch, content: usize, found_by: FoundBy) -> Measured {
        let other = &self.contents[content].sketch;
        let exact = other.hash == sketch.hash;
        let signatures = sketch.signature.as_ref().zip(other.signature.as_ref());
        Measured {
            content,
            exact,
            overlap: Overlap::of(&sketch.sample, &other.sample),
            agreement: signatures.and_then(|(a, b)| a.agreement(b)),
            found_by,
        }
    }

    /// The same text, and what shares a band.
    fn by_bands(&self, sketch: &Sketch) -> (Vec<Measured>, bool) {
        let mut found: BTreeMap<usize, FoundBy> = BTreeMap::new();
        let mut bounded = false;
        for sharing in self.bands(sketch).iter().filter_map(|band| self.shared.get(band)) {
            bounded |= sharing.len() > 1024;
            let followed = if sharing.len() > 1024 { 64 } else { sharing.len() };
            sharing[..followed].iter().for_each(|&content| found.entry(content).or_default().band = true);
        }
        if let Some(&same) = self.texts.get(&sketch.hash.0) {
            found.entry(same).or_default().content = true;
        }
        (found.into_iter().map(|(content, by)| self.measured(sketch, content, by)).collect(), bounded)
    }

    /// The same text, and every living content that posts a value of the sketch's sample.
    fn by_samples(&self, sketch: &Sketch) -> Vec<Measured> {
        let mut all = Vec::new();
        let living = self.contents.iter().enumerate().filter(|(_, other)| !other.holders.is_empty());
        for (content, other) in living {
            let shares =
                posted(&other.sketch.sample).iter().any(|value| sketch.sample.values().contains(value));
            let same = other.sketch.hash == sketch.hash;
            if shares || same {
                let found_by = FoundBy { content: same, sample: shares, ..FoundBy::default() };
                all.push(self.measured(sketch, content, found_by));
            }
        }
        all
    }

    /// Every living content within a distance.
    fn by_simhash(&self, sketch: &Sketch, distance: u32) -> Vec<Measured> {
        let mut all = Vec::new();
        for (content, other) in
            self.contents.iter().enumerate().filter(|(_, other)| !other.holders.is_empty())
        {
            let within =
                sketch.simhash.zip(other.sketch.simhash).is_some_and(|(a, b)| a.distance(b) <= distance);
            let same = other.sketch.hash == sketch.hash;
            if within || same {
                all.push(self.measured(
                    sketch,
                    content,
                    FoundBy { content: same, simhash: within, ..FoundBy::default() },
                ));
            }
        }
        all
    }

    pub fn query(&self, sketch: &Sketch, query: &Query) -> Answer {
        let by = query.by.unwrap_or(Measure::Resemblance(self.params.threshold));
        let ((candidates, bounded), expected_recall) = match by {
            Measure::Resemblance(threshold) => {
                let below = threshold < self.params.threshold;
                (self.by_bands(sketch), below.then(|| self.bands.candidate_probability(threshold)))
            }
            Measure::Agreement(threshold) => {
                let below = threshold < self.params.threshold;
                (self.by_bands(sketch), below.then(|| self.bands.candidate_probability(threshold)))
            }
            Measure::Hamming(distance) => ((self.by_simhash(sketch, distance), false), None),
            Measure::Containment(_) | Measure::Contained(_) => ((self.by_samples(sketch), false), None),
            _ => unreachable!("no other measure is asked for"),
        };
        let own = query.own.as_ref().and_then(|key| self.keys.get(key)).copied();
        let mut matches: Vec<(usize, Match)> = Vec::new();
        for measured in candidates.iter().filter(|measured| measured.passes(by, query.accept)) {
            let holders = self.contents[measured.content].holders.iter().map(|&id| id as usize);
            let shown = holders.filter(|&id| Some(id) != own).take(if query.copies { usize::MAX } else { 1 });
            matches.extend(shown.map(|id| (measured.content, self.matched(sketch, measured, id))));
        }
        matches.sort_by(|(a, x), (b, y)| better(x, y, by).then(a.cmp(b)).then(x.id.cmp(&y.id)));
        matches.truncate(if query.limit == 0 { usize::MAX } else { query.limit });
        Answer { matches: matches.into_iter().map(|found| found.1).collect(), bounded, expected_recall }
    }

    fn matched(&self, sketch: &Sketch, measured: &Measured, id: usize) -> Match {
        let Content { sketch: other, holders } = &self.contents[measured.content];
        let or_same = |share: Option<f64>| if measured.exact { Some(1.0) } else { share };
        let simhashes = sketch.simhash.zip(other.simhash);
        let signatures = sketch.signature.as_ref().zip(other.signature.as_ref());
        Match {
            key: self.documents[id].key.clone(),
            id: DocId(id as u64),
            resemblance: measured.resemblance(),
            interval: measured.interval(),
            containment: or_same(measured.overlap.containment()),
            contained: or_same(measured.overlap.contained()),
            hamming: if measured.exact { Some(0) } else { simhashes.map(|(a, b)| a.distance(b)) },
            agreement: or_same(signatures.and_then(|(a, b)| a.agreement(b))),
            edit: sketch
                .edit
                .as_ref()
                .zip(other.edit.as_ref())
                .map(|(a, b)| self.params.sketch.edit.estimate(a, b)),
            exact: measured.exact,
            copies: holders.len() as u64 - 1,
            found_by: measured.found_by,
            passage: None,
        }
    }

    pub fn get(&self, key: &str) -> Option<Stored> {
        let id = *self.keys.get(key)?;
        let Holder { content, first_seen, last_seen, .. } = self.documents[id];
        let Content { sketch, holders } = &self.contents[content];
        Some(Stored {
            id: DocId(id as u64),
            first_seen,
            last_seen,
            copies: holders.len() as u64 - 1,
            shingles: Some(sketch.sample.shingles()),
            bytes: sketch.bytes,
        })
    }
}

/// Broder's L_{i+1}, of a text of 100·2^i shingles and more; all of a shorter one.
fn posted(sample: &Sample) -> &[u64] {
    let half = sample.values().len() as f64 / 2.0;
    let base = if sample.is_whole() { 100.0 } else { half.min(100.0) };
    let level = if sample.shingles() < base { 0 } else { sample.level() + 1 };
    sample.mod_2i(level).unwrap_or(sample.values())
}

impl Measured {
    fn resemblance(&self) -> Option<f64> {
        if self.exact { Some(1.0) } else { self.overlap.resemblance() }
    }

    fn interval(&self) -> Option<Interval> {
        if self.exact { Some(Interval { low: 1.0, high: 1.0 }) } else { self.overlap.resemblance_interval() }
    }

    fn passes(&self, by: Measure, accept: Accept) -> bool {
        let overlap = &self.overlap;
        let (value, interval, threshold) = match by {
            _ if self.exact => return true,
            Measure::Resemblance(t) => (self.resemblance(), self.interval(), t),
            Measure::Containment(t) => (overlap.containment(), overlap.containment_interval(), t),
            Measure::Contained(t) => (overlap.contained(), overlap.contained_interval(), t),
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
