//! `sketchdb compact`: a file without what is dead.

use crate::args::{Common, OfDatabase};
use crate::exit::{Ended, Outcome};
use crate::open;
use crate::output::{Output, bytes};
use crate::progress::Stages;
use serde::Serialize;
use sketchdb::{Compacted, Database};

#[derive(Serialize)]
struct Line {
    documents: u64,
    contents: u64,
    bytes_before: u64,
    bytes_after: u64,
    /// Of a rebuild.
    #[serde(skip_serializing_if = "Option::is_none")]
    bounded: Option<u64>,
}

pub fn run(verb: &OfDatabase, common: &Common) -> Ended {
    let mut stages = Stages::new(common);
    let compacted = Database::compact(&verb.db, open::options(common), &mut |what, done, all| {
        stages.show(what, done, all);
    })
    .map_err(open::wrong_with(&verb.db))?;
    stages.finish();
    tell(common, &compacted, None)
}

/// What a file was and has become; of a rebuild also how many searches were bounded.
pub fn tell(common: &Common, compacted: &Compacted, bounded: Option<u64>) -> Ended {
    let &Compacted { documents, contents, bytes_before, bytes_after, .. } = compacted;
    let mut output = Output::of_storing();
    if common.json {
        output.json(&Line { documents, contents, bytes_before, bytes_after, bounded })?;
    } else {
        let (before, after) = (bytes(bytes_before), bytes(bytes_after));
        output.line(&format!("{documents} documents, {contents} distinct texts: {before} -> {after}"))?;
    }
    output.finish(common)?;
    Ok(Outcome::Done)
}
