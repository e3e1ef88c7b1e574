//! `sketchdb create`: a new, empty database.

use crate::args::{Common, Create};
use crate::exit::{Ended, Outcome};
use sketchdb::{Database, Params};

pub fn run(verb: &Create, common: &Common) -> Ended {
    Database::create(&verb.db, &verb.creation.applied_to(Params::default(), true)?)?;
    if !common.quiet {
        eprintln!("created {}", verb.db.display());
    }
    Ok(Outcome::Done)
}
