//! `sketchdb add`: documents in, one verdict each, told only when the document is durable.

use crate::args::{Add, Common};
use crate::creation;
use crate::exit::{Ended, GO_ON, Outcome, Stop};
use crate::open;
use crate::output::{Output, high, low, rounded, short};
use crate::pipeline::{self, Event, Meter, Sketched};
use crate::progress::Progress;
use crate::say::{grouped, visible};
use serde::Serialize;
use sketchdb::{AddOptions, Added, Database, Document, Error, Params, Policy, Sketcher, Verdict, Visit};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A commit is made at this many documents for 256 MiB of memory, fewer for less, or when the last one is this
/// long ago.
const COMMIT_DOCUMENTS: usize = 4096;
const FEWEST_DOCUMENTS: usize = 512;
const COMMIT_EVERY: Duration = Duration::from_millis(500);

#[derive(Serialize)]
struct Line<'a> {
    key: &'a str,
    id: Option<u64>,
    verdict: &'static str,
    of: Option<&'a str>,
    resemblance: Option<f64>,
    cluster: Option<u64>,
    containment: Option<f64>,
    containment_low: Option<f64>,
    containment_high: Option<f64>,
    values: Option<u64>,
    bounded: bool,
}

pub fn run(verb: &Add, common: &Common) -> Ended {
    let db = open_existing(verb, common)?;
    let params = match &db {
        Some(db) => db.params().clone(),
        None => params_of_new(verb)?,
    };
    let sketcher = Sketcher::new(&params.sketch)?;
    let meter = Arc::new(Meter::default());
    let mut adding = Adding {
        verb,
        common,
        db,
        params,
        options: verb.options(),
        seen_at: Box::new(verb.seen_at()),
        output: Output::of_storing(),
        progress: Progress::new(common, Some(&verb.inputs)),
        counts: [0; Adding::COUNTED.len()],
        bounded: 0,
        unknown: 0,
        waiting: Vec::new(),
        most: (common.memory >> 16).clamp(FEWEST_DOCUMENTS, COMMIT_DOCUMENTS),
        committed: Instant::now(),
    };
    let read = pipeline::run(
        &verb.inputs,
        &[&verb.db],
        common,
        &meter,
        &sketcher,
        |sketched| sketched,
        |event| adding.take(event, &meter),
    );
    let interrupted = match read {
        Err(stop) if stop.is_interruption() => true,
        read => read.map(|()| false)?,
    };
    adding.commit(&meter)?;
    adding.finish(&meter);
    let outcome = if adding.progress.any_problem() { Outcome::Inputs } else { Outcome::Done };
    let stored = grouped(adding.stored());
    adding.db.map_or(Ok(()), Database::close)?;
    match interrupted {
        true => Err(Stop::Interrupted(format!("{stored} documents stored; {GO_ON}"))),
        false => Ok(outcome),
    }
}

/// The database, when there is one.
fn open_existing(verb: &Add, common: &Common) -> Result<Option<Database>, Stop> {
    let db = match open::writing(&verb.db, common) {
        Err(Stop::Failed(Error::Missing(_))) => return Ok(None),
        opened => opened?,
    };
    open::check_same(&verb.db, db.params(), &verb.creation.applied_to(db.params().clone(), false)?)?;
    Ok(Some(db))
}

/// The parameters of a database that is yet to be made.
fn params_of_new(verb: &Add) -> Result<Params, Stop> {
    let params = verb.creation.applied_to(Params::default(), true)?;
    params.check()?;
    open::check_folder(&verb.db)?;
    Ok(params)
}

