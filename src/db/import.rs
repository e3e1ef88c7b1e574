//! `import`: a database from the lines of an export.

use super::clustering::Representative;
use super::copy::{Postings, Progress, complete, post_content, write_anew};
use super::database::{Database, Options, check_known_answer, new_id};
use super::export::{ClusterLine, Content, Digest, DocumentLine, End, Header, Line, VERSION};
use super::merge::Merged;
use super::params::Params;
use crate::error::{Error, Result};
use crate::id::{ClusterId, ContentId};
use crate::index::indexing::Indexing;
use crate::index::term::Term;
use crate::sketch::portable::{bytes, number};
use crate::sketch::{EditSignature, Sample};
use crate::store::beside;
use crate::store::build::Builder;
use crate::store::disk::{Disk, FileDisk};
use crate::store::postings::IdSet;
use crate::store::record::{ContentRecord, Counters, DocumentRecord, END_OF_IDS};
use crate::store::sort::Sorter;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Lines, as they are read.
type Lines<'l> = &'l mut dyn Iterator<Item = std::io::Result<String>>;

impl Database {
    /// Makes a database of an export, numbers and all; when there is one at the path, merges the export into it. An export
    /// that is not whole is refused, and nothing is changed.
    pub fn import(
        path: impl AsRef<Path>,
        lines: &mut dyn Iterator<Item = std::io::Result<String>>,
        options: Options,
        progress: Progress,
    ) -> Result<Merged> {
        let (path, cancel) = (path.as_ref(), &options.cancel);
        let lines = &mut lines.map(|line| {
            cancel.check().map_err(std::io::Error::other)?;
            line
        });
        if !path.exists() {
            let mut merged = Merged::default();
            let created = beside::create(path, |disk| {
                merged.added = Self::import_onto(cancel.over(disk), lines, options.memory, progress)?;
                Ok(())
            });
            return cancel.outcome(created).map(|()| merged);
        }
        let db = Database::open(path, Options { read_only: false, ..options.clone() })?;
        let imported = cancel.over(FileDisk::temporary()?);
        cancel.outcome(Self::import_onto(imported.clone(), lines, options.memory, progress))?;
        let other = Database::open_on(imported, Options { read_only: true, ..options.clone() });
        let merged = cancel.outcome(other.and_then(|other| db.merge(&other, progress)))?;
        db.close()?;
        Ok(merged)
    }

    /// Makes a database of an export on an empty medium: how many documents it has.
    pub fn import_onto(disk: Arc<dyn Disk>, lines: Lines, memory: usize, progress: Progress) -> Result<u64> {
        let mut numbered = lines.enumerate();
        let first = numbered.next().map(|(_, line)| line).transpose().map_err(|error| reading(0, error))?;
        let header = match first.as_deref().map(serde_json::from_str) {
            Some(Ok(Line::Sketchdb(header))) if header.export == VERSION => header,
            Some(Ok(Line::Sketchdb(Header { export, .. }))) => {
                let what = format!("it is of version {export}, and {VERSION} is read: export it again");
                return Err(wrong(0, what));
            }
            _ => return Err(wrong(0, "it is not the first line of an export")),
        };
        if header.next_document.max(header.next_content) >= END_OF_IDS || header.bounded >> 56 != 0 {
            return Err(wrong(0, "its numbers are beyond what a file can hold"));
        }
        let params =
            Params::from_json(header.params.to_string().as_bytes()).map_err(|error| match error {
                Error::Corrupt { what, .. } => wrong(0, what),
                other => other,
            })?;
        check_known_answer(&params, &bytes(&header.known_answer)?)?;
        let mut importing = Importing::new(&params, memory)?;
        importing.digest.take(first.as_deref().unwrap_or_default());
        let before = Counters {
            next_document: header.next_document,
            next_content: header.next_content,
            bounded: header.bounded,
            ..Counters::default()
        };
        write_anew(&disk, &params, new_id()?, &before, memory, |builder| {
            for (number, line) in numbered {
                let line = line.map_err(|error| reading(number, error))?;
                importing.take(number, &line, &header, builder)?;
                if number % 8192 == 0 {
                    progress("import", number as u64, 0);
                }
            }
            importing.finish(builder)
        })?;
        let copy = Database::open_on(disk.clone(), Options { memory, ..Options::default() })?;
        importing.clusters(&copy)?;
        complete(copy, &disk, memory, progress)?;
        Ok(importing.seen.documents)
    }
}

