//! Blocked Bloom filters (Putze, Sanders, Singler 2007): every key sets its bits within one 64-byte block, so that a
//! look-up touches one cache line. 10 bits a key, six probes: about 1.2 % of absent keys pass.

use crate::text::rabin::mix;

const BLOCK: usize = 64;
const BITS_PER_KEY: usize = 10;
const PROBES: u32 = 6;

/// The bytes of a filter over these keys: a whole number of blocks.
pub(crate) fn build(keys: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; (keys.len() * BITS_PER_KEY).div_ceil(8 * BLOCK).max(1) * BLOCK];
    for &key in keys {
        let probe = Probe::new(key);
        let (block, mut probes) = (probe.line(&bytes), probe.probes);
        for _ in 0..PROBES {
            let bit = (probes & 511) as usize;
            bytes[block + bit / 8] |= 1 << (bit % 8);
            probes >>= 9;
        }
    }
    bytes
}

/// A key as filters know it: hashed once for all that are asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    hash: u64,
    probes: u64,
}

impl Probe {
    pub fn new(key: u64) -> Self {
        let hash = mix(key ^ 0x5851_F42D_4C95_7F2D);
        Probe { hash, probes: mix(hash) }
    }

    /// Where in a filter the line of the key begins.
    fn line(self, bytes: &[u8]) -> usize {
        let lines = (bytes.len() / BLOCK) as u128;
        ((u128::from(self.hash) * lines) >> 64) as usize * BLOCK
    }
}

/// Reads what [`passes`] will ask for, and says nothing: of many filters asked one after the other, all but the first few wait
/// for memory together.
pub(crate) fn touch(bytes: &[u8], probe: Probe) -> u8 {
    bytes.get(probe.line(bytes)).copied().unwrap_or(0)
}

/// False when the key is certainly not among those of the filter.
pub(crate) fn may_hold(bytes: &[u8], key: u64) -> bool {
    passes(bytes, Probe::new(key))
}

/// False when the key of the probe is certainly not among those of the filter.
pub(crate) fn passes(bytes: &[u8], probe: Probe) -> bool {
    if bytes.len() < BLOCK {
        return true;
    }
    let (block, probes) = (probe.line(bytes), probe.probes);
    let line: Option<&[u8; BLOCK]> = bytes.get(block..block + BLOCK).and_then(|line| line.try_into().ok());
    // All bits at once: which of them is missing is anybody's guess, and a processor's wrong guess costs more than the rest.
    line.is_none_or(|line| {
        let held = |bit: u64| line[bit as usize / 8 % BLOCK] >> (bit % 8);
        (0..PROBES).fold(1, |all, probe| all & held(probes >> (9 * probe) & 511)) & 1 == 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_missed_and_few_others_pass() {
        for count in [0u64, 1, 10, 1000, 30_000] {
            let keys: Vec<u64> = (0..count).collect();
            let filter = build(&keys);
            assert!(keys.iter().all(|&key| may_hold(&filter, key)));
            let passed = (count..count + 20_000).filter(|&key| may_hold(&filter, key)).count();
            assert!(passed < 500, "{count} keys: {passed} of 20,000 absent keys passed");
        }
    }

    #[test]
    fn damaged_filters_of_any_length_are_harmless() {
        for length in [0, 1, 63, 65, 100] {
            may_hold(&vec![0; length], 5);
        }
    }
}
