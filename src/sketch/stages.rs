//! The stages of sketching, each on its own, for the bench that tells where the time goes.

use super::edit::{EditBuilder, EditParams};
use super::params::SketchParams;
use super::retained::Retained;
use super::sample::Sample;
use super::signature::Bins;
use super::simhash::Votes;
use crate::text::canonical::Canonical;
use crate::text::decode::Decoder;
use crate::text::feature::Features;
use crate::text::kernel::mixing;
use crate::text::rabin::Rabin;
use crate::text::shingle::Shingler;
use crate::text::token::Tokeniser;
use std::hint::black_box;
use std::rc::Rc;

/// A stage: what it is called, and what runs it over all texts.
pub type Stage<'a> = (&'static str, Box<dyn FnMut() + 'a>);

/// What the stages before a stage make of a text.
struct Made {
    form: String,
    units: Vec<u64>,
    fingerprints: Vec<u64>,
    hashes: Vec<u64>,
    features: Vec<u64>,
    sorted: Vec<u64>,
}

const KEY: u64 = 0x9E37_79B9_7F4A_7C15;

/// The stages of the default parameters over these texts, in their order.
#[doc(hidden)]
pub fn stages(texts: &[String]) -> Vec<Stage<'_>> {
    let params = SketchParams::default();
    let rabin = Rabin::new(params.seed);
    let (width, features) = (params.shingle.width(), params.simhash.width());
    let made: Rc<Vec<Made>> = texts.iter().map(|text| make(text, &params, &rabin)).collect::<Vec<_>>().into();
    let mut canonical = Canonical::new();
    let mut stages: Vec<Stage<'_>> = vec![
        ("UTF-8", Box::new(|| texts.iter().for_each(|text| decode(text)))),
        ("content hash", Box::new(|| texts.iter().for_each(|text| see(blake3::hash(text.as_bytes()))))),
        (
            "canonical form",
            Box::new(move || {
                texts.iter().for_each(|text| canonicalise(&mut canonical, text, |form| see(form)))
            }),
        ),
    ];
    let mut each = |name, mut run: Box<dyn FnMut(&Made)>| {
        let made = made.clone();
        stages.push((name, Box::new(move || made.iter().for_each(&mut run))));
    };
    let (mut tokeniser, mut out, own) = (Tokeniser::new(params.shingle.unit()), Vec::new(), rabin.clone());
    each(
        "tokens",
        Box::new(move |made| {
            out.clear();
            tokeniser.push(&made.form, &own, &mut out);
            tokeniser.finish(&mut out);
        }),
    );
    let (mut shingler, mut out) = (Shingler::new(width, &rabin), Vec::new());
    each(
        "shingles",
        Box::new(move |made| {
            out.clear();
            shingler.push(&made.units, &rabin, &mut out);
            shingler.finish(&rabin);
        }),
    );
    let mut out = Vec::new();
    each(
        "mixing",
        Box::new(move |made| {
            out.clear();
            mixing::keyed(&made.fingerprints, KEY, &mut out);
        }),
    );
    let mut retained = Retained::new(params.sample);
    each(
        "sample",
        Box::new(move |made| {
            retained.extend(&made.hashes);
            see(Sample::of_sorted(retained.finish(params.sample + 1), params.sample));
            retained.clear();
        }),
    );
    let mut bins = Bins::new(params.minhashes, KEY);
    each(
        "signature",
        Box::new(move |made| {
            bins.extend(&made.hashes);
            see(bins.finish(&made.sorted));
        }),
    );
    let (mut featurer, mut out) = (Features::new(features, KEY), Vec::new());
    each(
        "features",
        Box::new(move |made| {
            out.clear();
            featurer.push(&made.units, &mut out);
            featurer.finish(&mut out);
        }),
    );
    let mut votes = Votes::default();
    each(
        "simhash",
        Box::new(move |made| {
            votes.extend(&made.features);
            see(votes.finish());
        }),
    );
    let mut edit = EditBuilder::new(EditParams::default(), KEY);
    each(
        "edit signature",
        Box::new(move |made| {
            edit.push(&made.form);
            see(edit.finish());
        }),
    );
    stages
}

/// Keeps what is made from being left out.
fn see<T>(made: T) {
    black_box(made);
}

fn decode(text: &str) {
    Decoder::default().push(text.as_bytes(), &mut |text: &str| see(text));
}

fn canonicalise(canonical: &mut Canonical, text: &str, mut sink: impl FnMut(&str)) {
    canonical.push(text, &mut sink);
    canonical.finish(&mut sink);
}

fn make(text: &str, params: &SketchParams, rabin: &Rabin) -> Made {
    let mut made = Made {
        form: String::new(),
        units: Vec::new(),
        fingerprints: Vec::new(),
        hashes: Vec::new(),
        features: Vec::new(),
        sorted: Vec::new(),
    };
    canonicalise(&mut Canonical::new(), text, |form| made.form.push_str(form));
    let mut tokeniser = Tokeniser::new(params.shingle.unit());
    tokeniser.push(&made.form, rabin, &mut made.units);
    tokeniser.finish(&mut made.units);
    Shingler::new(params.shingle.width(), rabin).push(&made.units, rabin, &mut made.fingerprints);
    mixing::keyed(&made.fingerprints, KEY, &mut made.hashes);
    Features::new(params.simhash.width(), KEY).push(&made.units, &mut made.features);
    made.sorted.extend_from_slice(&made.hashes);
    made.sorted.sort_unstable();
    made.sorted.dedup();
    made
}
