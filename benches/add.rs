//! `add` of 100,000 documents of 6.5 KB with durable commits of 4,096, sketching on all cores: documents/s at the beginning
//! and at the end, and what it writes. Baseline of the same run: sketching alone.

mod common;

use common::{machine, versions};
use sketchdb::{Database, Document, Options, Params, Policy, Sketch};
use std::time::Instant;

const DOCUMENTS: usize = 100_000;
const COMMIT: usize = 4096;

/// Sketches texts on all cores, in order.
fn sketch_all(db: &Database, texts: &[String]) -> Vec<Sketch> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let parts: Vec<_> = texts
            .chunks(texts.len().div_ceil(cores))
            .map(|part| {
                let mut sketcher = db.sketcher();
                scope.spawn(move || {
                    part.iter().map(|text| sketcher.sketch(text.as_bytes())).collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("a sketching thread")).collect()
    })
}

fn main() {
    machine();
    let (origin, texts) = versions(DOCUMENTS, 6500);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bench.sketchdb");
    Database::create(&path, &Params::default()).expect("create");
    let db = Database::open(&path, Options::default()).expect("open");

    let began = Instant::now();
    let sketches: usize = texts.chunks(COMMIT).map(|part| sketch_all(&db, part).len()).sum();
    let alone = sketches as f64 / began.elapsed().as_secs_f64();

    let (mut rates, mut longest) = (Vec::new(), 0.0f64);
    let began = Instant::now();
    for (number, part) in texts.chunks(COMMIT).enumerate() {
        let start = Instant::now();
        let documents = sketch_all(&db, part).into_iter().enumerate().map(|(i, sketch)| Document {
            key: format!("http://example.org/{}/{}", number, i),
            sketch,
            seen_at: None,
        });
        let documents: Vec<Document> = documents.collect();
        let commit = Instant::now();
        db.add_batch(documents, Policy::Everything).expect("add");
        longest = longest.max(commit.elapsed().as_secs_f64());
        rates.push(part.len() as f64 / start.elapsed().as_secs_f64());
    }
    let whole = DOCUMENTS as f64 / began.elapsed().as_secs_f64();
    let fifth = rates.len() / 5;
    let mean = |part: &[f64]| part.len() as f64 / part.iter().map(|rate| 1.0 / rate).sum::<f64>();
    println!(
        "add: {DOCUMENTS} documents of 6.5 KB ({origin}): {whole:.0} documents/s = {:.2} x sketching alone ({alone:.0}/s)",
        whole / alone
    );
    let fifths: Vec<String> = rates.chunks(fifth).take(5).map(|part| format!("{:.0}", mean(part))).collect();
    println!(
        "add: documents/s by fifth: {}; last to first {:.2} x; longest commit of {COMMIT}: {longest:.3} s",
        fifths.join(", "),
        mean(&rates[rates.len() - fifth..]) / mean(&rates[..fifth]),
    );
    let stats = db.stats().expect("stats");
    let implied = stats.record_bytes as f64 + 4.8 * stats.index_entries as f64 + stats.filter_bytes as f64;
    println!(
        "add: live {} B = {:.3} x (records {} + 4.8 x {} entries + filters {}); {:.2} B an entry",
        stats.live_bytes,
        stats.live_bytes as f64 / implied,
        stats.record_bytes,
        stats.index_entries,
        stats.filter_bytes,
        stats.index_bytes as f64 / stats.index_entries as f64,
    );
}
