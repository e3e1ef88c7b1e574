//! Index blocks and records that were read lately, above redb: their pages were checked when redb read them, and what is here
//! costs no walk down a tree.
//!
//! What may lie here never changes: blocks and records are written once, and numbers of runs, contents and documents are
//! never given again. What a view does not have is noted for that view alone. What is over the share goes by age: rows that were not asked for while half of the share was
//! filled anew (two generations, so that a look-up changes next to nothing).

use crate::text::rabin::mix;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 16;
/// What an entry takes besides its bytes: counts, key, room of the table.
const OVERHEAD: usize = 96;

/// What is kept, and where it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// A block of a run.
    Block(u64, u32),
    /// The record of a content.
    Content(u64),
    /// The record of a document, as it was written.
    Document(u64),
    /// Of a view by its number: that a content has no rows of holders.
    Alone(u64, u64),
    /// Of a view by its number: that a document has no amendment.
    Unamended(u64, u64),
}

impl Place {
    fn hash(self) -> u64 {
        let mut hasher = Mixed::default();
        std::hash::Hash::hash(&self, &mut hasher);
        hasher.finish()
    }
}

/// A hasher of a few numbers.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Rows = HashMap<Place, Arc<[u8]>, BuildHasherDefault<Mixed>>;

/// Rows of two generations.
#[derive(Debug, Default)]
struct Shard {
    young: Rows,
    old: Rows,
    young_bytes: usize,
    old_bytes: usize,
}

impl Shard {
    fn get(&mut self, place: Place, most: usize) -> Option<Arc<[u8]>> {
        if let Some(row) = self.young.get(&place) {
            return Some(row.clone());
        }
        let row = self.old.remove(&place)?;
        self.old_bytes -= row.len() + OVERHEAD;
        self.put(place, row.clone(), most);
        Some(row)
    }

    fn put(&mut self, place: Place, row: Arc<[u8]>, most: usize) {
        let bytes = row.len() + OVERHEAD;
        if self.young_bytes + bytes > most {
            self.old = std::mem::take(&mut self.young);
            self.old_bytes = std::mem::take(&mut self.young_bytes);
        }
        if bytes <= most && self.young.insert(place, row).is_none() {
            self.young_bytes += bytes;
        }
    }
}

/// Rows that were read lately.
#[derive(Debug)]
pub(crate) struct Cache {
    blocks: Share,
    /// A quarter of it: a record is a tenth of a block or less, and blocks that are asked for once must not push them out.
    records: Share,
    views: AtomicU64,
}

/// A part of a cache.
#[derive(Debug)]
struct Share {
    shards: [Mutex<Shard>; SHARDS],
    /// The most bytes of a generation of a shard.
    most: usize,
}

impl Share {
    fn new(bytes: usize) -> Self {
        Share { shards: Default::default(), most: bytes / SHARDS / 2 }
    }

    fn shard(&self, place: Place) -> MutexGuard<'_, Shard> {
        let number = (place.hash() >> 32) as usize % SHARDS;
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        let of = |shard: &Mutex<Shard>| {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.young_bytes + shard.old_bytes
        };
        self.shards.iter().map(of).sum()
    }
}

impl Cache {
    /// A cache of at most so many bytes.
    pub fn new(bytes: usize) -> Arc<Self> {
        let records = bytes / 4;
        let views = AtomicU64::new(0);
        Arc::new(Cache { blocks: Share::new(bytes - records), records: Share::new(records), views })
    }

    /// A number for a view.
    pub fn next_view(&self) -> u64 {
        self.views.fetch_add(1, Ordering::Relaxed)
    }

    fn share(&self, place: Place) -> &Share {
        if matches!(place, Place::Block(..)) { &self.blocks } else { &self.records }
    }

    /// The row from a place, when it is here.
    pub fn get(&self, place: Place) -> Option<Arc<[u8]>> {
        let share = self.share(place);
        share.shard(place).get(place, share.most)
    }

    /// Keeps what was read from a place.
    pub fn put(&self, place: Place, row: &[u8]) {
        let share = self.share(place);
        if row.len() + OVERHEAD <= share.most {
            let row = Arc::from(row);
            share.shard(place).put(place, row, share.most);
        }
    }

    /// Bytes that are taken.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.blocks.bytes() + self.records.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_there_or_gone_and_never_another() {
        const BYTES: usize = 64 << 10;
        let cache = Cache::new(BYTES);
        let places = |i: u64| [Place::Content(i), Place::Document(i), Place::Block(i / 7, i as u32 % 7)];
        let row = |place: Place| place.hash().to_le_bytes().repeat(1 + place.hash() as usize % 40);
        let mut found = 0;
        for round in 0..4000u64 {
            let asked = mix(round) % 300;
            for place in places(asked) {
                match cache.get(place) {
                    Some(there) => {
                        assert_eq!(there[..], row(place), "{place:?}");
                        found += 1;
                    }
                    None => cache.put(place, &row(place)),
                }
            }
            assert!(cache.bytes() <= BYTES, "{} bytes", cache.bytes());
        }
        assert!(found > 500, "{found} found again");
    }

    #[test]
    fn what_is_asked_for_again_stays() {
        let cache = Cache::new(256 << 10);
        cache.put(Place::Content(7), b"seven");
        for other in 100..20_000 {
            cache.put(Place::Content(other), &[0; 200]);
            assert!(cache.get(Place::Content(7)).is_some(), "gone after {other}");
        }
        assert_eq!(cache.get(Place::Content(100)), None);
    }

    #[test]
    fn what_is_larger_than_the_share_is_not_kept() {
        let cache = Cache::new(0);
        cache.put(Place::Content(1), b"");
        assert_eq!((cache.get(Place::Content(1)), cache.bytes()), (None, 0));
    }
}
