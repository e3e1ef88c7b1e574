//! `sketchdb import`: a database from the lines of an export.

use crate::args::{Common, Import};
use crate::exit::Ended;
use crate::input::open_file;
use crate::merge;
use crate::open;
use crate::progress::Stages;
use sketchdb::{Database, Error};
use std::io::{BufRead, BufReader};

pub fn run(verb: &Import, common: &Common) -> Ended {
    let reader = open_file(&verb.file)
        .map_err(|problem| Error::Invalid { what: problem.place, remedy: problem.what })?;
    let mut stages = Stages::new(common);
    let mut lines = BufReader::with_capacity(1 << 16, reader).lines();
    let merged = Database::import(&verb.db, &mut lines, open::options(common), &mut |what, done, all| {
        stages.show(what, done, all);
    })?;
    stages.finish();
    merge::tell(common, &merged)
}
