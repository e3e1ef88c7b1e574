//! Small records as bytes: the only file that names bincode, so that it can be exchanged. Those of contents and documents are
//! put together in [`packed`](super::packed).
//!
//! Encoding: bincode 2 "standard" (little-endian, variable-length integers). Every record is decoded to its last byte; what
//! does not decode is corrupt. Bytes: `schema/format.md`, "Records".

use crate::error::{Error, Result};
use crate::index::run::Position;
use crate::index::tier::TOP_LEVEL;
use bincode::{BorrowDecode, Decode, Encode};

const CONFIG: bincode::config::Configuration<
    bincode::config::LittleEndian,
    bincode::config::Varint,
    bincode::config::Limit<{ 1 << 20 }>,
> = bincode::config::standard().with_limit::<{ 1 << 20 }>();

fn bytes_of(record: impl Encode) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut bytes, record);
    bytes
}

/// Appends the stored form of a part of a record.
pub(super) fn put(bytes: &mut Vec<u8>, part: impl Encode) {
    bincode::encode_into_std_write(part, bytes, bincode::config::standard()).expect("encoding to memory");
}

fn read<'a, T: BorrowDecode<'a, ()>>(what: &str, bytes: &'a [u8]) -> Result<T> {
    let mut rest = bytes;
    let record = piece(what, &mut rest)?;
    match rest.is_empty() {
        true => Ok(record),
        false => Err(Error::corrupt(what, "bytes follow its end")),
    }
}

/// Reads the part of a record that `rest` begins with, and leaves what follows it.
pub(super) fn piece<'a, T: BorrowDecode<'a, ()>>(what: &str, rest: &mut &'a [u8]) -> Result<T> {
    let (piece, read) =
        bincode::borrow_decode_from_slice(rest, CONFIG).map_err(|error| Error::corrupt(what, error))?;
    *rest = rest.get(read..).unwrap_or_default();
    Ok(piece)
}

/// Reads a part of a record that may be there.
pub(super) fn piece_if<'a, T: BorrowDecode<'a, ()>>(
    there: bool,
    what: &str,
    rest: &mut &'a [u8],
) -> Result<Option<T>> {
    there.then(|| piece(what, rest)).transpose()
}

macro_rules! stored {
    ($name:ident $(<$life:lifetime>)?, $what:literal) => {
        impl<'a> $name $(<$life>)? {
            /// The stored form.
            pub fn encode(&self) -> Vec<u8> {
                bytes_of(self)
            }

            /// Reads the stored form.
            pub fn decode(bytes: &'a [u8]) -> Result<Self> {
                read($what, bytes)
            }
        }
    };
}

/// A content: hash, founder, and the sketches that the file keeps. All that derives from its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContentRecord<'a> {
    pub hash: [u8; 16],
    /// The document that brought the text.
    pub founder: u64,
    /// Bytes of the text.
    pub bytes: u64,
    pub sample: Option<&'a [u8]>,
    pub signature: Option<&'a [u8]>,
    pub simhash: Option<u64>,
    pub edit: Option<&'a [u8]>,
}

/// A document as it was when its record was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocumentRecord<'a> {
    pub key: &'a str,
    pub content: u64,
    pub times: Times,
}

/// When a document was seen, and since when it holds its text. Times are seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Times {
    pub first_seen: Option<u64>,
    pub last_seen: Option<u64>,
    pub changed: Changed,
}

/// When a document came to hold its text in place of another; later ones are greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub(crate) enum Changed {
    /// It was never seen to hold another.
    #[default]
    Never,
    At(u64),
    /// It held another, and nobody said when it changed.
    Unknown,
}

/// What changed since a document's record was written: the newest state, not a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Amendment {
    pub content: u64,
    pub times: Times,
}
stored!(Amendment, "amendment");

