//! Texts at the edges: nothing, next to nothing, bytes that are no text, enormous ones.

use crate::common::place::Place;
use sketchdb::{Database, Measure, Query, Verdict};

fn keys(db: &Database, text: impl AsRef<[u8]>, by: Option<Measure>) -> Vec<String> {
    let query = Query { by, ..Query::default() };
    let answer = db.query(&db.sketch(text).unwrap(), &query).unwrap();
    answer.matches.into_iter().map(|found| found.key).collect()
}

/// The verdict on a text under a new key, and the document it names.
fn verdict(db: &Database, key: &str, text: impl AsRef<[u8]>) -> (Verdict, Option<String>) {
    let added = db.add(key, text).unwrap();
    (added.verdict, added.of)
}

fn exact(of: &str) -> (Verdict, Option<String>) {
    (Verdict::Exact, Some(of.into()))
}

fn near(of: &str) -> (Verdict, Option<String>) {
    (Verdict::Near, Some(of.into()))
}

const NEW: (Verdict, Option<String>) = (Verdict::New, None);

#[test]
fn texts_without_tokens_match_their_equals_only() {
    let place = Place::new();
    let texts = [
        "",
        " ",
        "\n",
        "!?",
        "...",
        "\0",
        "\u{200B}",
        "\u{1F600}",
        "\u{1F469}\u{200D}\u{1F467}",
        "\u{1F469}",
    ];
    let db = place.open();
    for (number, text) in texts.iter().enumerate() {
        assert_eq!(verdict(&db, &format!("{number}"), text), NEW, "{text:?}");
        assert_eq!(verdict(&db, &format!("{number} again"), text), exact(&format!("{number}")), "{text:?}");
    }
    drop(db);
    let db = place.open();
    for (number, text) in texts.iter().enumerate() {
        for by in [None, Some(Measure::Resemblance(0.01)), Some(Measure::Hamming(64))] {
            assert_eq!(keys(&db, text, by), [format!("{number}")], "{text:?} by {by:?}");
        }
    }
    assert_eq!(keys(&db, "  ", None), [""; 0]);
}

#[test]
fn texts_shorter_than_a_shingle_have_one() {
    let db = Place::new().open();
    assert_eq!(verdict(&db, "a", "one two three"), NEW);
    assert_eq!(verdict(&db, "b", "ONE two, three!"), near("a"));
    assert_eq!(verdict(&db, "c", "one two"), NEW);
    assert_eq!(verdict(&db, "d", "one two three four"), NEW);
    assert_eq!(verdict(&db, "e", "x"), NEW);
    assert_eq!(db.get("e").unwrap().unwrap().shingles, Some(1.0));
}

#[test]
fn one_token_a_million_times_is_one_shingle() {
    let db = Place::new().open();
    assert_eq!(verdict(&db, "many", "token ".repeat(1_000_000)), NEW);
    let stored = db.get("many").unwrap().unwrap();
    assert_eq!((stored.shingles, stored.bytes), (Some(1.0), 6_000_000));
    assert_eq!(verdict(&db, "five", "token token token token token"), near("many"));
    assert_eq!(verdict(&db, "four", "token token token token"), NEW);
}

#[test]
fn ill_formed_bytes_are_replaced_and_counted() {
    let db = Place::new().open();
    let bytes = b"one \xFF two \xE2\x82 three \xF0\x9F\x98 four five six\x80";
    assert_eq!(db.sketch(bytes).unwrap().replaced, 4);
    assert_eq!(verdict(&db, "bytes", bytes), NEW);
    assert_eq!(verdict(&db, "replaced", String::from_utf8_lossy(bytes).as_ref()), exact("bytes"));
    assert_eq!(verdict(&db, "plain", "one two three four five six"), near("bytes"));
    assert_eq!(verdict(&db, "only bad", b"\xFF\xFE\xFD"), NEW);
    assert_eq!(verdict(&db, "truncated", b"\xE2\x82"), NEW);
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_text() {
    let db = Place::new().open();
    assert_eq!(verdict(&db, "plain", "one two three four five"), NEW);
    assert_eq!(verdict(&db, "marked", "\u{FEFF}one two three four five"), exact("plain"));
    assert_eq!(verdict(&db, "twice", "\u{FEFF}\u{FEFF}one two three four five"), near("plain"));
    assert_eq!(verdict(&db, "empty", ""), NEW);
    assert_eq!(verdict(&db, "mark", "\u{FEFF}"), exact("empty"));
}

#[test]
fn control_characters_and_directions_separate_words() {
    let db = Place::new().open();
    assert_eq!(verdict(&db, "spaces", "one two three four five six"), NEW);
    assert_eq!(verdict(&db, "nul", "one\0two\0three\0four\0five\0six"), near("spaces"));
    assert_eq!(
        verdict(&db, "marks", "\u{202E}one two\u{200F} three \u{2066}four\u{2069} five six"),
        near("spaces")
    );
    assert_eq!(
        verdict(&db, "emoji", "one \u{1F600} two three four five \u{1F1E9}\u{1F1EA} six"),
        near("spaces")
    );
}

#[test]
fn scripts_from_right_to_left_are_texts_like_others() {
    let db = Place::new().open();
    let hebrew = "אבא בית גמל דלת הוא ופר זמן חתול טוב יום";
    let arabic = "كتاب بيت باب قلم شمس قمر نهر بحر جبل مدينة";
    assert_eq!(verdict(&db, "hebrew", hebrew), NEW);
    assert_eq!(verdict(&db, "arabic", arabic), NEW);
    assert_eq!(verdict(&db, "hebrew lines", hebrew.replace(' ', "\n")), near("hebrew"));
    assert_eq!(verdict(&db, "arabic more", format!("{arabic}.")), near("arabic"));
}

#[test]
fn fifty_megabytes_in_one_line() {
    let db = Place::new().open();
    let mut line = String::with_capacity(52_000_000);
    for number in 0u64.. {
        if line.len() >= 50_000_000 {
            break;
        }
        line.push_str(&format!("{} ", number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20));
    }
    assert_eq!(verdict(&db, "long", &line), NEW);
    assert_eq!(db.get("long").unwrap().unwrap().bytes, line.len() as u64);
    assert_eq!(verdict(&db, "copy", &line), exact("long"));
    line.push_str("an end of its own");
    assert_eq!(verdict(&db, "longer", &line), near("long"));
    assert_eq!(verdict(&db, "one word", "w".repeat(50_000_000)), NEW);
}
