//! `sketchdb add`: documents in, one verdict each, told only when the document is durable.

use crate::args::{Add, Common};
use crate::creation;
use crate::exit::{Ended, Outcome, Stop};
use crate::open;
use crate::output::{Output, high, low, rounded, short};
use crate::pipeline::{self, Event, Meter, Sketched};
use crate::progress::Progress;
use crate::say::visible;
use serde::Serialize;
use sketchdb::{AddOptions, Added, Database, Document, Error, Params, Verdict, Visit};
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
}

pub fn run(verb: &Add, common: &Common) -> Ended {
    let db = open_or_create(verb, common)?;
    let meter = Arc::new(Meter::default());
    let mut adding = Adding {
        db: &db,
        options: verb.options(),
        seen_at: Box::new(verb.seen_at()),
        json: common.json,
        output: Output::new(),
        progress: Progress::new(common, Some(&verb.inputs)),
        counts: [0; Adding::COUNTED.len()],
        bounded: 0,
        unknown: 0,
        waiting: Vec::new(),
        most: (common.memory >> 16).clamp(FEWEST_DOCUMENTS, COMMIT_DOCUMENTS),
        committed: Instant::now(),
    };
    let sketcher = db.sketcher();
    pipeline::run(
        &verb.inputs,
        &[&verb.db],
        common,
        &meter,
        &sketcher,
        |sketched| sketched,
        |event| adding.take(event, &meter),
    )?;
    adding.commit(&meter)?;
    adding.finish(&meter);
    let outcome = if adding.progress.any_problem() { Outcome::Inputs } else { Outcome::Done };
    drop(adding);
    db.close()?;
    Ok(outcome)
}

fn open_or_create(verb: &Add, common: &Common) -> Result<Database, Stop> {
    match open(verb, common) {
        Err(Stop::Failed(Error::Missing(_))) => {
            let params = verb.creation.applied_to(Params::default(), true)?;
            match Database::create(&verb.db, &params) {
                Ok(()) => creation::warn(&params, common),
                // Somebody else was quicker: then the file is theirs, and opened as any other.
                Err(Error::Exists(_)) => {}
                Err(error) => return Err(error.into()),
            }
            open(verb, common)
        }
        opened => opened,
    }
}

fn open(verb: &Add, common: &Common) -> Result<Database, Stop> {
    let db = open::writing(&verb.db, common)?;
    open::check_same(&verb.db, db.params(), &verb.creation.applied_to(db.params().clone(), false)?)?;
    Ok(db)
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
    db: &'a Database,
    options: AddOptions,
    /// When a document was seen that may say it itself.
    seen_at: Box<dyn Fn(Option<u64>) -> Option<u64>>,
    json: bool,
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
        let added = self.added(waiting)?;
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
    fn added(&self, waiting: Vec<Came>) -> Result<Vec<Option<Added>>, Error> {
        let mut begun: Vec<Wait> = Vec::new();
        let mut waiting = waiting.into_iter().peekable();
        while let Some(next) = waiting.peek() {
            match next {
                Came::Document(_) => {
                    let documents =
                        std::iter::from_fn(|| waiting.next_if(Came::is_document)).filter_map(Came::document);
                    let adding = self.db.add_later(documents.collect(), self.options)?;
                    begun.push(Box::new(|| Ok(adding.wait()?.into_iter().map(Some).collect())));
                }
                Came::Visit(_) => {
                    let visits = std::iter::from_fn(|| waiting.next_if(|came| !came.is_document()));
                    let seeing = self.db.see_later(visits.filter_map(Came::visit).collect(), self.options)?;
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
        if self.json {
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

    fn finish(&self, meter: &Meter) {
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
