//! Decoders of sketches: samples, signatures, edit signatures, portable ones.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sketchdb::fuzzing::SKETCHES;
use sketchdb_fuzz::decode;

fuzz_target!(|input: &[u8]| decode(SKETCHES, input));
