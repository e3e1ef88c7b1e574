//! The sealed file: redb's storage, with a crc32 for every 4-KiB page, checked on every read.
//!
//! redb does not check its pages when it reads them, so a flipped bit would be believed. On disk, page 0 is the superblock;
//! then come groups of one crc page and 1,024 pages of redb. Entry i of a crc page is the crc32 of (page number, bytes) of
//! page i of its group; 0 means never written, and then the page must be zeros. Crc pages are written before each sync.
//!
//! A crash cannot break a page that a commit relies on: commits are in two phases, redb never writes over a page that the
//! last commit can reach, and a crc page torn at a sector holds for all other pages the same entries before and after.
//! redb writes its header in place, always in the first 320 bytes of its page 0: that page has its crc in the same
//! 512-byte sector, which a disk writes whole or not at all.
//!
//! An older header with its own crc would name pages that hold something else by now. So header writes are counted: the
//! sector has its number, and entry 0 of the first crc page (page 0 needs no other) the number that was durable before the
//! last sync. No crash leaves a header below that number. Bytes: `schema/format.md`, "Pages".

use super::disk::Disk;
use crate::error::{Error, FormatVersion, Result};
use crate::id::DatabaseId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(super) const PAGE: usize = 4096;
pub(super) const PAGES_IN_GROUP: u64 = 1024;
/// A line end of each kind and the end of a DOS text: a file that was sent as text does not begin so, and no text does.
pub(super) const MAGIC: &[u8; 12] = b"sketchdb\r\n\x1a\n";
/// Files of versions 0 and 1 begin with these eight bytes and their version.
const OLD_MAGIC: &[u8; 8] = b"sketchdb";
const SUPERBLOCK: &str = "superblock (page at byte 0)";
/// The sector of the header page, and of the superblock: its crc is in its last four bytes.
const SECTOR: usize = 512;
/// Where the superblock has its copy, behind its length and checksum, and how long that may be.
const COPY: usize = SECTOR + 8;
pub(super) const MOST_COPY: usize = PAGE - COPY;
/// The most of its page 0 that redb writes.
const HEADER: usize = 320;
/// Where redb's header has its flags, and the one that says that a writer has the file open.
const HEADER_FLAGS: usize = 9;
const RECOVERY_REQUIRED: u8 = 2;
/// What is said when a header does not hold, and where it is.
const STORE_HEADER: &str = "store header (page at byte 8192)";
/// Where the header's sector has its number, just before its crc.
const HEADER_NUMBER: std::ops::Range<usize> = SECTOR - 8..SECTOR - 4;
/// Crc pages kept in memory while unchanged: those of 8 GiB of file.
const CACHED_GROUPS: usize = 2048;

/// The version of the file format that this build reads and writes. Every change of the bytes raises the draft, until the
/// version is released as draft 0.
pub(crate) const FORMAT_VERSION: FormatVersion = FormatVersion { number: 2, draft: 2 };

/// What a read found in place of what was written.
#[derive(Debug)]
pub(crate) struct BrokenSeal {
    /// The byte offset in the file.
    pub at: u64,
    pub what: &'static str,
}

impl fmt::Display for BrokenSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page at byte {}: {}", self.at, self.what)
    }
}

impl std::error::Error for BrokenSeal {}

pub(super) fn broken(at: u64, what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, BrokenSeal { at, what })
}

/// The first page of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub version: FormatVersion,
    pub id: DatabaseId,
}

impl Superblock {
    /// The page, with a copy of what nothing can be read without.
    pub fn encode(self, copy: &[u8]) -> [u8; PAGE] {
        let mut page = [0; PAGE];
        let place = &mut page[COPY..COPY + copy.len()];
        place.copy_from_slice(copy);
        page[SECTOR..SECTOR + 4].copy_from_slice(&(copy.len() as u32).to_le_bytes());
        page[SECTOR + 4..COPY].copy_from_slice(&crc(u64::MAX, copy).to_le_bytes());
        page[..12].copy_from_slice(MAGIC);
        page[12..16].copy_from_slice(&self.version.number.to_le_bytes());
        page[16..20].copy_from_slice(&self.version.draft.to_le_bytes());
        page[20..28].copy_from_slice(&self.id.0.to_le_bytes());
        seal_sector(&mut page, u64::MAX);
        page
    }

