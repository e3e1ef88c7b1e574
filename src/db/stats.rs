//! `stats`: how much is stored, what it takes, and what the index promises.

use super::database::Database;
use super::params::Params;
use super::shares::Shares;
use crate::error::{Error, Result};
use crate::sketch::estimate::{expected_distinct, precision, reach_probability};
use crate::store::record::TOO_FEW;
use crate::store::view::View;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The state of a database. Sizes are bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Stats {
    /// Living documents.
    pub documents: u64,
    /// Living contents: distinct texts.
    pub contents: u64,
    /// Clusters, those of one document among them: what is left when each keeps one.
    pub clusters: u64,
    /// Contents that no document holds and that compaction will drop.
    pub dead_contents: u64,
    /// Documents that were removed and whose records compaction will drop.
    pub removed_documents: u64,
    /// The file.
    pub file_bytes: u64,
    /// The pages in use: the file without what it holds in reserve.
    pub live_bytes: u64,
    /// Records of contents and documents.
    pub record_bytes: u64,
    /// Entries in runs.
    pub index_entries: u64,
    /// Blocks and directories of runs.
    pub index_bytes: u64,
    /// Filters of runs.
    pub filter_bytes: u64,
    /// Runs.
    pub runs: u64,
    /// Entries in memory, not in a run yet.
    pub memtable_entries: u64,
    /// Memory that the memtable and the directories of the runs take.
    pub index_memory: u64,
    /// What the memory that this process may take is for.
    pub shares: Shares,
    /// Verdicts, and texts merged, for which a term shared by too many contents was not followed to its end; of a file that was
    /// rebuilt, the texts whose clusters were formed so, and what came since.
    pub bounded: u64,
    /// Entries in a band.
    pub rows: u64,
    /// Bands.
    pub bands: u64,
    /// Of a million distinct shingles, how many are expected to share their 40-bit value with another.
    pub collisions_per_million: f64,
    /// Every parameter.
    #[serde(flatten, serialize_with = "parameters")]
    pub params: Params,
    /// P(candidate) and P(reported) by resemblance.
    pub curve: Vec<CurvePoint>,
}

impl Stats {
    /// Every parameter by its name; that of the rule for clusters is `cluster_rule` here, as `clusters` is how many there are.
    pub fn parameters(&self) -> Map<String, Value> {
        named(&self.params)
    }
}

fn named(params: &Params) -> Map<String, Value> {
    let Value::Object(mut named) = params.to_json() else { return Map::new() };
    if let Some(rule) = named.remove("clusters") {
        named.insert("cluster_rule".into(), rule);
    }
    named
}

fn parameters<S: Serializer>(params: &Params, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    named(params).serialize(serializer)
}

/// What becomes of a pair with this resemblance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The true resemblance.
    pub resemblance: f64,
    /// The chance that the pair shares a band.
    pub candidate: f64,
    /// The chance that it is reported at the threshold, by the estimate of documents larger than a sample.
    pub reported: f64,
    /// The chance that the estimate lies within .05 of the true resemblance (Broder's p(s, r, ε)).
    pub within_05: f64,
}

impl Params {
    /// The two curves at multiples of .05 and around the threshold. What is reported is a product of two chances: bands and
    /// sample use independent hashes.
    pub fn curve(&self) -> Result<Vec<CurvePoint>> {
        let bands = self.bands()?;
        let mut at: Vec<f64> = (1..=20).map(|step| f64::from(step) / 20.0).collect();
        at.extend(
            [-0.02, 0.0, 0.02]
                .map(|step| self.threshold + step)
                .into_iter()
                .filter(|r| (0.0..=1.0).contains(r)),
        );
        at.sort_by(f64::total_cmp);
        at.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        Ok(at
            .into_iter()
            .map(|resemblance| {
                let candidate = bands.candidate_probability(resemblance);
                let reach = reach_probability(self.sketch.sample as u32, resemblance, self.threshold);
                let within_05 = precision(self.sketch.sample as u32, resemblance, 0.05);
                CurvePoint { resemblance, candidate, reported: candidate * reach, within_05 }
            })
            .collect())
    }
}

