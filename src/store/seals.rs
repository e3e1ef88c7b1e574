//! The seals of a whole file, looked at without redb; and redb's bytes, read without a look at the seals.

use super::disk::Disk;
use super::pages::{
    self, BrokenSeal, CrcPage, PAGE, PAGES_IN_GROUP, SealedFile, Superblock, content_len, crc_page, physical,
};
use crate::error::{Error, Result};
use crate::id::DatabaseId;
use std::io;
use std::sync::Arc;

/// The database that a superblock names, when it is whole, and the copy in it, when that is.
pub(crate) fn superblock(disk: &dyn Disk) -> (Option<DatabaseId>, Option<Vec<u8>>) {
    let mut page = [0; PAGE];
    if disk.read_at(0, &mut page).is_err() {
        return (None, None);
    }
    let named = Superblock::decode(&page).ok().map(|superblock| superblock.id);
    (named, Superblock::copy(&page).map(<[u8]>::to_vec))
}

fn reading(error: io::Error) -> Error {
    Error::io("read the database file", error)
}

/// Reads redb's bytes from `offset` on, without a look at the seals.
pub(crate) fn read_unchecked(disk: &dyn Disk, offset: u64, out: &mut [u8]) -> Result<()> {
    let mut done = 0;
    while done < out.len() {
        let at = offset + done as u64;
        let within = (at % PAGE as u64) as usize;
        let some = (PAGE - within).min(out.len() - done);
        let place = physical(at / PAGE as u64) + within as u64;
        disk.read_at(place, &mut out[done..done + some]).map_err(reading)?;
        done += some;
    }
    Ok(())
}

/// Checks the seal of every page and names those that do not hold, and seals of what is not there: how many pages there are.
pub(crate) fn check_all(disk: Arc<dyn Disk>, broken: &mut dyn FnMut(BrokenSeal)) -> Result<u64> {
    let mut page = [0; PAGE];
    if disk.len().map_err(reading)? >= PAGE as u64 {
        disk.read_at(0, &mut page).map_err(reading)?;
    }
    if Superblock::decode(&page).is_err() {
        broken(BrokenSeal { at: 0, what: "the superblock is not what was written" });
    }
    let pages = content_len(&*disk)? / PAGE as u64;
    let mut clean = None;
    if pages > 0 {
        disk.read_at(physical(0), &mut page).map_err(reading)?;
        clean = (!pages::says_unclean(&page)).then(|| pages::header_number(&page));
    }
    let sealed = SealedFile::over(Box::new(disk), 0, 0);
    let mut named = |result: io::Result<()>| match result {
        Err(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<BrokenSeal>()) {
            Some(&BrokenSeal { at, what }) => {
                broken(BrokenSeal { at, what });
                Ok(())
            }
            None => Err(reading(error)),
        },
        Ok(()) => Ok(()),
    };
    for number in 0..pages {
        named(sealed.read_page(number, &mut page))?;
        if number.is_multiple_of(PAGES_IN_GROUP) {
            sealed.groups().retain(|group, _| *group == number / PAGES_IN_GROUP);
        }
    }
    // Of a file that was not closed, the last seals may not be written, and others lie behind its end.
    if let Some(header) = clean {
        named(check_rest(&sealed, pages, header))?;
    }
    Ok(pages)
}

/// What a crc page of a file that was closed holds besides seals of pages.
fn check_rest(sealed: &SealedFile, pages: u64, header: u32) -> io::Result<()> {
    let mut groups = sealed.groups();
    let durable = sealed.group(&mut groups, 0)?.entry(0);
    // Whoever closed the file may have died before the last of its two syncs.
    if header.wrapping_sub(durable) > 1 {
        return Err(pages::broken(crc_page(0), "its number of the header is not the header's"));
    }
    let (last, first) = (pages / PAGES_IN_GROUP, pages % PAGES_IN_GROUP);
    if first == 0 {
        return Ok(());
    }
    let page: &CrcPage = sealed.group(&mut groups, last)?;
    match (first..PAGES_IN_GROUP).all(|index| page.entry(index) == 0) {
        true => Ok(()),
        false => Err(pages::broken(crc_page(last), "it seals pages behind the end of the file")),
    }
}