/// Why a line could not be read: it is no text or was cut off while compressed, or the system failed.
fn reading(line: usize, error: std::io::Error) -> Error {
    use std::io::ErrorKind::{InvalidData, InvalidInput, IsADirectory, UnexpectedEof};
    match error.kind() {
        InvalidData | InvalidInput | IsADirectory | UnexpectedEof => wrong(line, error),
        _ => Error::io("read the export", error),
    }
}

fn wrong(line: usize, what: impl ToString) -> Error {
    Error::invalid(format!("line {} of the export", line + 1), what.to_string())
}

struct Importing<'p> {
    params: &'p Params,
    indexing: Indexing,
    contents: IdSet,
    /// The last content, document and cluster.
    last: [Option<u64>; 3],
    seen: End,
    end: Option<End>,
    digest: Digest,
    /// Contents and their documents; clusters and their contents.
    held: Option<Sorter<2>>,
    clustered: Option<Sorter<2>>,
    postings: Option<Sorter<2>>,
    /// What must be given once: the hash of every key, and that of every text.
    keys: Option<Sorter<3>>,
    hashes: Option<Sorter<3>>,
    /// Contents and the documents that they name.
    founders: Option<Sorter<2>>,
    representatives: BTreeMap<ClusterId, Representative>,
}

impl<'p> Importing<'p> {
    fn new(params: &'p Params, memory: usize) -> Result<Self> {
        let sorter = || Some(Sorter::new(memory / 16));
        Ok(Importing {
            params,
            indexing: params.indexing()?,
            contents: IdSet::new(),
            last: [None; 3],
            seen: End::default(),
            end: None,
            digest: Digest::default(),
            held: sorter(),
            clustered: sorter(),
            postings: Some(Sorter::new(memory / 4)),
            keys: Some(Sorter::new(memory / 16)),
            hashes: Some(Sorter::new(memory / 16)),
            founders: sorter(),
            representatives: BTreeMap::new(),
        })
    }

    fn take(&mut self, number: usize, text: &str, header: &Header, builder: &mut Builder) -> Result<()> {
        if text.trim().is_empty() {
            return Ok(());
        }
        let line: Line = serde_json::from_str(text).map_err(|error| wrong(number, error))?;
        if !matches!(line, Line::End(_)) {
            self.digest.take(text);
        }
        let taken = match line {
            _ if self.end.is_some() => Err(Error::invalid("it", "nothing may follow the end")),
            Line::Sketchdb(_) => Err(Error::invalid("it", "parameters stand on the first line only")),
            Line::Content(content) => self.content(content, header, builder),
            Line::Document(document) => self.document(document, header, builder),
            Line::Cluster(cluster) => self.cluster(cluster, header),
            Line::End(end) => {
                self.end = Some(end);
                Ok(())
            }
        };
        taken.map_err(|error| match error {
            Error::Invalid { .. } | Error::Corrupt { .. } => wrong(number, error),
            // Not the line's fault: the disk is full, for example.
            other => other,
        })
    }

    /// Numbers of a kind must ascend and be below those that the header says come next.
    fn ascend(&mut self, kind: usize, id: u64, end: u64) -> Result<()> {
        match self.last[kind].replace(id) {
            Some(last) if last >= id => Err(Error::invalid(format!("number {id}"), "it does not ascend")),
            _ if id >= end => {
                Err(Error::invalid(format!("number {id}"), "the header says that it was never given"))
            }
            _ => Ok(()),
        }
    }