/// Makes the database, unless somebody else is quicker: then it must have the parameters that the sketches were made with.
fn made(verb: &Add, common: &Common, params: &Params) -> Result<Database, Stop> {
    match Database::create(&verb.db, params) {
        Ok(()) => creation::warn(params, common),
        Err(Error::Exists(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let db = open::writing(&verb.db, common)?;
    match db.params().check_same(params) {
        Err(Error::Incompatible { .. }) => Err(Stop::Database(format!(
            "{}: another process has just made it with other parameters; run the same command again",
            verb.db.display()
        ))),
        same => same.map(|()| db).map_err(Stop::from),
    }
}

/// Waits for what was begun.
type Wait<'a> = Box<dyn FnOnce() -> Result<Vec<Option<Added>>, Error> + 'a>;

/// What waits for a commit.
enum Came {
    Document(Document),
    Visit(Visit),
}

impl Came {
    fn key(&self) -> &str {
        match self {
            Came::Document(document) => &document.key,
            Came::Visit(visit) => &visit.key,
        }
    }

    fn is_document(&self) -> bool {
        matches!(self, Came::Document(_))
    }

    fn document(self) -> Option<Document> {
        if let Came::Document(document) = self { Some(document) } else { None }
    }

    fn visit(self) -> Option<Visit> {
        if let Came::Visit(visit) = self { Some(visit) } else { None }
    }
}

struct Adding<'a> {
    verb: &'a Add,
    common: &'a Common,
    /// `None` until the first document is stored, where there was none.
    db: Option<Database>,
    params: Params,
    options: AddOptions,
    /// When a document was seen that may say it itself.
    seen_at: Box<dyn Fn(Option<u64>) -> Option<u64>>,
    output: Output,
    progress: Progress,
    counts: [u64; Adding::COUNTED.len()],
    bounded: u64,
    /// Pages that were seen again and are not stored.
    unknown: u64,
    waiting: Vec<Came>,
    /// So many are committed together.
    most: usize,
    committed: Instant,
}

impl Adding<'_> {
    const COUNTED: [Verdict; 6] = [
        Verdict::New,
        Verdict::Updated,
        Verdict::Unchanged,
        Verdict::Exact,
        Verdict::Near,
        Verdict::Contained,
    ];

    fn take(&mut self, event: Event<Sketched>, meter: &Meter) -> Result<(), Stop> {
        match event {
            Event::Done(Sketched { key, sketch, seen_at, .. }) => {
                self.progress.replaced(&key, sketch.replaced);
                let seen_at = (self.seen_at)(seen_at);
                self.waiting.push(Came::Document(Document { key, sketch, seen_at }));
            }
            Event::Revisit(visit) => {
                let seen_at = (self.seen_at)(visit.seen_at);
                self.waiting.push(Came::Visit(Visit { seen_at, ..visit }));
            }
            Event::Problem(problem) => self.progress.problem(&problem),
            Event::Idle => self.progress.redraw(meter),
        }
        let due = self.committed.elapsed() >= COMMIT_EVERY && !self.waiting.is_empty();
        if due || self.waiting.len() >= self.most { self.commit(meter) } else { Ok(()) }
    }

    fn commit(&mut self, meter: &Meter) -> Result<(), Stop> {
        let waiting = std::mem::take(&mut self.waiting);
        let keys: Vec<String> = waiting.iter().map(|came| came.key().to_owned()).collect();
        if self.db.is_none() && waiting.iter().any(Came::is_document) {
            self.db = Some(made(self.verb, self.common, &self.params)?);
        }
        let added = match &self.db {
            Some(db) => self.added(db, waiting)?,
            // Visits, and nothing that they may be of.
            None => vec![None; waiting.len()],
        };
        self.committed = Instant::now();
        for (key, added) in keys.iter().zip(&added) {
            match added {
                Some(added) => {
                    self.progress.step(meter);
                    self.tell(key, added)?;
                }
                None => self.unknown += 1,
            }
        }
        self.output.flush()?;
        Ok(())
    }

    /// The verdicts, once all are durable: one commit for all that came, in order.
    fn added(&self, db: &Database, waiting: Vec<Came>) -> Result<Vec<Option<Added>>, Error> {
        let mut begun: Vec<Wait> = Vec::new();
        let mut waiting = waiting.into_iter().peekable();
        while let Some(next) = waiting.peek() {
            match next {
                Came::Document(_) => {
                    let documents =
                        std::iter::from_fn(|| waiting.next_if(Came::is_document)).filter_map(Came::document);
                    let adding = db.add_later(documents.collect(), self.options)?;
                    begun.push(Box::new(|| Ok(adding.wait()?.into_iter().map(Some).collect())));
                }
                Came::Visit(_) => {
                    let visits = std::iter::from_fn(|| waiting.next_if(|came| !came.is_document()));
                    let seeing = db.see_later(visits.filter_map(Came::visit).collect(), self.options)?;
                    begun.push(Box::new(|| seeing.wait()));
                }
            }
        }
        let ended: Vec<_> = begun.into_iter().map(|wait| wait()).collect::<Result<_, _>>()?;
        Ok(ended.into_iter().flatten().collect())
    }

    fn tell(&mut self, key: &str, added: &Added) -> Result<(), Stop> {
        self.bounded += u64::from(added.bounded);
        if let Some(at) = Self::COUNTED.iter().position(|verdict| *verdict == added.verdict) {
            self.counts[at] += 1;
        }
        let verdict = added.verdict.name();
        if self.common.json {
            self.output.json(&Line {
                key,
                id: added.id.map(|id| id.0),
                verdict,
                of: added.of.as_deref(),
                resemblance: rounded(added.resemblance),
                cluster: added.cluster.map(|cluster| cluster.0),
                containment: rounded(added.containment),
                containment_low: low(added.containment_interval),
                containment_high: high(added.containment_interval),
                values: added.values,
                bounded: added.bounded,
            })?;
        } else {
            let of = match (added.of.as_deref().map(visible), added.containment) {
                (None, _) => String::new(),
                (Some(of), None) => format!("  {} of {of}", short(added.resemblance)),
                (Some(of), containment) => format!("  {} in {of}", short(containment)),
            };
            self.output.line(&format!("{verdict:<9}  {}{of}", visible(key)))?;
        }
        Ok(())
    }

    /// Documents that came and are stored.
    fn stored(&self) -> u64 {
        let all = Self::COUNTED.iter().zip(self.counts);
        let stored = |verdict: &Verdict| match self.options.policy {
            Policy::OnlyNew => matches!(verdict, Verdict::New | Verdict::Updated),
            _ => true,
        };
        all.filter(|(verdict, _)| stored(verdict)).map(|(_, count)| count).sum()
    }

    fn finish(&self, meter: &Meter) {
        if let Some(lines) = self.output.unprinted() {
            let lines = grouped(lines);
            self.progress.warn(&format!(
                "stdout was closed: {lines} verdicts were not printed; their documents are stored"
            ));
        }
        if self.bounded > 0 {
            self.progress.warn(&format!(
                "{} verdicts were bounded: the document shares a term with more than 256 others, of which 16 were compared",
                self.bounded
            ));
        }
        if self.unknown > 0 {
            self.progress.warn(&format!("{} revisits of pages that are not stored", self.unknown));
        }
        let parts: Vec<(u64, &str)> =
            self.counts.iter().copied().zip(Self::COUNTED.iter().map(|verdict| verdict.name())).collect();
        self.progress.finish(meter, &parts);
    }
}
