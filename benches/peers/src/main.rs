//! `make FILE DOCUMENTS BYTES`: the documents of the benches as JSON lines. `gaoya FILE THREADS`: what the crate gaoya (in
//! RAM, nothing durable) takes for the work of `sketchdb add` on such a file: lines parsed, lowercased, split into words,
//! 126 minhashes of five-word shingles, then for each document the query (21 bands of 6, threshold .8) and the insertion.
//!
//! With more threads the lines are parsed and sketched by THREADS threads, and queried and inserted in order by one more;
//! gaoya's index takes one writer. Shingles are hashed as slices of words: gaoya's own `shingle_tokens` makes a string of
//! each, which is slower.

#[path = "../../common/mod.rs"]
mod common;

use gaoya::minhash::{MinHashIndex, MinHasher, MinHasher32};
use gaoya::text::whitespace_split;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::time::{Duration, Instant};

const BANDS: usize = 21;
const ROWS: usize = 6;
const WORDS: usize = 5;
/// Lines that a thread takes at a time.
const CHUNK: usize = 64;

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

type Failed = Box<dyn Error + Send + Sync>;
type Sketched = (String, Vec<u32>);
type Lines = Vec<Vec<u8>>;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", file, documents, bytes] => make(file, documents.parse()?, bytes.parse()?),
        ["gaoya", file, threads] => gaoya(file, threads.parse()?),
        _ => Err("make FILE DOCUMENTS BYTES | gaoya FILE THREADS".into()),
    }
}

fn make(file: &str, documents: usize, bytes: usize) -> Result<(), Failed> {
    let (origin, texts) = common::versions(documents, bytes);
    let mut out = BufWriter::new(File::create(file)?);
    for (number, text) in texts.iter().enumerate() {
        let id = format!("http://example.org/{}/{}", number / 4096, number % 4096);
        serde_json::to_writer(&mut out, &Line { id: id.into(), text: text.into() })?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    println!("{documents} documents of {bytes} B, {origin}");
    Ok(())
}

/// The index, and what became of the documents.
struct Index {
    bands: MinHashIndex<u32, String>,
    near: usize,
    documents: usize,
    took: Duration,
}

impl Index {
    fn add(&mut self, (key, signature): Sketched) {
        let began = Instant::now();
        self.near += usize::from(self.bands.query_one(&signature).is_some());
        self.bands.insert(key, signature);
        self.documents += 1;
        self.took += began.elapsed();
    }
}

fn sketch(hasher: &impl MinHasher<V = u32>, line: &[u8]) -> Result<Sketched, Failed> {
    let Line { id, text } = serde_json::from_slice(line)?;
    let text = text.to_lowercase();
    let words: Vec<&str> = whitespace_split(&text).collect();
    Ok((id.into_owned(), hasher.create_signature(words.windows(WORDS))))
}

fn gaoya(file: &str, threads: usize) -> Result<(), Failed> {
    let hasher = MinHasher32::new(BANDS * ROWS);
    let bands = MinHashIndex::new(BANDS, ROWS, 0.8);
    let mut index = Index { bands, near: 0, documents: 0, took: Duration::ZERO };
    let began = Instant::now();
    let mut input = BufReader::with_capacity(1 << 18, File::open(file)?);
    if threads < 2 {
        let mut line = Vec::new();
        while input.read_until(b'\n', &mut line)? > 0 {
            index.add(sketch(&hasher, &line)?);
            line.clear();
        }
    } else {
        side_by_side(&mut input, &hasher, threads, &mut index)?;
    }
    let took = began.elapsed().as_secs_f64();
    let Index { near, documents, took: indexing, .. } = index;
    println!(
        "gaoya, {threads} threads: {documents} documents, {near} near; {took:.2} s, {:.0} documents/s (query and insert {:.2} s)",
        documents as f64 / took,
        indexing.as_secs_f64()
    );
    Ok(())
}

fn side_by_side(
    input: &mut impl BufRead,
    hasher: &(impl MinHasher<V = u32> + Sync),
    threads: usize,
    index: &mut Index,
) -> Result<(), Failed> {
    let (lines_in, lines) = crossbeam_channel::bounded::<(usize, Lines)>(16);
    let (sketched_in, sketched) = crossbeam_channel::bounded::<(usize, Result<Vec<Sketched>, Failed>)>(16);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (lines, sketched_in) = (lines.clone(), sketched_in.clone());
            scope.spawn(move || {
                for (number, chunk) in lines {
                    let done = chunk.iter().map(|line| sketch(hasher, line)).collect();
                    if sketched_in.send((number, done)).is_err() {
                        return;
                    }
                }
            });
        }
        drop((lines, sketched_in));
        let indexing = scope.spawn(move || {
            let (mut early, mut next) = (BTreeMap::new(), 0);
            for (number, chunk) in sketched {
                early.insert(number, chunk);
                while let Some(chunk) = early.remove(&next) {
                    chunk?.into_iter().for_each(|sketched| index.add(sketched));
                    next += 1;
                }
            }
            Ok(())
        });
        for number in 0.. {
            let mut chunk = Lines::new();
            while chunk.len() < CHUNK {
                let mut line = Vec::new();
                if input.read_until(b'\n', &mut line)? == 0 {
                    break;
                }
                chunk.push(line);
            }
            if chunk.is_empty() || lines_in.send((number, chunk)).is_err() {
                break;
            }
        }
        drop(lines_in);
        indexing.join().map_err(|_| "a thread panicked")?
    })
}
