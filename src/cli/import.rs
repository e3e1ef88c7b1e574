//! `sketchdb import`: a database from the lines of an export.

use crate::args::{Common, Import};
use crate::exit::{Ended, GO_ON, Outcome, Stop};
use crate::input::{Line, Problem, bounded_lines, open_awaited};
use crate::merge;
use crate::open;
use crate::progress::Stages;
use crate::say::{grouped, say, visible};
use sketchdb::{Database, Error};
use std::cell::Cell;
use std::io::{self, BufReader, ErrorKind};
use std::path::Path;

/// Bytes of a line of an export.
const MOST_LINE: usize = 16 << 20;

pub fn run(verb: &Import, common: &Common) -> Ended {
    let opened = match Path::new(&verb.file).is_dir() {
        true => Err(Problem::new(&verb.file, "a directory: an export is one file")),
        false => open_awaited(&verb.file, &common.interrupt),
    };
    let reader = match opened {
        Ok(reader) => BufReader::with_capacity(1 << 16, reader),
        Err(problem) => {
            common.interrupt.check()?;
            say(&format!("sketchdb: {problem}"));
            return Ok(Outcome::Inputs);
        }
    };
    let mut stages = Stages::new(common);
    let (asked, unreadable) = (Cell::new(false), Cell::new(false));
    let mut read = bounded_lines(reader, MOST_LINE);
    let taken = Cell::new(None);
    let mut lines = std::iter::from_fn(|| {
        asked.set(true);
        let line = read.next()?;
        unreadable.set(line.is_err());
        Some(line.and_then(text))
    });
    let merged = Database::import(&verb.db, &mut lines, open::options(common), &mut |what, done, all| {
        taken.set((what == "merge").then_some(done));
        stages.show(what, done, all);
    });
    stages.finish();
    match merged {
        Err(Error::Cancelled) => Err(taken.get().map_or(Stop::Failed(Error::Cancelled), |taken| {
            Stop::Interrupted(format!("{} documents taken over; {GO_ON}", grouped(taken)))
        })),
        // The export is not to be had, or is none that is whole: the input is at fault, as when it is not there at all.
        Err(error) if unreadable.get() || asked.get() && matches!(error, Error::Invalid { .. }) => {
            say(&format!("sketchdb: {}: {}", visible(&verb.file), visible(&error.to_string())));
            Ok(Outcome::Inputs)
        }
        Err(error @ Error::Incompatible { .. }) if asked.get() => {
            Err(Stop::Database(format!("{} into {}: {error}", verb.file, verb.db.display())))
        }
        merged => merge::tell(common, &merged.map_err(open::wrong_with(&verb.db))?),
    }
}

/// A line as text, or what is wrong with it.
fn text(line: Line) -> io::Result<String> {
    let refuse = |what| io::Error::new(ErrorKind::InvalidData, what);
    let line = line.whole(MOST_LINE).map_err(refuse)?;
    String::from_utf8(line).map_err(|error| refuse(error.to_string()))
}
