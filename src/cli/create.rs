//! `sketchdb create`: a new, empty database.

use crate::args::{Common, Create};
use crate::exit::{Ended, Outcome};
use crate::say::say;
use sketchdb::{Database, Params};

pub fn run(verb: &Create, common: &Common) -> Ended {
    Database::create(&verb.db, &verb.creation.applied_to(Params::default(), true)?)?;
    if !common.quiet {
        say(&format!("created {}", verb.db.display()));
    }
    Ok(Outcome::Done)
}
