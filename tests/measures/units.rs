//! Every way of cutting texts, through the database: near documents are found, apart ones not, other units refused.

use crate::common::place::Place;
use crate::common::rng::Rng;
use crate::common::texts::{Draw, edited, text};
use crate::shapes::{ask, filled, keys};
use sketchdb::{Error, Measure, Params, SketchParams, Verdict};

fn cut(shingle: &str) -> Params {
    let simhash = if shingle.starts_with("bytes") { "bytes:4" } else { "words:2" };
    let [shingle, simhash] = [shingle, simhash].map(|text| text.parse().unwrap());
    Params { sketch: SketchParams { shingle, simhash, ..SketchParams::default() }, ..Params::default() }
}

/// A text of lines, the same with two words changed, and another.
fn documents() -> [String; 3] {
    let mut draw = Draw::new(341);
    let lines = |text: String| text.replace(" ba", "\nba");
    let base = text(&mut draw, 900);
    let near = edited(&mut draw, &base, 2);
    let apart = text(&mut draw, 900);
    [base, near, apart].map(lines)
}

#[test]
fn near_documents_are_found_however_texts_are_cut() {
    let [base, near, apart] = documents();
    for shingle in ["words:1", "words:5", "chars:5", "chars:9", "lines:1", "lines:2", "bytes:8"] {
        for labelled in [false, true] {
            let mut params = cut(shingle);
            params.sketch.labelled = labelled;
            let (_place, db) = filled(&params, &[&base, &apart]);
            let found = ask(&db, &near, Measure::Resemblance(0.8), &[]);
            assert_eq!(keys(&found), ["0"], "{shingle}, labelled: {labelled}");
            assert!(!found[0].exact, "{shingle}: {found:?}");
            assert_eq!(db.add("near", &near).unwrap().verdict, Verdict::Near, "{shingle}");
        }
    }
}

#[test]
fn other_units_and_labels_are_refused_on_an_existing_file() {
    let kept = ["words:5", "chars:5", "lines:1", "bytes:8"];
    for own in kept {
        let place = Place::with(&cut(own));
        let db = place.open();
        for other in kept.iter().filter(|&&other| other != own) {
            let refused = db.params().check_same(&cut(other)).unwrap_err();
            assert!(matches!(refused, Error::Incompatible { .. }), "{own} is not {other}");
        }
        let mut labelled = cut(own);
        labelled.sketch.labelled = true;
        let refused = db.params().check_same(&labelled).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "incompatible labelled: the file has false, asked for was true",
            "{own}"
        );
    }
}

#[test]
fn labels_count_repeated_shingles() {
    let mut draw = Draw::new(342);
    let verse = text(&mut draw, 40);
    let (once, thrice) = (verse.clone(), [verse.as_str(); 3].join(" "));
    let resemblance = |labelled: bool| {
        let mut params = cut("words:5");
        params.sketch.labelled = labelled;
        let (_place, db) = filled(&params, &[&once]);
        let found = ask(&db, &thrice, Measure::Any(0.1), &[]);
        found[0].resemblance.unwrap()
    };
    // 36 shingles once; thrice they are 116, four of them across each seam.
    assert_eq!(resemblance(false), 36.0 / 40.0);
    assert_eq!(resemblance(true), 36.0 / 116.0);
}

/// Two lines of five Chinese characters.
fn poem(rng: &mut Rng) -> Vec<char> {
    (0..10).map(|_| char::from_u32(0x4E00 + rng.below(5000) as u32).unwrap()).collect()
}

fn spelt(poem: &[char], between: &str, end: &str) -> String {
    let line = |part: &[char]| part.iter().collect::<String>();
    format!("{}{between}{}{end}", line(&poem[..5]), line(&poem[5..]))
}

#[test]
fn poems_of_ten_characters_are_told_apart_and_found_again() {
    let mut rng = Rng(343);
    let poems: Vec<Vec<char>> = (0..300).map(|_| poem(&mut rng)).collect();
    let stored: Vec<String> = poems.iter().map(|poem| spelt(poem, "，", "。")).collect();
    // The comma counts as a space between characters, and not as a word. The last character ends one shingle of 7 or of 6.
    for (shingle, near) in [("chars:5", 6.0 / 8.0), ("words:5", 5.0 / 7.0)] {
        let (_place, db) = filled(&Params { threshold: 0.7, ..cut(shingle) }, &stored);
        for (number, poem) in poems.iter().enumerate() {
            let own = [number.to_string()];
            let found = ask(&db, spelt(poem, "\n", ""), Measure::Resemblance(0.7), &[]);
            assert_eq!(keys(&found), own, "{shingle}: {found:?}");
            assert!(!found[0].exact && found[0].resemblance == Some(1.0), "{shingle}: {found:?}");
            let mut changed = poem.clone();
            changed[9] = char::from_u32(0x9000 + number as u32).unwrap();
            let found = ask(&db, spelt(&changed, "，", "。"), Measure::Containment(0.7), &[]);
            assert_eq!(keys(&found), own, "{shingle}: {found:?}");
            assert_eq!(found[0].resemblance, Some(near), "{shingle}");
        }
    }
}

#[test]
fn binaries_are_found_by_their_bytes() {
    let mut rng = Rng(344);
    let binary = |rng: &mut Rng| -> Vec<u8> { (0..6000).map(|_| rng.next() as u8).collect() };
    let stored: Vec<Vec<u8>> = (0..40).map(|_| binary(&mut rng)).collect();
    let (_place, db) = filled(&cut("bytes:8"), &stored);
    for (number, binary) in stored.iter().enumerate() {
        let mut patched = binary.clone();
        (0..10).for_each(|_| patched[rng.below(6000)] ^= 0xFF);
        patched.splice(100..100, [0xFF, 0xFE, 0]);
        let found = ask(&db, &patched, Measure::Resemblance(0.8), &[]);
        assert_eq!(keys(&found), [number.to_string()]);
        let inside = ask(&db, &binary[1000..3000], Measure::Containment(0.9), &[]);
        assert_eq!(keys(&inside), [number.to_string()]);
        assert_eq!(inside[0].containment, Some(1.0));
    }
}
