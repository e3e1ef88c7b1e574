//! A database file with another format version, under a checksum that holds.

/// Gives the bytes of a file another version and draft.
pub fn set_version(bytes: &mut [u8], number: u32, draft: u32) {
    bytes[12..16].copy_from_slice(&number.to_le_bytes());
    bytes[16..20].copy_from_slice(&draft.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&u64::MAX.to_le_bytes());
    hasher.update(&bytes[..508]);
    bytes[508..512].copy_from_slice(&hasher.finalize().to_le_bytes());
}

/// Gives the bytes of a file a superblock of version 0 or 1.
pub fn set_old_version(bytes: &mut [u8], number: u32) {
    bytes[8..12].copy_from_slice(&number.to_le_bytes());
    bytes[12..20].fill(7);
}
