//! The names of stored things: 64-bit numbers, given out in ascending order, never reused.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A document: a key that holds a content. It survives updates of its text.
    DocId
}

id! {
    /// A content: one distinct text, immutable, indexed once however many documents hold it.
    ContentId
}

id! {
    /// A cluster: the number of the content at its top, the oldest one that was put into it.
    ClusterId
}

/// 128 bits of the BLAKE3 hash of a decoded text: equal hashes mean the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContentHash(pub [u8; 16]);

/// 64 random bits drawn when a database is created; its frames carry them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DatabaseId(pub u64);
