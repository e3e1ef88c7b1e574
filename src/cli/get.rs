//! `sketchdb get`: what is stored about one key.

use crate::args::{Common, Get};
use crate::exit::{Ended, Outcome};
use crate::output::{Output, bytes, visible};
use crate::say::say;
use serde::Serialize;
use sketchdb::{Database, Options};
use std::time::{Duration, UNIX_EPOCH};

#[derive(Serialize)]
struct Line<'a> {
    key: &'a str,
    id: u64,
    first_seen: Option<String>,
    last_seen: Option<String>,
    cluster: Option<u64>,
    copies: u64,
    shingles: Option<u64>,
    bytes: u64,
}

pub fn run(verb: &Get, common: &Common) -> Ended {
    let db =
        Database::open(&verb.db, Options { memory: common.memory, read_only: true, ..Options::default() })?;
    let Some(stored) = db.get(&verb.key)? else {
        if !common.quiet {
            say(&format!("sketchdb: no document {:?}", verb.key));
        }
        return Ok(Outcome::Nothing);
    };
    let line = Line {
        key: &verb.key,
        id: stored.id.0,
        first_seen: stored.first_seen.map(rfc3339),
        last_seen: stored.last_seen.map(rfc3339),
        cluster: None,
        copies: stored.copies,
        shingles: stored.shingles.map(|shingles| shingles.round() as u64),
        bytes: stored.bytes,
    };
    let mut output = Output::new();
    if common.json {
        output.json(&line)?;
    } else {
        let or_dash = |time: Option<String>| time.unwrap_or("-".into());
        output.line(&format!("key         {}", visible(line.key)))?;
        output.line(&format!(
            "text        {}, {} shingles",
            bytes(line.bytes),
            line.shingles.unwrap_or(0)
        ))?;
        output.line(&format!("copies      {}", line.copies))?;
        output.line(&format!("first seen  {}", or_dash(line.first_seen)))?;
        output.line(&format!("last seen   {}", or_dash(line.last_seen)))?;
        output.line(&format!("id          {}", line.id))?;
    }
    output.flush()?;
    Ok(Outcome::Done)
}

fn rfc3339(seconds: u64) -> String {
    // The formatter knows times up to the year 9999.
    let last = 253_402_300_799;
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds.min(last))).to_string()
}
