//! `dedup`: which documents of a collection to keep.
//!
//! Documents are taken in an order of preference; one is removed only when it was verified to match one that is kept, so
//! that no chain of likenesses takes away what is like nothing that stays. What is kept goes into a database in the folder
//! for temporary files; in another order than that of coming, everything waits in one first.

use super::add::{AddOptions, Added, Document, Policy, Verdict};
use super::database::{Database, Options};
use super::evidence::{Acceptance, LEAST_VALUES};
use super::measures::measure;
use super::params::{ClusterRule, Params};
use super::query::{Accept, Match, Measure, Query};
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::DocId;
use crate::sketch::{Interval, Sketch};
use crate::store::cancel::Cancel;
use crate::store::disk::FileDisk;
use crate::store::sort::Sorter;

/// Which of several documents that are alike is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The one that came first.
    #[default]
    First,
    /// The one with the most bytes.
    Longest,
    /// The one that was seen first; those that were given no time come last.
    Oldest,
    /// The one whose key has the fewest bytes.
    ShortestKey,
}

/// How documents are compared.
#[derive(Clone, Debug)]
pub struct DedupOptions {
    /// Which is kept.
    pub keep: Keep,
    /// Also remove a document of which at least this share, in (0, 1], is in one that is kept. At least 16 sample values must
    /// tell, whatever `accept` says.
    pub contained: Option<f64>,
    /// Which end of the 95 % interval must reach the threshold or the share; by default the estimate of the resemblance and the
    /// lower end of the containment.
    pub accept: Option<Accept>,
    /// Keep one of each connected component, whether or not the others match it; what matches the other database itself goes
    /// beforehand.
    pub transitive: bool,
    /// Bytes for caches and for sorting.
    pub memory: usize,
    /// Cancels the work.
    pub cancel: Cancel,
}

impl Default for DedupOptions {
    fn default() -> Self {
        DedupOptions {
            keep: Keep::First,
            contained: None,
            accept: None,
            transitive: false,
            memory: 256 << 20,
            cancel: Cancel::new(),
        }
    }
}

impl DedupOptions {
    fn adding(&self) -> AddOptions {
        AddOptions { contained: self.contained, ..AddOptions::from(Policy::OnlyNew) }
    }

    fn acceptance(&self) -> Acceptance {
        self.accept.map_or_else(Acceptance::default, |accept| Acceptance { near: accept, contained: accept })
    }
}

/// What a removed document is a duplicate of.
#[derive(Clone, Debug, PartialEq)]
pub struct Duplicate {
    /// The key of the one that is kept.
    pub of: String,
    /// Their estimated resemblance.
    pub resemblance: Option<f64>,
    /// How much of the removed one is in it, where that is why it was removed.
    pub containment: Option<f64>,
    /// The 95 % interval of that.
    pub containment_interval: Option<Interval>,
    /// How many sample values it is a share of.
    pub values: Option<u64>,
    /// Whether they are the same text.
    pub exact: bool,
}

impl Duplicate {
    /// What a document is a duplicate of by a verdict on it.
    fn of_added(added: Added) -> Option<Self> {
        let exact = added.verdict == Verdict::Exact;
        let Added { of, resemblance, containment, containment_interval, values, .. } = added;
        of.map(|of| Duplicate { of, resemblance, containment, containment_interval, values, exact })
    }

    fn of_match(found: Match, by_containment: bool) -> Self {
        Duplicate {
            of: found.key,
            resemblance: found.resemblance,
            containment: found.containment.filter(|_| by_containment),
            containment_interval: found.containment_interval.filter(|_| by_containment),
            values: found.values.filter(|_| by_containment),
            exact: found.exact,
        }
    }

    /// As it is sorted, but for the key.
    fn encode(&self) -> [u64; 5] {
        let bits = |share: Option<f64>| share.map_or(ABSENT, f64::to_bits);
        let interval = self.containment_interval;
        [
            bits(self.resemblance),
            bits(self.containment),
            bits(interval.map(|interval| interval.low)),
            bits(interval.map(|interval| interval.high)),
            self.values.unwrap_or(ABSENT),
        ]
    }

