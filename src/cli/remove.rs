//! `sketchdb remove`: documents out, by their keys.

use crate::args::{Common, Remove};
use crate::exit::{Ended, GO_ON, Outcome, Stop};
use crate::input::{Place, Problem, bounded_lines, checked, open_awaited};
use crate::open;
use crate::output::Output;
use crate::say::{grouped, say};
use serde::Serialize;
use sketchdb::Database;
use std::io::BufReader;

/// Keys removed at a time.
const AT_ONCE: usize = 8192;
/// Bytes of a line that holds a key.
const MOST_LINE: usize = 1 << 16;
/// Missing keys are named up to this many.
const NAMED: u64 = 20;

#[derive(Default, Serialize)]
struct Line {
    removed: u64,
    missing: u64,
}

pub fn run(verb: &Remove, common: &Common) -> Ended {
    let db = open::writing(&verb.db, common)?;
    let mut removing =
        Removing { db: &db, common, line: Line::default(), waiting: Vec::new(), unreadable: false };
    let ended = removing.take_all(verb);
    let Removing { line, unreadable, .. } = removing;
    db.close()?;
    match ended {
        Err(stop) if stop.is_interruption() => {
            let removed = grouped(line.removed);
            return Err(Stop::Interrupted(format!("{removed} documents removed; {GO_ON}")));
        }
        ended => ended?,
    }
    let mut output = Output::of_storing();
    match common.json {
        true => output.json(&line)?,
        false => output.line(&format!("{} removed, {} not there", line.removed, line.missing))?,
    }
    output.finish(common)?;
    Ok(match (unreadable, line.removed) {
        (true, _) => Outcome::Inputs,
        (false, 0) => Outcome::Nothing,
        (false, _) => Outcome::Done,
    })
}

struct Removing<'d> {
    db: &'d Database,
    common: &'d Common,
    line: Line,
    waiting: Vec<String>,
    /// Whether a key could not be read.
    unreadable: bool,
}

impl Removing<'_> {
    fn take_all(&mut self, verb: &Remove) -> Result<(), Stop> {
        verb.keys.iter().try_for_each(|key| self.take(key.clone()))?;
        if let Some(file) = &verb.keys_from
            && let Err(problem) = self.take_file(file)?
        {
            self.common.interrupt.check()?;
            self.problem(&problem);
        }
        self.remove()
    }

    /// A key a line.
    fn take_file(&mut self, file: &str) -> Result<Result<(), Problem>, Stop> {
        let opened = match open_awaited(file, &self.common.interrupt) {
            Ok(opened) => BufReader::with_capacity(1 << 16, opened),
            Err(problem) => return Ok(Err(problem)),
        };
        for (number, line) in (1..).zip(bounded_lines(opened, MOST_LINE)) {
            self.common.interrupt.check()?;
            let place = Place { file: file.into(), at: number };
            match line.map(|line| line.whole(MOST_LINE)) {
                Ok(Ok(line)) => self.take_line(&line, &place)?,
                Ok(Err(what)) => self.problem(&Problem::new(place, what)),
                Err(error) => return Ok(Err(Problem::new(place, error))),
            }
        }
        Ok(Ok(()))
    }

    fn take_line(&mut self, line: &[u8], place: &Place) -> Result<(), Stop> {
        if line.is_empty() {
            return Ok(());
        }
        // Another document may have the key that ill-formed bytes would be replaced by.
        let key = std::str::from_utf8(line).map_err(|_| Problem::new(place, "a key that is not UTF-8"));
        match key.and_then(|key| checked(key.to_owned(), place)) {
            Ok(key) => self.take(key),
            Err(problem) => {
                self.problem(&problem);
                Ok(())
            }
        }
    }

    /// Notes keys that cannot be read; they harm no others.
    fn problem(&mut self, problem: &Problem) {
        say(&format!("sketchdb: {problem}"));
        self.unreadable = true;
    }

    fn take(&mut self, key: String) -> Result<(), Stop> {
        self.waiting.push(key);
        if self.waiting.len() >= AT_ONCE { self.remove() } else { Ok(()) }
    }

    fn remove(&mut self) -> Result<(), Stop> {
        let keys = std::mem::take(&mut self.waiting);
        for (key, removed) in keys.iter().zip(self.db.remove(keys.iter().map(String::as_str))?) {
            self.line.removed += u64::from(removed);
            self.line.missing += u64::from(!removed);
            if !removed && self.line.missing <= NAMED && !self.common.quiet {
                say(&format!("sketchdb: no document {key:?}"));
            }
        }
        Ok(())
    }
}
