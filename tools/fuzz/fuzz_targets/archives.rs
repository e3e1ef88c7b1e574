//! Archives of any bytes, packed or not: the same records whole and in chunks, and an end.
#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../../../src/cli/args/mod.rs"]
mod args;
#[path = "../../../src/cli/compressed.rs"]
mod compressed;
#[path = "../../../src/cli/creation.rs"]
mod creation;
#[path = "../../../src/cli/input/mod.rs"]
mod input;
#[path = "../../../src/cli/interrupt.rs"]
mod interrupt;
#[path = "../../../src/cli/say.rs"]
mod say;

use clap::Parser;
use input::{Fields, Piece, Reading, Tally, Walk};
use libfuzzer_sys::fuzz_target;
use sketchdb::web::Extraction;
use sketchdb_fuzz::{Chunks, Input, chunks, within};
use std::io::{self, Write};
use std::sync::LazyLock;

/// What stands between the members that an input asks for.
const SEAM: &[u8] = b"\xFF\xFE";
/// Bytes of a record that is held.
const HELD: usize = 1 << 16;

static COMMAND: LazyLock<args::Cli> = LazyLock::new(|| args::Cli::parse_from(["sketchdb", "sketch", "-"]));

/// Members of gzip or frames of zstd, or the bytes as they are; then one byte changed, and the end cut off.
fn packed(how: u8, damage: (u8, u8), bytes: &[u8]) -> Vec<u8> {
    let members = || bytes.split(|byte| SEAM.contains(byte));
    let gzip = |member: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(member).expect("memory");
        encoder.finish().expect("memory")
    };
    let zstd = |member: &[u8]| zstd::encode_all(member, 1).expect("memory");
    let mut out = match how % 3 {
        0 => bytes.to_vec(),
        1 => members().flat_map(gzip).collect(),
        _ => members().flat_map(zstd).collect(),
    };
    let (at, cut) = damage;
    let place = usize::from(at) * out.len() / 256;
    if let (1.., Some(byte)) = (at, out.get_mut(place)) {
        *byte ^= at;
    }
    out.truncate(out.len() - usize::from(cut) * out.len() / 1024);
    out
}

/// What the pieces of an archive are, in words.
fn told(archive: impl io::Read, reading: &Reading) -> Vec<String> {
    let args::Verb::Sketch(verb) = &COMMAND.verb else { unreachable!("the verb is sketch") };
    let (tally, mut all) = (Tally::default(), Vec::new());
    let (_going_on, stopped) = crossbeam_channel::bounded(0);
    let mut sink = |piece: Option<Piece>, _: bool| {
        let Some(piece) = piece else { return true };
        let place = piece.place();
        let what = match piece {
            // Who walks would wait for who reads.
            piece if piece.passes() => "long".into(),
            Piece::Revisit(visit) => format!("{visit:?}"),
            piece => {
                let mut text: Vec<u8> = Vec::new();
                match input::read(piece, reading, &tally, &mut |part| text.extend(part)) {
                    Ok(None) => "nothing".into(),
                    Ok(Some(read)) => format!("{} {} {text:?}", read.key, read.replaced),
                    Err(problem) => problem.to_string(),
                }
            }
        };
        all.push(format!("{place}: {what}"));
        true
    };
    Walk::new(&verb.inputs, &[], HELD, &|_| (), &tally, stopped, &mut sink).archive("archive", archive);
    all.extend(tally.said());
    all
}

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let (packing, damage) = (input.byte(), (input.byte(), input.byte()));
    let how = input.number(8);
    let fields = Fields { id: "id".into(), text: "text".into(), time: None };
    let reading = Reading { fields, extraction: Some(Extraction::Text) };
    let archive = packed(packing, damage, input.0);
    within(64 << 20, || {
        let whole = told(&archive[..], &reading);
        let parts = told(Chunks(chunks(&archive, how)), &reading);
        // How much of a damaged member comes before its damage is noticed is its decoder's affair.
        assert!(
            parts == whole || packing % 3 != 0 && damage != (0, 0),
            "in chunks: {parts:?}, whole: {whole:?}"
        );
    });
});