    fn decode(of: String, exact: bool, [resemblance, containment, low, high, values]: [u64; 5]) -> Self {
        let share = |bits| (bits != ABSENT).then(|| f64::from_bits(bits));
        let interval = share(low).zip(share(high));
        Duplicate {
            of,
            resemblance: share(resemblance),
            containment: share(containment),
            containment_interval: interval.map(|(low, high)| Interval { low, high }),
            values: Some(values).filter(|&values| values != ABSENT),
            exact,
        }
    }
}

/// Decides about documents one after another.
#[derive(Debug)]
pub struct Dedup {
    options: DedupOptions,
    params: Params,
    against: Option<Database>,
    kept: Database,
    /// Everything, when it is not decided in the order of coming.
    held: Option<Database>,
    /// Order and number of each document that waits.
    order: Sorter<2>,
    /// Decisions that wait: number, what of, its number, and how it is a duplicate of that.
    decided: Sorter<8>,
    next: u64,
    bounded: u64,
}

/// Documents decided about in one commit.
const AT_ONCE: usize = 4096;

/// What a decision names: nothing, a document of this collection, one of the other database.
const KEPT: u64 = 0;
const OWN: u64 = 1;
const OTHER: u64 = 2;
/// Added to these when it is the same text.
const SAME: u64 = 4;
/// In the place of what is not there: the bits of no share.
const ABSENT: u64 = u64::MAX;

impl Dedup {
    /// Sketches must have been made with `params`; those of `against` when that is given, whose documents count as kept.
    pub fn new(params: &Params, against: Option<Database>, options: DedupOptions) -> Result<Self> {
        if let Some(against) = &against {
            against.params().check_comparable(&params.sketch)?;
        }
        let params = Params {
            containment: options.contained.is_some(),
            clusters: ClusterRule::Components,
            ..params.clone()
        };
        options.adding().check(&params)?;
        if let (Some(against), Some(_)) = (&against, options.contained) {
            against.params().check_containment("--contained with --against")?;
        }
        let share = options.memory / 4;
        let waits = options.transitive || options.keep != Keep::First;
        Ok(Dedup {
            against,
            kept: temporary(&params, share, &options.cancel)?,
            held: waits.then(|| temporary(&params, share, &options.cancel)).transpose()?,
            order: Sorter::new(share / 2),
            decided: Sorter::new(share / 2),
            options,
            params,
            next: 0,
            bounded: 0,
        })
    }

    /// Whether [`push`](Self::push) decides, not [`finish`](Self::finish).
    pub fn decides_at_once(&self) -> bool {
        self.held.is_none()
    }

    /// The next documents; what each is a duplicate of, `None` of those that are kept. Empty when nothing is decided before
    /// everything has come. A sketch of other parameters than [`params`](Self::params) is
    /// [`Error::Incompatible`](crate::Error::Incompatible), and nothing is decided.
    pub fn push(&mut self, documents: Vec<Document>) -> Result<Vec<Option<Duplicate>>> {
        documents.iter().try_for_each(|document| self.kept.sketch_params().check(document.sketch.params))?;
        let pushed = self.decide_or_hold(documents);
        self.options.cancel.outcome(pushed)
    }

    fn decide_or_hold(&mut self, documents: Vec<Document>) -> Result<Vec<Option<Duplicate>>> {
        let Some(held) = &self.held else {
            return self.decide(documents);
        };
        let mut numbered = Vec::with_capacity(documents.len());
        for document in documents {
            let rank = match self.options.keep {
                Keep::First => 0,
                Keep::Longest => u64::MAX - document.sketch.bytes,
                Keep::Oldest => document.seen_at.unwrap_or(u64::MAX),
                Keep::ShortestKey => document.key.len() as u64,
            };
            self.order.push([rank, self.next])?;
            numbered.push(Document { key: numbered_key(self.next, &document.key), ..document });
            self.next += 1;
        }
        let acceptance = self.options.acceptance();
        let added = held.add_checked(numbered, Policy::Everything.into(), acceptance)?.wait()?;
        if self.options.transitive {
            self.bounded += added.iter().map(|added| u64::from(added.bounded)).sum::<u64>();
        }
        Ok(Vec::new())
    }

