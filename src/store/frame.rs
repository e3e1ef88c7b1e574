//! Frames: several records in one value of at most 32,680 bytes, so that it fills a 32-KiB page of redb: half a record is
//! left empty on average, 2 % of records of 1.4 KB (with pages of 16 KiB it was 9 % in a measured case).
//!
//! A record that is larger has a frame of its own. A frame says of itself what it is (magic, kind, database, first id,
//! length, epoch, crc32), so that a scan finds it in a file whose tables are lost. Bytes: `schema/format.md`, "Frame".

use crate::error::{Error, Result};
use crate::id::DatabaseId;

/// The most bytes of a frame with more than one record.
pub(super) const FRAME_BYTES: usize = 32_680;
/// The most bytes of a frame with one record: 65,536 values of a sample take 213,001 bytes, 4,096 minhashes 8,192, an edit
/// signature at most 13,321.
const LONE_BYTES: usize = 1 << 18;
pub(super) const HEADER: usize = 36;
pub(super) const MAGIC: &[u8; 4] = b"skFr";
/// Of frames and the records in them.
const VERSION: u8 = 1;
/// Bytes of the directory a record: u16 id relative to the first, u16 length.
const WIDE_SLOT: usize = 4;
/// Where no step and no length needs more: u8 id relative to the one before, u8 length.
const NARROW_SLOT: usize = 2;
/// Set in the byte of the kind where slots are narrow.
const NARROW: u8 = 0x80;

/// What the records of a frame are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Contents = 1,
    Documents = 2,
    /// One record: the parameters of the file.
    Params = 3,
}

/// What a frame says of itself besides its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub kind: Kind,
    pub database: DatabaseId,
    pub epoch: u32,
}

/// Puts records with ascending ids into frames: each with the first id of it.
pub(crate) fn frames<'a>(
    label: Label,
    records: impl Iterator<Item = (u64, &'a [u8])>,
) -> Vec<(u64, Vec<u8>)> {
    let mut frames = Vec::new();
    let mut open: Vec<(u64, &[u8])> = Vec::new();
    let (mut bytes, mut slot) = (0, NARROW_SLOT);
    for (id, record) in records {
        let of_this = slot_of(open.last().map_or(id, |last| last.0), id, record);
        let with_this = HEADER + (open.len() + 1) * slot.max(of_this) + bytes + record.len();
        let first = open.first().map_or(id, |record| record.0);
        let fits = with_this <= FRAME_BYTES && id - first <= u64::from(u16::MAX);
        if !fits && !open.is_empty() {
            frames.push(encode(label, &open, slot));
            open.clear();
            (bytes, slot) = (0, NARROW_SLOT);
        }
        slot = slot.max(slot_of(open.last().map_or(id, |last| last.0), id, record));
        bytes += record.len();
        open.push((id, record));
    }
    if !open.is_empty() {
        frames.push(encode(label, &open, slot));
    }
    frames
}

/// The slot that a record needs behind the one before.
fn slot_of(before: u64, id: u64, record: &[u8]) -> usize {
    match id - before <= 0xFF && record.len() <= 0xFF {
        true => NARROW_SLOT,
        false => WIDE_SLOT,
    }
}

fn encode(label: Label, records: &[(u64, &[u8])], slot: usize) -> (u64, Vec<u8>) {
    let first = records[0].0;
    // The length of a lone record, which may be large, is that of the rest.
    let lone = records.len() == 1;
    let slot = if lone { WIDE_SLOT } else { slot };
    let body: usize = records.iter().map(|record| slot + record.1.len()).sum();
    let mut bytes = Vec::with_capacity(HEADER + body);
    bytes.extend(MAGIC);
    bytes.extend([VERSION, label.kind as u8 | if slot == NARROW_SLOT { NARROW } else { 0 }]);
    bytes.extend((records.len() as u16).to_le_bytes());
    bytes.extend(label.database.0.to_le_bytes());
    bytes.extend(first.to_le_bytes());
    bytes.extend((body as u32).to_le_bytes());
    bytes.extend(label.epoch.to_le_bytes());
    bytes.extend([0; 4]);
    let mut before = first;
    for (id, record) in records {
        let length = if lone { 0 } else { record.len() };
        match slot {
            NARROW_SLOT => bytes.extend([(id - before) as u8, length as u8]),
            _ => bytes.extend([((id - first) as u16).to_le_bytes(), (length as u16).to_le_bytes()].concat()),
        }
        before = *id;
    }
    records.iter().for_each(|record| bytes.extend(record.1));
    seal(&mut bytes);
    (first, bytes)
}

