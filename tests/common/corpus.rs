//! The corpora beside the project, with their exact pairs.

use super::skipped::skipped_without;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Documents, and all pairs with an exact resemblance of .5 and more, keys in order.
pub struct Corpus {
    pub documents: Vec<(String, String)>,
    pub pairs: Vec<((String, String), f64)>,
    pub contained: Vec<Contained>,
}

/// A pair of less resemblance, of whose smaller document at least .8 is in the larger.
pub struct Contained {
    /// The inner document, and the outer.
    pub keys: (String, String),
    /// Distinct shingles of each.
    pub inner: u64,
    pub outer: u64,
}

/// Reads a corpus; `None`, and the test is skipped, when it is not there.
pub fn corpus(name: &str) -> Option<Corpus> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpora").join(name);
    let Some(documents) = read(&folder.join("docs.jsonl.zst")) else {
        skipped_without(name);
        return None;
    };
    let documents = documents
        .lines()
        .map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["id"].as_str().unwrap().to_owned(), line["text"].as_str().unwrap().to_owned())
        })
        .collect();
    let pairs = read(&folder.join("pairs_word5.tsv")).or_else(|| read(&folder.join("pairs_word5.tsv.zst")));
    let pairs = pairs.expect("the exact pairs of a corpus that is there");
    let pairs = pairs
        .lines()
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            let (a, b) = (columns[0].min(columns[1]), columns[0].max(columns[1]));
            ((a.to_owned(), b.to_owned()), columns[2].parse().unwrap())
        })
        .collect();
    let contained = read(&folder.join("containment80_word5.tsv")).unwrap_or_default();
    let contained = contained.lines().map(contained_pair).collect();
    Some(Corpus { documents, pairs, contained })
}

/// A line of two keys, resemblance, containment, two sizes.
fn contained_pair(line: &str) -> Contained {
    let columns: Vec<&str> = line.split('\t').collect();
    let side = |at: usize| (columns[4 + at].parse::<u64>().unwrap(), columns[at].to_owned());
    let (first, second) = (side(0), side(1));
    let (inner, outer) = if first.0 <= second.0 { (first, second) } else { (second, first) };
    Contained { keys: (inner.1, outer.1), inner: inner.0, outer: outer.0 }
}

/// How many misses or errors a share allows in n trials: 99 % of the binomial, and one.
pub fn allowed(share: f64, n: usize) -> usize {
    let mean = share * n as f64;
    (mean + 2.33 * mean.sqrt() + 1.0) as usize
}

fn read(path: &PathBuf) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "zst") {
        zstd::stream::read::Decoder::new(file).ok()?.read_to_string(&mut text).ok()?;
    } else {
        file.read_to_string(&mut text).ok()?;
    }
    Some(text)
}