    /// Decides at once, the earlier ones being decided.
    fn decide(&mut self, documents: Vec<Document>) -> Result<Vec<Option<Duplicate>>> {
        let mut decided = Vec::with_capacity(documents.len());
        let mut open = Vec::with_capacity(documents.len());
        for document in documents {
            let duplicate = self.in_other(&document.sketch)?.map(|found| found.1);
            if duplicate.is_none() {
                open.push(Document { key: numbered_key(self.next, &document.key), ..document });
            }
            decided.push(duplicate);
            self.next += 1;
        }
        let mut named = self.keep_or_name(open)?.into_iter();
        for duplicate in decided.iter_mut().filter(|duplicate| duplicate.is_none()) {
            *duplicate = named.next().flatten().map(|own| {
                let of = plain_key(&own.of).1.to_owned();
                Duplicate { of, ..own }
            });
        }
        Ok(decided)
    }

    /// Keeps each document unless it matches one that is kept: then that, with its numbered key.
    fn keep_or_name(&mut self, documents: Vec<Document>) -> Result<Vec<Option<Duplicate>>> {
        let (options, acceptance) = (self.options.adding(), self.options.acceptance());
        let added = self.kept.add_checked(documents, options, acceptance)?.wait()?;
        self.bounded += added.iter().map(|added| u64::from(added.bounded)).sum::<u64>();
        Ok(added.into_iter().map(Duplicate::of_added).collect())
    }

    /// The document of the other database that a text matches.
    fn in_other(&mut self, sketch: &Sketch) -> Result<Option<(DocId, Duplicate)>> {
        let Some(other) = &self.against else { return Ok(None) };
        let Acceptance { near, contained } = self.options.acceptance();
        let near = Query { accept: near, limit: 1, ..Query::default() };
        let part = self.options.contained.map(|share| Query {
            by: Some(Measure::Containment(share)),
            accept: contained,
            least_values: LEAST_VALUES,
            ..near.clone()
        });
        for query in std::iter::once(near).chain(part) {
            let answer = other.query(sketch, &query)?;
            self.bounded += u64::from(answer.bounded);
            if let Some(found) = answer.matches.into_iter().next() {
                return Ok(Some((found.id, Duplicate::of_match(found, query.by.is_some()))));
            }
        }
        Ok(None)
    }

