//! Proves that a paragraph of one document is found in a very long text, with its place, when windows are indexed.

mod common;

use common::place::Place;
use common::texts::{Draw, text};
use sketchdb::{Measure, Params, Query, SketchParams};

const TRIALS: usize = 200;
const LONG: usize = 100_000;
const PARAGRAPH: usize = 100;

fn params(passages: Option<u32>) -> Params {
    Params { sketch: SketchParams { passages, ..SketchParams::default() }, ..Params::default() }
}

/// A long text, and 200 paragraphs at places of their own in it, with their first tokens.
fn long_text() -> (String, Vec<(usize, String)>) {
    let mut draw = Draw::new(361);
    let whole = text(&mut draw, LONG);
    let words: Vec<&str> = whole.split(' ').collect();
    let paragraphs = (0..TRIALS).map(|_| {
        let first = draw.below(LONG - PARAGRAPH);
        (first, words[first..first + PARAGRAPH].join(" "))
    });
    let paragraphs = paragraphs.collect();
    (whole, paragraphs)
}

/// How many of the paragraphs are found in the long text, how many with a window that covers them, and the bytes of the file.
fn found(passages: Option<u32>) -> (usize, usize, u64) {
    let (whole, paragraphs) = long_text();
    let place = Place::with(&params(passages));
    let db = place.open();
    db.add("long", &whole).unwrap();
    db.add("other", text(&mut Draw::new(362), 3000)).unwrap();
    let query = Query { by: Some(Measure::Containment(0.7)), ..Query::default() };
    let (mut found, mut placed) = (0, 0);
    for (first, paragraph) in &paragraphs {
        let matches = db.query(&db.sketch(paragraph).unwrap(), &query).unwrap().matches;
        assert!(matches.iter().all(|found| found.key == "long"));
        found += matches.len();
        let covers =
            |(at, tokens): (u64, u64)| at as usize <= *first && first + PARAGRAPH <= (at + tokens) as usize;
        placed += usize::from(matches.iter().filter_map(|found| found.passage).any(covers));
    }
    db.close().unwrap();
    (found, placed, std::fs::metadata(place.path()).unwrap().len())
}

#[test]
fn a_paragraph_is_found_in_a_long_text_with_its_place() {
    let (without, _, bytes_without) = found(None);
    let (with, placed, bytes_with) = found(Some(200));
    eprintln!("without passages: {without} of {TRIALS} found, a file of {bytes_without} bytes");
    eprintln!("with --passages 200: {with} found, {placed} with their place, a file of {bytes_with} bytes");
    assert!(with * 100 >= 95 * TRIALS, "{with} of {TRIALS} found");
    // Windows of 200 tokens, a half over each other, cover every run of 100 tokens.
    assert_eq!(placed, with, "a window that covers the paragraph is told");
    assert!(without < with, "a thousandth of a text is hardly found without");
}