    fn content(&mut self, content: Content, header: &Header, builder: &mut Builder) -> Result<()> {
        self.ascend(0, content.id, header.next_content)?;
        let digits = |digits: &Option<String>| digits.as_deref().map(bytes).transpose();
        let (sample, signature, edit) =
            (digits(&content.sample)?, digits(&content.signature)?, digits(&content.edit)?);
        let hash = bytes(&content.hash)?.try_into();
        let hash: [u8; 16] = hash.map_err(|_| Error::invalid("its hash", "it is not of 16 bytes"))?;
        let simhash = content.simhash.as_deref().map(number).transpose()?;
        self.check_sketches(sample.as_deref(), signature.as_deref(), edit.as_deref())?;
        let record = ContentRecord {
            hash,
            founder: content.document,
            bytes: content.bytes,
            sample: sample.as_deref(),
            signature: signature.as_deref(),
            simhash,
            edit: edit.as_deref(),
        };
        self.seen.contents += 1;
        self.contents.insert(content.id);
        push(&mut self.founders, [content.id, content.document])?;
        let half = |at: usize| u64::from_le_bytes(hash[at..at + 8].try_into().expect("eight bytes"));
        push(&mut self.hashes, [half(0), half(8), content.id])?;
        if content.cluster > content.id {
            return Err(Error::invalid("a content", "its cluster has a number above its own"));
        }
        if content.cluster != content.id {
            push(&mut self.clustered, [content.cluster, content.id])?;
        }
        self.put(ContentId(content.id), &record, builder)
    }

    fn put(&mut self, id: ContentId, record: &ContentRecord, builder: &mut Builder) -> Result<()> {
        builder.content(id, record)?;
        let postings = &mut self.postings;
        post_content(&self.indexing, record, |address| push(postings, [address.bits(), id.0]))
    }

    fn check_sketches(
        &self,
        sample: Option<&[u8]>,
        signature: Option<&[u8]>,
        edit: Option<&[u8]>,
    ) -> Result<()> {
        let sample = sample.map(Sample::decode).transpose()?;
        edit.map(EditSignature::decode).transpose()?;
        let sketch = &self.params.sketch;
        if sample.is_some_and(|sample| sample.values().len() > sketch.sample)
            || signature.is_some_and(|signature| signature.len() != 2 * sketch.minhashes)
        {
            return Err(Error::invalid("its sketches", "they are not as large as the parameters say"));
        }
        Ok(())
    }

    fn document(&mut self, document: DocumentLine, header: &Header, builder: &mut Builder) -> Result<()> {
        self.ascend(1, document.id, header.next_document)?;
        super::add::check_key(&document.key)?;
        if !self.contents.contains(document.content) {
            return Err(Error::invalid("a document", "its content does not stand before it"));
        }
        self.seen.documents += 1;
        push(&mut self.held, [document.content, document.id])?;
        let [high, low] = Term::wide_of_key(&document.key);
        push(&mut self.keys, [high, low, document.id])?;
        push(&mut self.postings, [Indexing::key(&document.key).bits(), document.id])?;
        let record =
            DocumentRecord { key: &document.key, content: document.content, times: document.times() };
        builder.document(document.id, &record)
    }

    fn cluster(&mut self, cluster: ClusterLine, header: &Header) -> Result<()> {
        self.ascend(2, cluster.id, header.next_content)?;
        let sample = bytes(&cluster.representative)?;
        self.check_sketches(Some(&sample), None, None)?;
        let sample = Sample::decode(&sample)?;
        let representative = Representative { members: cluster.members, sample };
        self.representatives.insert(ClusterId(cluster.id), representative);
        Ok(())
    }