/// What stands for a cluster that is not represented by its first member.
#[derive(Clone, Debug, PartialEq, Eq, Encode, BorrowDecode)]
pub(crate) struct RepresentativeRecord<'a> {
    /// Members that the cluster had when the record was written.
    pub members: u64,
    /// Its most popular values.
    pub sample: &'a [u8],
}
stored!(RepresentativeRecord<'a>, "representative record");

/// The ids in a run lie less than this above its first, those of contents and those of documents: its numbers have 32 bits.
pub(crate) const MOST_IDS: u64 = u32::MAX as u64;

/// A run of the index, finished or half built.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct RunRecord {
    pub level: u32,
    /// The contents that the run indexes: the first, and one more than the last.
    pub contents: (u64, u64),
    /// The documents that the run indexes: the first, and one more than the last.
    pub documents: (u64, u64),
    pub entries: u64,
    pub groups: u32,
    pub block_bytes: u64,
    pub filter_bytes: u64,
    /// While it is being built: the runs it is merged from, and how far each has been read.
    pub building: Option<Vec<Input>>,
}
stored!(RunRecord, "run record");

impl RunRecord {
    /// Refuses numbers that no writer gives.
    pub fn check(&self, number: u64, counters: &Counters) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(format!("row {number} of runs"), what));
        match () {
            () if number >= counters.next_run => wrong("the counters say that it was never given"),
            () if self.level > TOP_LEVEL => wrong("there is no such level"),
            () => Ok(()),
        }
    }

    /// A run without entries yet.
    pub fn empty(level: u32, contents: (u64, u64), documents: (u64, u64)) -> Self {
        let (entries, groups, block_bytes, filter_bytes, building) = Default::default();
        RunRecord { level, contents, documents, entries, groups, block_bytes, filter_bytes, building }
    }
}

/// An input of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Input {
    pub run: u64,
    pub block: u32,
    pub entry: u32,
}

impl Input {
    pub fn position(self) -> Position {
        Position { block: self.block, entry: self.entry }
    }
}

/// The numbers that a file goes on counting from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub(crate) struct Counters {
    pub next_document: u64,
    pub next_content: u64,
    pub next_run: u64,
    /// Grows whenever a writer recovers the file: frames that were never committed have a lower one than those written after.
    pub epoch: u32,
    /// The first document and content that are not in a run.
    pub unflushed_document: u64,
    pub unflushed_content: u64,
    /// Documents and contents alive.
    pub documents: u64,
    pub contents: u64,
    /// Bytes of all records, those of the dead and removed among them.
    pub document_bytes: u64,
    pub content_bytes: u64,
    /// Verdicts for which a term shared by too many contents was not followed to its end.
    pub bounded: u64,
}
stored!(Counters, "counters");

/// Ids below this are given out.
pub(crate) const END_OF_IDS: u64 = 1 << 48;
/// Nothing is added when fewer ids are left: what is under way at one time needs far fewer.
const SPARE_IDS: u64 = 1 << 32;

/// What is wrong with counters that are lower than what is there.
pub(crate) const TOO_FEW: &str = "they count fewer than there are";

impl Counters {
    /// Takes one from what is alive.
    pub fn less(alive: &mut u64) -> Result<()> {
        *alive = alive.checked_sub(1).ok_or_else(|| Error::corrupt("meta row counters", TOO_FEW))?;
        Ok(())
    }

    /// Refuses to give out more ids when almost all were given.
    pub fn check_room(&self) -> Result<()> {
        match self.next_document.max(self.next_content) < END_OF_IDS - SPARE_IDS {
            true => Ok(()),
            false => Err(Error::invalid(
                "a database that has given out almost all of its 2^48 ids",
                "merge it into a new one, which counts anew",
            )),
        }
    }

    /// Refuses counters whose sums could overflow, or that say more lives than was ever given out.
    pub fn check(&self) -> Result<()> {
        let ids = self.next_content.max(self.next_document);
        let bytes = self.content_bytes | self.document_bytes | self.bounded | self.next_run;
        let possible = ids < END_OF_IDS
            && bytes >> 56 == 0
            && self.contents <= self.next_content
            && self.documents <= self.next_document;
        match possible {
            true => Ok(()),
            false => Err(Error::corrupt(
                "meta row counters",
                "more was added than a file can hold, or lives than was added",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_too_few_or_too_many_are_corrupt() {
        let times = Times { first_seen: None, last_seen: Some(5), changed: Changed::Unknown };
        let bytes = Amendment { content: 1000, times }.encode();
        for wrong in [&bytes[..bytes.len() - 1], &[bytes.clone(), vec![0]].concat(), &[]] {
            assert!(matches!(Amendment::decode(wrong), Err(Error::Corrupt { .. })));
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = (Amendment::decode(&bytes), Counters::decode(&bytes), RunRecord::decode(&bytes));
        }
    }
}