    pub fn decode(page: &[u8; PAGE]) -> Result<Self> {
        let number = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().expect("four bytes"));
        let other = |found: FormatVersion| Err(Error::Version { found, known: FORMAT_VERSION });
        if &page[..12] != MAGIC {
            return match (&page[..8] == OLD_MAGIC, number(8)) {
                (true, old @ (0 | 1)) => other(FormatVersion { number: old, draft: 0 }),
                _ => Err(Error::Incompatible {
                    name: "file".into(),
                    expected: "a sketchdb database".into(),
                    found: "something else (by its first bytes)".into(),
                }),
            };
        }
        let broken = || Error::corrupt(SUPERBLOCK, "its checksum does not hold");
        if !sector_holds(page, u64::MAX) {
            return Err(broken());
        }
        let version = FormatVersion { number: number(12), draft: number(16) };
        if version != FORMAT_VERSION {
            return other(version);
        }
        if Self::copy(page).is_none() {
            return Err(broken());
        }
        let id = u64::from_le_bytes(page[20..28].try_into().expect("eight bytes"));
        Ok(Superblock { version, id: DatabaseId(id) })
    }

    /// Whether a file that begins with these bytes is a database, of whatever version.
    pub fn begins(bytes: &[u8]) -> bool {
        let old = |rest: &[u8]| matches!(rest, [0 | 1, 0, 0, 0, ..]);
        bytes.starts_with(MAGIC) || bytes.strip_prefix(OLD_MAGIC).is_some_and(old)
    }

    /// The copy in a page, which may be whole although the first sector is not.
    pub fn copy(page: &[u8; PAGE]) -> Option<&[u8]> {
        let number = |at: usize| page[at..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        let length = usize::try_from(number(SECTOR)?).ok()?;
        let (copy, zeros) = page[COPY..].split_at_checked(length)?;
        let holds = number(SECTOR + 4)? == crc(u64::MAX, copy) && zeros.iter().all(|&byte| byte == 0);
        holds.then_some(copy)
    }
}

/// The entry of a page in the crc page of its group.
pub(super) fn crc(number: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(bytes);
    // 0 says "never written".
    hasher.finalize().max(1)
}

fn seal_sector(page: &mut [u8], number: u64) {
    let seal = crc(number, &page[..SECTOR - 4]);
    page[SECTOR - 4..SECTOR].copy_from_slice(&seal.to_le_bytes());
}

pub(super) fn says_unclean(header: &[u8]) -> bool {
    header[HEADER_FLAGS] & RECOVERY_REQUIRED != 0
}

pub(super) fn header_number(page: &[u8]) -> u32 {
    u32::from_le_bytes(page[HEADER_NUMBER].try_into().expect("four bytes"))
}

pub(super) fn sector_holds(page: &[u8], number: u64) -> bool {
    page[SECTOR - 4..SECTOR] == crc(number, &page[..SECTOR - 4]).to_le_bytes()
}

/// The crc entries of one group.
#[derive(Debug)]
pub(super) struct CrcPage {
    bytes: Box<[u8; PAGE]>,
    changed: bool,
}

impl CrcPage {
    pub(super) fn entry(&self, index: u64) -> u32 {
        let at = 4 * index as usize;
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    fn set(&mut self, index: u64, crc: u32) {
        let at = 4 * index as usize;
        self.bytes[at..at + 4].copy_from_slice(&crc.to_le_bytes());
        self.changed = true;
    }
}

/// A disk whose pages are checked.
#[derive(Debug)]
pub(crate) struct SealedFile {
    disk: Box<dyn Disk>,
    groups: Mutex<HashMap<u64, CrcPage>>,
    /// The number of the last header written.
    header: AtomicU32,
    /// The number of the last header known to be durable.
    durable: AtomicU32,
    /// Whether whoever had it open for writing did not close it.
    unclean: bool,
    /// While pages may still be torn, the header on disk says that the file is to be recovered, whatever redb says.
    torn: AtomicBool,
}

impl SealedFile {
    pub(super) fn over(disk: Box<dyn Disk>, header: u32, durable: u32) -> Self {
        let (groups, unclean) = (Mutex::default(), false);
        let torn = AtomicBool::new(false);
        SealedFile { disk, groups, header: header.into(), durable: durable.into(), unclean, torn }
    }

