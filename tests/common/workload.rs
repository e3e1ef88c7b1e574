//! Steps of one commit each (adds, near duplicates, copies, updates, removals, expiry, merges, clusters formed anew), and
//! what must be stored after each of them.

use super::disk::MemoryDisk;
use super::params::{in_units, knows_near};
use super::rng::Rng;
use sketchdb::{
    Answer, ClusterOptions, Database, Document, Kept, Measure, Options, Params, Policy, Query, Result,
    Sketch, Sketcher,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Texts asked about in every state.
const PROBES: usize = 40;

/// Few enough contents for a memtable that a thousand documents make runs and merges.
pub fn options(flush_contents: u64) -> Options {
    Options { memory: 4 << 20, flush_contents, ..Options::default() }
}

/// One document to add.
#[derive(Clone, Debug)]
pub struct Addition {
    pub key: String,
    pub text: String,
    pub seen_at: u64,
}

/// What one commit does.
#[derive(Clone, Debug)]
pub enum Step {
    Add(Vec<Addition>),
    Remove(Vec<String>),
    /// Everything last seen before a time goes.
    Expire(u64),
    /// The documents of another database, as they were added to it.
    Merge(Vec<Addition>),
    /// Clusters that lost a member are formed anew.
    Form,
}

/// A step, ready to be done.
enum Deed {
    Add(Vec<Document>),
    Remove(Vec<String>),
    Expire(u64),
    Merge(Box<Database>),
    Form,
}

impl Deed {
    fn of(step: &Step, params: &Params, sketcher: &mut Sketcher) -> Self {
        let documents = |additions: &[Addition], sketcher: &mut Sketcher| -> Vec<Document> {
            additions.iter().map(|addition| sketched(addition, sketcher)).collect()
        };
        match step {
            Step::Add(additions) => Deed::Add(documents(additions, sketcher)),
            Step::Remove(keys) => Deed::Remove(keys.clone()),
            Step::Expire(before) => Deed::Expire(*before),
            Step::Merge(additions) => {
                let disk = MemoryDisk::of(Vec::new());
                Database::create_on(disk.clone(), params).unwrap();
                let other = Database::open_on(disk, options(1 << 15)).unwrap();
                other.add_batch(documents(additions, sketcher), Policy::Everything).unwrap();
                Deed::Merge(Box::new(other))
            }
            Step::Form => Deed::Form,
        }
    }

    fn do_on(&self, db: &Database) -> Result<()> {
        match self {
            Deed::Add(documents) => db.add_batch(documents.clone(), Policy::Everything).map(|_| ()),
            Deed::Remove(keys) => db.remove(keys.clone()).map(|_| ()),
            Deed::Expire(before) => db.expire(*before).map(|_| ()),
            Deed::Merge(other) => db.merge(other, &mut |_, _, _| {}).map(|_| ()),
            Deed::Form => db.clusters(ClusterOptions::default()).map(|_| ()),
        }
    }
}

/// What the model knows of a document.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    text: String,
    first_seen: u64,
    last_seen: u64,
}

/// All documents after some step.
#[derive(Clone, Debug, Default)]
pub struct Model {
    known: BTreeMap<String, Known>,
    holders: HashMap<String, u64>,
}

