//! Queries at 100,000 documents, without sketching: latency without a match and with one, against a scan of all signatures in
//! memory in the same run.

mod common;

use common::{Random, machine, percentile, versions};
use sketchdb::{Database, Document, Measure, Options, Params, Policy, Query, Sketch};
use std::time::{Duration, Instant};

const DOCUMENTS: usize = 100_000;
const QUERIES: usize = 2000;

fn time<T>(sketches: &[Sketch], mut query: impl FnMut(&Sketch) -> T) -> Vec<Duration> {
    sketches
        .iter()
        .map(|sketch| {
            let began = Instant::now();
            std::hint::black_box(query(sketch));
            began.elapsed()
        })
        .collect()
}

fn main() {
    machine();
    let (origin, texts) = versions(DOCUMENTS, 865);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bench.sketchdb");
    Database::create(&path, &Params::default()).expect("create");
    let db = Database::open(&path, Options::default()).expect("open");
    let mut sketcher = db.sketcher();
    let sketches: Vec<Sketch> = texts.iter().map(|text| sketcher.sketch(text.as_bytes())).collect();
    for (number, part) in sketches.chunks(4096).enumerate() {
        let document = |(i, sketch): (usize, &Sketch)| Document {
            key: format!("{number}/{i}"),
            sketch: sketch.clone(),
            seen_at: None,
        };
        db.add_batch(part.iter().enumerate().map(document).collect(), Policy::Everything).expect("add");
    }
    let mut random = Random(99);
    let strangers: Vec<Sketch> = (0..QUERIES)
        .map(|_| {
            let text: String = (0..150).map(|_| format!("x{} ", random.next())).collect();
            sketcher.sketch(text.as_bytes())
        })
        .collect();
    let known: Vec<Sketch> = (0..QUERIES).map(|i| sketches[i * DOCUMENTS / QUERIES].clone()).collect();
    let scan = |sketch: &Sketch| {
        let own = sketch.signature.as_ref().expect("a signature");
        sketches
            .iter()
            .filter(|other| other.signature.as_ref().and_then(|other| own.agreement(other)) >= Some(0.8))
            .count()
    };
    let mut scanned = time(&strangers[..20], scan);
    println!(
        "query: {DOCUMENTS} documents ({origin}); scan of all signatures in memory: p50 {:.0} us",
        percentile(&mut scanned, 50)
    );
    let hamming = Query { by: Some(Measure::Hamming(3)), ..Query::default() };
    for (name, sketches, query) in [
        ("no match", &strangers, &Query::default()),
        ("known text and its versions", &known, &Query::default()),
        ("no match, hamming 3", &strangers, &hamming),
    ] {
        time(sketches, |sketch| db.query(sketch, query).expect("query").matches.len());
        let mut took = time(sketches, |sketch| db.query(sketch, query).expect("query").matches.len());
        let p50 = percentile(&mut took, 50);
        println!(
            "query, {name}: p50 {p50:.1} us = 1/{:.0} of the scan, p99 {:.1} us",
            percentile(&mut scanned, 50) / p50,
            percentile(&mut took, 99),
        );
    }
}
