//! A file written anew: without what is dead, with other parameters, from lines, with the documents of another.

use super::common::disk::MemoryDisk;
use super::oracle::{Holder, Oracle};
use super::pair::{Leave, Pair};
use sketchdb::{ClusterRule, Database, Document, Error, Merged, Options, Params};
use std::path::Path;
use std::sync::Arc;

/// Bytes of memory for whatever is done: little, so that sorters spill.
const MEMORY: usize = 1 << 20;

impl Oracle {
    /// Nothing that is dead is there any longer; greedy clusters without their top are formed anew.
    pub fn compact(&mut self) {
        self.form_dirty();
        let mut labels = std::mem::take(&mut self.labels);
        let topless = labels.drop_dead(|content| self.is_alive(content));
        self.labels = labels;
        for living in topless {
            assert!(living.is_empty() || self.params.clusters == ClusterRule::Greedy);
            for &member in &living {
                let mut candidates = self.candidates(&self.contents[member].sketch, member).0;
                candidates.retain(|other| living.contains(&other.content));
                self.form(member, &candidates);
            }
        }
        self.note_dropped();
    }

    /// Whether a cluster with living members lost its top.
    fn is_topless(&self) -> bool {
        let mut formed = self.clone();
        formed.form_dirty();
        let mut living = (0..formed.contents.len()).filter(|&content| formed.is_alive(content));
        living.any(|content| !formed.is_alive(formed.labels.of(content)))
    }

    fn note_dropped(&mut self) {
        let all = (self.documents.len() as u64, self.contents.len() as u64);
        self.dropped = (all.0 - self.documents(), all.1 - self.living());
    }

    /// Index and clusters again from the sketches, as if the living contents were added one by one.
    pub fn rebuild(&mut self, params: &Params) {
        let kept = params.keep_sketches;
        self.params = params.clone();
        self.bands = params.bands().unwrap();
        for content in &mut self.contents {
            content.sketch.signature.take_if(|_| !kept.signature);
            content.sketch.simhash.take_if(|_| !kept.simhash);
            content.sketch.edit.take_if(|_| !kept.edit);
        }
        let living: Vec<usize> = (0..self.contents.len()).filter(|&content| self.is_alive(content)).collect();
        self.shared.clear();
        for &content in &living {
            for band in self.bands(&self.contents[content].sketch) {
                self.shared.entry(band).or_default().push(content);
            }
        }
        let mut labels = std::mem::take(&mut self.labels);
        labels.dissolve_all(|content| self.is_alive(content));
        self.labels = labels;
        self.bounded = 0;
        for content in living {
            let (candidates, bounded) = self.candidates(&self.contents[content].sketch, content);
            self.bounded += u64::from(bounded);
            self.form(content, &candidates);
        }
        self.note_dropped();
    }

    /// Takes over the living documents of another, in their order.
    pub fn merge(&mut self, from: &Oracle) -> Merged {
        let mut merged = Merged::default();
        for key in from.keys() {
            let other = from.holder(&key).unwrap();
            let (first_seen, seen_at) = (other.first_seen, other.last_seen);
            let document = Document { key, sketch: from.contents[other.content].sketch.clone(), seen_at };
            let own = self.keys.get(&document.key).copied();
            let same = self.texts.get(&document.sketch.hash.0).copied();
            let stays = own.is_some_and(|own| {
                let Holder { content, last_seen, .. } = self.documents[own];
                let hash = self.contents[content].sketch.hash.0;
                Some(content) == same || (last_seen, hash) > (seen_at, document.sketch.hash.0)
            });
            if let Some(own) = own {
                let earliest = [self.documents[own].first_seen, first_seen].into_iter().flatten().min();
                self.documents[own].first_seen = earliest;
                if stays {
                    self.see(own, seen_at);
                    merged.kept += 1;
                    continue;
                }
            }
            let near = same.is_none().then(|| self.candidates(&document.sketch, usize::MAX));
            let id = self.store(&document, own, same);
            match own {
                Some(_) => merged.updated += 1,
                None => {
                    self.documents[id].first_seen = first_seen;
                    merged.added += 1;
                }
            }
            let content = self.documents[id].content;
            if let Some((candidates, bounded)) = near {
                merged.bounded += u64::from(bounded);
                self.form(content, &candidates);
            }
        }
        self.bounded += merged.bounded;
        merged
    }
}

/// How a file is written anew.
#[derive(Clone, Copy, Debug)]
pub enum Anew {
    /// Onto another medium, by a handle that may write.
    Onto,
    /// Onto another medium, by a handle that may not.
    ReadOnly,
    /// In the place of a file.
    File,
}

impl Pair {
    pub fn compact(&mut self, anew: Anew) {
        self.write_anew(
            anew,
            |db, disk| db.compact_onto(disk, MEMORY, &mut |_, _, _| {}),
            |path| {
                let compacted = Database::compact(path, Options::default(), &mut |_, _, _| {}).unwrap();
                (compacted.documents, compacted.contents)
            },
        );
        self.oracle.compact();
        self.check_anew();
    }

