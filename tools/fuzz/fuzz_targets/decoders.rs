//! Every decoder of stored bytes: the first byte of an input chooses one, the rest is what it reads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sketchdb::fuzzing::DECODERS;
use sketchdb_fuzz::within;

/// Memory that a decoder may take at once, and for each byte that it reads: a bitmap's run of six bytes is 8 KiB in memory.
const MEMORY: (usize, usize) = (4 << 20, 2048);

fuzz_target!(|input: &[u8]| {
    if let Some((&first, bytes)) = input.split_first() {
        let (_, check) = DECODERS[usize::from(first) % DECODERS.len()];
        within(MEMORY.0 + MEMORY.1 * bytes.len(), || check(bytes));
    }
});
