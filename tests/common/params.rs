//! Sets of creation options, drawn: each option has each of its values in one of them at least.

use super::rng::Rng;
use sketchdb::{ClusterRule, EditParams, Kept, Params, RepresentativeRule, SketchParams, Unit, Weights};
use std::collections::{BTreeMap, BTreeSet};

/// Shingles, and features of the simhash: both of bytes, or neither.
const SHINGLES: [(&str, &str); 6] = [
    ("words:5", "words:2"),
    ("words:3", "words:1"),
    ("chars:5", "chars:4"),
    ("lines:1", "words:2"),
    ("bytes:8", "bytes:4"),
    ("words:1", "lines:1"),
];
/// Tables that find each distance.
const TABLES: [(u32, usize); 4] = [(3, 4), (3, 10), (1, 2), (7, 8)];
/// Files that keep only edit signatures find no near duplicates.
const KEPT: [&str; 9] = [
    "sample,signature,simhash,edit",
    "sample",
    "signature",
    "simhash",
    "edit",
    "sample,signature",
    "sample,signature,simhash",
    "signature,simhash,edit",
    "sample,simhash",
];
const CLUSTERS: [(ClusterRule, RepresentativeRule); 3] = [
    (ClusterRule::Components, RepresentativeRule::First),
    (ClusterRule::Greedy, RepresentativeRule::First),
    (ClusterRule::Greedy, RepresentativeRule::Popular),
];

/// The values of an option in an order of their own, one for each set.
struct Column<T>(Vec<T>);

impl<T: Copy> Column<T> {
    fn of(rng: &mut Rng, values: &[T]) -> Self {
        let mut values = values.to_vec();
        rng.shuffle(&mut values);
        Column(values)
    }

    fn at(&self, set: usize) -> T {
        self.0[set % self.0.len()]
    }
}

/// So many sets as there are values of the option that has most.
pub fn sets(seed: u64) -> Vec<Params> {
    let rng = &mut Rng(seed);
    let shingles = Column::of(rng, &SHINGLES);
    let (labelled, containment) = (Column::of(rng, &[false, true]), Column::of(rng, &[true, false]));
    let (threshold, recall) = (Column::of(rng, &[0.5, 0.8, 1.0]), Column::of(rng, &[0.9, 0.99]));
    let (samples, minhashes) = (Column::of(rng, &[32, 256, 1024]), Column::of(rng, &[64, 128, 200]));
    let weights = Column::of(rng, &[Weights::Tf, Weights::One]);
    let (tables, edit) = (Column::of(rng, &TABLES), Column::of(rng, &["100:4", "20:2"]));
    let (kept, html) = (Column::of(rng, &KEPT), Column::of(rng, &["main", "text", "raw"]));
    let seeds = Column::of(rng, &[1, 99, u64::MAX]);
    let mut clusters = Column::of(rng, &CLUSTERS).0.into_iter().cycle().peekable();
    let set = |set: usize| {
        let keep_sketches: Kept = kept.at(set).parse().unwrap();
        let (shingle, simhash) = shingles.at(set);
        let (hamming, hamming_tables) = tables.at(set);
        // Popular representatives are made of samples.
        let popular = |rule: &(ClusterRule, RepresentativeRule)| rule.1 == RepresentativeRule::Popular;
        let (rule, representative) = match clusters.next_if(|next| keep_sketches.sample || !popular(next)) {
            Some(rule) => rule,
            None => CLUSTERS[0],
        };
        // Without signatures it is by the containment index that samples are found.
        let by_samples = keep_sketches.sample && !keep_sketches.signature && !keep_sketches.simhash;
        Params {
            sketch: SketchParams {
                shingle: shingle.parse().unwrap(),
                simhash: simhash.parse().unwrap(),
                labelled: labelled.at(set),
                sample: samples.at(set),
                minhashes: minhashes.at(set),
                weights: weights.at(set),
                edit: edit.at(set).parse::<EditParams>().unwrap(),
                html: serde_json::from_value(html.at(set).into()).unwrap(),
                seed: seeds.at(set),
            },
            threshold: threshold.at(set),
            recall: recall.at(set),
            hamming,
            hamming_tables,
            containment: containment.at(set) || by_samples,
            clusters: rule,
            representative,
            keep_sketches,
        }
    };
    let sets: Vec<Params> = (0..KEPT.len()).map(set).collect();
    assert_covered(&sets);
    sets
}

/// Every option that a file knows has several values, and each value that it can have here is there.
fn assert_covered(sets: &[Params]) {
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for params in sets {
        params.check().unwrap_or_else(|error| panic!("{params:?}: {error}"));
        let serde_json::Value::Object(options) = serde_json::to_value(params).unwrap() else {
            unreachable!()
        };
        for (name, value) in options {
            values.entry(name).or_default().insert(value.to_string());
        }
    }
    let expected = [
        ("clusters", 2),
        ("containment", 2),
        ("edit", 2),
        ("hamming", 3),
        ("hamming_tables", 4),
        ("html", 3),
        ("keep_sketches", KEPT.len()),
        ("labelled", 2),
        ("minhashes", 3),
        ("recall", 2),
        ("representative", 2),
        ("sample", 3),
        ("seed", 3),
        ("shingle", SHINGLES.len()),
        ("simhash", 5),
        ("threshold", 3),
        ("weights", 2),
    ];
    let drawn = values.iter().map(|(name, values)| (name.as_str(), values.len()));
    assert!(drawn.eq(expected), "{values:#?}");
}

/// A text of the same words for the unit of the shingles: of several lines where those are lines.
pub fn in_units(params: &Params, text: &str) -> String {
    match params.sketch.shingle.unit() {
        Unit::Lines => text.replace(' ', "\n"),
        _ => text.to_owned(),
    }
}

/// Whether pairs can be listed: by bands, or by simhashes where there are no samples.
pub fn lists_pairs(params: &Params) -> bool {
    let Kept { sample, signature, simhash, .. } = params.keep_sketches;
    signature || (simhash && !sample)
}

/// Whether anything but the same text is known again.
pub fn knows_near(params: &Params) -> bool {
    let Kept { sample, signature, simhash, .. } = params.keep_sketches;
    sample || signature || simhash
}
