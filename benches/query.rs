//! Queries, without sketching: latency by what there is to find, with open runs, compacted, and out of a cold page cache.
//!
//! 100,000 contents by default; `SKETCHDB_BENCH_DOCUMENTS=1000000` for a million, `SKETCHDB_BENCH_FOLDER` to keep the files
//! for the next run, `SKETCHDB_BENCH_ONLY` for the kinds whose name begins so. A third of the documents have versions; 2,000 more are planted, each with one version to be asked for,
//! and 100 groups of eleven. Baseline of the same run: a scan of all signatures in memory.

mod common;

use common::{Random, machine, percentile, versions};
use sketchdb::{Database, Document, Measure, Options, Params, Policy, Query, Signature, Sketch, Sketcher};
use std::path::Path;
use std::time::{Duration, Instant};

const QUERIES: usize = 2000;
const GROUPS: usize = 100;
/// Queries that are asked again and again: what they read stays in memory.
const HOT: usize = 300;
/// Texts that known ones are drawn from, and that are scanned.
const FIRST: usize = 20_000;
const COMMIT: usize = 4096;
const OPEN: &str = "open-runs.sketchdb";
const COMPACTED: &str = "compacted.sketchdb";

/// `count` words that no other text has.
fn strange(seed: u64, count: usize) -> Vec<String> {
    let mut random = Random(seed << 20);
    (0..count).map(|_| format!("x{}", random.next() % 100_000)).collect()
}

/// A text of 140 words, with one in seventy exchanged.
fn version(seed: u64, number: u64) -> String {
    let mut words = strange(seed, 140);
    for edit in 0..2 * number.min(1) {
        let at = (number * 31 + edit * 57) as usize % words.len();
        words[at] = format!("y{number}z{edit}");
    }
    words.join(" ")
}

/// What is asked for.
struct Asked {
    strangers: Vec<Sketch>,
    known: Vec<Sketch>,
    one: Vec<Sketch>,
    eleven: Vec<Sketch>,
    excerpts: Vec<Sketch>,
}

impl Asked {
    fn of(sketcher: &mut Sketcher, texts: &[String]) -> Self {
        let every = texts.len().min(FIRST) / QUERIES;
        let mut of = |text: String| sketcher.sketch(text.as_bytes());
        let queries = 0..QUERIES as u64;
        Asked {
            strangers: queries.clone().map(|i| of(strange(1 << 30 | i, 140).join(" "))).collect(),
            known: queries.clone().map(|i| of(texts[i as usize * every].clone())).collect(),
            one: queries.clone().map(|i| of(version(1 << 28 | i, 1))).collect(),
            eleven: (0..GROUPS as u64).map(|i| of(version(1 << 29 | i, 0))).collect(),
            excerpts: queries.map(|i| of(strange(1 << 28 | i, 140)[20..100].join(" "))).collect(),
        }
    }
}

fn planted() -> Vec<String> {
    let alone = (0..QUERIES as u64).map(|i| version(1 << 28 | i, 0));
    let groups = (0..GROUPS as u64).flat_map(|i| (0..11).map(move |number| version(1 << 29 | i, number)));
    alone.chain(groups).collect()
}

fn fill(path: &Path, texts: &[String]) {
    Database::create(path, &Params::default()).expect("create");
    let db = Database::open(path, Options::default()).expect("open");
    let began = Instant::now();
    let planted = planted();
    // Spread among the others, so that no two lie together.
    let every = texts.len() / planted.len();
    let all: Vec<&String> = (0..planted.len())
        .flat_map(|i| texts[i * every..(i + 1) * every].iter().chain([&planted[i * 1009 % planted.len()]]))
        .chain(&texts[planted.len() * every..])
        .collect();
    for (number, part) in all.chunks(COMMIT).enumerate() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let documents = std::thread::scope(|scope| {
            let parts: Vec<_> = part
                .chunks(part.len().div_ceil(cores))
                .enumerate()
                .map(|(core, part)| {
                    let mut sketcher = db.sketcher();
                    scope.spawn(move || {
                        let document = |(i, text): (usize, &&String)| Document {
                            key: format!("http://example.org/{number}/{core}/{i}"),
                            sketch: sketcher.sketch(text.as_bytes()),
                            seen_at: None,
                        };
                        part.iter().enumerate().map(document).collect::<Vec<_>>()
                    })
                })
                .collect();
            parts.into_iter().flat_map(|part| part.join().expect("a sketching thread")).collect()
        });
        db.add_batch(documents, Policy::Everything).expect("add");
    }
    db.close().expect("close");
    println!("query: filled in {:.0} s", began.elapsed().as_secs_f64());
}

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

