//! Sets of ids as rows: one roaring bitmap for every 65,536 ids, so that a change rewrites 8 KiB at most.

use crate::error::{Error, Result};
use roaring::RoaringBitmap;

/// A set of ids in memory.
pub(crate) use roaring::RoaringTreemap as IdSet;

/// The row that an id belongs to.
pub(crate) fn row_of(id: u64) -> u64 {
    id >> 16
}

/// The stored form of one row of a set, `None` when it is empty.
pub(crate) fn encode(set: &IdSet, row: u64) -> Option<Vec<u8>> {
    let (high, first) = ((row >> 16) as u32, (row as u32) << 16);
    let (_, ids) = set.bitmaps().find(|(number, _)| *number == high)?;
    let mut bitmap: RoaringBitmap = ids.range(first..=first | 0xFFFF).map(|id| id & 0xFFFF).collect();
    bitmap.optimize();
    (!bitmap.is_empty()).then(|| {
        let mut bytes = Vec::with_capacity(bitmap.serialized_size());
        bitmap.serialize_into(&mut bytes).expect("writing to memory");
        bytes
    })
}

/// Adds a stored row to a set.
pub(crate) fn decode_into(set: &mut IdSet, row: u64, bytes: &[u8]) -> Result<()> {
    let wrong = |what: &str| Error::corrupt("bitmap", what);
    if row >> 32 != 0 {
        return Err(wrong("no id is in its row"));
    }
    let bitmap = RoaringBitmap::deserialize_from(bytes).map_err(|error| wrong(&error.to_string()))?;
    if bitmap.max().is_none_or(|max| max > 0xFFFF) {
        return Err(wrong("it is empty or holds ids beyond its row"));
    }
    set.append(bitmap.iter().map(|low| row << 16 | u64::from(low)))
        .map(|_| ())
        .map_err(|_| wrong("its rows are not ascending"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let set: IdSet = (0..300_000u64).filter(|id| id % 3 == 0).chain([1 << 40]).collect();
        let mut read = IdSet::new();
        for row in (0..5).chain([1 << 24]) {
            let bytes = encode(&set, row).unwrap();
            assert!(bytes.len() < 8300);
            decode_into(&mut read, row, &bytes).unwrap();
        }
        assert_eq!(read, set);
        assert_eq!(encode(&set, 9), None);
        assert!(decode_into(&mut read, 0, b"junk").is_err());
    }
}
