//! Documents inside larger ones are found, asked from either side.

use crate::common::texts::{Draw, text};
use crate::shapes::{ask, filled};
use sketchdb::{Measure, Params};

const PAIRS: usize = 300;
const RATIOS: [usize; 4] = [1, 2, 4, 8];

/// An inner document of 100 shingles and more, and an outer one of `ratio` times its words with the inner somewhere in it.
fn pair(draw: &mut Draw, ratio: usize) -> (String, String) {
    let words = 104 + draw.below(400);
    let inner = text(draw, words);
    let around = (ratio - 1) * words + 1;
    let before = draw.below(around);
    let outer = format!("{} {inner} {}", text(draw, before), text(draw, around - before));
    (inner, outer)
}

/// All pairs of all ratios; document 2n is inside document 2n + 1.
fn pairs() -> Vec<String> {
    let mut draw = Draw::new(301);
    let ratios = RATIOS.iter().flat_map(|&ratio| [ratio; PAIRS]);
    ratios.map(|ratio| pair(&mut draw, ratio)).flat_map(|(inner, outer)| [inner, outer]).collect()
}

/// How many may be missed: the larger document posts at least 50 values, each of which is of the inner document with
/// probability 1/ratio; 99.99 % of the binomial.
fn allowed(ratio: usize) -> usize {
    let mean = PAIRS as f64 * (1.0 - 1.0 / ratio as f64).powi(50);
    (mean + 3.72 * mean.sqrt() + 1.0) as usize
}

#[test]
fn contained_documents_are_found_from_either_side() {
    let documents = pairs();
    let (_place, db) = filled(&Params::default(), &documents);
    for (at, &ratio) in RATIOS.iter().enumerate() {
        let (mut containment, mut contained) = (0, 0);
        for number in at * PAIRS..(at + 1) * PAIRS {
            let [inner, outer] = [2 * number, 2 * number + 1];
            let found = ask(&db, &documents[inner], Measure::Containment(0.7), &[]);
            if let Some(found) = found.iter().find(|found| found.key == outer.to_string()) {
                assert_eq!(found.containment, Some(1.0), "a part is contained entirely");
                containment += 1;
            }
            let found = ask(&db, &documents[outer], Measure::Contained(0.7), &[]);
            if let Some(found) = found.iter().find(|found| found.key == inner.to_string()) {
                assert_eq!(found.contained, Some(1.0), "a part is contained entirely");
                contained += 1;
            }
        }
        eprintln!("{ratio} times the size: containment {containment}, contained {contained} of {PAIRS}");
        let missed = PAIRS - containment.min(contained);
        assert!(missed <= allowed(ratio), "{ratio} times the size: {missed} missed");
        assert!(containment.min(contained) as f64 >= 0.97 * PAIRS as f64);
    }
}

#[test]
fn documents_that_share_less_than_the_threshold_are_not_reported() {
    let mut draw = Draw::new(302);
    // Half of 200 words is shared; samples of so short documents are whole, so the containment is exact.
    let halves: Vec<[String; 2]> = (0..100).map(|_| [text(&mut draw, 100), text(&mut draw, 100)]).collect();
    let stored: Vec<String> = halves.iter().map(|[a, b]| format!("{a} {b}")).collect();
    let (_place, db) = filled(&Params::default(), &stored);
    for (number, [first, _]) in halves.iter().enumerate() {
        let asked = format!("{first} {}", text(&mut draw, 100));
        assert!(ask(&db, &asked, Measure::Containment(0.7), &[]).is_empty());
        assert!(ask(&db, &asked, Measure::Contained(0.7), &[]).is_empty());
        for by in [Measure::Containment(0.4), Measure::Contained(0.4)] {
            let found = ask(&db, &asked, by, &[]);
            assert_eq!((found.len(), &found[0].key), (1, &number.to_string()));
            // 96 of the first half's shingles, and none across the seam, out of 196.
            assert_eq!((found[0].containment, found[0].contained), (Some(96.0 / 196.0), Some(96.0 / 196.0)));
        }
    }
}
