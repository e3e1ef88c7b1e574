//! `sketchdb import`: a database from the lines of an export.

use crate::args::{Common, Import};
use crate::exit::{Ended, Outcome};
use crate::input::{Problem, open_file};
use crate::merge;
use crate::open;
use crate::progress::Stages;
use crate::say::say;
use sketchdb::Database;
use std::io::{BufRead, BufReader};
use std::path::Path;

pub fn run(verb: &Import, common: &Common) -> Ended {
    let opened = match Path::new(&verb.file).is_dir() {
        true => Err(Problem::new(&verb.file, "a directory: an export is one file")),
        false => open_file(&verb.file),
    };
    let reader = match opened {
        Ok(reader) => reader,
        Err(problem) => {
            say(&format!("{}: {}", problem.place, problem.what));
            return Ok(Outcome::Inputs);
        }
    };
    let mut stages = Stages::new(common);
    let mut lines = BufReader::with_capacity(1 << 16, reader).lines();
    let merged = Database::import(&verb.db, &mut lines, open::options(common), &mut |what, done, all| {
        stages.show(what, done, all);
    })?;
    stages.finish();
    merge::tell(common, &merged)
}
