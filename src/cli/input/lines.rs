//! JSON lines: one object a line, of which an id (string or integer) and a text (string) are read.
//!
//! One reader, [`stream`], decides about every line, so that no line's answer depends on how much of it is held. Lines
//! that are short and well-formed, which are nearly all, are read by [`plain`] in less time, with the same answer.

use super::{Fields, Place, Problem, Read, plain, stream};
use crate::args;
use serde_json::Value;

/// What an id must be.
pub fn no_id(fields: &Fields) -> String {
    format!("{:?} must be a string or an integer", fields.id)
}

/// What a text must be.
pub fn no_text(fields: &Fields) -> String {
    format!("{:?} must be a string", fields.text)
}

/// The document of a line, its text handed to `take`; `None` of a line that holds blanks only. A line without id has the
/// key FILE:LINE.
pub fn read(
    bytes: &[u8],
    place: &Place,
    fields: &Fields,
    take: &mut dyn FnMut(&[u8]),
) -> Result<Option<Read>, Problem> {
    let Some(found) = plain::found(bytes, fields) else { return stream::read(bytes, place, fields, take) };
    if let Some(text) = &found.text {
        take(text.as_bytes());
    }
    found.read(place, fields, 0).map(Some)
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
        // Of ids that were not well-formed several may have become one.
        if replaced > 0
            && self.id.as_ref().and_then(Option::as_deref).is_some_and(|id| id.contains('\u{FFFD}'))
        {
            return Err(Problem::new(place, format!("{:?} must be well-formed", fields.id)));
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

/// A number, or null when it is none that can be held.
pub fn number(number: &str) -> Value {
    serde_json::from_str(number).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::stream::MOST_DEEP;
    use proptest::prelude::*;
    use std::io;

    type Answer = Result<Option<((String, u64, Option<u64>), Vec<u8>)>, String>;

    /// What a reader makes of a line.
    fn answer(
        read: impl FnOnce(&Place, &Fields, &mut dyn FnMut(&[u8])) -> Result<Option<Read>, Problem>,
    ) -> Answer {
        let place = Place { file: "f".into(), at: 7 };
        let fields = Fields { id: "id".into(), text: "text".into(), time: Some("seen".into()) };
        let mut text = Vec::new();
        match read(&place, &fields, &mut |part| text.extend(part)) {
            Ok(read) => Ok(read.map(|read| ((read.key, read.replaced, read.seen_at), text))),
            Err(problem) => {
                assert_eq!(problem.place, "f:7");
                Err(problem.what)
            }
        }
    }

    /// The answer to a line, which is that of the one reader, however its bytes come.
    fn answered(line: &[u8]) -> Answer {
        let answered = answer(|place, fields, take| read(line, place, fields, take));
        let shown = String::from_utf8_lossy(&line[..line.len().min(200)]);
        for cut in [0, line.len() / 2] {
            let parts = io::Read::chain(&line[..cut], &line[cut..]);
            let streamed = answer(|place, fields, take| stream::read(parts, place, fields, take));
            assert_eq!(answered, streamed, "{shown}");
        }
        answered
    }

    fn timed(line: &[u8]) -> Result<(Option<u64>, String, String, u64), String> {
        let ((key, replaced, seen_at), text) = answered(line)?.expect("no line of blanks");
        Ok((seen_at, key, String::from_utf8(text).unwrap(), replaced))
    }

    fn parse(line: &[u8]) -> Result<(String, String, u64), String> {
        timed(line).map(|(_, key, text, replaced)| (key, text, replaced))
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
            assert_eq!(timed(line.as_bytes()).unwrap().0, seconds, "{line}");
        }
        assert_eq!(timed(br#"{"text":"t","seen":"\ud800"}"#).unwrap(), (None, "f:7".into(), "t".into(), 1));
    }

    #[test]
    fn blanks_take_no_memory_and_mean_nothing() {
        let blanks = " \t\r".repeat(1 << 19);
        let line = format!(
            "{blanks}{{{blanks}\"id\"{blanks}:{blanks}\"a\"{blanks},{blanks}\"text\":{blanks}\"t\"{blanks}}}{blanks}"
        );
        assert_eq!(parse(line.as_bytes()).unwrap(), ("a".into(), "t".into(), 0));
        for blank in ["", " ", &blanks] {
            assert_eq!(answered(blank.as_bytes()), Ok(None));
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
            br#"{"id":"a","text":"one","text":"two"}"#,
            br#"{"id":"a","text":"one","id":null}"#,
            br#"{"id":-0,"text":"t"}"#,
            br#"{"id":18446744073709551616,"text":"t"}"#,
            br#"{"id":1e3,"text":"t"}"#,
            br#"{"id":"a","text":"one",}"#,
            b"{\"id\":\"a\",\"text\":\"one\"}\x0C",
        ] {
            parse(line).unwrap_err();
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_words_of_the_line() {
        for (line, what) in [
            (&b"{\"id\":1,"[..], "not JSON: it ends too early (column 9)"),
            (b"[]", "a line must be a JSON object"),
            (b"{\"id\":1} x", "not JSON: there is more behind the object (column 10)"),
            (
                b"{\"id\":1,\"text\":\"a\tb\"}",
                "not JSON: a control character that is not escaped (column 18)",
            ),
            (b"{\"id\":1,\"text\":\"a\\x\"}", "not JSON: a malformed escape (column 18)"),
            (b"{\"id\":1.5,\"text\":\"t\"}", "\"id\" must be a string or an integer"),
            (b"{\"id\":1}", "no field \"text\" (--text-field names another)"),
            (b"{\"text\":\"t\",\"text\":\"t\"}", "the field of the text comes twice"),
        ] {
            assert_eq!(parse(line).unwrap_err(), what);
        }
    }

    #[test]
    fn halves_of_pairs_are_replaced_wherever_they_are() {
        for line in [
            r#"{"id":"a","text":"t\ufffd","o":"\ud800"}"#,
            r#"{"id":"a","text":"t\udfff"}"#,
            r#"{"o\ud800":[{"\u0041":1}],"id":"a","text":"t\ufffd"}"#,
            r#"{"id":"a","seen":"\udc00","text":"t\ufffd"}"#,
        ] {
            assert_eq!(parse(line.as_bytes()).unwrap(), ("a".into(), "t\u{FFFD}".into(), 1), "{line}");
        }
        let twice = br#"{"id":"\ud83d\ude00","text":"\\\ud800\\ud800\ud83d\ude00","o":"\udc00"}"#;
        assert_eq!(parse(twice).unwrap(), ("😀".into(), "\\\u{FFFD}\\ud800😀".into(), 2));
    }

    #[test]
    fn an_id_is_never_replaced() {
        for line in [&br#"{"id":"caf\udc00","text":"t"}"#[..], b"{\"text\":\"t\",\"id\":\"caf\xE9\"}"] {
            assert_eq!(parse(line).unwrap_err(), "\"id\" must be well-formed");
        }
        for id in ["\u{FFFD}", "\\ufffd"] {
            let line = format!("{{\"id\":\"{id}\",\"text\":\"t\"}}");
            assert_eq!(parse(line.as_bytes()).unwrap().0, "\u{FFFD}");
        }
    }

    #[test]
    fn a_name_and_a_value_have_one_limit_whatever_they_are_written_in() {
        let most = 1 << 20;
        for (unit, bytes) in [("x", 1), ("\\u0041", 1), ("\\u00e9", 2)] {
            let value = |more: usize| unit.repeat(most / bytes + more);
            for (line, of) in [
                ("{\"NAME\":1,\"id\":\"a\",\"text\":\"t\"}", "NAME"),
                ("{\"id\":\"a\",\"text\":\"t\",\"seen\":\"NAME\"}", "NAME"),
            ] {
                assert_eq!(parse(line.replace(of, &value(0)).as_bytes()).unwrap().0, "a");
                let what = parse(line.replace(of, &value(1)).as_bytes()).unwrap_err();
                assert_eq!(what, "a name or a value too long to hold");
            }
        }
    }

    /// Parts that lines are made of, well-formed and not.
    const PARTS: [&[u8]; 47] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b" ",
        b"\t",
        b"\r",
        b"\"",
        b"\"id\"",
        b"\"text\"",
        b"\"seen\"",
        b"\"id\":",
        b"\"text\":",
        b"\"o\":",
        b"\"id\":\"a\"",
        b"\"text\":\"t\"",
        b"\"seen\":17",
        b"\"o\":[1,{}]",
        b"null",
        b"true",
        b"NaN",
        b"-Infinity",
        b"0",
        b"-0",
        b"01",
        b"1.",
        b"1e999",
        b"18446744073709551616",
        b"-9223372036854775808",
        b"\"\\ud800\"",
        b"\"\\udc00\\ud800\"",
        b"\"\\ud83d\\ude00\"",
        b"\"\\u0000\"",
        b"\"\\u00g0\"",
        b"\"\\x\"",
        b"\\",
        b"\"\x00\"",
        b"\x0C",
        b"\xEF\xBB\xBF",
        b"\xFF",
        b"\"\xE2\x82\"",
        "\"é𝄞\"".as_bytes(),
        b"//",
        b"/* */",
        b"'a'",
    ];

    /// Lines with a document's fields and something else in them.
    fn lines() -> impl Strategy<Value = Vec<u8>> {
        let part = || prop::sample::select(&PARTS[..]).prop_map(<[u8]>::to_vec);
        let parts = prop::collection::vec(part(), 0..9).prop_map(|parts| parts.concat());
        let fields = (prop::collection::vec((part(), part()), 0..4), part()).prop_map(|(fields, last)| {
            let fields = fields.iter().map(|(name, value)| [name, &b":"[..], value, b","].concat());
            [b"{", &fields.collect::<Vec<_>>().concat()[..], b"\"text\":\"t\"}", &last].concat()
        });
        let whole = br#"{"id":"a\u00e9","text":"\ud83d\ude00 t\\","seen":1.5,"o":[null,{"x":"\ud83d"}]}"#;
        let changed =
            (0..whole.len(), 0..whole.len(), part(), any::<u8>()).prop_map(|(at, to, part, byte)| {
                let (at, to) = (at.min(to), at.max(to));
                match byte % 3 {
                    0 => [&whole[..at], &part, &whole[at..]].concat(),
                    1 => [&whole[..at], &whole[to..]].concat(),
                    _ => [&whole[..at], &[byte], &whole[at + 1..]].concat(),
                }
            });
        prop_oneof![parts, fields, changed]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn short_lines_are_answered_as_the_reader_answers_all(line in lines()) {
            let _ = answered(&line);
        }
    }
}
