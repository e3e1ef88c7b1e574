//! Commits of adds, near duplicates, exact copies, updates and seen times, and what must be stored after each of them.

use super::rng::Rng;
use sketchdb::{
    Answer, Database, Document, Measure, Options, Params, Policy, Query, Result, Sketch, Sketcher,
};
use std::collections::{BTreeMap, HashMap};

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

/// What the model knows of a document.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    text: String,
    first_seen: u64,
    last_seen: u64,
}

/// All documents after some commit.
#[derive(Clone, Debug, Default)]
pub struct Model {
    known: BTreeMap<String, Known>,
    holders: HashMap<String, u64>,
}

impl Model {
    fn add(&mut self, addition: &Addition) {
        let Addition { key, text, seen_at } = addition;
        *self.holders.entry(text.clone()).or_default() += 1;
        let new = Known { text: text.clone(), first_seen: *seen_at, last_seen: *seen_at };
        if let Some(old) = self.known.insert(key.clone(), new.clone()) {
            *self.holders.get_mut(&old.text).unwrap() -= 1;
            let last_seen = old.last_seen.max(*seen_at);
            self.known.insert(key.clone(), Known { first_seen: old.first_seen, last_seen, ..new });
        }
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

/// Commits, in order; each holds a document that no earlier one knows.
pub fn commits(seed: u64, count: usize, documents: usize) -> Vec<Vec<Addition>> {
    let mut rng = Rng(seed);
    let mut earlier: Vec<(String, String)> = Vec::new();
    (0..count)
        .map(|commit| {
            let mut additions = vec![Addition { key: marker(commit), text: text(&mut rng), seen_at: 0 }];
            while additions.len() < documents {
                let (key, text) = next(&mut rng, &earlier, commit * documents + additions.len());
                earlier.push((key.clone(), text.clone()));
                additions.push(Addition { key, text, seen_at: (commit * 100 + rng.below(150)) as u64 });
            }
            additions
        })
        .collect()
}

fn marker(commit: usize) -> String {
    format!("commit {commit}")
}

fn next(rng: &mut Rng, earlier: &[(String, String)], number: usize) -> (String, String) {
    let new = format!("http://example.org/{number}");
    if earlier.is_empty() {
        return (new, text(rng));
    }
    let (key, old) = earlier[rng.below(earlier.len())].clone();
    match rng.below(20) {
        0..2 => (key, text(rng)),
        2..4 => (key, old),
        4..7 => (new, old),
        7..10 => (new, format!("{} {}", old, word(rng.below(400)))),
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

/// A workload with the state after each of its commits.
pub struct Workload {
    pub commits: Vec<Vec<Document>>,
    /// The state before the first commit, then one after each.
    pub states: Vec<State>,
    probes: Vec<(Sketch, Query)>,
}

/// What a database says after some commit.
pub struct State {
    model: Model,
    answers: Vec<Answer>,
}

impl Workload {
    pub fn new(seed: u64, count: usize, documents: usize) -> Self {
        let commits = commits(seed, count, documents);
        let mut sketcher = sketcher();
        let probes = probes(&commits, &mut sketcher, &mut Rng(seed + 1));
        let mut model = Model::default();
        let mut states = vec![State { model: model.clone(), answers: Vec::new() }];
        for commit in &commits {
            commit.iter().for_each(|addition| model.add(addition));
            states.push(State { model: model.clone(), answers: Vec::new() });
        }
        let commits =
            commits.iter().map(|commit| commit.iter().map(|a| sketched(a, &mut sketcher)).collect());
        Workload { commits: commits.collect(), states, probes }
    }

    /// Adds every commit from `from` on, until one fails; calls `acknowledged` after each with their count.
    pub fn run(&self, db: &Database, from: usize, mut acknowledged: impl FnMut(usize)) -> Result<()> {
        for (number, commit) in self.commits.iter().enumerate().skip(from) {
            db.add_batch(commit.clone(), Policy::Everything)?;
            acknowledged(number + 1);
        }
        Ok(())
    }

    /// Adds every commit and keeps the answers after each: what other databases are compared with.
    pub fn record(&mut self, db: &Database, mut acknowledged: impl FnMut(usize)) -> Result<()> {
        self.states[0].answers = self.answers(db)?;
        for number in 0..self.commits.len() {
            db.add_batch(self.commits[number].clone(), Policy::Everything)?;
            acknowledged(number + 1);
            self.states[number + 1].answers = self.answers(db)?;
            assert_eq!(self.differs(db, number + 1)?, None, "after commit {number}");
        }
        Ok(())
    }

    fn answers(&self, db: &Database) -> Result<Vec<Answer>> {
        self.probes.iter().map(|(sketch, query)| db.query(sketch, query)).collect()
    }

    /// The commits that a database has.
    pub fn commits_in(&self, db: &Database) -> Result<usize> {
        for number in (0..self.commits.len()).rev() {
            if db.get(&marker(number))?.is_some() {
                return Ok(number + 1);
            }
        }
        Ok(0)
    }

    /// Asks for all that was ever added, and every probe: how each answer differs from that after `commits` commits,
    /// if it does.
    pub fn questions<'a>(
        &'a self,
        db: &'a Database,
        commits: usize,
    ) -> impl Iterator<Item = Result<Option<String>>> + 'a {
        let State { model, answers } = &self.states[commits];
        let later = self.commits[commits..].iter().flatten().map(|document| &document.key);
        let absent = later.filter(|key| !model.known.contains_key(*key)).map(|key| {
            Ok(db.get(key)?.map(|stored| format!("{key} is {stored:?}, but its commit is not there")))
        });
        let probes = self.probes.iter().zip(answers).map(|((sketch, query), expected)| {
            let answer = db.query(sketch, query)?;
            Ok((answer != *expected).then(|| format!("{answer:?}, not {expected:?}")))
        });
        model.questions(db).chain(absent).chain(probes)
    }

    /// The first difference from the state after `commits` commits, if there is one.
    pub fn differs(&self, db: &Database, commits: usize) -> Result<Option<String>> {
        self.questions(db, commits).find(|answer| !matches!(answer, Ok(None))).unwrap_or(Ok(None))
    }
}

fn sketcher() -> Sketcher {
    Sketcher::new(&Params::default().sketch).unwrap()
}

fn sketched(addition: &Addition, sketcher: &mut Sketcher) -> Document {
    let sketch = sketcher.sketch(addition.text.as_bytes());
    Document { key: addition.key.clone(), sketch, seen_at: Some(addition.seen_at) }
}

/// Texts of the commits and variants of them, asked about by both measures.
fn probes(commits: &[Vec<Addition>], sketcher: &mut Sketcher, rng: &mut Rng) -> Vec<(Sketch, Query)> {
    let all: Vec<&Addition> = commits.iter().flatten().collect();
    (0..PROBES)
        .map(|number| {
            let text = &all[rng.below(all.len())].text;
            let text = if number % 3 == 0 { format!("{text} {}", word(number)) } else { text.clone() };
            let by = [None, Some(Measure::Resemblance(0.6)), Some(Measure::Hamming(3))][number % 3];
            (sketcher.sketch(text.as_bytes()), Query { by, copies: number % 2 == 0, ..Query::default() })
        })
        .collect()
}
