//! Work by count: a document of a giant cluster costs no more than one of a small cluster.

mod common;

use common::disk::MemoryDisk;
use common::texts::{Draw, text};
use sketchdb::{Database, Disk, Document, Options, PairOptions, Params, Policy, SketchParams};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const DOCUMENTS: usize = 20_000;

/// A disk that counts what passes.
#[derive(Debug, Default)]
struct CountingDisk {
    disk: MemoryDisk,
    written: AtomicU64,
}

impl Disk for CountingDisk {
    fn len(&self) -> io::Result<u64> {
        self.disk.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.disk.write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }
}

/// What a document costs.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Bytes written while adding.
    written: f64,
    /// Bytes written while every hundredth document goes and its cluster is formed anew.
    forming: f64,
    /// Pairs that are verified to list all.
    candidates: f64,
    clusters: u64,
}

/// Documents in groups of one template each.
fn cost(group: usize) -> Cost {
    let disk = Arc::new(CountingDisk::default());
    let sketch = SketchParams { minhashes: 64, sample: 64, ..SketchParams::default() };
    let params = Params { sketch, containment: false, ..Params::default() };
    Database::create_on(disk.clone(), &params).unwrap();
    let db = Database::open_on(disk.clone(), Options::default()).unwrap();
    let (mut draw, mut template) = (Draw::new(7), String::new());
    let mut documents = Vec::with_capacity(DOCUMENTS);
    for number in 0..DOCUMENTS {
        if number % group == 0 {
            template = text(&mut draw, 60);
        }
        let sketch = db.sketch(format!("{template} {number}")).unwrap();
        documents.push(Document { key: format!("key/{number}"), sketch, seen_at: None });
    }
    let written = || disk.written.load(Ordering::Relaxed);
    let a_document = |before: u64| (written() - before) as f64 / DOCUMENTS as f64;
    let before = written();
    for some in documents.chunks(1000) {
        db.add_batch(some.to_vec(), Policy::Everything).unwrap();
    }
    let added = a_document(before);
    let listed = db.pairs(&PairOptions::default(), |_| ControlFlow::<()>::Continue(())).unwrap().0;
    let before = written();
    let gone: Vec<String> = (0..DOCUMENTS).step_by(100).map(|number| format!("key/{number}")).collect();
    db.remove(&gone).unwrap();
    let clusters = db.stats().unwrap().clusters;
    db.clusters(Default::default()).unwrap();
    Cost {
        written: added,
        forming: a_document(before),
        candidates: listed.candidates as f64 / DOCUMENTS as f64,
        clusters,
    }
}

#[test]
fn a_document_of_a_giant_cluster_costs_no_more() {
    let (giant, small) = (cost(DOCUMENTS), cost(5));
    eprintln!("giant {giant:?}, small {small:?}");
    assert_eq!((giant.clusters, small.clusters), (1, DOCUMENTS as u64 / 5));
    assert!(giant.written <= 1.1 * small.written, "{giant:?}, {small:?}");
    assert!(giant.forming <= 1.1 * small.forming, "{giant:?}, {small:?}");
    // With a hot band every content is paired with its 16 lowest; bands may differ a little in which those are.
    assert!(giant.candidates <= 128.0, "{giant:?}");
}
