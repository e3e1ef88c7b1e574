//! `sketchdb query`: the stored documents that each input is alike to.

use crate::args::{Common, QueryArgs};
use crate::exit::{Ended, Outcome, Stop};
use crate::input::{Place, Problem, bounded_lines, open_file};
use crate::open;
use crate::output::{Output, high, low, rounded};
use crate::pipeline::{self, Event, Meter, Sketched};
use crate::progress::Progress;
use crate::say::visible;
use crate::table::Table;
use serde::Serialize;
use sketchdb::{Answer, Database, Error, Measure, PortableSketch, Query};
use std::io::BufReader;
use std::path::Path;

/// Bytes of a line that holds a sketch.
const MOST_LINE: usize = 16 << 20;

#[derive(Serialize)]
struct Line<'a> {
    query: &'a str,
    #[serde(rename = "match")]
    found: &'a str,
    resemblance: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    containment: Option<f64>,
    containment_low: Option<f64>,
    containment_high: Option<f64>,
    contained: Option<f64>,
    contained_low: Option<f64>,
    contained_high: Option<f64>,
    values: Option<u64>,
    hamming: Option<u32>,
    agreement: Option<f64>,
    edit: Option<f64>,
    edit_raw: Option<f64>,
    exact: bool,
    copies: u64,
    found_by: Vec<&'static str>,
    matches: u64,
    bounded: bool,
}

/// The answer of `--yes-no`.
#[derive(Serialize)]
struct YesNo<'a> {
    query: &'a str,
    found: bool,
}

/// A query's key, how many bytes of it were replaced, and its answer.
type Answered = (String, u64, Result<Answer, Error>);

pub fn run(verb: &QueryArgs, common: &Common) -> Ended {
    let db = open::reading(&verb.db, common)?;
    let by = verb.measuring.measure(verb.by, db.params())?;
    let query = Query {
        by: Some(by),
        accept: verb.measuring.accept(),
        confirm: verb.measuring.confirm(verb.by, db.params()),
        least_values: 0,
        limit: if verb.yes_no { 1 } else { verb.limit },
        copies: verb.copies,
        ignore: verb.measuring.ignored(&db)?,
        own: None,
    };
    // Wrong thresholds are told before any input is read, warnings once.
    let trial = db.query(&db.sketch("")?, &query)?;
    let meter = std::sync::Arc::new(Meter::default());
    let mut telling = Telling {
        json: common.json,
        yes_no: verb.yes_no,
        table: Table::new(by, verb.copies),
        output: Output::new(),
        progress: Progress::new(common, Some(&verb.inputs)),
        matches: 0,
        bounded: 0,
    };
    if let Some(recall) = trial.expected_recall {
        let by_parts = match by {
            Measure::Any(_) => " by resemblance; of parts in much larger texts fewer",
            _ => "",
        };
        telling.progress.warn(&format!(
            "the index was not made for this threshold: about {:.1} % of the pairs at it are found{by_parts}",
            100.0 * recall
        ));
    }
    let work = |Sketched { key, sketch, .. }: Sketched| -> Answered {
        let own = (!verb.own).then(|| key.clone());
        let answer = db.query(&sketch, &Query { own, ..query.clone() });
        (key, sketch.replaced, answer)
    };
    match &verb.sketches {
        Some(file) => {
            read_sketches(file, &db, &verb.db, |event| telling.take(event.map(work), &meter))?;
        }
        None => {
            let sketcher = db.sketcher();
            pipeline::run(&verb.inputs, &[&verb.db], common, &meter, &sketcher, work, |event| {
                telling.take(event, &meter)
            })?;
        }
    }
    telling.output.flush()?;
    if telling.bounded > 0 {
        telling.progress.warn(&format!(
            "{} answers were bounded: the document shares a term with more than 256 others, of which 16 were compared",
            telling.bounded
        ));
    }
    telling.progress.finish(&meter, &[(telling.matches, "matches")]);
    Ok(match (telling.progress.any_problem(), telling.matches) {
        (true, _) => Outcome::Inputs,
        (false, 0) => Outcome::Nothing,
        (false, _) => Outcome::Done,
    })
}