/// Makes the checksum of a frame hold, whatever it says.
pub(crate) fn seal(frame: &mut [u8]) {
    let seal = crc(frame);
    frame[HEADER - 4..HEADER].copy_from_slice(&seal.to_le_bytes());
}

fn crc(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[..HEADER - 4]);
    hasher.update(&frame[HEADER..]);
    hasher.finalize()
}

/// A frame's bytes, taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    first: u64,
    slots: &'a [u8],
    slot: usize,
    records: &'a [u8],
    bytes: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads the header and checks it against what is asked for and against the length.
    pub fn parse(kind: Kind, database: DatabaseId, bytes: &'a [u8]) -> Result<Self> {
        let wrong = |what: &str| Error::corrupt("frame", what);
        let (head, body) = bytes.split_at_checked(HEADER).ok_or_else(|| wrong("shorter than its header"))?;
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        if &head[..4] == MAGIC && head[4] != VERSION {
            return Err(Error::Incompatible {
                name: "frame version".into(),
                expected: VERSION.to_string(),
                found: head[4].to_string(),
            });
        }
        if &head[..4] != MAGIC || head[5] & !NARROW != kind as u8 || number(8) != database.0 {
            return Err(wrong("its header is not that of such a frame of this database"));
        }
        let count = usize::from(u16::from_le_bytes([head[6], head[7]]));
        let length = u32::from_le_bytes(head[24..28].try_into().expect("four bytes")) as usize;
        if length != body.len() || count == 0 {
            return Err(wrong("its length is not what its header states"));
        }
        let first = number(16);
        if first >> 48 != 0 {
            return Err(wrong("its numbers are beyond what a file can hold"));
        }
        let slot = if head[5] & NARROW == 0 { WIDE_SLOT } else { NARROW_SLOT };
        let (slots, records) =
            body.split_at_checked(count * slot).ok_or_else(|| wrong("shorter than its directory"))?;
        Ok(Frame { first, slots, slot, records, bytes })
    }

    /// The frame in a row: its first id is the row's key.
    pub fn of_row(kind: Kind, database: DatabaseId, key: u64, bytes: &'a [u8]) -> Result<Self> {
        let frame = Self::parse(kind, database, bytes)?;
        match frame.first == key {
            true => Ok(frame),
            false => Err(Error::corrupt("frame", "its first id is not the key of its row")),
        }
    }

    /// Kind, database, epoch and length of the frame that begins with these bytes, if one does: none is longer than its
    /// records can be.
    pub fn label(head: &[u8; HEADER]) -> Option<(Kind, DatabaseId, u32, usize)> {
        let kind = match head[5] & !NARROW {
            1 => Kind::Contents,
            2 => Kind::Documents,
            3 => Kind::Params,
            _ => return None,
        };
        let body = u32::from_le_bytes(head[24..28].try_into().ok()?) as usize;
        let database = DatabaseId(u64::from_le_bytes(head[8..16].try_into().ok()?));
        let epoch = u32::from_le_bytes(head[28..32].try_into().ok()?);
        let most = match u16::from_le_bytes([head[6], head[7]]) {
            0 => 0,
            1 => LONE_BYTES,
            _ => FRAME_BYTES,
        };
        let length = HEADER + body;
        let known = &head[..4] == MAGIC && head[4] == VERSION && length <= most;
        known.then_some((kind, database, epoch, length))
    }

    /// Checks the frame's own crc32 (its pages are sealed besides).
    pub fn check(&self) -> Result<()> {
        match self.bytes[HEADER - 4..HEADER] == crc(self.bytes).to_le_bytes() {
            true => Ok(()),
            false => Err(Error::corrupt(format!("frame of {}", self.first), "its checksum does not hold")),
        }
    }

    /// The frame when its crc32 holds and all its records are in it.
    pub fn whole(self) -> Result<Self> {
        self.check()?;
        self.records().try_for_each(|record| record.map(|_| ())).map(|()| self)
    }

    /// The records with their ids.
    pub fn records(self) -> impl Iterator<Item = Result<(u64, &'a [u8])>> {
        let lone = self.slots.len() == WIDE_SLOT && self.slot == WIDE_SLOT;
        let (mut rest, mut before) = (self.records, self.first);
        self.slots.chunks_exact(self.slot).map(move |slot| {
            let (id, length) = match *slot {
                [step, length] => (before + u64::from(step), usize::from(length)),
                [a, b, c, d] => {
                    let number = |low, high| u16::from_le_bytes([low, high]);
                    (self.first + u64::from(number(a, b)), usize::from(number(c, d)))
                }
                _ => (before, 0),
            };
            let length = if lone { rest.len() } else { length };
            before = id;
            let (record, behind) = rest.split_at_checked(length).ok_or_else(|| {
                Error::corrupt(format!("frame of {}", self.first), "a record ends beyond it")
            })?;
            rest = behind;
            Ok((id, record))
        })
    }

    /// The record with this id, `None` when the frame has none.
    pub fn record(self, id: u64) -> Result<Option<&'a [u8]>> {
        for record in self.records() {
            let (number, record) = record?;
            if number >= id {
                return Ok((number == id).then_some(record));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DATABASE: DatabaseId = DatabaseId(77);

    fn label(kind: Kind) -> Label {
        Label { kind, database: DATABASE, epoch: 3 }
    }

    fn read(frames: &[(u64, Vec<u8>)]) -> Vec<(u64, Vec<u8>)> {
        let mut out = Vec::new();
        for (first, bytes) in frames {
            let frame = Frame::parse(Kind::Contents, DATABASE, bytes).unwrap();
            frame.check().unwrap();
            assert_eq!(frame.first, *first);
            out.extend(frame.records().map(|record| record.map(|(id, bytes)| (id, bytes.to_vec())).unwrap()));
        }
        out
    }

    proptest! {
        #[test]
        fn records_come_back(sizes in prop::collection::vec((0usize..3000, 1u64..40_000), 1..60)) {
            let mut id = 5;
            let records: Vec<(u64, Vec<u8>)> =
                sizes.iter().map(|&(size, step)| { id += step; (id, vec![id as u8; size]) }).collect();
            let frames = frames(label(Kind::Contents), records.iter().map(|r| (r.0, &r.1[..])));
            prop_assert!(frames.iter().all(|frame| frame.1.len() <= FRAME_BYTES));
            prop_assert_eq!(read(&frames), records);
        }

        #[test]
        fn damage_is_noticed(at in 0usize..1000, bit in 0u32..8) {
            let mut bytes = frames(label(Kind::Documents), [(3, &[1u8; 500][..]), (4, &[2; 400])].into_iter()).remove(0).1;
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            let read = Frame::parse(Kind::Documents, DATABASE, &bytes).and_then(|frame| frame.check());
            prop_assert!(read.is_err(), "byte {}, bit {}", at, bit);
        }
    }

    #[test]
    fn frames_of_another_version_are_incompatible() {
        let mut frame = frames(label(Kind::Params), [(0, &[1u8; 9][..])].into_iter()).remove(0).1;
        frame[4] = 0;
        let read = Frame::parse(Kind::Params, DATABASE, &frame);
        assert!(matches!(read, Err(Error::Incompatible { .. })), "{read:?}");
    }

    #[test]
    fn a_large_record_has_a_frame_of_its_own() {
        let (small, large) = (vec![1; 100], vec![2; 100_000]);
        let frames = frames(label(Kind::Contents), [(1, &small[..]), (2, &large), (3, &small)].into_iter());
        assert_eq!(frames.iter().map(|frame| frame.0).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(read(&frames)[1].1, large);
    }

    #[test]
    fn numbers_beyond_all_are_refused() {
        for (first, refused) in [((1 << 48) - 1, false), (1 << 48, true), (u64::MAX - 2, true)] {
            let mut bytes =
                frames(label(Kind::Contents), [(1, &[0; 9][..]), (3, &[1])].into_iter()).remove(0).1;
            bytes[16..24].copy_from_slice(&u64::to_le_bytes(first));
            seal(&mut bytes);
            let read = Frame::parse(Kind::Contents, DATABASE, &bytes)
                .and_then(|frame| frame.records().collect::<Result<Vec<_>>>());
            assert_eq!(read.is_err(), refused, "{first}: {read:?}");
        }
    }

    #[test]
    fn frames_of_other_databases_and_kinds_are_refused() {
        let frame = frames(label(Kind::Contents), [(1, &[0u8; 9][..])].into_iter()).remove(0).1;
        assert!(Frame::parse(Kind::Documents, DATABASE, &frame).is_err());
        assert!(Frame::parse(Kind::Contents, DatabaseId(78), &frame).is_err());
    }
}
