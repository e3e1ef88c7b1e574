//! `dedup`: which documents of a collection to keep.
//!
//! Documents are taken in an order of preference; one is removed only when it was verified to match one that is kept, so
//! that no chain of likenesses takes away what is like nothing that stays. What is kept goes into a database in the folder
//! for temporary files; in another order than that of coming, everything waits in one first.

use super::add::{AddOptions, Document, Policy, Verdict};
use super::database::{Database, Options};
use super::measures::measure;
use super::params::{ClusterRule, Params};
use super::query::{Measure, Query};
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::DocId;
use crate::sketch::Sketch;
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
    /// Also remove a document of which at least this share, in (0, 1], is in one that is kept.
    pub contained: Option<f64>,
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
            transitive: false,
            memory: 256 << 20,
            cancel: Cancel::new(),
        }
    }
}

/// What a removed document is a duplicate of.
#[derive(Clone, Debug, PartialEq)]
pub struct Duplicate {
    /// The key of the one that is kept.
    pub of: String,
    /// Their estimated resemblance.
    pub resemblance: Option<f64>,
    /// Whether they are the same text.
    pub exact: bool,
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
    /// Decisions that wait: number, what of, its number, the resemblance.
    decided: Sorter<4>,
    next: u64,
    bounded: u64,
}

/// Documents decided about in one commit.
const AT_ONCE: usize = 4096;

/// A numbered key, the resemblance to its document, whether it is the same text.
type Named = (String, Option<f64>, bool);

/// What a decision names: nothing, a document of this collection, one of the other database.
const KEPT: u64 = 0;
const OWN: u64 = 1;
const OTHER: u64 = 2;
/// Added to these when it is the same text.
const SAME: u64 = 4;
/// No resemblance: the bits of no share.
const NO_SHARE: u64 = u64::MAX;

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
        let adding = AddOptions { contained: options.contained, ..AddOptions::from(Policy::OnlyNew) };
        adding.check(&params)?;
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
    /// everything has come.
    pub fn push(&mut self, documents: Vec<Document>) -> Result<Vec<Option<Duplicate>>> {
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
        let added = held.add_checked(numbered, Policy::Everything.into())?.wait()?;
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
            let own = |(of, resemblance, exact): Named| {
                let of = plain_key(&of).1.to_owned();
                Duplicate { of, resemblance, exact }
            };
            *duplicate = named.next().flatten().map(own);
        }
        Ok(decided)
    }

    /// Keeps each document unless it matches one that is kept: then the numbered key of that.
    fn keep_or_name(&mut self, documents: Vec<Document>) -> Result<Vec<Option<Named>>> {
        let options = AddOptions { contained: self.options.contained, ..AddOptions::from(Policy::OnlyNew) };
        let added = self.kept.add_checked(documents, options)?.wait()?;
        self.bounded += added.iter().map(|added| u64::from(added.bounded)).sum::<u64>();
        Ok(added
            .into_iter()
            .map(|added| match added.verdict {
                Verdict::New => None,
                verdict => added.of.map(|of| (of, added.resemblance, verdict == Verdict::Exact)),
            })
            .collect())
    }

    /// The document of the other database that a text matches.
    fn in_other(&mut self, sketch: &Sketch) -> Result<Option<(DocId, Duplicate)>> {
        let Some(other) = &self.against else { return Ok(None) };
        let contained = self.options.contained.map(|share| Some(Measure::Containment(share)));
        for by in std::iter::once(None).chain(contained) {
            let answer = other.query(sketch, &Query { by, limit: 1, ..Query::default() })?;
            self.bounded += u64::from(answer.bounded);
            if let Some(found) = answer.matches.into_iter().next() {
                let (of, resemblance, exact) = (found.key, found.resemblance, found.exact);
                return Ok(Some((found.id, Duplicate { of, resemblance, exact })));
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
            let sketch = view.content(document.content, Sketch::of_record)?;
            if let Some((id, duplicate)) = self.in_other(&sketch)? {
                self.note(number, OTHER + same(duplicate.exact), id.0, duplicate.resemblance)?;
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
                None => self.note(number, KEPT, 0, None)?,
                Some((of, resemblance, exact)) => {
                    self.note(number, OWN + same(exact), plain_key(&of).0, resemblance)?;
                }
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
            let sketch = view.content(content, Sketch::of_record)?;
            if let Some((id, duplicate)) = self.in_other(&sketch)? {
                self.note(number, OTHER + same(duplicate.exact), id.0, duplicate.resemblance)?;
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
                    let resemblance = measures.resemblance.map(|estimate| estimate.value);
                    self.note(number, OWN + same(measures.exact), *kept, resemblance)?;
                }
                _ => {
                    self.note(number, KEPT, 0, None)?;
                    first = Some((cluster, number, view.content(content, Sketch::of_record)?));
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, number: u64, what: u64, of: u64, resemblance: Option<f64>) -> Result<()> {
        self.decided.push([number, what, of, resemblance.map_or(NO_SHARE, f64::to_bits)])
    }

    fn named(&self, held: &Database, [_, what, of, share]: [u64; 4]) -> Result<Option<Duplicate>> {
        let resemblance = (share != NO_SHARE).then(|| f64::from_bits(share));
        let exact = what & SAME != 0;
        let of = match (what & !SAME, &self.against) {
            (KEPT, _) => return Ok(None),
            (OTHER, Some(other)) => other.view().document(DocId(of))?.key,
            _ => plain_key(&held.view().document(DocId(of))?.key).1.to_owned(),
        };
        Ok(Some(Duplicate { of, resemblance, exact }))
    }

    /// What sketches must be made with.
    pub fn params(&self) -> &Params {
        &self.params
    }
}

fn same(exact: bool) -> u64 {
    if exact { SAME } else { 0 }
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