/// Reads sketches, one JSON line each.
fn read_sketches(
    file: &str,
    db: &Database,
    path: &Path,
    mut take: impl FnMut(Event<Sketched>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let opened = match open_file(file) {
        Ok(opened) => BufReader::with_capacity(1 << 16, opened),
        Err(problem) => return take(Event::Problem(problem)),
    };
    for (number, line) in (1..).zip(bounded_lines(opened, MOST_LINE)) {
        let place = Place { file: file.into(), at: number };
        let line = match line {
            Ok(line) => line.whole(MOST_LINE),
            Err(error) => return take(Event::Problem(Problem::new(place, error))),
        };
        if line.as_ref().is_ok_and(|line| line.trim_ascii().is_empty()) {
            continue;
        }
        let sketched = line.and_then(|line| sketched(&line, db, path));
        take(sketched.map_or_else(|what| Event::Problem(Problem::new(place, what)), Event::Done))?;
    }
    Ok(())
}

/// The sketch of a line, or why it cannot be asked by.
fn sketched(line: &[u8], db: &Database, path: &Path) -> Result<Sketched, String> {
    let portable: PortableSketch = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    db.params().check_comparable(&portable.params).map_err(|error| match error {
        Error::Incompatible { name, expected, found } => format!(
            "made with {name} {}, the database has {}: sketch it again with `--like {}`",
            open::bare(&expected),
            open::bare(&found),
            path.display()
        ),
        other => other.to_string(),
    })?;
    let sketch = portable.sketch().map_err(|error| error.to_string())?;
    Ok(Sketched { key: portable.key, sketch, line: None, seen_at: None })
}

struct Telling {
    json: bool,
    yes_no: bool,
    table: Table,
    output: Output,
    progress: Progress,
    matches: u64,
    bounded: u64,
}

impl Telling {
    fn take(&mut self, event: Event<Answered>, meter: &Meter) -> Result<(), Stop> {
        match event {
            Event::Done((key, replaced, answer)) => {
                let answer = answer?;
                self.progress.step(meter);
                self.progress.replaced(&key, replaced);
                self.bounded += u64::from(answer.bounded);
                self.matches += if self.yes_no { answer.matches.len() as u64 } else { answer.total };
                match (self.yes_no, self.json) {
                    (true, _) => self.tell_yes_no(&key, !answer.matches.is_empty())?,
                    (false, true) => self.tell_json(&key, &answer)?,
                    (false, false) => self.tell(&key, &answer)?,
                }
            }
            Event::Revisit(_) => {}
            Event::Problem(problem) => self.progress.problem(&problem),
            Event::Idle => {
                self.output.flush()?;
                self.progress.redraw(meter);
            }
        }
        Ok(())
    }

    fn tell_yes_no(&mut self, key: &str, found: bool) -> Result<(), Stop> {
        match self.json {
            true => self.output.json(&YesNo { query: key, found })?,
            false => {
                self.output.line(&format!("{:<3}  {}", if found { "yes" } else { "no" }, visible(key)))?
            }
        }
        Ok(())
    }

    fn tell_json(&mut self, key: &str, answer: &Answer) -> Result<(), Stop> {
        for found in &answer.matches {
            self.output.json(&Line {
                query: key,
                found: &found.key,
                resemblance: rounded(found.resemblance),
                low: low(found.interval),
                high: high(found.interval),
                containment: rounded(found.containment),
                containment_low: low(found.containment_interval),
                containment_high: high(found.containment_interval),
                contained: rounded(found.contained),
                contained_low: low(found.contained_interval),
                contained_high: high(found.contained_interval),
                values: found.values,
                hamming: found.hamming,
                agreement: rounded(found.agreement),
                edit: rounded(found.edit.map(|edit| edit.corrected)),
                edit_raw: rounded(found.edit.map(|edit| edit.raw)),
                exact: found.exact,
                copies: found.copies,
                found_by: found.found_by.names(),
                matches: answer.total,
                bounded: answer.bounded,
            })?;
        }
        Ok(())
    }

    fn tell(&mut self, key: &str, answer: &Answer) -> Result<(), Stop> {
        if answer.matches.is_empty() {
            return Ok(());
        }
        let (total, shown) = (answer.total, answer.matches.len() as u64);
        let matches = if total == 1 { "match" } else { "matches" };
        let cut = if shown < total { format!(", showing {shown}") } else { String::new() };
        self.output.line(&format!("{}: {total} {matches}{cut}", visible(key)))?;
        self.output.line(&format!("  {}", self.table.head()))?;
        for found in &answer.matches {
            self.output.line(&format!("  {}", self.table.row(found)))?;
        }
        Ok(())
    }
}
