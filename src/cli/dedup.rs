//! `sketchdb dedup`: documents in, those worth keeping out.

use crate::args::{Common, DedupArgs};
use crate::exit::{Ended, Outcome, Stop};
use crate::kept::{Kept, Spool, Spooled};
use crate::open;
use crate::output::{Target, high, low, rounded};
use crate::outputs;
use crate::pipeline::{self, Event, Meter, Sketched};
use crate::progress::Progress;
use crate::say::{grouped, say, visible};
use crate::stdout::Unprinted;
use serde::Serialize;
use sketchdb::{Dedup, Document, Duplicate, Error, Params, Sketcher};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Documents, and bytes of their lines, that are decided about at a time.
const AT_ONCE: usize = 2048;
const LINE_BYTES: usize = 16 << 20;

/// A document that is not a JSON line comes out as this.
#[derive(Serialize)]
struct Id<'a> {
    id: &'a str,
}

pub fn run(verb: &DedupArgs, common: &Common) -> Ended {
    outputs::check(verb)?;
    let against = verb.against.as_deref().map(|path| open::reading(path, common)).transpose()?;
    let params = match verb.against.as_deref().zip(against.as_ref()) {
        Some((path, other)) => {
            let own = other.params();
            open::check_same(path, own, &verb.creation.applied_to(own.clone(), false)?)?;
            own.clone()
        }
        None => verb.creation.applied_to(Params::default(), true)?,
    };
    let dedup = Dedup::new(&params, against, verb.options(common.memory, common.interrupt.cancel()))?;
    let sketcher = Sketcher::new(&dedup.params().sketch)?;
    let meter = Arc::new(Meter::default());
    let unprinted = Unprinted::default();
    let mut deduping = Deduping {
        spool: if dedup.decides_at_once() { None } else { Some(Spool::new().map_err(spooling)?) },
        dedup,
        kept: match (&verb.output, &verb.removed) {
            // What is removed is written to the end, whoever reads the rest.
            (None, Some(_)) => Target::lasting(&unprinted),
            (output, _) => Target::new(output.as_deref(), &common.interrupt)?,
        },
        removed: verb
            .removed
            .as_deref()
            .map(|path| Target::new(Some(path), &common.interrupt))
            .transpose()?,
        progress: Progress::new(common, Some(&verb.inputs)),
        waiting: Vec::new(),
        lines: Vec::new(),
        bytes: 0,
        counts: Counts::default(),
    };
    let inputs = verb.inputs_with_lines();
    let own: Vec<&Path> = verb.against.as_deref().into_iter().collect();
    let read = pipeline::run(
        &inputs,
        &own,
        common,
        &meter,
        &sketcher,
        |sketched| sketched,
        |event| deduping.take(event, &meter),
    );
    read.and_then(|()| deduping.decide(&meter)).map_err(|stop| interrupted(stop, verb))?;
    let Deduping { dedup, mut kept, mut removed, progress, mut counts, spool, .. } = deduping;
    let mut spool = spool.map(Spool::rewound).transpose().map_err(spooling)?;
    let bounded = dedup.finish::<Stop>(|duplicate| {
        let line = spool.as_mut().map_or_else(|| Ok(Kept::Held(Vec::new())), Spooled::next);
        tell(&line.map_err(spooling)?, duplicate.as_ref(), &mut kept, removed.as_mut(), &mut counts)
    });
    let bounded = bounded.map_err(|stop| interrupted(stop, verb))?;
    if bounded > 0 {
        progress.warn(&format!(
            "{bounded} decisions were bounded: the document shares a term with more than 256 others, of which 16 were compared"
        ));
    }
    if let Some(field) = inputs.time_field.as_deref().filter(|_| counts.timed < counts.lines) {
        progress.warn(&format!(
            "{} of {} lines have {field}: the others count as the latest (--time-field names another)",
            counts.timed, counts.lines
        ));
    }
    let input = verb.output.as_deref().and_then(|path| outputs::input_at(&verb.inputs, path));
    if let (true, Some(input)) = (progress.any_problem(), input) {
        progress.finish(&meter, &[]);
        say(&format!("sketchdb: {} stays as it is: what could not be read would be lost", visible(input)));
        return Ok(Outcome::Inputs);
    }
    // What is kept may take the place of the input: first everything must be on the disk, and what was removed in its place.
    kept.settle()?;
    removed.map_or(Ok(()), Target::finish)?;
    kept.finish()?;
    if let Some(lines) = unprinted.lines() {
        progress.warn(&format!(
            "stdout was closed: {} kept documents were not printed; those removed are all written",
            grouped(lines)
        ));
    }
    progress.finish(&meter, &[(counts.kept, "kept"), (counts.same, "same text"), (counts.near, "alike")]);
    Ok(if progress.any_problem() { Outcome::Inputs } else { Outcome::Done })
}

