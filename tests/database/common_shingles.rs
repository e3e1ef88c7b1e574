//! The shingles that many texts have, compared with those of a count of every value.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use sketchdb::{Database, Params, Policy, SketchParams};
use std::collections::BTreeMap;

const TEXTS: usize = 640;
/// Fewer texts than these make nothing common.
const LEAST: u64 = 16;

/// Texts of a dozen words and of the phrases that come with their number: from the beginning, in the end, now and then.
fn texts() -> Vec<String> {
    let mut draw = Draw::new(31);
    let [early, late, last, spread] = [(); 4].map(|()| text(&mut draw, 12));
    let with = |number: usize, text: &mut String| {
        let phrases = [
            (number < 200 && number.is_multiple_of(2), &early),
            (number >= 320 && number.is_multiple_of(2), &late),
            (number >= TEXTS - 40, &last),
            (number.is_multiple_of(20), &spread),
        ];
        phrases.iter().filter(|phrase| phrase.0).for_each(|phrase| *text += &format!("{}\n", phrase.1));
    };
    (0..TEXTS)
        .map(|number| {
            let mut text = text(&mut draw, 12) + "\n";
            with(number, &mut text);
            text
        })
        .collect()
}

/// By value, how many texts have each: their samples are whole.
fn counted(db: &Database, texts: &[String]) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    for text in texts {
        let sketch = db.sketch(text).unwrap();
        assert!(sketch.sample.is_whole());
        sketch.sample.values().iter().for_each(|&value| *counts.entry(value).or_default() += 1);
    }
    counts
}

#[test]
fn all_that_more_than_a_share_have_are_found_at_every_size_of_sample() {
    let texts = texts();
    for sample in [256, 4096, 65_536] {
        let sketch = SketchParams { sample, ..SketchParams::default() };
        let place = Place::with(&Params { sketch, ..Params::default() });
        let db = place.open();
        let documents = texts.iter().enumerate().map(|(key, text)| document(&db, &key.to_string(), text));
        db.add_batch(documents.collect(), Policy::Everything).unwrap();
        let counts = counted(&db, &texts);
        for share in [0.04, 0.1, 0.2] {
            let found = db.common_shingles(share).unwrap();
            let found: Vec<(u64, u64)> =
                found.shingles().iter().map(|shingle| (shingle.value, shingle.texts)).collect();
            let is_common = |count: u64| count >= LEAST && count as f64 > share * TEXTS as f64;
            let common: Vec<(u64, u64)> =
                counts.iter().map(|(&value, &count)| (value, count)).filter(|c| is_common(c.1)).collect();
            assert_eq!(found, common, "more than {share} at sample {sample}");
            assert!(common.len() >= 8, "{} values", common.len());
        }
    }
}