    /// The place where the file ends, in words.
    pub fn end(&self) -> String {
        end(self.disk.len().unwrap_or_default())
    }

    /// Whether whoever had it open for writing did not close it.
    pub fn is_unclean(&self) -> bool {
        self.unclean
    }

    /// Makes an empty disk a sealed file, with a copy in its superblock of up to [`MOST_COPY`] bytes.
    pub fn create(disk: Box<dyn Disk>, id: DatabaseId, copy: &[u8]) -> Result<Self> {
        let written = disk
            .set_len(PAGE as u64)
            .and_then(|()| disk.write_at(0, &Superblock { version: FORMAT_VERSION, id }.encode(copy)))
            .and_then(|()| disk.sync());
        written.map_err(|error| Error::io("create the database file", error))?;
        Ok(Self::over(disk, 0, 0))
    }

    /// Opens a sealed file, after a look at its superblock and at redb's header.
    pub fn open(disk: Box<dyn Disk>) -> Result<(Self, Superblock)> {
        let reading = |error| match error {
            e if io::Error::kind(&e) == io::ErrorKind::UnexpectedEof => {
                Error::corrupt("file", "it is shorter than a database can be")
            }
            e => Error::io("read the database file", e),
        };
        let mut page = [0; PAGE];
        let len = disk.len().map_err(reading)?;
        let there = len.min(PAGE as u64) as usize;
        disk.read_at(0, &mut page[..there]).map_err(reading)?;
        let mut header = [0; PAGE];
        if logical_len(len) > 0 {
            disk.read_at(physical(0), &mut header).map_err(reading)?;
        }
        // A sealed header behind other first bytes: they are not those of another kind of file.
        if !Superblock::begins(&page) && sector_holds(&header, 0) {
            return Err(Error::corrupt(SUPERBLOCK, "its first bytes are not those of a database"));
        }
        // Behind its first sector the superblock is cut with the file.
        if there < PAGE && sector_holds(&page, u64::MAX) {
            return Err(Error::corrupt(end(len), "it was cut off"));
        }
        if (OLD_MAGIC.len()..MAGIC.len()).contains(&there) && MAGIC.starts_with(&page[..there]) {
            return Err(Error::corrupt(end(len), "it was cut off"));
        }
        let superblock = Superblock::decode(&page)?;
        // A file cut to nothing would look new to redb.
        if logical_len(len) == 0 || !len.is_multiple_of(PAGE as u64) {
            return Err(Error::corrupt(end(len), "it was cut off, or bytes were added"));
        }
        if !sector_holds(&header, 0) || header[SECTOR..].iter().any(|&byte| byte != 0) {
            return Err(Error::corrupt(STORE_HEADER, "its checksum does not hold"));
        }
        let mut durable = [0; 4];
        disk.read_at(crc_page(0), &mut durable).map_err(reading)?;
        let (number, durable) = (header_number(&header), u32::from_le_bytes(durable));
        // Numbers begin again behind the last.
        if number.wrapping_sub(durable) > u32::MAX / 2 {
            return Err(Error::corrupt(STORE_HEADER, "it is older than the rest of the file"));
        }
        let unclean = says_unclean(&header);
        Ok((SealedFile { unclean, torn: unclean.into(), ..Self::over(disk, number, durable) }, superblock))
    }

