//! Contents and documents as bytes: what most records lack takes a bit, and ids are counted from the record's own.
//!
//! A content and the document that brought it mostly have almost the same number, so that the difference takes one byte where
//! the number takes five. Bytes: `schema/format.md`, "Records".

use super::record::{Changed, ContentRecord, DocumentRecord, Times, piece, piece_if, put};
use crate::error::{Error, Result};

const SIMHASH: u8 = 1;
const SAMPLE: u8 = 2;
const SIGNATURE: u8 = 4;
const EDIT: u8 = 8;

/// Bytes of a content hash.
const HASH: usize = 16;

const FIRST_SEEN: u8 = 1;
/// The last time is left out where it is the first.
const LAST_SEEN: u8 = 2;
const CHANGED: u8 = 4;
const CHANGED_UNKNOWN: u8 = 8;

/// The bit of a part when it is there.
fn flag<T>(bit: u8, part: Option<T>) -> u8 {
    if part.is_some() { bit } else { 0 }
}

fn number(own: u64, difference: i64) -> u64 {
    own.wrapping_add_signed(difference)
}

fn difference(own: u64, number: u64) -> i64 {
    number.wrapping_sub(own) as i64
}

impl<'a> ContentRecord<'a> {
    const WHAT: &'static str = "content record";

    /// The stored form of the record of content `id`.
    pub fn encode(&self, id: u64) -> Vec<u8> {
        let ContentRecord { hash, founder, bytes, sample, signature, simhash, edit } = self;
        let flags =
            flag(SIMHASH, *simhash) | flag(SAMPLE, *sample) | flag(SIGNATURE, *signature) | flag(EDIT, *edit);
        let mut out = Vec::with_capacity(64);
        put(&mut out, (flags, hash));
        simhash.iter().for_each(|simhash| put(&mut out, simhash.to_le_bytes()));
        put(&mut out, (difference(id, *founder), bytes));
        [*sample, *signature, *edit].iter().flatten().for_each(|sketch| put(&mut out, sketch));
        out
    }

    /// The simhash of a stored form, `None` where it has none: a glance where [`decode`](Self::decode) looks at all of it.
    pub fn simhash_of(bytes: &[u8]) -> Option<u64> {
        let there = *bytes.first()? & SIMHASH != 0;
        bytes[1..].get(HASH..)?.first_chunk().filter(|_| there).map(|eight| u64::from_le_bytes(*eight))
    }

    /// Reads the stored form of the record of content `id`.
    pub fn decode(id: u64, bytes: &'a [u8]) -> Result<Self> {
        let rest = &mut &*bytes;
        let flags: u8 = piece(Self::WHAT, rest)?;
        let has = |bit: u8| flags & bit != 0;
        let record = ContentRecord {
            hash: piece(Self::WHAT, rest)?,
            simhash: piece_if(has(SIMHASH), Self::WHAT, rest)?.map(u64::from_le_bytes),
            founder: number(id, piece(Self::WHAT, rest)?),
            bytes: piece(Self::WHAT, rest)?,
            sample: piece_if(has(SAMPLE), Self::WHAT, rest)?,
            signature: piece_if(has(SIGNATURE), Self::WHAT, rest)?,
            edit: piece_if(has(EDIT), Self::WHAT, rest)?,
        };
        let known = flags < 2 * EDIT;
        match (known, rest.is_empty()) {
            (true, true) => Ok(record),
            (false, _) => Err(Error::corrupt(Self::WHAT, "it has a part that is not known")),
            (_, false) => Err(Error::corrupt(Self::WHAT, "bytes follow its end")),
        }
    }
}

impl<'a> DocumentRecord<'a> {
    const WHAT: &'static str = "document record";

    /// The stored form of the record of document `id`.
    pub fn encode(&self, id: u64) -> Vec<u8> {
        let DocumentRecord { key, content, times: Times { first_seen, last_seen, changed } } = self;
        let mut out = Vec::with_capacity(24 + key.len());
        let last_seen = last_seen.filter(|_| last_seen != first_seen);
        let (changed_bit, changed) = match changed {
            Changed::Never => (0, None),
            Changed::At(time) => (CHANGED, Some(*time)),
            Changed::Unknown => (CHANGED_UNKNOWN, None),
        };
        let flags = flag(FIRST_SEEN, *first_seen) | flag(LAST_SEEN, last_seen) | changed_bit;
        put(&mut out, (flags, difference(id, *content)));
        [*first_seen, last_seen, changed].iter().flatten().for_each(|time| put(&mut out, time));
        out.extend(key.as_bytes());
        out
    }

