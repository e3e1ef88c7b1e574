//! `sketchdb stats`: sizes, parameters, and what the index promises.

use crate::args::{Common, StatsArgs};
use crate::exit::{Ended, Outcome};
use crate::open;
use crate::output::{Output, bytes};
use serde::Serialize;
use sketchdb::{CommonShingle, Stats};

#[derive(Serialize)]
struct Line<'s> {
    #[serde(flatten)]
    stats: &'s Stats,
    common: Option<Vec<Shingle>>,
}

/// A shingle that many texts have.
#[derive(Serialize)]
struct Shingle {
    value: u64,
    texts: u64,
    share: f64,
}

/// Of common shingles, so many are told to people.
const TOLD: usize = 20;

pub fn run(verb: &StatsArgs, common: &Common) -> Ended {
    let db = open::reading_clusters(&verb.db, common)?;
    let stats = db.stats()?;
    let shingles = verb.common.map(|share| db.common_shingles(share)).transpose()?;
    let shingles = shingles.map(|common| commonest_first(common.shingles()));
    let mut output = Output::new();
    if common.json {
        output.json(&Line { stats: &stats, common: shingles })?;
    } else {
        tell(&stats, &mut output)?;
        shingles.map_or(Ok(()), |shingles| tell_common(&shingles, &mut output))?;
    }
    output.flush()?;
    Ok(Outcome::Done)
}

fn commonest_first(shingles: &[CommonShingle]) -> Vec<Shingle> {
    let shingle = |&CommonShingle { value, texts, share }: &CommonShingle| Shingle { value, texts, share };
    let mut shingles: Vec<Shingle> = shingles.iter().map(shingle).collect();
    shingles.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.value.cmp(&b.value)));
    shingles
}

fn tell_common(shingles: &[Shingle], output: &mut Output) -> std::io::Result<()> {
    output.line("")?;
    output.line(&format!("{} common shingles", shingles.len()))?;
    for Shingle { value, texts, share } in shingles.iter().take(TOLD) {
        output.line(&format!("{value:>13}  {texts} texts, {share:.2} of those that reach so far"))?;
    }
    match shingles.len().saturating_sub(TOLD) {
        0 => Ok(()),
        more => output.line(&format!("... {more} more: --json lists all")),
    }
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
