//! JSON lines: one object a line, of which an id (string or integer) and a text (string) are read.

use super::outside::{MOST_DEEP, too_deep};
use super::{Fields, Place, Problem, Read};
use crate::args;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// What an id must be.
pub fn no_id(fields: &Fields) -> String {
    format!("{:?} must be a string or an integer", fields.id)
}

/// What a text must be.
pub fn no_text(fields: &Fields) -> String {
    format!("{:?} must be a string", fields.text)
}

/// The document of a line, its text handed to `take`. A line without id has the key FILE:LINE.
pub fn read(
    bytes: &[u8],
    place: &Place,
    fields: &Fields,
    take: &mut dyn FnMut(&[u8]),
) -> Result<Read, Problem> {
    if too_deep(bytes) {
        return Err(Problem::new(
            place,
            format!("more than {MOST_DEEP} arrays and objects within each other"),
        ));
    }
    let line = String::from_utf8_lossy(bytes);
    let replaced = match &line {
        Cow::Borrowed(_) => 0,
        Cow::Owned(_) => bytes.utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count() as u64,
    };
    let mut parser = serde_json::Deserializer::from_str(&line);
    let mut found = Object(fields)
        .deserialize(&mut parser)
        .and_then(|found| parser.end().map(|()| found))
        .map_err(|error| Problem::new(place, said(&error)))?;
    if let Some(text) = &mut found.text {
        take(text.as_bytes());
    }
    found.read(place, fields, replaced)
}

/// What is wrong with a line, in words of what it must be.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
    match error.classify() {
        Category::Data => what.rsplit_once(", expected ").map_or(what, |(_, expected)| expected).to_owned(),
        _ => format!("not JSON: {what} (column {})", error.column()),
    }
}

/// The fields of a line that were asked for and are there.
pub struct Found<T> {
    id: Option<Option<String>>,
    text: Option<T>,
    seen_at: Option<Option<u64>>,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Found { id: None, text: None, seen_at: None }
    }
}

impl<T> Found<T> {
    pub fn id(&mut self, id: Option<String>) -> Result<(), String> {
        once(&mut self.id, id, "id")
    }

    pub fn text(&mut self, text: T) -> Result<(), String> {
        once(&mut self.text, text, "text")
    }

    pub fn time(&mut self, seen_at: Option<u64>) -> Result<(), String> {
        once(&mut self.seen_at, seen_at, "time")
    }

    /// The document, when there is a text.
    pub fn read(self, place: &Place, fields: &Fields, replaced: u64) -> Result<Read, Problem> {
        if self.text.is_none() {
            return Err(Problem::new(
                place,
                format!("no field {:?} (--text-field names another)", fields.text),
            ));
        }
        let key = self.id.flatten().unwrap_or_else(|| place.to_string());
        Ok(Read { key, replaced, seen_at: self.seen_at.flatten() })
    }
}

/// Which of two a reader takes is anybody's guess: there may be one.
fn once<T>(slot: &mut Option<T>, value: T, what: &str) -> Result<(), String> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("the field of the {what} comes twice")),
    }
}

/// Whether a number can be an id.
pub fn is_id(number: &str) -> bool {
    number != "-0" && (number.parse::<u64>().is_ok() || number.parse::<i64>().is_ok())
}

/// Seconds since 1970, of whatever stands in the field of the time; what is no time is none.
pub fn seconds(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => args::time(text).ok(),
        Value::Number(number) => {
            let part = || number.as_f64().filter(|seconds| *seconds >= 0.0).map(|seconds| seconds as u64);
            number.as_u64().or_else(part)
        }
        _ => None,
    }
}

/// The value of the field of the time; null of what is neither a string nor a number that can be held.
fn time(value: &RawValue) -> serde_json::Result<Value> {
    match value.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(value.get()),
        Some(b'-' | b'0'..=b'9') => Ok(number(value.get())),
        _ => Ok(Value::Null),
    }
}

/// A number, or null when it is none that can be held.
pub fn number(number: &str) -> Value {
    serde_json::from_str(number).unwrap_or(Value::Null)
}

/// Reads an object's fields that are asked for and skips the others.
struct Object<'f>(&'f Fields);

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = Found<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Found<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a line must be a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Found::default();
        while let Some(name) = map.next_key::<Cow<str>>()? {
            let noted = if name == self.0.id {
                found.id(map.next_value_seed(Id(self.0))?)
            } else if name == self.0.text {
                found.text(map.next_value_seed(Text(self.0))?)
            } else if Some(name.as_ref()) == self.0.time.as_deref() {
                let value = time(map.next_value()?).map_err(A::Error::custom)?;
                found.time(seconds(&value))
            } else {
                map.next_value::<IgnoredAny>()?;
                Ok(())
            };
            noted.map_err(A::Error::custom)?;
        }
        Ok(found)
    }
}

/// A string or an integer; null is none.
struct Id<'f>(&'f Fields);

impl<'de> DeserializeSeed<'de> for Id<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<String>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Id<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&no_id(self.0))
    }

    fn visit_unit<E>(self) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, id: &str) -> Result<Option<String>, E> {
        Ok(Some(id.to_owned()))
    }

    fn visit_u64<E>(self, id: u64) -> Result<Option<String>, E> {
        Ok(Some(id.to_string()))
    }

    fn visit_i64<E>(self, id: i64) -> Result<Option<String>, E> {
        Ok(Some(id.to_string()))
    }
}

