//! `sketchdb merge`: the documents of databases into another.

use crate::args::{Common, Merge};
use crate::exit::{Ended, GO_ON, Outcome, Stop};
use crate::open;
use crate::output::Output;
use crate::progress::Stages;
use crate::say::{grouped, say};
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
    let mut taken = 0;
    let mut ended = Ok(());
    for path in &verb.from {
        let before = taken;
        let mut progress = |what: &'static str, done, all| {
            taken = before + done;
            stages.show(what, done, all);
        };
        let merged = open::reading(path, common).and_then(|from| {
            common.interrupt.check()?;
            Ok((db.merge(&from, &mut progress)?, from.documents()))
        });
        match merged {
            Ok((merged, documents)) => {
                taken = before + documents;
                all.added += merged.added;
                all.updated += merged.updated;
                all.kept += merged.kept;
                all.bounded += merged.bounded;
            }
            Err(stop) => {
                ended = Err(stop);
                break;
            }
        }
    }
    db.close()?;
    stages.finish();
    match ended {
        Err(stop) if stop.is_interruption() => {
            return Err(Stop::Interrupted(format!("{} documents taken over; {GO_ON}", grouped(taken))));
        }
        ended => ended?,
    }
    tell(common, &all)
}

/// Whether two paths lead to one file.
fn same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
}

/// What became of the documents of others.
pub fn tell(common: &Common, merged: &Merged) -> Ended {
    let &Merged { added, updated, kept, bounded } = merged;
    let mut output = Output::of_storing();
    match common.json {
        true => output.json(&Line { added, updated, kept, bounded })?,
        false => output.line(&format!("{added} added, {updated} updated, {kept} known already"))?,
    }
    output.finish(common)?;
    if bounded > 0 && !common.quiet {
        say(&format!(
            "sketchdb: {bounded} texts were bounded: they share a term with more than 256 others, of which 16 were compared"
        ));
    }
    Ok(Outcome::Done)
}
