//! What the benches share: documents, medians, the machine they ran on.
#![allow(dead_code)]

use std::path::Path;
use std::time::{Duration, Instant};

/// A seeded generator (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Texts to cut documents from: the corpora beside the project where they are there, else made up.
pub fn texts() -> (&'static str, Vec<String>) {
    let beside = |folder: &Path| folder.join("shared/corpora");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpora = here.ancestors().map(beside).find(|corpora| corpora.is_dir()).unwrap_or_default();
    let names = ["revisions_peps", "mccormick_2500", "revisions_symfony", "licences_spdx"];
    let read: Vec<String> =
        names.iter().flat_map(|name| corpus(&corpora.join(name).join("docs.jsonl.zst"))).collect();
    match read.is_empty() {
        false => ("cut from ../shared/corpora", read),
        true => ("made up (../shared/corpora is not there)", (0..2000).map(made_up).collect()),
    }
}

fn corpus(path: &Path) -> Vec<String> {
    let Ok(file) = std::fs::File::open(path) else { return Vec::new() };
    let text =
        std::io::read_to_string(zstd::stream::read::Decoder::new(file).expect("a zstd file")).expect("text");
    text.lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["text"]
                .as_str()
                .unwrap_or("")
                .into()
        })
        .collect()
}

/// A text of 1,200 words drawn by Zipf's law.
fn made_up(seed: u64) -> String {
    let mut random = Random(seed);
    (0..1200)
        .map(|_| {
            let rank = 20_000f64.powf(random.below(1 << 20) as f64 / f64::from(1 << 20)) as u64;
            format!("w{} ", Random(rank).next() % 1_000_000)
        })
        .collect()
}

/// `count` documents of about `bytes` bytes: slices of texts put together, a third of them in versions that differ in
/// up to 20 words.
pub fn versions(count: usize, bytes: usize) -> (&'static str, Vec<String>) {
    put_together(count, bytes, &[1, 1, 1, 2, 5, 10])
}

/// `count` documents of about `bytes` bytes: slices of texts put together, each in one version.
pub fn pages(count: usize, bytes: usize) -> (&'static str, Vec<String>) {
    put_together(count, bytes, &[1])
}

fn put_together(count: usize, bytes: usize, copies: &[usize]) -> (&'static str, Vec<String>) {
    let (origin, texts) = texts();
    let words: Vec<Vec<&str>> = texts
        .iter()
        .map(|text| text.split_whitespace().collect::<Vec<_>>())
        .filter(|w| w.len() > 200)
        .collect();
    let mut random = Random(7);
    let mut documents: Vec<String> = Vec::with_capacity(count);
    while documents.len() < count {
        let mut base: Vec<&str> = Vec::new();
        let mut size = 0;
        while size < bytes {
            let text = &words[random.below(words.len())];
            let start = random.below(text.len() - 100);
            let longest = (start + 100 + random.below(400)).min(text.len());
            for word in &text[start..longest] {
                if size < bytes {
                    size += word.len() + 1;
                    base.push(word);
                }
            }
        }
        for version in 0..copies[random.below(copies.len())] {
            let mut edited = base.clone();
            for _ in 0..if version > 0 { random.below(20) } else { 0 } {
                let at = random.below(edited.len());
                edited[at] = words[random.below(words.len())][0];
            }
            documents.push(edited.join(" "));
        }
    }
    documents.truncate(count);
    (origin, documents)
}

/// The median time of `times` runs.
pub fn median(times: usize, mut run: impl FnMut()) -> Duration {
    let mut took: Vec<Duration> = (0..times)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed()
        })
        .collect();
    took.sort();
    took[took.len() / 2]
}

/// The p-th percentile of latencies, sorted in place, in microseconds.
pub fn percentile(latencies: &mut [Duration], p: usize) -> f64 {
    latencies.sort();
    latencies[(latencies.len() - 1) * p / 100].as_secs_f64() * 1e6
}

/// Seconds that the cores have spent on this process, where Linux tells it: to the hundredth.
pub fn cpu_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may have blanks in it, come the state and ten more before the two times.
    let behind = told.rsplit(')').next().unwrap_or_default();
    behind.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>()
        / 100.0
}

/// Prints what machine this is.
pub fn machine() {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find(|line| line.starts_with("model name")).unwrap_or("model name : unknown");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    println!(
        "machine: {}, {cores} cores, {}",
        model.split(':').nth(1).unwrap_or("").trim(),
        std::env::consts::ARCH
    );
}
