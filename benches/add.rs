//! `add` of 100,000 documents of 6.5 KB with durable commits of 4,096, sketching on all cores: documents/s at the beginning
//! and at the end, and what it writes. Baseline of the same run: sketching alone.
//!
//! Then what a crawler asks of new pages of 6.5 KB: eight threads begin to add a page each and wait for the verdict of the one
//! that they began 512 pages before; with sketches made by the thread, and with sketches made beforehand.

mod common;

use common::{cpu_seconds, machine, pages, versions};
use sketchdb::{Database, Document, Options, Params, Policy, Sketch, Sketcher};
use std::collections::VecDeque;
use std::time::Instant;

const DOCUMENTS: usize = 100_000;
const COMMIT: usize = 4096;
const PAGES: usize = 60_000;
const CRAWLERS: usize = 8;
/// Pages that a crawler has begun to add and does not know the verdict of.
const UNDER_WAY: usize = 512;

/// Sketches texts on all cores, in order.
fn sketch_all(sketcher: &Sketcher, texts: &[String]) -> Vec<Sketch> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let parts: Vec<_> = texts
            .chunks(texts.len().div_ceil(cores))
            .map(|part| {
                let mut sketcher = sketcher.clone();
                scope.spawn(move || {
                    part.iter().map(|text| sketcher.sketch(text.as_bytes())).collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("a sketching thread")).collect()
    })
}

/// Eight threads add pages: pages a second, and the longest wait for a verdict.
fn crawl<T: Send>(what: &str, pages: Vec<T>, sketch: impl Fn(&mut Sketcher, T) -> Sketch + Sync) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("crawl.sketchdb");
    Database::create(&path, &Params::default()).expect("create");
    let db = Database::open(&path, Options::default()).expect("open");
    let count = pages.len();
    let mut shares: Vec<Vec<T>> = (0..CRAWLERS).map(|_| Vec::new()).collect();
    pages.into_iter().enumerate().for_each(|(number, page)| shares[number % CRAWLERS].push(page));
    let (began, spent) = (Instant::now(), cpu_seconds());
    let longest = std::thread::scope(|scope| {
        let threads: Vec<_> = shares
            .into_iter()
            .enumerate()
            .map(|(thread, share)| {
                let (db, sketch) = (&db, &sketch);
                scope.spawn(move || {
                    let (mut sketcher, mut longest) = (db.sketcher(), 0.0f64);
                    let mut begun = VecDeque::new();
                    for (number, page) in share.into_iter().enumerate() {
                        let key = format!("http://example.org/{thread}/{number}");
                        let document = Document { key, sketch: sketch(&mut sketcher, page), seen_at: None };
                        begun.push_back(db.add_later(vec![document], Policy::Everything).expect("begin"));
                        if begun.len() > UNDER_WAY {
                            let waiting = Instant::now();
                            begun.pop_front().map(|begun| begun.wait().expect("add"));
                            longest = longest.max(waiting.elapsed().as_secs_f64());
                        }
                    }
                    begun.into_iter().for_each(|begun| drop(begun.wait().expect("add")));
                    longest
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a crawler")).fold(0.0, f64::max)
    });
    let rate = count as f64 / began.elapsed().as_secs_f64();
    let each = (cpu_seconds() - spent) * 1e6 / count as f64;
    println!(
        "add: {count} new pages from {CRAWLERS} threads, {what}: {rate:.0}/s, {each:.0} us of a core each; longest wait {longest:.3} s"
    );
}

/// New pages from many threads.
fn crawls() {
    let (_, texts) = pages(PAGES, 6500);
    let sketcher = Sketcher::new(&Params::default().sketch).expect("a sketcher");
    let sketches = sketch_all(&sketcher, &texts);
    crawl("sketched beforehand", sketches, |_, sketch| sketch);
    crawl("sketched by the thread", texts, |sketcher, text| sketcher.sketch(text.as_bytes()));
}

fn main() {
    machine();
    crawls();
    let (origin, texts) = versions(DOCUMENTS, 6500);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bench.sketchdb");
    Database::create(&path, &Params::default()).expect("create");
    let db = Database::open(&path, Options::default()).expect("open");

    let began = Instant::now();
    let sketches: usize = texts.chunks(COMMIT).map(|part| sketch_all(&db.sketcher(), part).len()).sum();
    let alone = sketches as f64 / began.elapsed().as_secs_f64();

    let (mut rates, mut longest) = (Vec::new(), 0.0f64);
    let began = Instant::now();
    for (number, part) in texts.chunks(COMMIT).enumerate() {
        let start = Instant::now();
        let documents = sketch_all(&db.sketcher(), part).into_iter().enumerate().map(|(i, sketch)| {
            Document { key: format!("http://example.org/{}/{}", number, i), sketch, seen_at: None }
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
