//! Simhashes within Hamming distance 3 in a lean file: latency, what is found, bytes a simhash, and a batch in one scan.
//!
//! 1,000,000 simhashes by default; `SKETCHDB_BENCH_SIMHASHES=10000000` for more, `SKETCHDB_BENCH_TABLES=10` for other tables
//! than the design chosen by their number, `SKETCHDB_BENCH_MEMORY` in MiB, `SKETCHDB_BENCH_FOLDER` to keep the file, `SKETCHDB_BENCH_ROUNDS` of queries. A simhash in
//! a thousand is planted: it is asked for with 1 to 3 bits flipped. Baseline of the same run: a scan of all simhashes in memory.

mod common;

use common::{Random, machine, percentile};
use sketchdb::{
    ContentHash, Database, Kept, Measure, Options, Params, Query, Simhash, Sketch, Sketcher, Swept,
};
use std::path::Path;
use std::time::{Duration, Instant};

const QUERIES: u64 = 5000;

/// The simhash of a content.
fn simhash(number: u64) -> u64 {
    Random(number).next()
}

/// The simhash of a content with 1 to 3 bits flipped.
fn near(number: u64) -> (u64, u32) {
    let mut random = Random(number ^ 0xABCD << 40);
    let distance = 1 + number as u32 % 3;
    let mut flips = 0u64;
    while flips.count_ones() < distance {
        flips |= 1 << random.below(64);
    }
    (simhash(number) ^ flips, distance)
}

