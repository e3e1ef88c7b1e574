//! How `sketchdb add` goes on as a database grows: made texts go through a pipe into the command, their verdicts come back.
//!
//! `cargo bench --bench growth -- [DOCUMENTS] [BYTES] [MEMORY]`, by default 200,000 texts of 800 bytes with 256M. Of the
//! texts a fifth are near duplicates in groups of five, far apart; of the others no two are alike. Prints the rate by tenth, the
//! longest time without a verdict (a commit and the wait for its documents), peak memory, and what was written and stored.

mod common;

use common::{Random, machine};
use std::io::{BufWriter, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const COMMAND: &str = env!("CARGO_BIN_EXE_sketchdb");
const PARTS: usize = 10;

fn main() {
    machine();
    let given: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let number = |at: usize, or: usize| given.get(at).map_or(or, |word| word.parse().expect("a number"));
    let (documents, bytes) = (number(0, 200_000), number(1, 800));
    let memory = given.get(2).map_or("256M", String::as_str);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = folder.path().join("growth.sketchdb");
    let path = database.to_str().expect("a path");

    let began = Instant::now();
    let mut adding = Command::new(COMMAND)
        .args(["--memory", memory, "--quiet", "add", path, "-", "--format", "jsonl"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command");
    let input = adding.stdin.take().expect("a pipe");
    let writing = std::thread::spawn(move || write_lines(documents, bytes, input));
    let watching = watch(adding.id());
    let (parts, longest) = verdicts(&mut adding, documents);
    let given_bytes = writing.join().expect("the writing thread");
    let ended = adding.wait().expect("the command's end");
    assert!(ended.success(), "{ended}");
    let took = began.elapsed().as_secs_f64();
    let (peak, written) = watching.join().expect("the watching thread");

    let rates: Vec<f64> = parts.iter().map(|part| (documents / PARTS) as f64 / part.as_secs_f64()).collect();
    let list: Vec<String> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
    println!(
        "growth: {documents} documents of {} B, --memory {memory}: {took:.1} s, {:.0} documents/s",
        given_bytes / documents as u64,
        documents as f64 / took
    );
    println!(
        "growth: documents/s by tenth: {}; last to first {:.2} x; longest time without a verdict {:.3} s",
        list.join(" "),
        rates[PARTS - 1] / rates[0],
        longest.as_secs_f64()
    );
    let stats = stats(path);
    let stored = stats["live_bytes"].as_u64().expect("a number");
    println!(
        "growth: peak memory {peak} kB; written {written} B = {:.2} x what is stored ({stored} B, {:.0} a document; file {} B); {:.2} B an index entry, {} runs",
        written as f64 / stored as f64,
        stored as f64 / documents as f64,
        stats["file_bytes"],
        stats["index_bytes"].as_f64().expect("a number") / stats["index_entries"].as_f64().expect("a number"),
        stats["runs"],
    );
}

/// The texts as JSON lines: how many bytes.
fn write_lines(documents: usize, bytes: usize, pipe: impl Write) -> u64 {
    let mut random = Random(1);
    let words: Vec<String> = (0..30_000).map(|_| word(&mut random)).collect();
    let mut out = BufWriter::with_capacity(1 << 18, pipe);
    let (mut text, mut line, mut sum) = (String::new(), String::new(), 0);
    for number in 0..documents {
        // The last two of ten are near duplicates: those of a group are 5,000 documents and some more apart.
        let group = number % 10 >= 8;
        let base = if group { number / 25_000 * 10_000 + number % 5_000 } else { number };
        let mut drawn = Random(base as u64 * 2 + u64::from(group));
        text.clear();
        while text.len() < bytes {
            text.push_str(&words[drawn.below(words.len())]);
            text.push(' ');
        }
        if group {
            text.push_str(&words[number % words.len()]);
        }
        line.clear();
        line.push_str(&format!("{{\"id\":\"http://example.org/{number:09}\",\"text\":\"{text}\"}}\n"));
        sum += line.len() as u64;
        out.write_all(line.as_bytes()).expect("the pipe");
    }
    out.flush().expect("the pipe");
    sum
}

fn word(random: &mut Random) -> String {
    (0..2 + random.below(8)).map(|_| (b'a' + random.below(26) as u8) as char).collect()
}

/// The time that each part of the verdicts took, and the longest time without one.
fn verdicts(adding: &mut Child, documents: usize) -> (Vec<Duration>, Duration) {
    let mut output = adding.stdout.take().expect("a pipe");
    let (mut buffer, mut count, mut parts) = (vec![0; 1 << 16], 0, Vec::new());
    let (mut last, mut part, mut longest) = (Instant::now(), Instant::now(), Duration::ZERO);
    loop {
        let read = output.read(&mut buffer).expect("the verdicts");
        if read == 0 {
            return (parts, longest);
        }
        longest = longest.max(last.elapsed());
        last = Instant::now();
        count += buffer[..read].iter().filter(|&&byte| byte == b'\n').count();
        if parts.len() < PARTS && count >= documents / PARTS * (parts.len() + 1) {
            parts.push(part.elapsed());
            part = Instant::now();
        }
    }
}

/// The peak memory of a process in kB and the bytes that it wrote, as Linux tells until it ends.
fn watch(process: u32) -> std::thread::JoinHandle<(u64, u64)> {
    let figure = move |file: &str, name: &str| {
        let text = std::fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned();
        line.split(' ').next()?.parse::<u64>().ok()
    };
    std::thread::spawn(move || {
        let (mut peak, mut written) = (0, 0);
        while let Some(now) = figure("status", "VmHWM:") {
            peak = now.max(peak);
            written = figure("io", "write_bytes:").unwrap_or(0).max(written);
            std::thread::sleep(Duration::from_millis(20));
        }
        (peak, written)
    })
}

fn stats(path: &str) -> serde_json::Value {
    let told = Command::new(COMMAND).args(["--json", "stats", path]).output().expect("the command");
    serde_json::from_slice(&told.stdout).expect("JSON")
}
