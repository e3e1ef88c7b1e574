//! Pages of any bytes: the same text whole and in chunks, of every extraction, well formed unless it is plain UTF-8.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sketchdb::web::{Extraction, MediaType, read_text, text_of};
use sketchdb_fuzz::{Chunks, Input, chunks, within};
use std::io;

const TYPES: [&str; 6] = [
    "text/html",
    "text/html; charset=utf-8",
    "text/html; charset=shift_jis",
    "application/xhtml+xml; charset=utf-16le",
    "text/plain",
    "",
];

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let (which, how) = (usize::from(input.byte()), input.number(8));
    let (media, bytes) = (MediaType::parse(TYPES[which % TYPES.len()]), input.0);
    for extraction in [Extraction::Main, Extraction::Text, Extraction::Raw] {
        let read = |reader: &mut dyn io::Read| {
            let mut text = Vec::new();
            let read = read_text(reader, &media, extraction, &mut |part| text.extend(part));
            (read.expect("nothing fails"), text)
        };
        within(64 << 20, || {
            let whole = read(&mut &bytes[..]);
            assert_eq!(read(&mut Chunks(chunks(bytes, how))), whole, "in chunks");
            if media.is_html() && extraction != Extraction::Raw {
                assert!(std::str::from_utf8(&whole.1).is_ok(), "no UTF-8");
            }
            assert_eq!(text_of(bytes, TYPES[which % TYPES.len()], extraction).is_some(), whole.0.is_some());
        });
    }
});
