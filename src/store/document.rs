//! A document as a file has it: its record, with what changed since.

use super::record::{Amendment, DocumentRecord};
use crate::id::ContentId;

/// A document in its newest state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredDocument {
    pub key: String,
    pub content: ContentId,
    pub first_seen: Option<u64>,
    pub last_seen: Option<u64>,
    /// Whether it had another text when its record was written.
    pub changed: bool,
}

impl StoredDocument {
    /// Whether its text is the one that it had then, for all that is known.
    pub fn has_text_of(&self, then: Option<u64>) -> bool {
        !self.changed || then.is_none_or(|then| self.last_seen.is_some_and(|last| then >= last))
    }

    /// A document as its record tells.
    pub fn recorded(record: DocumentRecord) -> Self {
        StoredDocument {
            key: record.key.to_owned(),
            content: ContentId(record.content),
            first_seen: record.first_seen,
            last_seen: record.last_seen.or(record.first_seen),
            changed: false,
        }
    }

    /// The record of this state.
    pub fn record(&self) -> DocumentRecord<'_> {
        DocumentRecord::new(&self.key, self.content.0, self.first_seen, self.last_seen)
    }

    /// The document with what changed since.
    pub fn amended(self, amendment: &Amendment) -> Self {
        let content = ContentId(amendment.content);
        let changed = content != self.content;
        StoredDocument { content, last_seen: amendment.last_seen, changed, ..self }
    }
}