/// The lines of an export of `count` simhashes: the quickest way into a file.
fn lines(header: String, count: u64) -> impl Iterator<Item = std::io::Result<String>> {
    let mut digest = blake3::Hasher::new();
    let header = header
        .replace("\"next_document\":0", &format!("\"next_document\":{count}"))
        .replace("\"next_content\":0", &format!("\"next_content\":{count}"));
    let content = move |id: u64| {
        let (hash, simhash) = (Random(!id).next(), simhash(id));
        format!(
            r#"{{"content":{{"id":{id},"cluster":{id},"document":{id},"hash":"{hash:016x}{id:016x}","bytes":1,"sample":null,"signature":null,"simhash":"{simhash:016x}","edit":null}}}}"#
        )
    };
    let document = move |id: u64| {
        format!(
            r#"{{"document":{{"id":{id},"key":"{id:x}","content":{id},"first_seen":null,"last_seen":null}}}}"#
        )
    };
    let all = std::iter::once(header).chain((0..count).map(content)).chain((0..count).map(document));
    let mut all = all.map(Some).chain([None]);
    std::iter::from_fn(move || match all.next()? {
        Some(line) => {
            digest.update(line.as_bytes()).update(b"\n");
            Some(Ok(line))
        }
        None => {
            let digits: String =
                digest.finalize().as_bytes()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
            Some(Ok(format!(r#"{{"end":{{"contents":{count},"documents":{count},"blake3":"{digits}"}}}}"#)))
        }
    })
}

fn fill(path: &Path, count: u64, tables: usize, memory: usize) {
    let params = Params {
        keep_sketches: "simhash".parse::<Kept>().expect("simhash"),
        containment: false,
        hamming_tables: tables,
        ..Params::default()
    };
    let empty = path.with_extension("empty");
    Database::create(&empty, &params).expect("create");
    let db = Database::open(&empty, Options::default()).expect("open");
    let mut header = None;
    db.export(&mut |_, _, _| {}, |line| {
        header.get_or_insert_with(|| line.to_owned());
        Ok::<(), sketchdb::Error>(())
    })
    .expect("export");
    drop(db);
    std::fs::remove_file(&empty).expect("remove");
    let began = Instant::now();
    let options = Options { memory, ..Options::default() };
    let mut lines = lines(header.expect("a header"), count);
    let mut stages: Vec<(&str, f64)> = Vec::new();
    let mut progress = |stage, _, _| match stages.last_mut() {
        Some(last) if last.0 == stage => {}
        _ => stages.push((stage, began.elapsed().as_secs_f64())),
    };
    Database::import(path, &mut lines, options, &mut progress).expect("import");
    let (took, work) = (began.elapsed().as_secs_f64(), worked());
    let begun: Vec<String> = stages.iter().map(|(stage, at)| format!("{stage} from {at:.1} s")).collect();
    println!(
        "scale: imported in {took:.1} s ({work:.1} s of processors), {:.0} a second: {}",
        count as f64 / took,
        begun.join(", ")
    );
}

fn sketch(blank: &Sketch, number: u64, simhash: u64) -> Sketch {
    let mut hash = [0xFF; 16];
    hash[..8].copy_from_slice(&Random(number ^ 1 << 50).next().to_le_bytes());
    let mut sketch = blank.clone();
    (sketch.hash, sketch.simhash) = (ContentHash(hash), Some(Simhash(simhash)));
    sketch
}

fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|kb| kb.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0) / 1e3
}

/// Seconds that all threads of this process were at work.
fn worked() -> f64 {
    let status = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = status.split_whitespace().skip(13).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn time<T>(sketches: &[Sketch], mut query: impl FnMut(&Sketch) -> T) -> Vec<Duration> {
    let timed = |sketch| {
        let began = Instant::now();
        std::hint::black_box(query(sketch));
        began.elapsed()
    };
    sketches.iter().map(timed).collect()
}

fn tell(db: &Database, name: &str, sketches: &[Sketch], rounds: usize) {
    let query = Query { by: Some(Measure::Hamming(3)), ..Query::default() };
    for round in 0..rounds {
        let worked_before = worked();
        let mut took = time(sketches, |sketch| db.query(sketch, &query).expect("query").matches.len());
        println!(
            "  {name}, round {}: p50 {:.1} us, p99 {:.1} us, {:.1} us of processors; peak memory {:.0} MB",
            round + 1,
            percentile(&mut took, 50),
            percentile(&mut took, 99),
            (worked() - worked_before) * 1e6 / sketches.len() as f64,
            peak()
        );
    }
}

/// A tenth as many simhashes as are stored, a tenth of them planted, looked for in one pass.
fn sweep(db: &Database, count: u64) {
    let asked = (count / 10).min(1_000_000);
    let simhashes: Vec<Simhash> = (0..asked)
        .map(|i| if i % 10 == 0 { Simhash(near(i).0) } else { Simhash(simhash(1 << 41 | i)) })
        .collect();
    let (mut took, mut work) = (f64::MAX, f64::MAX);
    let mut swept = Swept::default();
    for _ in 0..3 {
        let (began, worked_before) = (Instant::now(), worked());
        swept = db.sweep(&simhashes, 3).expect("sweep");
        took = took.min(began.elapsed().as_secs_f64());
        work = work.min(worked() - worked_before);
    }
    let planted =
        swept.close.iter().filter(|close| close.asked % 10 == 0 && close.id.0 == close.asked as u64);
    println!(
        "  a sweep of {asked} over all, best of 3: {took:.2} s ({work:.2} s of processors) in {} passes, {:.1} million stored simhashes/s, {:.0} billion pairs/s; {} of {} planted found, {} in all; peak memory {:.0} MB",
        swept.passes,
        count as f64 / took / 1e6,
        count as f64 * asked as f64 / took / 1e9,
        planted.count(),
        asked.div_ceil(10),
        swept.close.len(),
        peak()
    );
}

fn main() {
    machine();
    let number = |name| std::env::var(name).ok().and_then(|value: String| value.parse().ok());
    let count = number("SKETCHDB_BENCH_SIMHASHES").unwrap_or(1_000_000);
    let memory = (number("SKETCHDB_BENCH_MEMORY").unwrap_or(256) as usize) << 20;
    let tables = number("SKETCHDB_BENCH_TABLES").unwrap_or(4) as usize;
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let folder = std::env::var_os("SKETCHDB_BENCH_FOLDER").map_or(temporary.path().to_owned(), Into::into);
    let path = folder.join(format!("scale-{count}-{tables}.sketchdb"));
    if !path.exists() {
        fill(&path, count, tables, memory);
    }
    let bytes = std::fs::metadata(&path).expect("the file").len();
    let began = Instant::now();
    let db = Database::open(&path, Options { read_only: true, memory, ..Options::default() }).expect("open");
    println!(
        "scale: {count} simhashes in {tables} tables, {:.1} B each; opened in {:.0} ms, {:.0} MB of memory",
        bytes as f64 / count as f64,
        began.elapsed().as_secs_f64() * 1e3,
        peak()
    );
    let blank = Sketcher::new(&db.params().sketch).expect("a sketcher").sketch(b"");
    let step = count / QUERIES;
    let strangers: Vec<Sketch> = (0..QUERIES).map(|i| sketch(&blank, i, simhash(1 << 40 | i))).collect();
    let planted: Vec<(u64, u32, Sketch)> = (0..QUERIES)
        .map(|i| {
            let (simhash, distance) = near(i * step + i % 7);
            (i * step + i % 7, distance, sketch(&blank, i, simhash))
        })
        .collect();
    let rounds = number("SKETCHDB_BENCH_ROUNDS").unwrap_or(4) as usize;
    tell(&db, "no match", &strangers, rounds);
    // None twice: what was read for those before helps by chance only.
    for round in 1..=2 {
        let first = 1 << 42 | round << 20;
        let others: Vec<Sketch> = (0..8 * QUERIES).map(|i| sketch(&blank, i, simhash(first + i))).collect();
        tell(&db, "no match, each asked for once", &others, 1);
    }
    let asked: Vec<Sketch> = planted.iter().map(|planted| planted.2.clone()).collect();
    tell(&db, "one match", &asked, rounds);
    let query = Query { by: Some(Measure::Hamming(3)), ..Query::default() };
    let found = planted.iter().filter(|(number, distance, sketch)| {
        let answer = db.query(sketch, &query).expect("query");
        answer.matches.iter().any(|m| m.id.0 == *number && m.hamming == Some(*distance))
    });
    println!("  planted at distances 1 to 3: {} of {} found", found.count(), planted.len());
    sweep(&db, count);
    let all: Vec<u64> = (0..count.min(10_000_000)).map(simhash).collect();
    let mut took = time(&strangers[..10], |sketch| {
        let own = sketch.simhash.expect("a simhash");
        all.iter().filter(|&&other| own.distance(Simhash(other)) <= 3).count()
    });
    println!("  a scan of {} in memory: {:.0} us", all.len(), percentile(&mut took, 50));
    let bytes = 8.0 * all.len() as f64;
    let sum = common::median(5, || {
        std::hint::black_box(all.iter().fold(0u64, |sum, &simhash| sum.wrapping_add(simhash)));
    });
    println!("  memory is read at {:.1} GB/s", bytes / sum.as_secs_f64() / 1e9);
}
