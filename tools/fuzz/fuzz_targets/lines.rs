//! The reader of JSON lines against a plain definition by serde_json: the same id and text, or an error of both.
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

use input::{Fields, Piece, Place, Reading, Tally};
use libfuzzer_sys::fuzz_target;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use sketchdb_fuzz::{Chunks, Input, chunks, within};
use std::{fmt, io};

/// An object's fields in order, those that come twice too, none of them read yet.
struct Object(Vec<(String, Box<RawValue>)>);

impl<'de> serde::Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Object(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// A line in which escapes of half a surrogate pair are escapes of U+FFFD, and how many there were.
fn mended(line: &str) -> (String, u64) {
    let unit = |text: &str| u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let (mut out, mut replaced, mut rest) = (String::new(), 0, line);
    while let Some(c) = rest.chars().next() {
        let low = |text: &str| matches!(unit(text), Some(0xDC00..=0xDFFF));
        let (part, used) = match unit(rest) {
            Some(0xD800..=0xDBFF) if low(&rest[6..]) => (&rest[..12], 12),
            Some(0xD800..=0xDFFF) => ("\\ufffd", 6),
            None if c == '\\' => {
                let used = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                (&rest[..used], used)
            }
            _ => (&rest[..c.len_utf8()], c.len_utf8()),
        };
        replaced += u64::from(used == 6);
        out.push_str(part);
        rest = &rest[used..];
    }
    (out, replaced)
}

/// Key and text of a line, and how much in it was replaced: each field comes once, and is what it is to be. A line of blanks
/// is no document, and no part of an id may be replaced.
fn definition(bytes: &[u8], fields: &Fields) -> Option<(String, String, u64)> {
    let (line, halves) = mended(&String::from_utf8_lossy(bytes));
    let replaced = halves + bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count() as u64;
    let object: Object = serde_json::from_str(&line).ok()?;
    let named = |name: &str| object.0.iter().filter(|field| field.0 == name).map(|field| &field.1).collect();
    let (ids, texts, times): (Vec<_>, Vec<_>, Vec<_>) =
        (named(&fields.id), named(&fields.text), fields.time.as_deref().map(named).unwrap_or_default());
    if ids.len() > 1 || texts.len() != 1 || times.len() > 1 || fields.id == fields.text {
        return None;
    }
    let read = |value: &RawValue| serde_json::from_str::<Value>(value.get()).ok();
    let id = ids.first().and_then(|id| read(id)).filter(|_| replaced > 0);
    if id.as_ref().and_then(Value::as_str).is_some_and(|id| id.contains('\u{FFFD}')) {
        return None;
    }
    let key = match ids.first().map_or(Some(Value::Null), |id| read(id))? {
        Value::Null => "file:7".into(),
        Value::String(id) => id,
        Value::Number(id) if id.is_u64() || id.is_i64() => id.to_string(),
        _ => return None,
    };
    let text = read(texts[0])?.as_str()?.to_owned();
    // Of a time that is none only what is no string at all is an error.
    times.into_iter().filter(|time| time.get().starts_with('"')).try_for_each(|time| read(time).map(drop))?;
    Some((key, text, replaced)).filter(|(key, ..)| (1..=4096).contains(&key.len()))
}

/// What came of a line: key, text, sequences replaced, time.
type Found = Option<(String, String, u64, Option<u64>)>;

fn found(read: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<Option<input::Read>, input::Problem>) -> Found {
    within(4 << 20, || {
        let mut text = Vec::new();
        let read = read(&mut |part| text.extend(part)).ok()??;
        Some((read.key, String::from_utf8(text).expect("a text of UTF-8"), read.replaced, read.seen_at))
    })
}

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let (which, how) = (input.byte(), input.number(8));
    let bytes = input.0.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let fields = |id: &str, text: &str, time: Option<&str>| Fields {
        id: id.into(),
        text: text.into(),
        time: time.map(Into::into),
    };
    let fields = match which % 4 {
        0 | 1 => fields("id", "text", None),
        2 => fields("id", "text", Some("e")),
        _ => fields("e", "e", None),
    };
    let place = Place { file: "file".into(), at: 7 };
    let piece = Piece::Line { bytes: bytes.to_vec(), place: place.clone() };
    let reading = Reading { fields: fields.clone(), extraction: None };
    let held = found(|take| input::read(piece, &reading, &Tally::default(), take));
    let line = String::from_utf8_lossy(bytes);
    let untimed = held.clone().map(|(key, text, replaced, _)| (key, text, replaced));
    assert_eq!(untimed, definition(bytes, &fields), "{line:?}");
    let streamed = found(|take| input::read_long(Chunks(chunks(bytes, how)), &place, &fields, take));
    assert_eq!(streamed, held, "as a stream: {line:?}");
});