/// A string, borrowed from the line where it has no escapes.
struct Text<'f>(&'f Fields);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text<'_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&no_text(self.0))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream;
    use super::*;

    fn parse(line: &[u8]) -> Result<(String, String, u64), Problem> {
        timed(line).map(|(read, text)| (read.key, text, read.replaced))
    }

    /// The answer of both readers.
    fn timed(line: &[u8]) -> Result<(Read, String), Problem> {
        let place = Place { file: "f".into(), at: 7 };
        let fields = Fields { id: "id".into(), text: "text".into(), time: Some("seen".into()) };
        let (mut held, mut streamed) = (Vec::new(), Vec::new());
        let read = read(line, &place, &fields, &mut |part| held.extend(part));
        let same = stream::read(line, &place, &fields, &mut |part| streamed.extend(part));
        let shown = String::from_utf8_lossy(&line[..line.len().min(200)]);
        assert_eq!(read.is_ok(), same.is_ok(), "{shown}: {:?} but {:?}", read.err(), same.err());
        let (read, same) = (read?, same?.expect("no line of blanks"));
        let of = |read: &Read| (read.key.clone(), read.replaced, read.seen_at);
        assert_eq!((of(&read), &held), (of(&same), &streamed), "{shown}");
        Ok((read, String::from_utf8(held).unwrap()))
    }

    #[test]
    fn ids_are_strings_or_integers_or_the_place() {
        for (line, key) in [
            (&br#"{"id":"a","text":"t"}"#[..], "a"),
            (br#"{"text":"t","id":12}"#, "12"),
            (br#"{"text":"t","id":-3,"more":[1,{"x":null}]}"#, "-3"),
            (br#"{"text":"t"}"#, "f:7"),
            (br#"{"id":null,"text":"t"}"#, "f:7"),
            (br#" {"text":"t","n":1e999,"id":18446744073709551615} "#, "18446744073709551615"),
            (br#"{"\u0069d":"a","text":"t","x":"\ud834\udd1e"}"#, "a"),
        ] {
            assert_eq!(parse(line).unwrap(), (key.to_string(), "t".to_string(), 0));
        }
    }

    #[test]
    fn escapes_are_read_and_bad_bytes_replaced() {
        assert_eq!(parse(br#"{"id":"a","text":"\u00e9\n"}"#).unwrap().1, "é\n");
        assert_eq!(
            parse(b"{\"id\":\"a\",\"text\":\"x\xFFy\"}").unwrap(),
            ("a".into(), "x\u{FFFD}y".into(), 1)
        );
    }

    #[test]
    fn what_is_no_time_is_none() {
        for (seen, seconds) in [
            ("17", Some(17)),
            ("17.9", Some(17)),
            ("\"2026-01-01T00:00:00Z\"", Some(1_767_225_600)),
            ("1e999", None),
            ("-1", None),
            ("\"never\"", None),
            ("null", None),
            ("[[\"\\u00e9\", {\"a\": 1e999}]]", None),
            (&("[".repeat(1000) + &"]".repeat(1000)), None),
        ] {
            let line = format!("{{\"text\":\"t\",\"seen\": {seen} ,\"id\":\"a\"}}");
            assert_eq!(timed(line.as_bytes()).unwrap().0.seen_at, seconds, "{line}");
        }
        parse(br#"{"text":"t","seen":"\ud800"}"#).unwrap_err();
    }

    #[test]
    fn blanks_take_no_memory_and_mean_nothing() {
        let blanks = " \t\r".repeat(1 << 19);
        let line = format!(
            "{blanks}{{{blanks}\"id\"{blanks}:{blanks}\"a\"{blanks},{blanks}\"text\":{blanks}\"t\"{blanks}}}{blanks}"
        );
        assert_eq!(parse(line.as_bytes()).unwrap(), ("a".into(), "t".into(), 0));
        let place = Place { file: "f".into(), at: 7 };
        let fields = Fields { id: "id".into(), text: "text".into(), time: None };
        for blank in ["", &blanks] {
            let read = stream::read(blank.as_bytes(), &place, &fields, &mut |_| ()).unwrap();
            assert!(read.is_none());
        }
    }

    #[test]
    fn depth_has_one_limit() {
        let deep = |n: usize| {
            format!("{{\"x\":{}{},\"id\":\"a\",\"text\":\"[\\\"[\"}}", "[".repeat(n), "]".repeat(n))
        };
        // The object is one of them.
        let most = MOST_DEEP as usize - 1;
        assert_eq!(parse(deep(most).as_bytes()).unwrap().1, "[\"[");
        parse(deep(most + 1).as_bytes()).unwrap_err();
        parse(deep(3 << 20).as_bytes()).unwrap_err();
    }

    #[test]
    fn what_is_no_document_is_a_problem_with_its_place() {
        for line in [
            &b"{"[..],
            b"[]",
            b"{}",
            br#"{"id":1.5,"text":"t"}"#,
            br#"{"id":"a","text":5}"#,
            b"{} {}",
            br#"{"id":"a","text":"\ud800"}"#,
            br#"{"id":"a","text":"one","text":"two"}"#,
            br#"{"id":"a","text":"one","id":null}"#,
            br#"{"id":-0,"text":"t"}"#,
            br#"{"id":18446744073709551616,"text":"t"}"#,
            br#"{"id":1e3,"text":"t"}"#,
            br#"{"id":"a","text":"one",}"#,
            b"{\"id\":\"a\",\"text\":\"one\"}\x0C",
        ] {
            assert_eq!(parse(line).unwrap_err().place, "f:7", "{}", String::from_utf8_lossy(line));
        }
    }
}