fn by(measure: Measure) -> Query {
    Query { by: Some(measure), ..Query::default() }
}

/// Latencies of one kind of query, hot: the same queries were asked before. How many matches there were.
fn tell(db: &Database, name: &str, sketches: &[Sketch], query: &Query) -> f64 {
    if std::env::var("SKETCHDB_BENCH_ONLY").is_ok_and(|only| !name.starts_with(&only)) {
        return 0.0;
    }
    let ask = |sketch: &Sketch| db.query(sketch, query).expect("query").matches.len();
    let matches: usize = sketches.iter().map(ask).sum();
    let rounds = if std::env::var_os("SKETCHDB_BENCH_ONLY").is_some() { 100 } else { 5 };
    let mut rounds: Vec<[f64; 2]> = (0..rounds)
        .map(|_| {
            let mut took = time(sketches, ask);
            [percentile(&mut took, 50), percentile(&mut took, 99)]
        })
        .collect();
    rounds.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let [p50, p99] = rounds[rounds.len() / 2];
    println!(
        "  {name}: p50 {p50:.1} us, p99 {p99:.1} us, {:.2} matches",
        matches as f64 / sketches.len() as f64
    );
    p50
}

fn hot(path: &Path, asked: &Asked) -> Vec<f64> {
    let began = Instant::now();
    let db = Database::open(path, Options { read_only: true, ..Options::default() }).expect("open");
    let opened = began.elapsed();
    let stats = db.stats().expect("stats");
    println!(
        "query, {}: {} texts, {} runs, {} entries in memory; opened for reading in {:.0} ms",
        path.file_name().unwrap_or_default().display(),
        stats.contents,
        stats.runs,
        stats.memtable_entries,
        opened.as_secs_f64() * 1e3,
    );
    let near = Query::default();
    let nothing = tell(&db, "no match", &asked.strangers, &near);
    let one = tell(&db, "one match", &asked.one[..HOT], &near);
    tell(&db, "one match, of 2,000 in turn", &asked.one, &near);
    let eleven = tell(&db, "known text and ten versions", &asked.eleven, &near);
    println!("  each further match: {:.2} us", (eleven - one) / 10.0);
    tell(&db, "known text and its versions", &asked.known[..HOT], &near);
    let containment = by(Measure::Containment(0.7));
    tell(&db, "containment, no match", &asked.strangers, &containment);
    tell(&db, "containment, one match", &asked.excerpts[..HOT], &containment);
    tell(&db, "containment, known text and its versions", &asked.known[..200], &containment);
    tell(&db, "hamming 3, no match", &asked.strangers, &by(Measure::Hamming(3)));
    vec![nothing, one]
}

const ROUNDS: usize = 40;

/// How a batch of queries takes to more threads.
fn many(path: &Path, asked: &Asked) {
    let db = Database::open(path, Options { read_only: true, ..Options::default() }).expect("open");
    for (name, sketches) in [("no match", &asked.strangers[..]), ("one match", &asked.one[..HOT])] {
        let run = |threads: usize| {
            let began = Instant::now();
            std::thread::scope(|scope| {
                for part in sketches.chunks(sketches.len().div_ceil(threads)) {
                    let db = &db;
                    scope.spawn(move || {
                        for _ in 0..ROUNDS {
                            time(part, |sketch| db.query(sketch, &Query::default()).expect("query"));
                        }
                    });
                }
            });
            (ROUNDS * sketches.len()) as f64 / began.elapsed().as_secs_f64()
        };
        run(1);
        let (one, two) = (run(1), run(2));
        println!("query, {name}: {one:.0}/s on one thread, {two:.0}/s on two, {:.2} x", two / one);
    }
}

/// Forgets what the system has cached of a file; how many bytes of a read came from the disk then.
fn forget(path: &Path) {
    let file = std::fs::File::open(path).expect("the file");
    file.sync_all().expect("sync");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("fadvise");
}

