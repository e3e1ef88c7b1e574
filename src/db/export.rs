//! `export`: everything that lives in a database as JSON lines, complete and lossless: the way to other systems and versions.
//!
//! First the parameters, then each content with its sketches (hexadecimal digits of the stored forms), then each document,
//! then what stands for clusters, and a last line that says how many there were, with a checksum. `schema/format.md`, "Export".

use super::clustering;
use super::copy::Progress;
use super::database::Database;
use super::params::Params;
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::{ClusterId, ContentId};
use crate::sketch::portable::hex;
use crate::store::record::{Changed, ContentRecord, Times};
use crate::store::view::View;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The version of the lines.
pub(super) const VERSION: u32 = 3;

/// A line of an export.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Line {
    Sketchdb(Header),
    Content(Content),
    Document(DocumentLine),
    Cluster(ClusterLine),
    End(End),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub export: u32,
    pub params: serde_json::Value,
    /// What the build made of a known text.
    pub known_answer: String,
    /// The numbers that the database goes on counting from.
    pub next_document: u64,
    pub next_content: u64,
    /// Searches that were bounded, which the clusters may depend on.
    pub bounded: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    pub id: u64,
    pub cluster: u64,
    /// The first document that holds it.
    pub document: u64,
    pub hash: String,
    pub bytes: u64,
    #[serde(deserialize_with = "given")]
    pub sample: Option<String>,
    #[serde(deserialize_with = "given")]
    pub signature: Option<String>,
    #[serde(deserialize_with = "given")]
    pub simhash: Option<String>,
    #[serde(deserialize_with = "given")]
    pub edit: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentLine {
    pub id: u64,
    pub key: String,
    pub content: u64,
    #[serde(deserialize_with = "given")]
    pub first_seen: Option<u64>,
    #[serde(deserialize_with = "given")]
    pub last_seen: Option<u64>,
    /// Absent when the document never held another text.
    #[serde(deserialize_with = "given")]
    pub changed: Option<ChangedLine>,
}

/// When a document came to hold its text in place of another.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum ChangedLine {
    At(u64),
    Unknown(Unknown),
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Unknown {
    Unknown,
}

impl From<Changed> for Option<ChangedLine> {
    fn from(changed: Changed) -> Self {
        match changed {
            Changed::Never => None,
            Changed::At(time) => Some(ChangedLine::At(time)),
            Changed::Unknown => Some(ChangedLine::Unknown(Unknown::Unknown)),
        }
    }
}

impl DocumentLine {
    pub fn times(&self) -> Times {
        let changed = match self.changed {
            None => Changed::Never,
            Some(ChangedLine::At(time)) => Changed::At(time),
            Some(ChangedLine::Unknown(_)) => Changed::Unknown,
        };
        Times { first_seen: self.first_seen, last_seen: self.last_seen, changed }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClusterLine {
    pub id: u64,
    pub members: u64,
    pub representative: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    pub contents: u64,
    pub documents: u64,
    /// The checksum of all lines before.
    pub blake3: String,
}

/// Reads a value that may be null and not be missing.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    reader: D,
) -> std::result::Result<Option<T>, D::Error> {
    Option::deserialize(reader)
}

/// The checksum of lines, each with a line feed behind it.
#[derive(Default)]
pub(super) struct Digest(blake3::Hasher);

impl Digest {
    pub fn take(&mut self, line: &str) {
        self.0.update(line.as_bytes()).update(b"\n");
    }

    pub fn digits(&self) -> String {
        hex(&self.0.finalize().as_bytes()[..16])
    }
}

impl Database {
    /// Hands `write` every line, without its end, until it fails.
    pub fn export<E: From<Error>>(
        &self,
        progress: Progress,
        mut write: impl FnMut(&str) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if !self.is_read_only() {
            self.form_dirty()?;
        }
        let view = self.view();
        let mut failed = None;
        let mut digest = Digest::default();
        let mut line = |mut line: Line| {
            if let Line::End(end) = &mut line {
                end.blake3 = digest.digits();
            }
            let text = serde_json::to_string(&line).map_err(|error| Error::Failed(error.to_string()))?;
            digest.take(&text);
            write(&text).map_err(|error| {
                failed = Some(error);
                Error::Failed("to write".into())
            })
        };
        let exported = self.export_lines(&view, progress, &mut line);
        match (failed, exported) {
            (Some(error), _) => Err(error),
            (None, exported) => exported.map_err(E::from),
        }
    }

    fn export_lines(
        &self,
        view: &View,
        progress: Progress,
        line: &mut dyn FnMut(Line) -> Result<()>,
    ) -> Result<()> {
        let mut end = End::default();
        let parts = self.parts(view)?;
        line(Line::Sketchdb(header(self.params(), view)?))?;
        view.contents_from(0, |id, record| {
            if !view.is_alive(ContentId(id)) {
                return Ok(());
            }
            end.contents += 1;
            if end.contents % 4096 == 0 {
                progress("export contents", end.contents, view.counters.contents);
            }
            line(content_line(view, &parts, id, &record)?)
        })?;
        view.living_documents(0, |id, document| {
            end.documents += 1;
            let (key, content) = (document.key, document.content.0);
            let Times { first_seen, last_seen, changed } = document.times;
            let changed = changed.into();
            line(Line::Document(DocumentLine { id: id.0, key, content, first_seen, last_seen, changed }))?;
            Ok(true)
        })?;
        let counters = &view.counters;
        if (end.contents, end.documents) != (counters.contents, counters.documents) {
            return Err(Error::corrupt("meta row counters", "they count others than there are"));
        }
        view.clusters.each(|cluster, members| {
            // A cluster without its top is formed anew, and what is alone stands for itself.
            let living = members - &*view.marks.dead;
            if living.len() < 2 || !living.contains(cluster.0) {
                return Ok(());
            }
            let Some(representative) = clustering::representative(&view.clusters, cluster)? else {
                return Ok(());
            };
            let (id, members) = (cluster.0, representative.members);
            line(Line::Cluster(ClusterLine {
                id,
                members,
                representative: hex(&representative.sample.encode()),
            }))
        })?;
        line(Line::End(end))
    }
}

fn content_line(
    view: &View,
    parts: &BTreeMap<u64, ClusterId>,
    id: u64,
    record: &ContentRecord,
) -> Result<Line> {
    let holders = view.holders(ContentId(id), crate::id::DocId(record.founder))?;
    Ok(Line::Content(Content {
        id,
        cluster: parts.get(&id).map_or_else(|| view.cluster(ContentId(id)), |part| Ok(*part))?.0,
        document: holders.min().unwrap_or(record.founder),
        hash: hex(&record.hash),
        bytes: record.bytes,
        sample: record.sample.map(hex),
        signature: record.signature.map(hex),
        simhash: record.simhash.map(|simhash| format!("{simhash:016x}")),
        edit: record.edit.map(hex),
    }))
}

fn header(params: &Params, view: &View) -> Result<Header> {
    Ok(Header {
        export: VERSION,
        params: params.to_json(),
        known_answer: hex(&params.known_answer()?),
        next_document: view.counters.next_document,
        next_content: view.counters.next_content,
        bounded: view.counters.bounded,
    })
}
