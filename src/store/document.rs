//! A document as a file has it: its record, with what changed since.

use super::record::{Amendment, Changed, DocumentRecord, Times};
use crate::id::ContentId;

/// A document in its newest state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredDocument {
    pub key: String,
    pub content: ContentId,
    pub times: Times,
}

impl StoredDocument {
    /// A document as its record tells.
    pub fn recorded(record: DocumentRecord) -> Self {
        StoredDocument { key: record.key.to_owned(), content: ContentId(record.content), times: record.times }
    }

    /// The record of this state.
    pub fn record(&self) -> DocumentRecord<'_> {
        DocumentRecord { key: &self.key, content: self.content.0, times: self.times }
    }

    /// The document with what changed since.
    pub fn amended(self, amendment: &Amendment) -> Self {
        StoredDocument { content: ContentId(amendment.content), times: amendment.times, ..self }
    }
}

impl Times {
    /// Seen once, at this time.
    pub fn at(time: Option<u64>) -> Self {
        Times { first_seen: time, last_seen: time, changed: Changed::Never }
    }

    /// Seen again with the same text. The last time never goes back.
    pub fn seen(self, time: Option<u64>) -> Self {
        Times { last_seen: self.last_seen.max(time), ..self }
    }

    /// Seen with another text, which it holds from then on. When it was seen later with the text before, nobody knows when
    /// that changed.
    pub fn updated(self, time: Option<u64>) -> Self {
        let changed = time.filter(|_| time >= self.last_seen).map_or(Changed::Unknown, Changed::At);
        Times { changed, ..self.seen(time) }
    }

    /// Whether the text is the one that the document had then, for all that is known.
    pub fn has_text_of(self, then: Option<u64>) -> bool {
        then.is_none_or(|then| match self.changed {
            Changed::Never => true,
            Changed::At(changed) => then >= changed,
            Changed::Unknown => false,
        })
    }

    /// What two databases know of a key that has the same text in both.
    pub fn with_same_text(self, other: Times) -> Self {
        let first_seen = [self.first_seen, other.first_seen].into_iter().flatten().min();
        let last_seen = self.last_seen.max(other.last_seen);
        Times { first_seen, last_seen, changed: self.changed.max(other.changed) }
    }

    /// What two databases know of a key whose text in this one stays, and that of the other goes.
    pub fn in_place_of(self, other: Times) -> Self {
        let changed = other.last_seen.map_or(Changed::Unknown, |last| Changed::At(last.saturating_add(1)));
        self.with_same_text(Times { changed: other.changed.max(changed), ..other })
    }
}