/// What is said when a signal came: files appear when all is done, what goes to stdout before.
fn interrupted(stop: Stop, verb: &DedupArgs) -> Stop {
    match stop.is_interruption() {
        true if verb.output.is_none() => {
            Stop::Interrupted("what was printed is not all; run the same command again".into())
        }
        _ => stop,
    }
}

#[derive(Default)]
struct Counts {
    /// Documents that are JSON lines, and those of them that say when they were seen.
    lines: u64,
    timed: u64,
    kept: u64,
    same: u64,
    near: u64,
}

struct Deduping {
    dedup: Dedup,
    kept: Target,
    removed: Option<Target>,
    progress: Progress,
    waiting: Vec<Document>,
    /// What comes out for each document that waits.
    lines: Vec<Kept>,
    bytes: usize,
    /// What comes out for those that are decided about at the end.
    spool: Option<Spool>,
    counts: Counts,
}

impl Deduping {
    fn take(&mut self, event: Event<Sketched>, meter: &Meter) -> Result<(), Stop> {
        match event {
            Event::Done(Sketched { key, sketch, line, seen_at }) => {
                self.progress.replaced(&key, sketch.replaced);
                self.counts.lines += u64::from(line.is_some());
                self.counts.timed += u64::from(line.is_some() && seen_at.is_some());
                let line = match line {
                    Some(line) => line.map_err(spooling)?,
                    None => Kept::Held(serde_json::to_vec(&Id { id: &key }).map_err(io::Error::from)?),
                };
                self.bytes += line.weight();
                self.lines.push(line);
                self.waiting.push(Document { key, sketch, seen_at });
            }
            Event::Revisit(_) => {}
            Event::Problem(problem) => self.progress.problem(&problem),
            Event::Idle => self.progress.redraw(meter),
        }
        let due = self.waiting.len() >= AT_ONCE || self.bytes >= LINE_BYTES;
        if due { self.decide(meter) } else { Ok(()) }
    }

    fn decide(&mut self, meter: &Meter) -> Result<(), Stop> {
        let decided = self.dedup.push(std::mem::take(&mut self.waiting))?;
        self.bytes = 0;
        for (at, line) in std::mem::take(&mut self.lines).iter().enumerate() {
            self.progress.step(meter);
            match &mut self.spool {
                Some(spool) => spool.push(line).map_err(spooling)?,
                None => {
                    let duplicate = decided.get(at).and_then(Option::as_ref);
                    tell(line, duplicate, &mut self.kept, self.removed.as_mut(), &mut self.counts)?;
                }
            }
        }
        self.kept.flush()
    }
}

/// Writes a document to where it belongs.
fn tell(
    line: &Kept,
    duplicate: Option<&Duplicate>,
    kept: &mut Target,
    removed: Option<&mut Target>,
    counts: &mut Counts,
) -> Result<(), Stop> {
    let Some(duplicate) = duplicate else {
        counts.kept += 1;
        return kept.line(|out| line.write(out));
    };
    match duplicate.exact {
        true => counts.same += 1,
        false => counts.near += 1,
    }
    match removed {
        Some(removed) => {
            let reason = reason(duplicate)?;
            removed.line(|out| line.write_with(&reason, out))
        }
        None => Ok(()),
    }
}

/// Why a document was removed, as more fields of a JSON object: those of the containment only where it decided.
fn reason(duplicate: &Duplicate) -> io::Result<Vec<u8>> {
    let mut out = b",\"duplicate_of\":".to_vec();
    serde_json::to_writer(&mut out, &duplicate.of)?;
    out.extend(b",\"resemblance\":");
    serde_json::to_writer(&mut out, &rounded(duplicate.resemblance))?;
    if duplicate.containment.is_some() {
        let interval = duplicate.containment_interval;
        let ends = (rounded(duplicate.containment), low(interval), high(interval));
        for (name, share) in [("", ends.0), ("_low", ends.1), ("_high", ends.2)] {
            write!(out, ",\"containment{name}\":")?;
            serde_json::to_writer(&mut out, &share)?;
        }
        out.extend(b",\"values\":");
        serde_json::to_writer(&mut out, &duplicate.values)?;
    }
    Ok(out)
}

fn spooling(source: io::Error) -> Error {
    let folder = std::env::temp_dir();
    let doing = format!("keep lines in a temporary file in {} (TMPDIR names another)", folder.display());
    Error::Io { doing, source }
}
