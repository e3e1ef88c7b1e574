//! The reader of JSON lines against a plain definition by serde_json: the same id and text, or an error of both.
#![no_main]
#![allow(dead_code)]

#[path = "../../../src/cli/args/mod.rs"]
mod args;
#[path = "../../../src/cli/creation.rs"]
mod creation;
#[path = "../../../src/cli/input/mod.rs"]
mod input;
#[path = "../../../src/cli/say.rs"]
mod say;

use input::{Fields, Piece, Place};
use libfuzzer_sys::fuzz_target;
use serde::de::{MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use sketchdb_fuzz::{Input, within};
use std::fmt;

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

/// Key and text of a line: the last fields of their names, all of which must be what they are to be.
fn definition(bytes: &[u8], fields: &Fields) -> Option<(String, String)> {
    let line = String::from_utf8_lossy(bytes);
    let object: Object = serde_json::from_str(&line).ok()?;
    let (mut id, mut text) = (None, None);
    for (name, value) in object.0 {
        let read = || serde_json::from_str::<Value>(value.get()).ok();
        if name == fields.id {
            id = match read()? {
                Value::Null => None,
                Value::String(id) => Some(id),
                Value::Number(id) if id.is_u64() || id.is_i64() => Some(id.to_string()),
                _ => return None,
            };
        } else if name == fields.text {
            text = Some(read()?.as_str()?.to_owned());
        }
    }
    let key = id.unwrap_or_else(|| "file:7".into());
    text.filter(|_| (1..=4096).contains(&key.len())).map(|text| (key, text))
}

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let (which, _how) = (input.byte(), input.number(8));
    let bytes = input.0.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let fields = match which % 4 {
        0..=2 => Fields { id: "id".into(), text: "text".into(), time: None },
        _ => Fields { id: "e".into(), text: "e".into(), time: None },
    };
    let place = Place { file: "file".into(), line: 7 };
    let found = within((1 << 20) + 16 * bytes.len(), || {
        let mut text = Vec::new();
        let piece = Piece::Line { bytes: bytes.to_vec(), place };
        let read = input::read(piece, &fields, &mut |part| text.extend(part)).ok()?;
        Some((read.key, String::from_utf8(text).expect("a text of UTF-8"), read.replaced))
    });
    let replaced = bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count() as u64;
    let expected = definition(bytes, &fields).map(|(key, text)| (key, text, replaced));
    assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(bytes));
});
