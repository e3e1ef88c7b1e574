//! A small database with something of everything: runs, a memtable, copies, near duplicates, clusters, removals,
//! updates.

use crate::MemoryDisk;
use sketchdb::{Database, Document, Options, Params, Policy, SketchParams};

/// The most bytes that a disk of the fuzzers takes.
pub const MOST: usize = 64 << 20;

/// Small caches, and runs of a few contents.
pub fn options(read_only: bool) -> Options {
    Options { memory: 1 << 20, read_only, flush_contents: 8, ..Options::default() }
}

/// The parameters of the database: small samples, so that it has few pages.
pub fn params() -> Params {
    Params {
        // Of this seed the first polynomial that is drawn will do: whoever opens a file draws it anew.
        sketch: SketchParams { sample: 32, seed: 27, ..SketchParams::default() },
        ..Params::default()
    }
}

/// A text; those with like numbers are alike.
pub fn text(number: usize) -> String {
    let (family, variant) = (number / 4, number % 4);
    let words = 20 + 13 * (family % 4);
    let word = |at: usize| match at == 7 * variant {
        true => format!("other{variant} "),
        false => format!(
            "{}{} ",
            ["ba", "do", "fi", "gu", "漢字"][(at * at + family) % 5],
            (at * 31 + family * 17) % 211
        ),
    };
    (0..words).map(word).collect()
}

/// The keys that are in it, those that were removed among them.
pub fn keys() -> impl Iterator<Item = String> {
    (0..30).map(|number| format!("key {number}"))
}

/// A document, and when it was seen.
pub fn document(db: &Database, key: String, text: &str, seen_at: u64) -> Document {
    Document { key, sketch: db.sketch(text).unwrap(), seen_at: Some(seen_at) }
}

/// The bytes of the database, closed.
pub fn bytes() -> Vec<u8> {
    let disk = MemoryDisk::of(Vec::new(), MOST);
    Database::create_on(disk.clone(), &params()).unwrap();
    let db = Database::open_on(disk.clone(), options(false)).unwrap();
    for (number, key) in keys().enumerate() {
        // Every fifth text is one that came before.
        let text = text(if number % 5 == 4 { number / 2 } else { number });
        let document = document(&db, key, &text, 1000 + number as u64);
        db.add_batch(vec![document], Policy::Everything).unwrap();
    }
    let update = document(&db, "key 3".into(), &text(50), 2000);
    db.add_batch(vec![update], Policy::Everything).unwrap();
    db.remove(["key 5", "key 9", "key 20", "key 29"]).unwrap();
    db.close().unwrap();
    disk.bytes()
}
