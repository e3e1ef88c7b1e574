//! `sketchdb get`: what is stored about one key.

use crate::args::{Common, Get};
use crate::exit::{Ended, Outcome};
use crate::open;
use crate::output::{Output, bytes, rfc3339};
use crate::say::{say, visible};
use serde::Serialize;

#[derive(Serialize)]
struct Line<'a> {
    key: &'a str,
    id: u64,
    first_seen: Option<String>,
    last_seen: Option<String>,
    cluster: u64,
    copies: u64,
    shingles: Option<u64>,
    bytes: u64,
}

pub fn run(verb: &Get, common: &Common) -> Ended {
    let db = open::reading_clusters(&verb.db, common)?;
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
        cluster: stored.cluster.0,
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
        output.line(&format!("cluster     {}", line.cluster))?;
    }
    output.flush()?;
    Ok(Outcome::Done)
}