    /// Decides about everything that waits, and tells it in the order of coming. How many decisions were bounded in all: a
    /// term shared by too many documents was not followed to its end.
    pub fn finish<E: From<Error>>(
        mut self,
        mut each: impl FnMut(Option<Duplicate>) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, E> {
        let Some(held) = self.held.take() else { return Ok(self.bounded) };
        let cancel = self.options.cancel.clone();
        let order = std::mem::replace(&mut self.order, Sorter::new(0)).finish()?;
        let order = order.map(|record| cancel.check().and(record));
        let decided = match self.options.transitive {
            true => self.decide_components(&held, order),
            false => self.decide_in_order(&held, order),
        };
        cancel.outcome(decided)?;
        for decision in std::mem::replace(&mut self.decided, Sorter::new(0)).finish()? {
            cancel.check()?;
            each(cancel.outcome(self.named(&held, decision?))?)?;
        }
        Ok(self.bounded)
    }

    fn decide_in_order(
        &mut self,
        held: &Database,
        order: impl Iterator<Item = Result<[u64; 2]>>,
    ) -> Result<()> {
        let view = held.view();
        let (mut numbers, mut open) = (Vec::new(), Vec::new());
        for record in order {
            let [_, number] = record?;
            let document = view.document(DocId(number))?;
            let sketch =
                view.content(document.content, |record| Sketch::of_record(held.sketch_params(), record))?;
            if let Some((id, duplicate)) = self.in_other(&sketch)? {
                self.note(number, OTHER, id.0, &duplicate)?;
                continue;
            }
            numbers.push(number);
            open.push(Document { key: document.key, sketch, seen_at: None });
            if open.len() == AT_ONCE {
                self.decide_numbered(std::mem::take(&mut numbers), std::mem::take(&mut open))?;
            }
        }
        self.decide_numbered(numbers, open)
    }

    fn decide_numbered(&mut self, numbers: Vec<u64>, documents: Vec<Document>) -> Result<()> {
        for (number, named) in numbers.into_iter().zip(self.keep_or_name(documents)?) {
            match named {
                None => self.note_kept(number)?,
                Some(duplicate) => self.note(number, OWN, plain_key(&duplicate.of).0, &duplicate)?,
            }
        }
        Ok(())
    }

    /// Keeps the first of those of each component that the other database does not have.
    fn decide_components(
        &mut self,
        held: &Database,
        order: impl Iterator<Item = Result<[u64; 2]>>,
    ) -> Result<()> {
        let view = held.view();
        let mut members = Sorter::<3>::new(self.options.memory / 4);
        for record in order {
            let [rank, number] = record?;
            let content = view.document(DocId(number))?.content;
            let sketch = view.content(content, |record| Sketch::of_record(held.sketch_params(), record))?;
            if let Some((id, duplicate)) = self.in_other(&sketch)? {
                self.note(number, OTHER, id.0, &duplicate)?;
            } else {
                members.push([view.cluster(content)?.0, rank, number])?;
            }
        }
        let mut first: Option<(u64, u64, Sketch)> = None;
        for member in members.finish()? {
            let [cluster, _, number] = member?;
            let content = view.document(DocId(number))?.content;
            match &first {
                Some((of, kept, sketch)) if *of == cluster => {
                    let measures = measure(&*view, sketch, content)?;
                    let duplicate = Duplicate {
                        of: String::new(),
                        resemblance: measures.resemblance.map(|estimate| estimate.value),
                        containment: None,
                        containment_interval: None,
                        values: None,
                        exact: measures.exact,
                    };
                    self.note(number, OWN, *kept, &duplicate)?;
                }
                _ => {
                    self.note_kept(number)?;
                    let sketch =
                        view.content(content, |record| Sketch::of_record(held.sketch_params(), record))?;
                    first = Some((cluster, number, sketch));
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, number: u64, what: u64, of: u64, duplicate: &Duplicate) -> Result<()> {
        let what = what + if duplicate.exact { SAME } else { 0 };
        let [resemblance, containment, low, high, values] = duplicate.encode();
        self.decided.push([number, what, of, resemblance, containment, low, high, values])
    }

    fn note_kept(&mut self, number: u64) -> Result<()> {
        self.decided.push([number, KEPT, 0, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT])
    }

    fn named(&self, held: &Database, decision: [u64; 8]) -> Result<Option<Duplicate>> {
        let [_, what, of, resemblance, containment, low, high, values] = decision;
        let of = match (what & !SAME, &self.against) {
            (KEPT, _) => return Ok(None),
            (OTHER, Some(other)) => other.view().document(DocId(of))?.key,
            _ => plain_key(&held.view().document(DocId(of))?.key).1.to_owned(),
        };
        let shares = [resemblance, containment, low, high, values];
        Ok(Some(Duplicate::decode(of, what & SAME != 0, shares)))
    }

    /// What sketches must be made with.
    pub fn params(&self) -> &Params {
        &self.params
    }
}

/// A database that vanishes with its handle.
fn temporary(params: &Params, memory: usize, cancel: &Cancel) -> Result<Database> {
    let disk = cancel.over(FileDisk::temporary()?);
    let created = Database::create_on(disk.clone(), params);
    cancel.outcome(created.and_then(|()| Database::open_on(disk, Options { memory, ..Options::default() })))
}

/// Keys of a collection may come twice: a number before them makes each its own.
fn numbered_key(number: u64, key: &str) -> String {
    format!("{number} {key}")
}

fn plain_key(numbered: &str) -> (u64, &str) {
    let (number, key) = numbered.split_once(' ').unwrap_or(("", numbered));
    (number.parse().unwrap_or(0), key)
}
