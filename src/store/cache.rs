//! Index blocks and records that were read lately, above redb: their pages were checked when redb read them, and what is here
//! costs no walk down a tree.
//!
//! What may lie here never changes: blocks and records are written once, and numbers of runs, contents and documents are
//! never given again. What a view does not have is noted for that view alone. Where the share is full, a hand goes round over the
//! rows and takes away what was not asked for since it was there last (CLOCK), so that a look-up changes next to nothing.

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

type Places = HashMap<Place, usize, BuildHasherDefault<Mixed>>;

/// Rows in the order in which a hand goes round over them.
#[derive(Debug, Default)]
struct Shard {
    places: Places,
    slots: Vec<Slot>,
    hand: usize,
    bytes: usize,
}

#[derive(Debug)]
struct Slot {
    place: Place,
    row: Arc<[u8]>,
    /// Whether it was asked for since the hand was here.
    asked: bool,
}

impl Shard {
    fn get(&mut self, place: Place) -> Option<Arc<[u8]>> {
        let slot = self.slots.get_mut(*self.places.get(&place)?)?;
        slot.asked = true;
        Some(slot.row.clone())
    }

    fn put(&mut self, place: Place, row: Arc<[u8]>, most: usize) {
        let bytes = row.len() + OVERHEAD;
        if bytes > most || self.places.contains_key(&place) {
            return;
        }
        while self.bytes + bytes > most {
            self.let_go();
        }
        self.bytes += bytes;
        self.places.insert(place, self.slots.len());
        self.slots.push(Slot { place, row, asked: false });
    }

    /// Moves the hand on, over a row that was asked for lately or in the place of one that was not.
    fn let_go(&mut self) {
        if self.hand >= self.slots.len() {
            self.hand = 0;
        }
        let Some(slot) = self.slots.get_mut(self.hand) else { return };
        if std::mem::take(&mut slot.asked) {
            self.hand += 1;
            return;
        }
        let gone = self.slots.swap_remove(self.hand);
        self.bytes -= gone.row.len() + OVERHEAD;
        self.places.remove(&gone.place);
        if let Some(moved) = self.slots.get(self.hand) {
            self.places.insert(moved.place, self.hand);
            // What came last is looked at when the hand comes round.
            self.hand += 1;
        }
    }
}

/// Rows that were read lately.
#[derive(Debug)]
pub(crate) struct Cache {
    blocks: Share,
    /// Apart from them: blocks that are asked for once must not push records out.
    records: Share,
    views: AtomicU64,
}

/// A part of a cache.
#[derive(Debug)]
struct Share {
    shards: [Mutex<Shard>; SHARDS],
    /// The most bytes of a shard.
    most: usize,
}

impl Share {
    fn new(bytes: usize) -> Self {
        Share { shards: Default::default(), most: bytes / SHARDS }
    }

    fn shard(&self, place: Place) -> MutexGuard<'_, Shard> {
        let number = (place.hash() >> 32) as usize % SHARDS;
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        let of = |shard: &Mutex<Shard>| shard.lock().unwrap_or_else(PoisonError::into_inner).bytes;
        self.shards.iter().map(of).sum()
    }
}

impl Cache {
    /// A cache of at most so many bytes of blocks and of records.
    pub fn new(blocks: usize, records: usize) -> Arc<Self> {
        let views = AtomicU64::new(0);
        Arc::new(Cache { blocks: Share::new(blocks), records: Share::new(records), views })
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
        share.shard(place).get(place)
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
        let cache = Cache::new(BYTES / 4 * 3, BYTES / 4);
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
        let cache = Cache::new(192 << 10, 64 << 10);
        cache.put(Place::Content(7), b"seven");
        for other in 100..20_000 {
            cache.put(Place::Content(other), &[0; 200]);
            assert!(cache.get(Place::Content(7)).is_some(), "gone after {other}");
        }
        assert_eq!(cache.get(Place::Content(100)), None);
    }

    #[test]
    fn what_is_larger_than_the_share_is_not_kept() {
        let cache = Cache::new(0, 0);
        cache.put(Place::Content(1), b"");
        assert_eq!((cache.get(Place::Content(1)), cache.bytes()), (None, 0));
    }
}