    pub fn rebuild(&mut self, anew: Anew, params: &Params) {
        self.write_anew(
            anew,
            |db, disk| db.rebuild_onto(disk, params, MEMORY, &mut |_, _, _| {}),
            |path| {
                let change = |_, _| Ok(params.clone());
                let rebuilt = Database::rebuild(path, Options::default(), change, &mut |_, _, _| {}).unwrap();
                (rebuilt.documents, rebuilt.contents)
            },
        );
        self.oracle.rebuild(params);
        assert_eq!(self.db().params(), params);
        self.check_anew();
    }

    /// Goes on with a file made of the export.
    pub fn export_and_import(&mut self, anew: Anew) {
        let (lines, topless) = (self.lines(anew), self.oracle.is_topless());
        let disk = Arc::new(MemoryDisk::default());
        let documents = Database::import_onto(
            disk.clone(),
            &mut lines.iter().cloned().map(Ok),
            MEMORY,
            &mut |_, _, _| {},
        );
        assert_eq!(documents.unwrap(), self.oracle.documents());
        self.go_on_with(disk);
        self.oracle.compact();
        self.check_anew();
        // A cluster without its top is formed anew.
        assert!(topless || self.lines(Anew::Onto) == lines, "an export of what was imported says the same");
    }

    pub fn merge(&mut self, other: &Pair) {
        let expected = self.oracle.merge(&other.oracle);
        assert_eq!(self.db().merge(other.db(), &mut |_, _, _| {}).unwrap(), expected);
    }

    /// Merges the export of another into the file.
    pub fn import(&mut self, other: &mut Pair) {
        let (lines, expected) = (other.lines(Anew::Onto), self.oracle.merge(&other.oracle));
        let merged = self.in_a_file(|path| {
            let lines = &mut lines.into_iter().map(Ok);
            Database::import(path, lines, Options::default(), &mut |_, _, _| {}).unwrap()
        });
        assert_eq!(merged, expected);
    }

    pub fn verify(&self) {
        let verified = self.db().verify(true).unwrap();
        assert_eq!((verified.damage, verified.damaged), (Vec::new(), 0));
        let counted = (verified.documents, verified.contents);
        assert_eq!(counted, (self.oracle.documents(), self.oracle.living()));
    }

    fn lines(&mut self, anew: Anew) -> Vec<String> {
        let mut lines = Vec::new();
        self.as_told(anew, |db| {
            let write = |line: &str| -> Result<(), Error> {
                lines.push(line.to_owned());
                Ok(())
            };
            db.export(&mut |_, _, _| {}, write).unwrap();
        });
        lines
    }

    /// Works with the handle, or with one that may not write.
    fn as_told(&mut self, anew: Anew, work: impl FnOnce(&Database)) {
        if !matches!(anew, Anew::ReadOnly) {
            return work(self.db());
        }
        self.db.take().unwrap().close().unwrap();
        let options = Options { read_only: true, ..Options::default() };
        work(&Database::open_on(self.disk.clone(), options).unwrap());
        self.go_on_with(self.disk.clone());
    }

    fn write_anew(
        &mut self,
        anew: Anew,
        onto: impl FnOnce(&Database, Arc<MemoryDisk>) -> Result<(), Error>,
        at: impl FnOnce(&Path) -> (u64, u64),
    ) {
        if let Anew::File = anew {
            let living = (self.oracle.documents(), self.oracle.living());
            return assert_eq!(self.in_a_file(at), living);
        }
        let disk = Arc::new(MemoryDisk::default());
        self.as_told(anew, |db| onto(db, disk.clone()).unwrap());
        self.go_on_with(disk);
    }

    fn in_a_file<T>(&mut self, work: impl FnOnce(&Path) -> T) -> T {
        self.db.take().unwrap().close().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("life.sketchdb");
        std::fs::write(&path, self.disk.bytes()).unwrap();
        let told = work(&path);
        self.go_on_with(MemoryDisk::of(std::fs::read(&path).unwrap()));
        told
    }

    fn go_on_with(&mut self, disk: Arc<MemoryDisk>) {
        self.db = None;
        self.disk = disk;
        self.db = Some(Database::open_on(self.disk.clone(), Options::default()).unwrap());
    }

    /// A file that was just written is one run without anything dead, and says all that it said.
    fn check_anew(&mut self) {
        let stats = self.db().stats().unwrap();
        assert_eq!((stats.runs, stats.memtable_entries), (1, 0));
        assert_eq!((stats.removed_documents, stats.dead_contents), (0, 0));
        self.counts();
        self.verify();
        self.get_every();
        self.clusters(0);
        self.reopen(Leave::Close);
    }
}