    pub(super) fn groups(&self) -> MutexGuard<'_, HashMap<u64, CrcPage>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The crc page of a group, read when it is not in memory.
    pub(super) fn group<'a>(
        &self,
        groups: &'a mut HashMap<u64, CrcPage>,
        group: u64,
    ) -> io::Result<&'a mut CrcPage> {
        if groups.len() >= CACHED_GROUPS && !groups.contains_key(&group) {
            groups.retain(|_, page| page.changed);
        }
        match groups.entry(group) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let mut bytes = Box::new([0; PAGE]);
                self.disk.read_at(crc_page(group), &mut bytes[..])?;
                Ok(entry.insert(CrcPage { bytes, changed: false }))
            }
        }
    }

    fn check(&self, number: u64, page: &[u8]) -> io::Result<()> {
        if number == 0 {
            let never_written = page.iter().all(|&byte| byte == 0);
            let holds = sector_holds(page, 0) && page[SECTOR..].iter().all(|&byte| byte == 0);
            return if never_written || holds {
                Ok(())
            } else {
                Err(broken(physical(0), "its checksum does not hold"))
            };
        }
        let entry = self.group(&mut self.groups(), number / PAGES_IN_GROUP)?.entry(number % PAGES_IN_GROUP);
        match entry {
            0 if page.iter().all(|&byte| byte == 0) => Ok(()),
            0 => Err(broken(physical(number), "it was never written and is not empty")),
            entry if entry == crc(number, page) => Ok(()),
            _ => Err(broken(physical(number), "its checksum does not hold")),
        }
    }

    /// Reads one page, checked; redb's header page without its seal.
    pub(super) fn read_page(&self, number: u64, page: &mut [u8]) -> io::Result<()> {
        self.disk.read_at(physical(number), page)?;
        self.check(number, page)?;
        if number == 0 {
            page[HEADER..].fill(0);
        }
        Ok(())
    }

    fn write_header(&self, bytes: &[u8]) -> io::Result<()> {
        let mut sector = [0; SECTOR];
        sector[..bytes.len()].copy_from_slice(bytes);
        if bytes.len() < HEADER {
            let mut page = [0; PAGE];
            self.read_page(0, &mut page)?;
            sector[bytes.len()..HEADER].copy_from_slice(&page[bytes.len()..HEADER]);
        }
        let number = self.header.fetch_add(1, Relaxed).wrapping_add(1);
        if self.torn.load(Relaxed) {
            sector[HEADER_FLAGS] |= RECOVERY_REQUIRED;
        }
        sector[HEADER_NUMBER].copy_from_slice(&number.to_le_bytes());
        seal_sector(&mut sector, 0);
        self.disk.write_at(physical(0), &sector)
    }

    /// Forgets the seals of the pages from `pages` on, which are about to be cut off or have yet to be written.
    fn forget_from(&self, pages: u64) -> io::Result<()> {
        let mut groups = self.groups();
        groups.retain(|&group, _| group * PAGES_IN_GROUP < pages);
        let (group, first) = (pages / PAGES_IN_GROUP, pages % PAGES_IN_GROUP);
        if first > 0 {
            let page = self.group(&mut groups, group)?;
            (first..PAGES_IN_GROUP).for_each(|index| page.set(index, 0));
        }
        Ok(())
    }

    /// Makes every page empty whose seal does not hold: how many. Of a file that was not closed such pages were about to be
    /// written, if redb has read all that its last commit can reach.
    pub fn blank_broken(&self) -> io::Result<u64> {
        let (mut page, mut blanked) = (vec![0; PAGE], 0);
        let pages = logical_len(self.disk.len()?) / PAGE as u64;
        self.forget_from(pages)?;
        for number in 1..pages {
            match self.read_page(number, &mut page) {
                Err(error) if error.get_ref().is_some_and(|inner| inner.is::<BrokenSeal>()) => {
                    self.disk.write_at(physical(number), &[0; PAGE])?;
                    let mut groups = self.groups();
                    self.group(&mut groups, number / PAGES_IN_GROUP)?.set(number % PAGES_IN_GROUP, 0);
                    blanked += 1;
                }
                other => other?,
            }
        }
        self.torn.store(false, Relaxed);
        Ok(blanked)
    }

    fn write_crc_pages(&self) -> io::Result<()> {
        let (mut groups, durable) = (self.groups(), self.durable.load(Relaxed));
        let first = self.group(&mut groups, 0)?;
        if first.entry(0) != durable {
            first.set(0, durable);
        }
        for (&group, page) in groups.iter_mut().filter(|(_, page)| page.changed) {
            self.disk.write_at(crc_page(group), &page.bytes[..])?;
            page.changed = false;
        }
        Ok(())
    }
}

