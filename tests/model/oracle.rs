//! The database as its documentation defines it: plain maps and lists, every answer from the definitions.
//!
//! A candidate of a text shares all entries of a band with it; of more than 256 that share one band the lowest 16 count,
//! and the tops of their clusters.

use super::answers::Measured;
use super::clusters::Labels;
use super::pair::near;
use sketchdb::{
    Added, Bands, ClusterId, ClusterRule, DocId, Document, FoundBy, Kept, Measure, Params, Policy, Sample,
    Simhash, Sketch, Stored, Verdict, Visit,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A key and the content it holds, or held when it was removed.
#[derive(Clone)]
pub struct Holder {
    pub key: String,
    pub content: usize,
    pub first_seen: Option<u64>,
    pub last_seen: Option<u64>,
}

/// A text: of its sketch, what the file keeps.
#[derive(Clone)]
pub struct Content {
    pub sketch: Sketch,
    pub holders: BTreeSet<u64>,
}

/// The number of a band and its entries.
type Band = (usize, Box<[u16]>);

/// What is stored.
#[derive(Clone)]
pub struct Oracle {
    pub params: Params,
    pub bands: Bands,
    /// Every document there ever was.
    pub documents: Vec<Holder>,
    /// Living documents only.
    pub keys: HashMap<String, usize>,
    /// Every content there ever was.
    pub contents: Vec<Content>,
    /// Living contents only.
    pub texts: HashMap<[u8; 16], usize>,
    pub shared: HashMap<Band, Vec<usize>>,
    pub labels: Labels,
    /// Verdicts for which a band was not followed to its end.
    pub bounded: u64,
    /// Verdicts for which a near duplicate was found as the top of a cluster only.
    pub by_top: u64,
    /// Documents and contents that were dead when the file was written anew.
    pub dropped: (u64, u64),
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
            labels: Labels::default(),
            bounded: 0,
            by_top: 0,
            dropped: (0, 0),
        }
    }

    pub fn documents(&self) -> u64 {
        self.keys.len() as u64
    }

    pub fn living(&self) -> u64 {
        self.texts.len() as u64
    }

    pub fn dead(&self) -> u64 {
        (self.contents.len() - self.texts.len()) as u64 - self.dropped.1
    }

    pub fn removed(&self) -> u64 {
        (self.documents.len() - self.keys.len()) as u64 - self.dropped.0
    }

    /// The keys of living documents, in the order in which they came.
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<(usize, String)> = self.keys.iter().map(|(key, &id)| (id, key.clone())).collect();
        keys.sort_unstable();
        keys.into_iter().map(|found| found.1).collect()
    }

    /// Each living text: its sketch as far as it is kept, and a key that holds it.
    pub fn texts(&self) -> impl Iterator<Item = (&Sketch, &str)> {
        let living = self.contents.iter().filter_map(|text| Some((&text.sketch, text.holders.first()?)));
        living.map(|(sketch, &id)| (sketch, self.documents[id as usize].key.as_str()))
    }

    pub fn is_alive(&self, content: usize) -> bool {
        !self.contents[content].holders.is_empty()
    }

    pub fn holder(&self, key: &str) -> Option<&Holder> {
        self.keys.get(key).map(|&id| &self.documents[id])
    }

    /// The bands of a sketch.
    pub fn bands(&self, sketch: &Sketch) -> Vec<Band> {
        let entries =
            sketch.signature.iter().flat_map(|signature| signature.entries().chunks_exact(self.bands.rows));
        entries.take(self.bands.bands).enumerate().map(|(number, rows)| (number, rows.into())).collect()
    }

    pub fn add(&mut self, document: &Document, policy: Policy) -> Added {
        let own = self.keys.get(&document.key).copied();
        let same = self.texts.get(&document.sketch.hash.0).copied();
        let cluster = |oracle: &Self, content: usize| Some(ClusterId(oracle.labels.of(content) as u64));
        if let (Some(own), Some(same)) = (own, same)
            && self.documents[own].content == same
        {
            self.see(own, document.seen_at);
            let (id, cluster) = (Some(DocId(own as u64)), cluster(self, same));
            return answer(id, Verdict::Unchanged, None, None, cluster, false);
        }
        let (candidates, bounded) = match same {
            Some(_) => (Vec::new(), false),
            None => self.candidates(&document.sketch, usize::MAX),
        };
        let other = match same {
            Some(content) => self.first_holder(content, own).map(|holder| (holder, Some(1.0))),
            None => self.most_alike(&candidates, own),
        };
        self.bounded += u64::from(bounded);
        self.by_top +=
            u64::from(bounded && candidates.iter().any(|near| self.is_by_top(&document.sketch, near)));
        let verdict = match (own, same, other) {
            (Some(_), ..) => Verdict::Updated,
            (None, Some(_), _) => Verdict::Exact,
            (None, None, Some(_)) => Verdict::Near,
            (None, None, None) => Verdict::New,
        };
        let of = other.map(|(holder, _)| self.documents[holder].key.clone());
        let resemblance = other.and_then(|other| other.1);
        let stored = policy == Policy::Everything || matches!(verdict, Verdict::New | Verdict::Updated);
        let (id, content) = match other {
            Some((holder, _)) if !stored => {
                self.see(holder, document.seen_at);
                (None, self.documents[holder].content)
            }
            _ => {
                let id = self.store(document, own, same);
                (Some(DocId(id as u64)), self.documents[id].content)
            }
        };
        if stored && same.is_none() {
            self.form(content, &candidates);
        }
        let cluster = cluster(self, content);
        answer(id, verdict, of, resemblance, cluster, bounded)
    }

    /// Whether the key was there.
    pub fn remove(&mut self, key: &str) -> bool {
        let Some(id) = self.keys.remove(key) else { return false };
        self.let_go(id, self.documents[id].content);
        true
    }

    /// How many documents were last seen before a time: none of them stays.
    pub fn expire(&mut self, before: u64) -> u64 {
        let is_stale = |key: &String| self.holder(key).unwrap().last_seen.is_some_and(|seen| seen < before);
        let stale: Vec<String> = self.keys().into_iter().filter(is_stale).collect();
        stale.iter().filter(|key| self.remove(key)).count() as u64
    }

    pub fn see(&mut self, holder: usize, seen: Option<u64>) {
        let last = &mut self.documents[holder].last_seen;
        *last = (*last).max(seen);
    }

    /// Of each simhash, the texts within a distance: its place, the first document of the text, the distance.
    pub fn within(&self, simhashes: &[Simhash], most: u32) -> BTreeSet<(usize, u64, u32)> {
        let of = |(asked, simhash): (usize, &Simhash)| {
            let close = self.contents.iter().filter_map(move |other| {
                let (distance, first) = (other.sketch.simhash?.distance(*simhash), *other.holders.first()?);
                (distance <= most).then_some((asked, first, distance))
            });
            close.collect::<Vec<_>>()
        };
        simhashes.iter().enumerate().flat_map(of).collect()
    }

    /// Adds a document with the text of one that is stored.
    pub fn visit(&mut self, visit: &Visit, policy: Policy) -> Option<Added> {
        let meant = self.holder(visit.of.as_ref().unwrap_or(&visit.key))?.content;
        let sketch = self.contents[meant].sketch.clone();
        Some(self.add(&Document { key: visit.key.clone(), sketch, seen_at: visit.seen_at }, policy))
    }

    fn first_holder(&self, content: usize, own: Option<usize>) -> Option<usize> {
        self.contents[content].holders.iter().map(|&id| id as usize).find(|&id| Some(id) != own)
    }

    /// The document that is most like the text, and the resemblance to it.
    fn most_alike(&self, candidates: &[Measured], own: Option<usize>) -> Option<(usize, Option<f64>)> {
        let mut best: Option<(f64, usize, Option<f64>)> = None;
        for measured in candidates.iter().filter(|measured| self.is_near(measured)) {
            let share = self.share(measured)?;
            let better = best.is_none_or(|(best, ..)| share > best);
            if let Some(holder) = self.first_holder(measured.content, own).filter(|_| better) {
                best = Some((share, holder, measured.resemblance()));
            }
        }
        best.map(|(_, holder, resemblance)| (holder, resemblance))
    }

    /// What decides whether texts are near duplicates: of what is kept, the resemblance of those that share a band, else
    /// the agreement of their signatures, else the distance of their simhashes, else the resemblance of those that share a
    /// value.
    pub fn share(&self, measured: &Measured) -> Option<f64> {
        match near(&self.params) {
            Measure::Hamming(_) => measured.hamming().map(|distance| 1.0 - f64::from(distance) / 64.0),
            Measure::Agreement(_) => measured.agreement(),
            _ => measured.resemblance(),
        }
    }

    pub fn least_share(&self) -> f64 {
        match near(&self.params) {
            Measure::Hamming(distance) => 1.0 - f64::from(distance) / 64.0,
            _ => self.params.threshold,
        }
    }

    fn is_by_top(&self, sketch: &Sketch, measured: &Measured) -> bool {
        let (own, bands) = (self.bands(sketch), self.bands(&self.contents[measured.content].sketch));
        self.is_near(measured) && !bands.iter().any(|band| own.contains(band))
    }

    pub fn is_near(&self, measured: &Measured) -> bool {
        self.share(measured).is_some_and(|share| share >= self.least_share())
    }

    /// What may be a near duplicate of a text, among the contents before one; whether that was bounded.
    pub fn candidates(&self, sketch: &Sketch, before: usize) -> (Vec<Measured>, bool) {
        let mut found = match self.params.keep_sketches {
            Kept { signature: true, .. } => return self.by_bands(sketch, before),
            Kept { simhash: true, .. } => self.by_simhash(sketch, self.params.hamming),
            _ => self.by_samples(sketch),
        };
        found.retain(|measured| measured.content < before);
        (found, false)
    }

    /// Stores a document; its number.
    pub fn store(&mut self, document: &Document, own: Option<usize>, same: Option<usize>) -> usize {
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
        let (mut sketch, kept) = (sketch.clone(), self.params.keep_sketches);
        sketch.signature = sketch.signature.filter(|_| kept.signature);
        sketch.simhash = sketch.simhash.filter(|_| kept.simhash);
        sketch.edit = sketch.edit.filter(|_| kept.edit);
        for band in self.bands(&sketch) {
            self.shared.entry(band).or_default().push(content);
        }
        self.contents.push(Content { sketch, holders: BTreeSet::new() });
        self.labels.push();
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
        if self.params.clusters == ClusterRule::Components {
            self.labels.lose(content);
        }
    }

    /// The same text, and what shares a band, among the contents before one.
    pub fn by_bands(&self, sketch: &Sketch, before: usize) -> (Vec<Measured>, bool) {
        let mut found: BTreeMap<usize, FoundBy> = BTreeMap::new();
        let mut bounded = false;
        for sharing in self.bands(sketch).iter().filter_map(|band| self.shared.get(band)) {
            let earlier = &sharing[..sharing.iter().take_while(|&&content| content < before).count()];
            let is_hot = earlier.len() > 256;
            bounded |= is_hot;
            for &content in &earlier[..if is_hot { 16 } else { earlier.len() }] {
                found.entry(content).or_default().band = true;
                let top = self.labels.of(content);
                if is_hot && self.is_alive(top) {
                    found.entry(top).or_default().band = true;
                }
            }
        }
        if let Some(&same) = self.texts.get(&sketch.hash.0).filter(|&&same| same < before) {
            found.entry(same).or_default().content = true;
        }
        (found.into_iter().map(|(content, by)| self.measured(sketch, content, by)).collect(), bounded)
    }

    /// The same text, and every living content that posts a value of the sketch's sample.
    pub fn by_samples(&self, sketch: &Sketch) -> Vec<Measured> {
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
    pub fn by_simhash(&self, sketch: &Sketch, distance: u32) -> Vec<Measured> {
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

    pub fn get(&mut self, key: &str) -> Option<Stored> {
        let id = *self.keys.get(key)?;
        self.form_again(self.labels.of(self.documents[id].content));
        let Holder { content, first_seen, last_seen, .. } = self.documents[id];
        let Content { sketch, holders } = &self.contents[content];
        Some(Stored {
            id: DocId(id as u64),
            first_seen,
            last_seen,
            cluster: ClusterId(self.labels.of(content) as u64),
            copies: holders.len() as u64 - 1,
            shingles: self.params.keep_sketches.sample.then(|| sketch.sample.shingles()),
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

/// A verdict; nothing is contained, as nobody asks for that.
fn answer(
    id: Option<DocId>,
    verdict: Verdict,
    of: Option<String>,
    resemblance: Option<f64>,
    cluster: Option<ClusterId>,
    bounded: bool,
) -> Added {
    let (containment, containment_interval, values) = (None, None, None);
    Added { id, verdict, of, resemblance, containment, containment_interval, values, cluster, bounded }
}
