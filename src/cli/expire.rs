//! `sketchdb expire`: documents out that were not seen for long.

use crate::args::{Common, Expire};
use crate::exit::{Ended, GO_ON, Outcome, Stop};
use crate::open;
use crate::output::{Output, rfc3339};
use crate::say::grouped;
use serde::Serialize;
use sketchdb::Error;

#[derive(Serialize)]
struct Line {
    expired: u64,
    /// Documents last seen before this time are gone.
    before: String,
}

pub fn run(verb: &Expire, common: &Common) -> Ended {
    let db = open::writing(&verb.db, common)?;
    let before = verb.before();
    let documents = db.documents();
    let expired = match db.expire(before) {
        Err(Error::Cancelled) => {
            let gone = grouped(documents.saturating_sub(db.documents()));
            db.close()?;
            return Err(Stop::Interrupted(format!("{gone} documents removed; {GO_ON}")));
        }
        expired => expired?,
    };
    let line = Line { expired, before: rfc3339(before) };
    db.close()?;
    let mut output = Output::of_storing();
    match common.json {
        true => output.json(&line)?,
        false => output.line(&format!("{} removed, last seen before {}", line.expired, line.before))?,
    }
    output.finish(common)?;
    Ok(Outcome::Done)
}