impl Database {
    fn count_clusters(&self, view: &View) -> Result<u64> {
        let (mut joined, mut clusters) = (0, 0);
        view.clusters.each(|cluster, members| {
            for (_, members) in super::clusters::groups(self, view, cluster, members)? {
                joined += members.len();
                clusters += u64::from(!members.is_empty());
            }
            Ok(())
        })?;
        let alone = view.counters.contents.checked_sub(joined);
        alone.map(|alone| alone + clusters).ok_or_else(|| Error::corrupt("meta row counters", TOO_FEW))
    }

    /// The state of the database. Reads every page in use to measure them.
    pub fn stats(&self) -> Result<Stats> {
        let view = self.view();
        let bands = self.params().bands()?;
        let runs = || view.runs.iter().map(|run| &*run.run);
        Ok(Stats {
            documents: view.counters.documents,
            contents: view.counters.contents,
            clusters: self.count_clusters(&view)?,
            dead_contents: view.marks.dead.len(),
            removed_documents: view.marks.removed.len(),
            file_bytes: self.disk().len().map_err(|error| Error::io("measure the file", error))?,
            live_bytes: view.live_bytes()?,
            record_bytes: view.counters.content_bytes + view.counters.document_bytes,
            index_entries: runs().map(|run| run.record.entries).sum(),
            index_bytes: runs().map(|run| run.record.block_bytes).sum(),
            filter_bytes: runs().map(|run| run.record.filter_bytes).sum(),
            runs: view.runs.len() as u64,
            memtable_entries: view.memtable.len() as u64,
            index_memory: (view.memtable.bytes() + runs().map(|run| run.directory.bytes()).sum::<usize>())
                as u64,
            shares: self.shares(),
            bounded: view.counters.bounded,
            rows: bands.rows as u64,
            bands: bands.bands as u64,
            collisions_per_million: 1e6 - expected_distinct(1e6, 40),
            params: self.params().clone(),
            curve: self.params().curve()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Options, Params};
    use crate::store::disk::FileDisk;
    use crate::store::record::Counters;
    use crate::store::rewrite::rewrite;
    use std::sync::Arc;

    /// A database of two documents that are alike, with other counters than it should have.
    fn miscounted(miscount: impl Fn(&mut Counters)) -> Result<Database> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counted.sketchdb");
        Database::create(&path, &Params::default()).unwrap();
        let db = Database::open(&path, Options::default()).unwrap();
        let text: String = (0..100).map(|word| format!("word{word} ")).collect();
        db.add("a", &text).unwrap();
        db.add("b", text + "more").unwrap();
        db.close().unwrap();
        let disk = Arc::new(FileDisk::open_writable(&path).unwrap());
        rewrite(disk, &mut |name, row| {
            if name == "counters" {
                let mut counters = Counters::decode(row).unwrap();
                miscount(&mut counters);
                *row = counters.encode();
            }
            true
        })
        .unwrap();
        Database::open(&path, Options::default())
    }

    fn is_corrupt<T>(result: Result<T>) -> bool {
        matches!(result, Err(Error::Corrupt { .. }))
    }

    #[test]
    fn counters_that_count_too_few_are_damage() {
        let db = miscounted(|counters| counters.contents = 1).unwrap();
        assert!(is_corrupt(db.stats()));
        let db = miscounted(|counters| (counters.documents, counters.contents) = (0, 0)).unwrap();
        assert!(is_corrupt(db.remove(["a"])), "more was removed than there was");
        assert_eq!(miscounted(|_| {}).unwrap().stats().unwrap().clusters, 1);
    }

    #[test]
    fn counters_beyond_all_are_damage() {
        let all: [fn(&mut Counters) -> &mut u64; 6] = [
            |counters| &mut counters.documents,
            |counters| &mut counters.contents,
            |counters| &mut counters.document_bytes,
            |counters| &mut counters.content_bytes,
            |counters| &mut counters.bounded,
            |counters| &mut counters.next_run,
        ];
        for (number, counter) in all.into_iter().enumerate() {
            let opened = miscounted(|counters| *counter(counters) = u64::MAX);
            assert!(is_corrupt(opened), "counter {number} is believed");
        }
    }
}