    /// Reads the stored form of the record of document `id`: what remains is the key.
    pub fn decode(id: u64, bytes: &'a [u8]) -> Result<Self> {
        let rest = &mut &*bytes;
        let flags: u8 = piece(Self::WHAT, rest)?;
        let content = number(id, piece(Self::WHAT, rest)?);
        let mut time = |bit: u8| piece_if(flags & bit != 0, Self::WHAT, rest);
        let first_seen = time(FIRST_SEEN)?;
        let last_seen = time(LAST_SEEN)?.or(first_seen);
        let changed = match (flags >> 2, time(CHANGED)?) {
            (0, None) => Changed::Never,
            (1, Some(time)) => Changed::At(time),
            (2, None) => Changed::Unknown,
            _ => return Err(Error::corrupt(Self::WHAT, "it has a part that is not known")),
        };
        Ok(DocumentRecord {
            content,
            times: Times { first_seen, last_seen, changed },
            key: std::str::from_utf8(rest).map_err(|error| Error::corrupt(Self::WHAT, error))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn records_come_back() {
        let content = ContentRecord {
            hash: [7; 16],
            founder: 1 << 40,
            bytes: 6500,
            sample: Some(b"sample"),
            signature: None,
            simhash: Some(u64::MAX),
            edit: Some(b""),
        };
        let seen = |first_seen, last_seen, changed| Times { first_seen, last_seen, changed };
        let times = [
            Times::default(),
            seen(Some(1_700_000_000), Some(1_700_000_000), Changed::Never),
            seen(Some(1), Some(1_700_000_000), Changed::At(7)),
            seen(None, Some(0), Changed::Unknown),
        ];
        let documents = times.map(|times| DocumentRecord { key: "schlüssel", content: 300, times });
        for id in [0, 299, 300, 301, 1 << 40, u64::MAX] {
            for content in [content.clone(), ContentRecord { simhash: None, ..content.clone() }] {
                let bytes = content.encode(id);
                assert_eq!(ContentRecord::decode(id, &bytes).unwrap(), content);
                assert_eq!(ContentRecord::simhash_of(&bytes), content.simhash);
            }
            for document in &documents {
                assert_eq!(&DocumentRecord::decode(id, &document.encode(id)).unwrap(), document);
            }
        }
    }

    #[test]
    fn a_lean_content_takes_27_bytes_and_its_document_two_and_the_key() {
        let content = ContentRecord {
            hash: [7; 16],
            founder: 1 << 30,
            bytes: 0,
            sample: None,
            signature: None,
            simhash: Some(u64::MAX),
            edit: None,
        };
        let document = DocumentRecord { key: "key", content: 1 << 30, times: Times::default() };
        assert_eq!((content.encode(1 << 30).len(), document.encode((1 << 30) + 5).len()), (27, 5));
    }

    #[test]
    fn parts_that_are_not_known_and_bytes_too_many_are_corrupt() {
        let content = [&[0; 17][..], &[0, 0]].concat();
        assert!(ContentRecord::decode(0, &content).is_ok());
        for (at, byte) in [(0, 16), (0, SIMHASH), (0, SAMPLE)] {
            let mut wrong = content.clone();
            wrong[at] = byte;
            assert!(ContentRecord::decode(0, &wrong).is_err(), "{byte}");
        }
        assert!(ContentRecord::decode(0, &[&content[..], &[0]].concat()).is_err());
        assert!(DocumentRecord::decode(0, &[0, 0, b'a']).is_ok());
        assert!([12, 16, 32].iter().all(|&flags| DocumentRecord::decode(0, &[flags, 0, 0, b'a']).is_err()));
        assert!(DocumentRecord::decode(0, &[0, 0, 0xFF]).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(id in any::<u64>(), bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = (ContentRecord::decode(id, &bytes), DocumentRecord::decode(id, &bytes));
            let _ = ContentRecord::simhash_of(&bytes);
        }
    }
}