impl Model {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Add(additions) => additions.iter().for_each(|addition| self.add(addition)),
            Step::Remove(keys) => keys.iter().for_each(|key| self.remove(key)),
            Step::Expire(before) => {
                let stale = self.known.iter().filter(|(_, known)| known.last_seen < *before);
                let stale: Vec<String> = stale.map(|(key, _)| key.clone()).collect();
                stale.iter().for_each(|key| self.remove(key));
            }
            Step::Merge(additions) => {
                let mut other = Model::default();
                additions.iter().for_each(|addition| other.add(addition));
                other.known.into_iter().for_each(|(key, theirs)| self.merge(key, theirs));
            }
            Step::Form => {}
        }
    }

    fn add(&mut self, addition: &Addition) {
        let Addition { key, text, seen_at } = addition;
        let (mut first_seen, mut last_seen) = (*seen_at, *seen_at);
        if let Some(old) = self.known.get(key) {
            (first_seen, last_seen) = (old.first_seen, old.last_seen.max(last_seen));
        }
        self.put(key.clone(), Known { text: text.clone(), first_seen, last_seen });
    }

    fn merge(&mut self, key: String, theirs: Known) {
        let Some(own) = self.known.get(&key).cloned() else { return self.put(key, theirs) };
        if own.text == theirs.text || theirs.last_seen > own.last_seen {
            let last_seen = own.last_seen.max(theirs.last_seen);
            self.put(key, Known { text: theirs.text, last_seen, ..own });
        }
    }

    fn put(&mut self, key: String, known: Known) {
        self.remove(&key);
        *self.holders.entry(known.text.clone()).or_default() += 1;
        self.known.insert(key, known);
    }

    fn remove(&mut self, key: &str) {
        if let Some(old) = self.known.remove(key) {
            *self.holders.get_mut(&old.text).unwrap() -= 1;
        }
    }

    /// Every key and its text.
    pub fn documents(&self) -> impl Iterator<Item = (&String, &String)> {
        self.known.iter().map(|(key, known)| (key, &known.text))
    }

    /// Asks for every document of this model: what is wrong with each, if anything.
    fn questions<'a>(&'a self, db: &'a Database) -> impl Iterator<Item = Result<Option<String>>> + 'a {
        self.known.iter().map(|(key, known)| {
            let stored = db.get(key)?;
            let same = stored.as_ref().is_some_and(|stored| {
                stored.first_seen == Some(known.first_seen)
                    && stored.last_seen == Some(known.last_seen)
                    && stored.bytes == known.text.len() as u64
                    && stored.copies == self.holders[&known.text] - 1
            });
            Ok((!same).then(|| format!("{key} is {stored:?}, not {known:?}")))
        })
    }
}

/// Steps, in order; every one that adds brings a key and a text that no earlier one knows.
fn steps(params: &Params, seed: u64, count: usize, documents: usize) -> Vec<Step> {
    let mut rng = Rng(seed);
    let mut earlier: Vec<(String, String)> = Vec::new();
    (0..count)
        .map(|number| match number % 12 {
            // Clusters are formed anew while others wait, and expiry finds some of the oldest documents.
            3 | 9 => Step::Remove((0..documents / 2).map(|_| one_of(&mut rng, &earlier).0).collect()),
            5 => Step::Expire((number * 100).saturating_sub(2000) as u64),
            7 => Step::Form,
            10 => Step::Merge(additions(params, &mut rng, &mut earlier, number, documents)),
            _ => Step::Add(additions(params, &mut rng, &mut earlier, number, documents)),
        })
        .collect()
}

fn one_of(rng: &mut Rng, earlier: &[(String, String)]) -> (String, String) {
    earlier[rng.below(earlier.len())].clone()
}

fn additions(
    params: &Params,
    rng: &mut Rng,
    earlier: &mut Vec<(String, String)>,
    number: usize,
    documents: usize,
) -> Vec<Addition> {
    let marker = Addition {
        key: format!("step {number}"),
        text: in_units(params, &text(rng)),
        seen_at: 200_000_000_000,
    };
    let mut additions = vec![marker];
    while additions.len() < documents {
        let (key, text) = next(rng, earlier, number * documents + additions.len());
        let text = in_units(params, &text);
        earlier.push((key.clone(), text.clone()));
        additions.push(Addition { key, text, seen_at: (number * 100 + rng.below(150)) as u64 });
    }
    additions
}

fn next(rng: &mut Rng, earlier: &[(String, String)], number: usize) -> (String, String) {
    let new = format!("http://example.org/{number}");
    if earlier.is_empty() {
        return (new, text(rng));
    }
    let (key, old) = one_of(rng, earlier);
    match rng.below(20) {
        0..2 => (key, text(rng)),
        2..4 => (key, old),
        4..7 => (new, old),
        7..12 => (new, format!("{} {}", old, word(rng.below(400)))),
        _ => (new, text(rng)),
    }
}

