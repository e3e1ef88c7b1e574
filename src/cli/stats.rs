//! `sketchdb stats`: sizes, parameters, and what the index promises.

use crate::args::{Common, OfDatabase};
use crate::exit::{Ended, Outcome};
use crate::open;
use crate::output::{Output, bytes};
use sketchdb::Stats;

pub fn run(verb: &OfDatabase, common: &Common) -> Ended {
    let db = open::reading(&verb.db, common)?;
    let stats = db.stats()?;
    let mut output = Output::new();
    if common.json {
        output.json(&stats)?;
    } else {
        tell(&stats, &mut output)?;
    }
    output.flush()?;
    Ok(Outcome::Done)
}

fn tell(stats: &Stats, output: &mut Output) -> std::io::Result<()> {
    let mut row = |name: &str, value: String| output.line(&format!("{name:<16}  {value}"));
    row("documents", format!("{}, {} removed", stats.documents, stats.removed_documents))?;
    row("contents", format!("{} distinct texts, {} dead", stats.contents, stats.dead_contents))?;
    row("clusters", stats.clusters.to_string())?;
    row("file", format!("{}, {} in use", bytes(stats.file_bytes), bytes(stats.live_bytes)))?;
    row("records", bytes(stats.record_bytes))?;
    row(
        "index",
        format!(
            "{} entries in {} runs, {}, filters {}",
            stats.index_entries,
            stats.runs,
            bytes(stats.index_bytes),
            bytes(stats.filter_bytes)
        ),
    )?;
    row(
        "memory",
        format!("{} for {} entries not in a run", bytes(stats.index_memory), stats.memtable_entries),
    )?;
    let shares = &stats.shares;
    row(
        "shares",
        format!(
            "of {}: pages {}, rows {}, filters {}, memtable {}, documents under way {}",
            bytes(shares.memory),
            bytes(shares.pages),
            bytes(shares.rows),
            bytes(shares.filters),
            bytes(shares.memtable),
            bytes(shares.documents)
        ),
    )?;
    row("bounded", format!("{} verdicts", stats.bounded))?;
    row("bands", format!("{} of {} rows", stats.bands, stats.rows))?;
    for (name, value) in stats.parameters() {
        row(&name.replace('_', "-"), value.to_string().trim_matches('"').to_owned())?;
    }
    output.line("")?;
    output.line("resemblance  candidate  reported  estimate within .05")?;
    for point in &stats.curve {
        output.line(&format!(
            "{:<11.2}  {:<9.4}  {:<8.4}  {:.4}",
            point.resemblance, point.candidate, point.reported, point.within_05
        ))?;
    }
    Ok(())
}
