//! How much of an archive may be read again after damage.

const MOST: u64 = 64 << 20;
const FACTOR: u64 = 8;

/// Bytes that were read again: so many are allowed, and so many for each byte that was passed. Else an archive of records that all
/// claim to be long, or of what looks like members, would take time with the square of its length.
#[derive(Debug, Default)]
pub struct Again(u64);

impl Again {
    /// Whether so many bytes more may be read again, when so many were passed.
    pub fn allows(&mut self, bytes: u64, passed: u64) -> bool {
        self.0 += bytes;
        self.0 <= MOST + FACTOR * passed
    }
}
