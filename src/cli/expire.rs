//! `sketchdb expire`: documents out that were not seen for long.

use crate::args::{Common, Expire};
use crate::exit::{Ended, Outcome};
use crate::open;
use crate::output::{Output, rfc3339};
use serde::Serialize;

#[derive(Serialize)]
struct Line {
    expired: u64,
    /// Documents last seen before this time are gone.
    before: String,
}

pub fn run(verb: &Expire, common: &Common) -> Ended {
    let db = open::writing(&verb.db, common)?;
    let before = verb.before();
    let line = Line { expired: db.expire(before)?, before: rfc3339(before) };
    db.close()?;
    let mut output = Output::new();
    match common.json {
        true => output.json(&line)?,
        false => output.line(&format!("{} removed, last seen before {}", line.expired, line.before))?,
    }
    output.flush()?;
    Ok(Outcome::Done)
}
