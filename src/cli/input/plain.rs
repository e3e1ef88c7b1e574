//! Lines that are short and well-formed, read at once; of any other line nothing is said here.

use super::Fields;
use super::lines::{Found, number, seconds};
use super::surrogates::has_half;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A longer line is read as it comes. In a line of this length nothing can reach a limit of [`stream`](super::stream).
pub const MOST_PLAIN: usize = 1 << 20;

/// The fields of a line, when nothing is wrong with it and nothing is to be replaced in it.
pub fn found<'l>(line: &'l [u8], fields: &Fields) -> Option<Found<Cow<'l, str>>> {
    if line.len() > MOST_PLAIN || has_half(line) {
        return None;
    }
    let mut parser = serde_json::Deserializer::from_str(std::str::from_utf8(line).ok()?);
    let found = Object(fields).deserialize(&mut parser).ok()?;
    parser.end().ok().map(|()| found)
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
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Found::default();
        while let Some(name) = map.next_key::<Cow<str>>()? {
            let noted = if name == self.0.id {
                found.id(map.next_value_seed(Id)?)
            } else if name == self.0.text {
                found.text(map.next_value_seed(Text)?)
            } else if Some(name.as_ref()) == self.0.time.as_deref() {
                found.time(time(map.next_value()?))
            } else {
                map.next_value::<IgnoredAny>()?;
                Ok(())
            };
            noted.map_err(A::Error::custom)?;
        }
        Ok(found)
    }
}

/// When a document was seen; of what is neither a string nor a number there is none.
fn time(value: &RawValue) -> Option<u64> {
    let value = match value.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(value.get()).unwrap_or(Value::Null),
        Some(b'-' | b'0'..=b'9') => number(value.get()),
        _ => Value::Null,
    };
    seconds(&value)
}

/// A string or an integer; null is none.
struct Id;

impl<'de> DeserializeSeed<'de> for Id {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<String>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Id {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string or an integer")
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
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}
