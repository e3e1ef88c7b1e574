//! Decoders of the truth: frames, records, the superblock, parameters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sketchdb::fuzzing::RECORDS;
use sketchdb_fuzz::decode;

fuzz_target!(|input: &[u8]| decode(RECORDS, input));