fn text(rng: &mut Rng) -> String {
    let words: Vec<String> = (0..16 + rng.below(16)).map(|_| word(rng.below(400))).collect();
    words.join(" ")
}

fn word(number: usize) -> String {
    const SYLLABLES: [&str; 20] = [
        "ba", "do", "fi", "gu", "ke", "la", "mo", "ni", "pu", "re", "sa", "to", "vi", "wu", "xe", "ya", "zo",
        "chi", "shu", "the",
    ];
    format!("{}{}r", SYLLABLES[number % 20], SYLLABLES[number / 20 % 20])
}

/// A workload with the state after each of its steps.
pub struct Workload {
    pub params: Params,
    deeds: Vec<Deed>,
    /// The state before the first step, then one after each.
    pub states: Vec<State>,
    /// Every key that any step names.
    keys: BTreeSet<String>,
    probes: Vec<(Sketch, Query)>,
}

/// What a database says after some step.
pub struct State {
    pub model: Model,
    answers: Vec<Answer>,
    clusters: Vec<Listed>,
}

/// A cluster: its number, its size, its first key.
type Listed = (u64, u64, String);

impl Workload {
    pub fn new(seed: u64, count: usize, documents: usize) -> Self {
        Self::with(&Params::default(), seed, count, documents)
    }

    pub fn with(params: &Params, seed: u64, count: usize, documents: usize) -> Self {
        let mut sketcher = Sketcher::new(&params.sketch).unwrap();
        let steps = steps(params, seed, count, documents);
        let all: Vec<&Addition> = steps.iter().flat_map(additions_of).collect();
        let probes = probes(params, &all, &mut sketcher, &mut Rng(seed + 1));
        let keys = all.iter().map(|addition| addition.key.clone()).collect();
        let mut model = Model::default();
        let mut states = vec![State::unanswered(&model)];
        for step in &steps {
            model.take(step);
            states.push(State::unanswered(&model));
        }
        let deeds = steps.iter().map(|step| Deed::of(step, params, &mut sketcher)).collect();
        Workload { params: params.clone(), deeds, states, keys, probes }
    }

    pub fn len(&self) -> usize {
        self.deeds.len()
    }

    /// A file with the parameters of the workload and nothing else.
    pub fn empty_file(&self) -> Arc<MemoryDisk> {
        let disk = MemoryDisk::of(Vec::new());
        Database::create_on(disk.clone(), &self.params).unwrap();
        disk
    }

    /// Does one step.
    pub fn step(&self, db: &Database, number: usize) -> Result<()> {
        self.deeds[number].do_on(db)
    }

    /// Does every step from `from` on, until one fails; calls `acknowledged` after each with their count.
    pub fn run(&self, db: &Database, from: usize, mut acknowledged: impl FnMut(usize)) -> Result<()> {
        for (number, deed) in self.deeds.iter().enumerate().skip(from) {
            deed.do_on(db)?;
            acknowledged(number + 1);
        }
        Ok(())
    }

    /// Does every step and keeps the answers after each: what other databases are compared with. They are asked of a copy,
    /// as another process would find it, so that asking changes nothing.
    pub fn record(&mut self, flush_contents: u64) -> Result<()> {
        let disk = self.empty_file();
        let db = Database::open_on(disk.clone(), options(flush_contents))?;
        for number in 0..=self.len() {
            if number > 0 {
                self.deeds[number - 1].do_on(&db)?;
            }
            let copy = Database::open_on(disk.image(), options(flush_contents))?;
            let answers = self.probes.iter().map(|(sketch, query)| copy.query(sketch, query));
            self.states[number].answers = answers.collect::<Result<_>>()?;
            self.states[number].clusters = listed(&copy)?;
            assert_eq!(self.differs(&copy, number)?, None, "after step {number}");
        }
        Ok(())
    }

