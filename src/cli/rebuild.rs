//! `sketchdb rebuild`: every index and the clusters again from the sketches, or what is whole of a damaged file.

use crate::args::{Common, Rebuild};
use crate::compact;
use crate::exit::{Ended, Outcome};
use crate::open;
use crate::output::Output;
use crate::progress::Stages;
use crate::say::{say, visible};
use serde::Serialize;
use sketchdb::{Database, Params, Salvaged};

#[derive(Serialize)]
struct Line<'a> {
    documents: u64,
    contents: u64,
    lost_keys: &'a [String],
    lost_documents: Option<u64>,
    changes_known: bool,
    damaged_file: Option<String>,
}

pub fn run(verb: &Rebuild, common: &Common) -> Ended {
    let mut stages = Stages::new(common);
    let mut progress = |what: &'static str, done, all| stages.show(what, done, all);
    if verb.salvage {
        let salvaged = Database::salvage(&verb.db, open::options(common), &mut progress)
            .map_err(open::wrong_with(&verb.db))?;
        stages.finish();
        return tell(common, &salvaged);
    }
    let mut tables = String::new();
    let change = |params: Params, contents| {
        let before = params.hamming_tables;
        let changed = verb.applied_to(params, contents)?;
        if changed.hamming_tables != before {
            let now = changed.hamming_tables;
            tables =
                format!("sketchdb: {now} permuted tables for {contents} distinct texts, {before} before");
        }
        Ok(changed)
    };
    let rebuilt = Database::rebuild(&verb.db, open::options(common), change, &mut progress)
        .map_err(open::wrong_with(&verb.db))?;
    stages.finish();
    if !tables.is_empty() && !common.quiet {
        say(&tables);
    }
    if rebuilt.bounded > 0 && !common.quiet {
        say(&format!(
            "sketchdb: {} texts were bounded: they share a term with more than 256 others, of which 16 were compared",
            rebuilt.bounded
        ));
    }
    compact::tell(common, &rebuilt, Some(rebuilt.bounded))
}

fn tell(common: &Common, salvaged: &Salvaged) -> Ended {
    let Salvaged { documents, contents, lost_keys, lost_documents, changes_known, .. } = salvaged;
    let (documents, contents) = (*documents, *contents);
    let (lost_documents, changes_known) = (*lost_documents, *changes_known);
    let mut output = Output::of_storing();
    if common.json {
        let damaged_file = salvaged.damaged.as_ref().map(|path| path.display().to_string());
        output.json(&Line { documents, contents, lost_keys, lost_documents, changes_known, damaged_file })?;
    } else {
        output.line(&format!("{documents} documents, {contents} distinct texts saved"))?;
        if !lost_keys.is_empty() {
            output.line(&format!("{} documents lost their text, add them again:", lost_keys.len()))?;
        }
        for key in lost_keys {
            output.line(&format!("  {}", visible(key)))?;
        }
        match lost_documents {
            Some(0) => {}
            Some(lost) => output.line(&format!("{lost} documents lost whose keys are not known"))?,
            None => output.line("how many documents are lost whose keys are not known cannot be told")?,
        }
    }
    output.finish(common)?;
    if let (Some(path), false) = (&salvaged.damaged, common.quiet) {
        say(&format!("sketchdb: something is lost; the damaged file is kept as {}", path.display()));
    }
    if salvaged.passed_over > 0 && !common.quiet {
        say(&format!(
            "sketchdb: {} places that looked like a long record were not read: too many before them were none",
            salvaged.passed_over
        ));
    }
    if !changes_known && !common.quiet {
        say(
            "sketchdb: what changed since documents were added is not known: they are as first added, and removed ones are back",
        );
    }
    Ok(if salvaged.is_lossy() { Outcome::Inputs } else { Outcome::Done })
}
