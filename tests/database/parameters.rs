//! Parameters: checked, kept in the file, refused when others are asked for.

use crate::common::place::Place;
use crate::common::texts::{Draw, text};
use sketchdb::{Database, Error, Measure, Params, Query, SketchParams, Sketcher, Verdict};

/// Parameters that differ from the defaults in one place each.
fn others() -> Vec<Params> {
    let all = Params::default();
    let sketch = |sketch: SketchParams| Params { sketch, ..Params::default() };
    let base = SketchParams::default;
    vec![
        Params { threshold: 0.7, ..all.clone() },
        Params { recall: 0.9, ..all.clone() },
        Params { hamming: 2, hamming_tables: 3, ..all.clone() },
        Params { hamming_tables: 10, ..all },
        sketch(SketchParams { shingle: "words:3".parse().unwrap(), ..base() }),
        sketch(SketchParams { sample: 64, ..base() }),
        sketch(SketchParams { minhashes: 64, ..base() }),
        sketch(SketchParams { simhash: "words:1".parse().unwrap(), ..base() }),
        sketch(SketchParams { seed: u64::MAX, ..base() }),
    ]
}

#[test]
fn parameters_are_kept_and_obeyed() {
    let text = text(&mut Draw::new(18), 400);
    for params in others() {
        let place = Place::with(&params);
        let db = place.open();
        assert_eq!(db.params(), &params);
        let sketch = Sketcher::new(&params.sketch).unwrap().sketch(text.as_bytes());
        assert_eq!(db.sketch(&text).unwrap(), sketch);
        assert_eq!(db.add("a", &text).unwrap().verdict, Verdict::New);
        assert_eq!(db.add("b", text.to_uppercase()).unwrap().verdict, Verdict::Near);
        drop(db);
        let db = place.read().unwrap();
        assert_eq!(db.params(), &params);
        assert_eq!(db.query(&sketch, &Query::default()).unwrap().matches.len(), 2);
        let stats = db.stats().unwrap();
        assert_eq!((stats.params, stats.curve), (params.clone(), params.curve().unwrap()));
    }
}

#[test]
fn other_parameters_are_named_with_both_values() {
    let own = Params::default();
    own.check_same(&own.clone()).unwrap();
    let names = [
        "threshold",
        "recall",
        "hamming",
        "hamming-tables",
        "shingle",
        "sample",
        "minhashes",
        "simhash",
        "seed",
    ];
    for (other, expected_name) in others().iter().zip(names) {
        let Error::Incompatible { name, expected, found } = own.check_same(other).unwrap_err() else {
            panic!("{expected_name}")
        };
        assert_eq!(name, expected_name);
        assert_ne!(expected, found);
        other.check_same(other).unwrap();
    }
}

#[test]
fn another_seed_is_another_sketch_and_the_same_verdicts() {
    let mut draw = Draw::new(19);
    let first = text(&mut draw, 200);
    let near = format!("{first} more words at the end");
    let apart = text(&mut draw, 200);
    let resemblances = [1, 2, u64::MAX].map(|seed| {
        let sketch = SketchParams { seed, ..SketchParams::default() };
        let db = Place::with(&Params { sketch, ..Params::default() }).open();
        let verdicts = [("a", &first), ("b", &near), ("c", &apart)]
            .map(|(key, text)| db.add(key, text).unwrap().verdict);
        assert_eq!(verdicts, [Verdict::New, Verdict::Near, Verdict::New], "seed {seed}");
        let answer = db.query(&db.sketch(&first).unwrap(), &Query::default()).unwrap();
        answer.matches.iter().map(|found| found.resemblance).collect::<Vec<_>>()
    });
    // Samples of so short texts are whole: the resemblance is exact whatever the seed.
    assert_eq!(resemblances[0], resemblances[1]);
    assert_eq!(resemblances[0], resemblances[2]);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let ok = Params::default;
    let sketch = |change: fn(&mut SketchParams)| {
        let mut params = Params::default();
        change(&mut params.sketch);
        params
    };
    let wrong = [
        Params { threshold: 0.0, ..ok() },
        Params { threshold: 1.01, ..ok() },
        Params { threshold: f64::NAN, ..ok() },
        Params { recall: 0.0, ..ok() },
        Params { recall: 1.0, ..ok() },
        Params { recall: f64::NAN, ..ok() },
        Params { hamming: 0, ..ok() },
        Params { hamming: 8, ..ok() },
        Params { hamming_tables: 5, ..ok() },
        Params { threshold: 0.01, recall: 0.999, ..ok() },
        sketch(|sketch| sketch.sample = 15),
        sketch(|sketch| sketch.sample = 65_537),
        sketch(|sketch| sketch.minhashes = 0),
        sketch(|sketch| sketch.minhashes = 4097),
    ];
    for params in wrong {
        let place = Place::empty();
        assert!(matches!(params.check(), Err(Error::Invalid { .. })), "{params:?}");
        assert!(matches!(Database::create(place.path(), &params), Err(Error::Invalid { .. })), "{params:?}");
        assert!(!place.path().exists());
    }
}

#[test]
fn thresholds_are_checked_and_low_ones_answered_with_the_recall() {
    let db = Place::new().open();
    let sketch = db.sketch("one two three four five six").unwrap();
    let ask = |by: Measure| db.query(&sketch, &Query { by: Some(by), ..Query::default() });
    for wrong in [0.0, -0.5, 1.001, f64::NAN, f64::INFINITY] {
        assert!(matches!(ask(Measure::Resemblance(wrong)), Err(Error::Invalid { .. })), "{wrong}");
    }
    assert!(matches!(ask(Measure::Hamming(65)), Err(Error::Invalid { .. })));
    for fine in
        [Measure::Resemblance(0.8), Measure::Resemblance(1.0), Measure::Hamming(3), Measure::Hamming(0)]
    {
        assert_eq!(ask(fine).unwrap().expected_recall, None, "{fine:?}");
    }
    let expected = db.params().bands().unwrap().candidate_probability(0.5);
    assert_eq!(ask(Measure::Resemblance(0.5)).unwrap().expected_recall, Some(expected));
    let wide = ask(Measure::Hamming(8)).unwrap().expected_recall.unwrap();
    assert!(0.0 < wide && wide < 1.0, "{wide}");
}