    /// How many steps a database has, of which at least `least` were acknowledged, or how it differs from both states
    /// that it may be in.
    pub fn steps_in(&self, db: &Database, least: usize) -> Result<std::result::Result<usize, String>> {
        let Some(difference) = self.differs(db, least)? else { return Ok(Ok(least)) };
        if least == self.len() {
            return Ok(Err(difference));
        }
        Ok(match self.differs(db, least + 1)? {
            None => Ok(least + 1),
            Some(other) => Err(format!("{least} steps: {difference}; one more: {other}")),
        })
    }

    /// Asks for all that was ever added, every probe, and the clusters: how each answer differs from that after `steps`
    /// steps, if it does.
    pub fn questions<'a>(
        &'a self,
        db: &'a Database,
        steps: usize,
    ) -> impl Iterator<Item = Result<Option<String>>> + 'a {
        let State { model, answers, clusters } = &self.states[steps];
        let absent = self.keys.iter().filter(|key| !model.known.contains_key(*key)).map(|key| {
            Ok(db.get(key)?.map(|stored| format!("{key} is {stored:?}, and should not be there")))
        });
        let probes = self.probes.iter().zip(answers).map(|((sketch, query), expected)| {
            let answer = db.query(sketch, query)?;
            Ok((answer != *expected).then(|| format!("{answer:?}, not {expected:?}")))
        });
        let clusters = std::iter::once_with(move || {
            let found = listed(db)?;
            Ok((found != *clusters).then(|| format!("clusters {found:?}, not {clusters:?}")))
        });
        model.questions(db).chain(absent).chain(probes).chain(clusters)
    }

    /// The first difference from the state after `steps` steps, if there is one.
    pub fn differs(&self, db: &Database, steps: usize) -> Result<Option<String>> {
        self.questions(db, steps).find(|answer| !matches!(answer, Ok(None))).unwrap_or(Ok(None))
    }
}

impl State {
    fn unanswered(model: &Model) -> Self {
        State { model: model.clone(), answers: Vec::new(), clusters: Vec::new() }
    }
}

fn listed(db: &Database) -> Result<Vec<Listed>> {
    let mut all = Vec::new();
    db.clusters(ClusterOptions::default())?.each(|cluster| {
        all.push((cluster.id.0, cluster.size, cluster.representative));
        ControlFlow::<()>::Continue(())
    })?;
    all.sort();
    Ok(all)
}

fn additions_of(step: &Step) -> &[Addition] {
    match step {
        Step::Add(additions) | Step::Merge(additions) => additions,
        _ => &[],
    }
}

fn sketched(addition: &Addition, sketcher: &mut Sketcher) -> Document {
    let sketch = sketcher.sketch(addition.text.as_bytes());
    Document { key: addition.key.clone(), sketch, seen_at: Some(addition.seen_at) }
}

/// Texts of the steps and variants of them, asked about by the measures of the sketches that are kept.
fn probes(
    params: &Params,
    all: &[&Addition],
    sketcher: &mut Sketcher,
    rng: &mut Rng,
) -> Vec<(Sketch, Query)> {
    let Kept { sample, signature, simhash, .. } = params.keep_sketches;
    let resemblance = (sample && signature).then_some(Measure::Resemblance(0.6));
    let hamming = simhash.then_some(Measure::Hamming(params.hamming));
    // Only the same text is known again where no sketch tells more.
    let default = (!knows_near(params)).then_some(Measure::Any(params.threshold));
    (0..PROBES)
        .map(|number| {
            let text = &all[rng.below(all.len())].text;
            let text = if number % 3 == 0 { format!("{text} {}", word(number)) } else { text.clone() };
            let by = [None, resemblance, hamming][number % 3].or(default);
            (sketcher.sketch(text.as_bytes()), Query { by, copies: number % 2 == 0, ..Query::default() })
        })
        .collect()
}