fn end(len: u64) -> String {
    format!("end of the file at byte {len}")
}

/// Where page `number` of redb lies in the file.
pub(super) fn physical(number: u64) -> u64 {
    let group = number / PAGES_IN_GROUP;
    crc_page(group) + (1 + number % PAGES_IN_GROUP) * PAGE as u64
}

/// Where the crc page of a group lies in the file.
pub(super) fn crc_page(group: u64) -> u64 {
    (1 + group * (PAGES_IN_GROUP + 1)) * PAGE as u64
}

fn logical_len(physical: u64) -> u64 {
    let pages = (physical / PAGE as u64).saturating_sub(1);
    let (groups, rest) = (pages / (PAGES_IN_GROUP + 1), pages % (PAGES_IN_GROUP + 1));
    (groups * PAGES_IN_GROUP + rest.saturating_sub(1)) * PAGE as u64
}

fn physical_len(logical: u64) -> u64 {
    let pages = logical.div_ceil(PAGE as u64);
    (1 + pages + pages.div_ceil(PAGES_IN_GROUP)) * PAGE as u64
}

/// Bytes that redb keeps on a disk, whatever state they are in.
pub(crate) fn content_len(disk: &dyn Disk) -> Result<u64> {
    Ok(logical_len(disk.len().map_err(|error| Error::io("measure the database file", error))?))
}

impl redb::StorageBackend for SealedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(logical_len(self.disk.len()?))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (mut at, mut rest) = (offset, out);
        while !rest.is_empty() {
            let (number, within) = (at / PAGE as u64, (at % PAGE as u64) as usize);
            let take = rest.len().min(PAGE - within);
            let (part, behind) = rest.split_at_mut(take);
            if take == PAGE {
                self.read_page(number, part)?;
            } else {
                let mut page = [0; PAGE];
                self.read_page(number, &mut page)?;
                part.copy_from_slice(&page[within..within + take]);
            }
            at += take as u64;
            rest = behind;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        // Growing too: a crash may have left seals behind the end.
        self.forget_from(len.min(logical_len(self.disk.len()?)) / PAGE as u64)?;
        self.disk.set_len(physical_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        let header = self.header.load(Relaxed);
        self.write_crc_pages()?;
        self.disk.sync()?;
        self.durable.store(header, Relaxed);
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset == 0 && bytes.len() <= HEADER {
            return self.write_header(bytes);
        }
        let page = PAGE as u64;
        if offset == 0 || !offset.is_multiple_of(page) || !bytes.len().is_multiple_of(PAGE) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a write that is not of whole pages"));
        }
        for (number, bytes) in (offset / page..).zip(bytes.chunks_exact(PAGE)) {
            self.disk.write_at(physical(number), bytes)?;
            let mut groups = self.groups();
            self.group(&mut groups, number / PAGES_IN_GROUP)?
                .set(number % PAGES_IN_GROUP, crc(number, bytes));
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_lengths_fit_together() {
        for pages in [1u64, 2, 1023, 1024, 1025, 2048, 2049, 5000] {
            let len = pages * PAGE as u64;
            assert_eq!(logical_len(physical_len(len)), len, "{pages} pages");
            assert_eq!(physical(pages - 1) + PAGE as u64, physical_len(len), "{pages} pages");
        }
        assert_eq!((physical(0), crc_page(0)), (8192, 4096));
        assert_eq!(physical(1024), crc_page(1) + 4096);
    }
}
