//! `sketchdb recover`: what a writer that died left behind, put in order.

use crate::args::{Common, OfDatabase};
use crate::exit::{Ended, Outcome};
use crate::open;
use crate::output::Output;
use crate::say::grouped;
use serde::Serialize;
use sketchdb::Database;

#[derive(Serialize)]
struct Line {
    /// Whether there was anything to recover.
    recovered: bool,
    documents: u64,
}

pub fn run(verb: &OfDatabase, common: &Common) -> Ended {
    let recovered = Database::recover(&verb.db, open::options(common)).map_err(open::wrong_with(&verb.db))?;
    let documents = open::reading(&verb.db, common)?.documents();
    let mut output = Output::new();
    match (common.json, recovered) {
        (true, _) => output.json(&Line { recovered, documents })?,
        (false, true) => output.line(&format!("recovered {} documents", grouped(documents)))?,
        (false, false) => output.line(&format!("nothing to recover: {} documents", grouped(documents)))?,
    }
    output.flush()?;
    Ok(Outcome::Done)
}
