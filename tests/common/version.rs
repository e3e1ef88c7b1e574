//! A database file with another format version, under a checksum that holds.

/// Gives the bytes of a file another version.
pub fn set_version(bytes: &mut [u8], version: u32) {
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    if version == 0 {
        // There was no copy of the parameters.
        bytes[512..4096].fill(0);
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&u64::MAX.to_le_bytes());
    hasher.update(&bytes[..508]);
    bytes[508..512].copy_from_slice(&hasher.finalize().to_le_bytes());
}
