//! A disk that a reader may write on: changes stay in memory and the disk below is never touched.
//!
//! redb wants to write when it opens and closes a file; a verb that only reads must not.

use super::disk::Disk;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

const PAGE: u64 = 4096;

/// A disk below, and the pages that differ from it.
#[derive(Debug)]
pub(crate) struct Overlay {
    below: Box<dyn Disk>,
    /// Nobody writes on the disk below meanwhile.
    below_len: u64,
    changed: Mutex<Changed>,
}

#[derive(Debug)]
struct Changed {
    len: u64,
    pages: HashMap<u64, Vec<u8>>,
}

impl Overlay {
    pub fn over(below: Box<dyn Disk>) -> io::Result<Self> {
        let len = below.len()?;
        let changed = Mutex::new(Changed { len, pages: HashMap::new() });
        Ok(Overlay { below, below_len: len, changed })
    }

    fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The part of the page at `start` that the disk below holds, zeros behind its end.
    fn page_below(&self, start: u64) -> io::Result<Vec<u8>> {
        let mut page = vec![0; PAGE as usize];
        let there = self.below.len()?.saturating_sub(start).min(PAGE) as usize;
        self.below.read_at(start, &mut page[..there])?;
        Ok(page)
    }
}

/// The pages that a range touches: page start, range within the page, range within the buffer.
fn pages(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let end = offset + len as u64;
    (offset / PAGE..end.div_ceil(PAGE)).map(move |page| {
        let from = offset.max(page * PAGE);
        let to = end.min((page + 1) * PAGE);
        (page * PAGE, (from - page * PAGE) as usize, (from - offset) as usize..(to - offset) as usize)
    })
}

impl Disk for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changed().len)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changed = self.changed();
        if offset + out.len() as u64 > changed.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let end = offset + out.len() as u64;
        if end <= self.below_len && pages(offset, out.len()).all(|page| !changed.pages.contains_key(&page.0))
        {
            // Readers wait for the disk side by side.
            drop(changed);
            return self.below.read_at(offset, out);
        }
        for (start, within, part) in pages(offset, out.len()) {
            match changed.pages.get(&start) {
                Some(page) => out[part.clone()].copy_from_slice(&page[within..within + part.len()]),
                None => {
                    let page = self.page_below(start)?;
                    out[part.clone()].copy_from_slice(&page[within..within + part.len()]);
                }
            }
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut changed = self.changed();
        for (start, within, part) in pages(offset, bytes.len()) {
            let page = match changed.pages.entry(start) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::hash_map::Entry::Vacant(entry) => entry.insert(self.page_below(start)?),
            };
            page[within..within + part.len()].copy_from_slice(&bytes[part]);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut changed = self.changed();
        changed.len = len;
        changed.pages.retain(|&start, _| start < len);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
