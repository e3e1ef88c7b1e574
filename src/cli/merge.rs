//! `sketchdb merge`: the documents of databases into another.

use crate::args::{Common, Merge};
use crate::exit::{Ended, Outcome, Stop};
use crate::open;
use crate::output::Output;
use crate::progress::Stages;
use crate::say::say;
use serde::Serialize;
use sketchdb::{Error, Merged};
use std::path::Path;

#[derive(Default, Serialize)]
struct Line {
    added: u64,
    updated: u64,
    kept: u64,
    bounded: u64,
}

pub fn run(verb: &Merge, common: &Common) -> Ended {
    let db = open::writing(&verb.into, common)?;
    let mut stages = Stages::new(common);
    let mut all = Merged::default();
    // All are looked at before any is merged: what is wrong with one is told while nothing is changed.
    for path in &verb.from {
        if same_file(path, &verb.into) {
            return Err(Stop::Failed(Error::Invalid {
                what: format!("{} into itself", path.display()),
                remedy: "name another database".into(),
            }));
        }
        let other = open::reading(path, common)?;
        db.params().check_same(other.params()).map_err(|error| match error {
            Error::Incompatible { name, expected, found } => Error::Incompatible {
                name: format!("{name} of {}", path.display()),
                expected: found,
                found: expected,
            },
            other => other,
        })?;
    }
    for path in &verb.from {
        let merged =
            db.merge(&open::reading(path, common)?, &mut |what, done, all| stages.show(what, done, all))?;
        all.added += merged.added;
        all.updated += merged.updated;
        all.kept += merged.kept;
        all.bounded += merged.bounded;
    }
    db.close()?;
    stages.finish();
    tell(common, &all)
}

/// Whether two paths lead to one file.
fn same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
}

/// What became of the documents of others.
pub fn tell(common: &Common, merged: &Merged) -> Ended {
    let &Merged { added, updated, kept, bounded } = merged;
    let mut output = Output::new();
    match common.json {
        true => output.json(&Line { added, updated, kept, bounded })?,
        false => output.line(&format!("{added} added, {updated} updated, {kept} known already"))?,
    }
    output.flush()?;
    if bounded > 0 && !common.quiet {
        say(&format!(
            "sketchdb: {bounded} texts were bounded: they share a term with more than 256 others, of which 16 were compared"
        ));
    }
    Ok(Outcome::Done)
}
