//! Real text: documents of 100 shingles and more of which .8 are in one up to 8 times as large.

use crate::common::corpus::{allowed, corpus};
use crate::shapes::{ask, filled};
use sketchdb::{Measure, Params};
use std::collections::HashMap;

/// At least .97 are found at threshold .7, up to 99 % of the binomial.
fn holds(name: &str) {
    let Some(corpus) = corpus(name) else { return };
    let texts: Vec<&str> = corpus.documents.iter().map(|document| document.1.as_str()).collect();
    let (_place, db) = filled(&Params::default(), &texts);
    let numbers: HashMap<&str, usize> =
        corpus.documents.iter().enumerate().map(|(at, document)| (document.0.as_str(), at)).collect();
    let mut found: HashMap<usize, Vec<String>> = HashMap::new();
    let (mut all, mut missed) = (0, 0);
    for pair in corpus.contained.iter().filter(|pair| pair.inner >= 100 && pair.outer < 8 * pair.inner) {
        let [inner, outer] = [&pair.keys.0, &pair.keys.1].map(|key| numbers[key.as_str()]);
        let keys = found.entry(inner).or_insert_with(|| {
            let matches = ask(&db, texts[inner], Measure::Containment(0.7), &[]);
            matches.into_iter().map(|found| found.key).collect()
        });
        all += 1;
        missed += usize::from(!keys.contains(&outer.to_string()));
    }
    eprintln!("{name}: {} of {all} contained documents found", all - missed);
    assert!(all > 0, "{name} has such documents");
    assert!(missed <= allowed(0.03, all), "{name}: {missed} of {all} missed");
}

macro_rules! corpora {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            holds(stringify!($name));
        }
    )*};
}

corpora!(licences_spdx revisions_peps revisions_symfony);