    /// Checks that everything came, and once, and hands over the holders of each content.
    fn finish(&mut self, builder: &mut Builder) -> Result<Postings<'static>> {
        let refuse = |what: &str| Err(Error::invalid("the export", what));
        let Some(end) = self.end.take() else { return refuse("it is cut off: its last line is missing") };
        let same = End { blake3: end.blake3.clone(), ..self.seen.clone() } == end;
        if !same {
            return refuse("it is cut off, or lines are missing: its last line counts others");
        }
        if end.blake3 != self.digest.digits() {
            return refuse("it is not what was exported: its checksum does not hold");
        }
        if twice(self.keys.take())? || twice(self.hashes.take())? {
            return refuse("it has a key or a text twice");
        }
        let mut open: Option<(u64, IdSet)> = None;
        let mut founders = sorted(self.founders.take())?;
        for pair in sorted(self.held.take())? {
            let [content, document] = pair?;
            if let Some((done, holders)) = open.take_if(|open| open.0 != content) {
                builder.hold(ContentId(done), holders)?;
            }
            if open.is_none() && founders.next().transpose()? != Some([content, document]) {
                return refuse("a content is held by nobody, or does not name its first document");
            }
            open.get_or_insert_with(|| (content, IdSet::new())).1.insert(document);
        }
        if let Some((done, holders)) = open {
            builder.hold(ContentId(done), holders)?;
        }
        match founders.next().transpose()? {
            None => Ok(Postings::Sorted(self.postings.take().unwrap_or_else(|| Sorter::new(0)))),
            Some(_) => refuse("it has a content that no document holds"),
        }
    }

    /// Puts the clusters into the new database.
    fn clusters(&mut self, copy: &Database) -> Result<()> {
        let mut clusters: Vec<(ClusterId, IdSet)> = Vec::new();
        let mut weight = 0;
        for pair in sorted(self.clustered.take())? {
            let [cluster, content] = pair?;
            if clusters.last().is_none_or(|last| last.0.0 != cluster) {
                if weight > 4096 {
                    weight = 0;
                    self.adopt(copy, std::mem::take(&mut clusters))?;
                }
                let top = self.contents.contains(cluster).then_some(cluster);
                clusters.push((ClusterId(cluster), top.into_iter().collect()));
            }
            if let Some((_, members)) = clusters.last_mut() {
                members.insert(content);
                weight += 1;
            }
        }
        self.adopt(copy, clusters)
    }

    fn adopt(&mut self, copy: &Database, clusters: Vec<(ClusterId, IdSet)>) -> Result<()> {
        let mut adopted = Vec::with_capacity(clusters.len());
        for (id, members) in clusters {
            let representative = self.representatives.remove(&id);
            adopted.push((id, members, representative));
        }
        copy.adopt_clusters(adopted)
    }
}

fn push<const N: usize>(sorter: &mut Option<Sorter<N>>, record: [u64; N]) -> Result<()> {
    sorter.as_mut().map_or(Ok(()), |sorter| sorter.push(record))
}

fn sorted<const N: usize>(sorter: Option<Sorter<N>>) -> Result<crate::store::sort::Sorted<N>> {
    sorter.unwrap_or_else(|| Sorter::new(0)).finish()
}

/// Whether two records begin with the same two numbers.
fn twice(sorter: Option<Sorter<3>>) -> Result<bool> {
    let mut last: Option<[u64; 3]> = None;
    for record in sorted(sorter)? {
        let record = record?;
        if last.replace(record).is_some_and(|last| last[..2] == record[..2]) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::ClusterRule;
    use crate::db::params::RepresentativeRule;

    fn import(lines: &[String]) -> Result<u64> {
        let mut lines = lines.iter().cloned().map(Ok);
        Database::import_onto(Arc::new(FileDisk::temporary()?), &mut lines, 8 << 20, &mut |_, _, _| ())
    }

    #[test]
    fn clusters_that_cannot_be_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let (clusters, representative) = (ClusterRule::Greedy, RepresentativeRule::Popular);
        Database::create(&path, &Params { clusters, representative, ..Params::default() }).unwrap();
        let db = Database::open(&path, Options::default()).unwrap();
        let text: String = (0..100).map(|i| format!("word{i} ")).collect();
        db.add("a", &text).unwrap();
        db.add("b", text.clone() + "more").unwrap();
        let mut lines = Vec::new();
        db.export::<Error>(&mut |_, _, _| (), |line| {
            lines.push(line.to_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(import(&lines).unwrap(), 2);
        let cluster = lines.len() - 2;
        let changed = |at: usize, from: &str, to: &str| {
            let mut lines = lines.clone();
            assert!(lines[at].contains(from), "{}", lines[at]);
            lines[at] = lines[at].replacen(from, to, 1);
            import(&lines).unwrap_err().to_string()
        };
        assert!(changed(1, "\"cluster\":0", "\"cluster\":1").contains("line 2 "));
        assert!(changed(cluster, "\"id\":0", "\"id\":2").contains("never given"));
        let mut twice = lines.clone();
        twice.insert(cluster, lines[cluster].clone());
        assert!(import(&twice).unwrap_err().to_string().contains("does not ascend"));
    }
}
