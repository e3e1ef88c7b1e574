//! Text, cut into chunks in any way, against a plain definition on the whole text: decoding, canonical form, tokens, shingles;
//! and the sketches of chunks against the sketch of the whole.
#![no_main]

#[path = "../definition.rs"]
mod definition;

use libfuzzer_sys::fuzz_target;
use sketchdb::fuzzing::{Polynomial, canonical, decoded, fingerprints, units};
use sketchdb::{Shingling, SketchParams, Sketcher, Unit};
use sketchdb_fuzz::{Input, chunks, within};
use std::cell::RefCell;

/// Sketchers of all kinds, each with the shingles that it makes.
fn kinds() -> Vec<(SketchParams, Sketcher)> {
    let default = SketchParams::default();
    let cut = |shingle: &str, simhash: &str| SketchParams {
        shingle: shingle.parse().unwrap(),
        simhash: simhash.parse().unwrap(),
        ..SketchParams::default()
    };
    let all = [
        default.clone(),
        SketchParams { labelled: true, weights: sketchdb::Weights::One, ..cut("words:1", "words:1") },
        SketchParams { sample: 16, seed: 7, ..cut("words:2", "chars:3") },
        SketchParams { minhashes: 1, ..cut("chars:3", "lines:1") },
        SketchParams { edit: "8:1".parse().unwrap(), ..cut("lines:2", "words:3") },
        SketchParams { sample: 16, edit: "8:64".parse().unwrap(), ..cut("words:64", "words:2") },
        SketchParams { sample: 16, labelled: true, ..cut("words:1", "words:2") },
        cut("bytes:4", "bytes:2"),
    ];
    all.into_iter().map(|params| (params.clone(), Sketcher::new(&params).unwrap())).collect()
}

thread_local! {
    static KINDS: RefCell<(Vec<(SketchParams, Sketcher)>, Vec<Polynomial>)> =
        RefCell::new((kinds(), (0..4).map(Polynomial::drawn).collect()));
}

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let (kind, seed, how) = (input.byte(), input.byte(), input.number(8));
    let bytes = input.0;
    KINDS.with_borrow_mut(|(kinds, polynomials)| {
        let count = kinds.len();
        let (params, sketcher) = &mut kinds[usize::from(kind) % count];
        within((8 << 20) + 256 * bytes.len(), || {
            check_text(bytes, how, &polynomials[usize::from(seed) % 4], params.shingle);
            let whole = sketcher.sketch(bytes);
            chunks(bytes, how).into_iter().for_each(|chunk| sketcher.update(chunk));
            assert_eq!(sketcher.finish(), whole, "chunks make another sketch");
        });
    });
});

fn check_text(bytes: &[u8], how: u64, polynomial: &Polynomial, shingling: Shingling) {
    let (text, replaced) = decoded(chunks(bytes, how).into_iter());
    assert_eq!((&text, replaced), (&definition::decoded(bytes).0, definition::decoded(bytes).1));
    let parts = |text: &str, how: u64| -> Vec<String> {
        let (mut parts, mut how) = (vec![String::new()], how);
        for c in text.chars() {
            how = how.rotate_right(3);
            if how & 7 < 3 {
                parts.push(String::new());
            }
            parts.last_mut().unwrap().push(c);
        }
        parts
    };
    let form = canonical(parts(&text, how).iter().map(String::as_str));
    assert_eq!(form, canonical([&*text].into_iter()), "chunks make another form");
    if definition::has_short_segments(&text) {
        assert_eq!(form, definition::canonical(&text), "of {text:?}");
    }
    let coefficients = polynomial.coefficients();
    for unit in [Unit::Words, Unit::Chars, Unit::Lines] {
        let found = units(unit, polynomial, parts(&form, how >> 9).iter().map(String::as_str));
        let tokens = definition::tokens(unit, &form);
        let expected: Vec<u64> =
            tokens.iter().map(|token| definition::remainder(token.as_bytes(), coefficients)).collect();
        assert_eq!(found, expected, "{unit} of {form:?}: {tokens:?}");
        if unit == shingling.unit() {
            let shingles = definition::shingles(&expected, shingling.width() as usize, coefficients);
            assert_eq!(fingerprints(shingling, polynomial, &found), shingles, "{shingling} of {form:?}");
        }
    }
}
