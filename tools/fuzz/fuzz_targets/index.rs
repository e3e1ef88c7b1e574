//! Decoders of the index: bitmaps, blocks, runs, filters, the memtable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sketchdb::fuzzing::INDEX;
use sketchdb_fuzz::decode;

fuzz_target!(|input: &[u8]| decode(INDEX, input));
