//! `sketchdb create`: a new, empty database.

use crate::args::{Common, Create};
use crate::creation;
use crate::exit::{Ended, Outcome};
use crate::say::say;
use sketchdb::{Database, Params};

pub fn run(verb: &Create, common: &Common) -> Ended {
    let params = verb.creation.applied_to(Params::default(), true)?;
    Database::create(&verb.db, &params)?;
    creation::warn(&params, common);
    if !common.quiet {
        say(&format!("created {}", verb.db.display()));
    }
    Ok(Outcome::Done)
}
