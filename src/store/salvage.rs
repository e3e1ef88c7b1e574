//! Frames found by scanning: what can be saved of a file whose tables are lost.
//!
//! A frame says of itself what it is and has a checksum of its own, so neither redb nor the seals are asked. Frames that
//! were written and never committed lie in a file too. Numbers ascend, so that where a later epoch began, whatever an earlier
//! one gave from there on was never committed. A frame may also lie in a key that somebody chose, and be seen where the frame
//! around it is gone: the parameters are those of the database that the superblock or, failing that, most frames name.

use super::disk::Disk;
use super::frame::{FRAME_BYTES, Frame, HEADER, Kind, MAGIC};
use super::pages;
use super::seals;
use super::sort::Sorter;
use crate::error::{Error, Result};
use crate::id::DatabaseId;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Bytes that are searched at a time.
const CHUNK: usize = 1 << 20;
/// Bytes that may be read in vain for what looked like frames: so many times the file, and so many more. Whoever chooses keys
/// may write headers into them, each of which claims what is behind it.
const VAIN_TIMES: u64 = 16;
const VAIN_MORE: u64 = 64 << 20;

/// The whole frames of a file.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub database: Option<DatabaseId>,
    /// The parameters, in whatever form the layer above reads.
    pub params: Option<Vec<u8>>,
    /// The highest epoch of any.
    pub epoch: u32,
    /// Places that looked like a long frame and were not read, after too many that looked so and were none.
    pub passed_over: u64,
    /// The database that the superblock names.
    named: Option<DatabaseId>,
    /// Bytes that were read in vain.
    vain: u64,
    /// Where each is.
    places: Vec<Place>,
}

/// Where a frame is.
#[derive(Clone, Copy, Debug)]
struct Place {
    kind: Kind,
    database: DatabaseId,
    epoch: u32,
    at: u64,
    length: usize,
}

/// Finds every whole frame.
pub(crate) fn scan(disk: &dyn Disk) -> Result<Frames> {
    let len = pages::content_len(disk)?;
    let (named, copy) = seals::superblock(disk);
    let mut frames = Frames { named, ..Frames::default() };
    let mut chunk = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at + (HEADER as u64) < len {
        let behind = chunk.get((at - start) as usize..).unwrap_or_default();
        match behind.windows(MAGIC.len()).position(|window| window == MAGIC) {
            Some(before) => {
                at += before as u64;
                at += frames.look(disk, at, len)?;
            }
            None => {
                // The magic may lie across the end of what was searched.
                at = at.max((start + chunk.len() as u64).saturating_sub(MAGIC.len() as u64 - 1));
                start = at;
                chunk.resize(CHUNK.min((len - at) as usize), 0);
                seals::read_unchecked(disk, at, &mut chunk)?;
                if chunk.len() < HEADER {
                    break;
                }
            }
        }
    }
    frames.choose(disk)?;
    if let (None, Some(copy)) = (&frames.params, copy) {
        frames.take_copy(&copy);
    }
    Ok(frames)
}

impl Frames {
    /// Takes the frame at a place, if it is a whole one: how far to go on.
    fn look(&mut self, disk: &dyn Disk, at: u64, len: u64) -> Result<u64> {
        let mut head = [0; HEADER];
        if at + HEADER as u64 > len {
            return Ok(1);
        }
        seals::read_unchecked(disk, at, &mut head)?;
        let Some((kind, database, epoch, length)) = Frame::label(&head) else { return Ok(1) };
        let another = self.named.is_some_and(|named| named != database);
        if another || at + length as u64 > len {
            return Ok(1);
        }
        if length > FRAME_BYTES && self.vain > VAIN_TIMES.saturating_mul(len).saturating_add(VAIN_MORE) {
            self.passed_over += 1;
            return Ok(1);
        }
        let bytes = read(disk, at, length)?;
        if Frame::parse(kind, database, &bytes).and_then(Frame::whole).is_err() {
            self.vain += length as u64;
            return Ok(1);
        }
        self.places.push(Place { kind, database, epoch, at, length });
        Ok(length as u64)
    }

    /// Keeps what belongs to one database: the one that the superblock names, or most frames.
    fn choose(&mut self, disk: &dyn Disk) -> Result<()> {
        let named = self.named;
        let mut frames: BTreeMap<DatabaseId, u64> = BTreeMap::new();
        self.places.iter().for_each(|place| *frames.entry(place.database).or_default() += 1);
        let chosen = frames.iter().max_by_key(|(id, count)| (Some(**id) == named, *count));
        let Some((&database, _)) = chosen else { return Ok(()) };
        self.database = Some(database);
        self.places.retain(|place| place.database == database);
        for place in &self.places {
            if place.kind == Kind::Params {
                let bytes = read(disk, place.at, place.length)?;
                self.params = Frame::parse(Kind::Params, database, &bytes)?.record(0)?.map(<[u8]>::to_vec);
            }
            self.epoch = self.epoch.max(place.epoch);
        }
        Ok(())
    }

    /// Takes the parameters from the copy in the superblock.
    fn take_copy(&mut self, copy: &[u8]) {
        let Some(database) = self.database else { return };
        let frame = Frame::parse(Kind::Params, database, copy).and_then(Frame::whole);
        self.params = frame.and_then(|frame| Ok(frame.record(0)?.map(<[u8]>::to_vec))).ok().flatten();
    }

    /// Calls `each` with every record of a kind by ascending number, the newest of each.
    pub fn records(
        &self,
        disk: &dyn Disk,
        kind: Kind,
        memory: usize,
        mut each: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let database = self.database.ok_or_else(|| Error::corrupt("file", "no frame names the database"))?;
        let mut sorter = Sorter::<3>::new(memory);
        let mut begun: BTreeMap<u32, u64> = BTreeMap::new();
        for (number, place) in self.places.iter().enumerate().filter(|(_, place)| place.kind == kind) {
            let bytes = read(disk, place.at, place.length)?;
            for record in Frame::parse(kind, database, &bytes)?.records() {
                let id = record?.0;
                let first = begun.entry(place.epoch).or_insert(id);
                *first = id.min(*first);
                sorter.push([id, u64::from(u32::MAX - place.epoch), number as u64])?;
            }
        }
        let (mut last, mut open): (Option<u64>, Option<(u64, Vec<u8>)>) = (None, None);
        for record in sorter.finish()? {
            let [id, epoch, place] = record?;
            let epoch = u32::MAX - epoch as u32;
            let later = (Bound::Excluded(epoch), Bound::Unbounded);
            if last.replace(id) == Some(id) || begun.range(later).any(|(_, &first)| first <= id) {
                continue;
            }
            if open.as_ref().is_none_or(|open| open.0 != place) {
                let Place { at, length, .. } = self.places[place as usize];
                open = Some((place, read(disk, at, length)?));
            }
            if let Some((_, bytes)) = &open
                && let Some(record) = Frame::parse(kind, database, bytes)?.record(id)?
            {
                each(id, record)?;
            }
        }
        Ok(())
    }
}

fn read(disk: &dyn Disk, at: u64, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    seals::read_unchecked(disk, at, &mut bytes)?;
    Ok(bytes)
}