fn read_bytes() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}

/// In a process of its own: the first queries after opening a file of which nothing is cached.
fn cold(path: &Path) {
    let mut sketcher = Sketcher::new(&Params::default().sketch).expect("a sketcher");
    let queries: Vec<Sketch> =
        (0..300).map(|i| sketcher.sketch(version(1 << 28 | i, 1).as_bytes())).collect();
    forget(path);
    let before = read_bytes();
    let began = Instant::now();
    let db = Database::open(path, Options { read_only: true, ..Options::default() }).expect("open");
    let opened = began.elapsed().as_secs_f64() * 1e3;
    let (read, before) = (read_bytes() - before, read_bytes());
    let ask = |sketch: &Sketch| db.query(sketch, &Query::default()).expect("query").matches.len();
    let took = time(&queries, ask);
    let first = took[0].as_secs_f64() * 1e3;
    let mut rest = took[1..].to_vec();
    println!(
        "query, {}, cold: opened in {opened:.0} ms ({:.1} MB read); first query {first:.1} ms, then p50 {:.0} us, p99 {:.0} us ({:.0} KB read each)",
        path.file_name().unwrap_or_default().display(),
        read as f64 / 1e6,
        percentile(&mut rest, 50),
        percentile(&mut rest, 99),
        (read_bytes() - before) as f64 / 1e3 / took.len() as f64,
    );
    drop(db);
    let mut opened: Vec<Duration> = (0..5)
        .map(|_| {
            let began = Instant::now();
            drop(Database::open(path, Options::default()).expect("open"));
            began.elapsed()
        })
        .collect();
    println!("  opened and closed for writing, hot: {:.0} ms", percentile(&mut opened, 50) / 1e3);
}

fn scan_of_signatures(texts: &[String], sketcher: &mut Sketcher, asked: &Asked) -> f64 {
    let signatures: Vec<Signature> =
        texts.iter().filter_map(|text| sketcher.sketch(text.as_bytes()).signature).collect();
    let mut took = time(&asked.strangers[..20], |sketch| {
        let own = sketch.signature.as_ref().expect("a signature");
        signatures.iter().filter(|other| own.agreement(other) >= Some(0.8)).count()
    });
    percentile(&mut took, 50)
}

fn main() {
    if let Some(path) = std::env::args().skip_while(|argument| argument != "cold").nth(1) {
        return cold(Path::new(&path));
    }
    machine();
    let number = |name| std::env::var(name).ok().and_then(|value: String| value.parse().ok());
    let documents: usize = number("SKETCHDB_BENCH_DOCUMENTS").unwrap_or(100_000);
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let folder = std::env::var_os("SKETCHDB_BENCH_FOLDER").map_or(temporary.path().to_owned(), Into::into);
    let paths = [OPEN, COMPACTED].map(|name| folder.join(name));
    let there = paths[1].exists();
    let (origin, texts) = versions(if there { documents.min(FIRST) } else { documents }, 865);
    let mut sketcher = Sketcher::new(&Params::default().sketch).expect("a sketcher");
    let asked = Asked::of(&mut sketcher, &texts);
    if !there {
        fill(&paths[0], &texts);
        std::fs::copy(&paths[0], &paths[1]).expect("copy");
        let began = Instant::now();
        Database::compact(&paths[1], Options::default(), &mut |_, _, _| {}).expect("compact");
        println!("query: compacted in {:.0} s", began.elapsed().as_secs_f64());
    }
    println!("query: {documents} documents ({origin})");
    let first = &texts[..documents.min(FIRST)];
    let scanned = scan_of_signatures(first, &mut sketcher, &asked) * documents as f64 / first.len() as f64;
    drop(texts);
    for path in &paths {
        let p50 = hot(path, &asked);
        println!(
            "  a scan of all signatures in memory (20,000 of them timed): {scanned:.0} us, {:.0} x",
            scanned / p50[0]
        );
        if std::env::var_os("SKETCHDB_BENCH_ONLY").is_some() {
            continue;
        }
        many(path, &asked);
        let own = std::env::current_exe().expect("this program");
        std::process::Command::new(own).arg("cold").arg(path).status().expect("a process of its own");
    }
}
