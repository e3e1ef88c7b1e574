//! Lines that are no export, or one that was changed: refused, or a database that is whole and exports what can be imported.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use sketchdb::{Database, Error, Result};
use sketchdb_fuzz::base::{MOST, bytes, options};
use sketchdb_fuzz::{Input, MemoryDisk, within};
use std::sync::OnceLock;

const MEMORY: usize = 1 << 20;

/// The lines of an export.
fn whole() -> &'static [String] {
    static WHOLE: OnceLock<Vec<String>> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let db = Database::open_on(MemoryDisk::of(bytes(), MOST), options(false)).unwrap();
        exported(&db)
    })
}

fn exported(db: &Database) -> Vec<String> {
    let mut lines = Vec::new();
    let exported = db.export::<Error>(&mut |_, _, _| {}, |line| {
        lines.push(line.to_owned());
        Ok(())
    });
    exported.expect("a database that is whole");
    lines
}

/// Imports lines: what the database then exports.
fn imported(lines: Vec<String>) -> Result<Vec<String>> {
    let disk = MemoryDisk::of(Vec::new(), MOST);
    let documents =
        Database::import_onto(disk.clone(), &mut lines.into_iter().map(Ok), MEMORY, &mut |_, _, _| {})?;
    let db = Database::open_on(disk, options(false)).expect("an imported database");
    let verified = db.verify(true).expect("an imported database");
    assert_eq!((verified.damage, verified.documents), (Vec::new(), documents));
    Ok(exported(&db))
}

fuzz_target!(init: { whole(); }, |input: &[u8]| {
    let mut input = Input(input);
    let lines = match input.byte() {
        0 => String::from_utf8_lossy(input.0).lines().map(str::to_owned).collect(),
        _ => changed(&mut input),
    };
    let length: usize = lines.iter().map(String::len).sum();
    within((32 << 20) + 64 * length, || match imported(lines) {
        Ok(lines) => assert_eq!(imported(lines.clone()).expect("what was exported"), lines),
        Err(Error::Invalid { .. } | Error::Corrupt { .. } | Error::Incompatible { .. }) => {}
        Err(error) => panic!("not an error of the lines: {error:?}"),
    });
});

/// The export with some of its lines changed.
fn changed(input: &mut Input) -> Vec<String> {
    let mut lines = whole().to_vec();
    while !input.is_empty() && !lines.is_empty() {
        let (line, change) = (input.below(lines.len()), input.byte());
        let other = input.below(lines.len());
        match change % 12 {
            0 => drop(lines.remove(line)),
            1 => lines.insert(other, lines[line].clone()),
            2 => lines.swap(line, other),
            _ => {
                let Ok(mut value) = serde_json::from_str::<Value>(&lines[line]) else { continue };
                let fields = value
                    .as_object_mut()
                    .and_then(|line| line.values_mut().next())
                    .and_then(Value::as_object_mut);
                let Some(fields) = fields.filter(|fields| !fields.is_empty()) else { continue };
                let name = fields.keys().nth(other % fields.len()).cloned().unwrap_or_default();
                change_field(fields, &name, change, input, lines.len());
                lines[line] = value.to_string();
            }
        }
    }
    lines
}

fn change_field(
    fields: &mut serde_json::Map<String, Value>,
    name: &str,
    change: u8,
    input: &mut Input,
    lines: usize,
) {
    let Some(value) = fields.get_mut(name) else { return };
    match (change % 12, &mut *value) {
        (3, _) => *value = Value::Null,
        (4, _) => drop(fields.remove(name)),
        (5, Value::Number(_)) => *value = input.number(8).into(),
        (_, Value::Number(number)) => {
            let number = number.as_u64().unwrap_or(0);
            *value = number.wrapping_add(input.below(2 * lines) as u64).wrapping_sub(lines as u64).into();
        }
        (6, Value::String(text)) => text.truncate(text.floor_char_boundary(input.below(text.len()))),
        (7, Value::String(text)) => *text += &String::from_utf8_lossy(input.bytes(2)),
        (_, Value::String(text)) => {
            let at = text.floor_char_boundary(input.below(text.len()));
            if let Some(old) = text[at..].chars().next() {
                let new = b"0123456789abcdef+ \"z"[usize::from(input.byte()) % 20];
                text.replace_range(at..at + old.len_utf8(), std::str::from_utf8(&[new]).unwrap_or_default());
            }
        }
        (_, Value::Bool(flag)) => *flag = !*flag,
        (_, Value::Object(inner)) if !inner.is_empty() => {
            let name = inner.keys().nth(input.below(inner.len())).cloned().unwrap_or_default();
            change_field(inner, &name, change, input, lines);
        }
        _ => *value = Value::Bool(true),
    }
}
