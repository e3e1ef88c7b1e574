//! From a sketch to the contents that share a term with it.

use super::reader::Reader;
use crate::error::Result;
use crate::id::ContentId;
use crate::index::TableDesign;
use crate::index::indexing::Indexing;
use crate::index::term::Address;
use crate::sketch::Sketch;

/// A band or sample term shared by more contents than this is hot: boilerplate, or a template.
pub(crate) const HOT: usize = 256;
/// A hot term yields its lowest living contents, so many of them, whatever the layout of the runs, and the tops of their
/// clusters.
pub(crate) const YIELD_OF_HOT: usize = 16;

/// Addresses that are looked up together.
const AHEAD: usize = 32;

/// Which families of terms a candidate was found by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundBy {
    /// The hash of the text.
    pub content: bool,
    /// A band of the signature.
    pub band: bool,
    /// A permuted simhash table.
    pub simhash: bool,
    /// A value of the sample.
    pub sample: bool,
}

impl FoundBy {
    const CONTENT: FoundBy = FoundBy { content: true, band: false, simhash: false, sample: false };
    const BAND: FoundBy = FoundBy { content: false, band: true, simhash: false, sample: false };
    const SIMHASH: FoundBy = FoundBy { content: false, band: false, simhash: true, sample: false };
    const SAMPLE: FoundBy = FoundBy { content: false, band: false, simhash: false, sample: true };

    pub(crate) fn merge(&mut self, other: FoundBy) {
        self.content |= other.content;
        self.band |= other.band;
        self.simhash |= other.simhash;
        self.sample |= other.sample;
    }

    /// The names of the families.
    pub fn names(self) -> Vec<&'static str> {
        let named = [
            ("content", self.content),
            ("band", self.band),
            ("simhash", self.simhash),
            ("sample", self.sample),
        ];
        named.into_iter().filter(|family| family.1).map(|family| family.0).collect()
    }
}

/// Collects the contents that share a term with a sketch.
pub(crate) struct Search<'a, R> {
    reader: &'a R,
    indexing: &'a Indexing,
    sketch: &'a Sketch,
    /// Only contents before this one are looked for.
    before: ContentId,
    found: Vec<(ContentId, FoundBy)>,
    /// What hot terms yielded.
    yielded: Vec<(ContentId, FoundBy)>,
    bounded: bool,
}

/// Contents that share a term with a sketch: ascending, each once.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub list: Vec<(ContentId, FoundBy)>,
    /// Whether a hot term was not followed to its end.
    pub bounded: bool,
}

impl<'a, R: Reader> Search<'a, R> {
    /// Begins with the content of the same text.
    pub fn new(reader: &'a R, indexing: &'a Indexing, sketch: &'a Sketch) -> Result<Self> {
        reader.foresee(&[Indexing::content(&sketch.hash)]);
        let same = reader.find_content(&sketch.hash)?;
        let found = same.into_iter().map(|(content, _)| (content, FoundBy::CONTENT)).collect();
        let (before, yielded) = (ContentId(u64::MAX), Vec::new());
        Ok(Search { reader, indexing, sketch, before, found, yielded, bounded: false })
    }

    /// A search among the contents before a stored one, as it was made when that was added.
    pub fn again(reader: &'a R, indexing: &'a Indexing, sketch: &'a Sketch, before: ContentId) -> Self {
        let (found, yielded) = Default::default();
        Search { reader, indexing, sketch, before, found, yielded, bounded: false }
    }

    /// Contents that share a band.
    pub fn bands(mut self) -> Result<Self> {
        let signature = self.sketch.signature.iter();
        let addresses: Vec<Address> =
            signature.flat_map(|signature| self.indexing.bands.addresses(signature)).collect();
        for some in addresses.chunks(AHEAD) {
            self.reader.foresee(some);
            for &address in some {
                self.term(address, FoundBy::BAND)?;
            }
        }
        Ok(self)
    }

    /// Contents that share a sample value.
    pub fn samples(self) -> Result<Self> {
        self.containers(0.0)
    }

    /// Contents that share a sample value, of those that have at least this share of the sketch all.
    ///
    /// One that lacks d values of n at most has one of any d + 1. It was posted under all its values up to one of its own, so it
    /// is found by one of the d + 1 lowest, or by what it was posted under at all. Hot values are not followed to their
    /// end, and do not count.
    pub fn containers(mut self, share: f64) -> Result<Self> {
        let values = self.sketch.sample.values();
        let mut needed = 1 + most_lacking(values.len(), share);
        let mut rest = values;
        while needed > 0 && !rest.is_empty() {
            let (some, others) = rest.split_at(rest.len().min(needed).min(AHEAD));
            rest = others;
            let addresses: Vec<Address> = some.iter().map(|&value| Indexing::sample_value(value)).collect();
            self.reader.foresee(&addresses);
            for &address in &addresses {
                needed -= usize::from(self.term(address, FoundBy::SAMPLE)?);
            }
        }
        Ok(self)
    }

    /// Contents that share a prefix in a permuted table and whose stored bits are close enough.
    pub fn simhashes(mut self, max_distance: u32) -> Result<Self> {
        let Search { reader, indexing, sketch, found, before, .. } = &mut self;
        if let Some(simhash) = sketch.simhash {
            for (own, range) in indexing.tables.addresses(simhash).zip(indexing.tables.ranges(simhash)) {
                let near = |stored| !TableDesign::is_apart(own, stored, max_distance);
                reader.scan_some(&range, &near, &mut |id| {
                    if id < before.0 {
                        found.push((ContentId(id), FoundBy::SIMHASH));
                    }
                })?;
                // Near texts are in most of the tables: each once is enough to hold.
                merge(found);
            }
        }
        Ok(self)
    }

    /// Collects what has a term; whether it was followed to its end.
    fn term(&mut self, address: Address, by: FoundBy) -> Result<bool> {
        let before = self.found.len();
        let (found, end) = (&mut self.found, self.before);
        self.reader.scan(&(address..=address), &mut |_, id| {
            if id < end.0 {
                found.push((ContentId(id), by));
            }
            id < end.0 && found.len() - before <= HOT
        })?;
        let hot = self.found.len() - before > HOT;
        if hot {
            self.found.truncate(before + YIELD_OF_HOT);
            self.yielded.extend_from_slice(&self.found[before..]);
            self.bounded = true;
        }
        Ok(!hot)
    }

    /// What was found, with the tops of the clusters of what hot terms yielded.
    pub fn candidates(mut self) -> Result<Candidates> {
        merge(&mut self.yielded);
        for (content, by) in &self.yielded {
            let top = ContentId(self.reader.cluster(*content)?.0);
            if top != *content && self.reader.is_alive(top) {
                self.found.push((top, *by));
            }
        }
        merge(&mut self.found);
        Ok(Candidates { list: self.found, bounded: self.bounded })
    }
}

/// How many of n values may lack where at least this share of them is there.
fn most_lacking(n: usize, share: f64) -> usize {
    (0..n).rev().find(|&lacking| (n - lacking) as f64 / n as f64 >= share).unwrap_or(0)
}

/// Sorts candidates and makes one of those with one number.
fn merge(found: &mut Vec<(ContentId, FoundBy)>) {
    found.sort_unstable_by_key(|candidate| candidate.0);
    found.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            kept.1.merge(later.1);
        }
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::measures::measure;
    use crate::db::{Database, Document, Options, Params, Policy};
    use crate::text::rabin::mix;

    /// A part of one of few long texts, with some words exchanged.
    fn text(number: u64) -> String {
        let draw = mix(number);
        let (source, start, length) =
            (draw % 5, draw >> 8 & 511, 10 + (draw >> 20) % [60, 300, 2500][number as usize % 3]);
        let rare = 2 + (draw >> 40) % 60;
        let word = |at: u64| match mix(at ^ draw) % rare {
            0 => format!("x{} ", mix(at ^ draw) % 1000),
            _ => format!("w{source}x{at} "),
        };
        (start..start + length).map(word).collect()
    }

    #[test]
    fn the_lowest_values_find_every_container() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("contained.sketchdb");
        Database::create(&path, &Params::default()).unwrap();
        let db = Database::open(&path, Options { flush_contents: 400, ..Options::default() }).unwrap();
        // Enough for hot values.
        for numbers in [0..1000u64, 1000..1500] {
            let document = |number| {
                let sketch = db.sketch(text(number)).unwrap();
                Document { key: format!("{number}"), sketch, seen_at: None }
            };
            db.add_batch(numbers.map(document).collect(), Policy::Everything).unwrap();
        }
        let view = db.view();
        let (mut found, mut fewer) = (0, 0);
        for number in 5000..5100 {
            let sketch = db.sketch(text(number)).unwrap();
            for share in [0.2, 0.5, 0.7, 0.9, 1.0] {
                let search = || Search::new(&*view, db.indexing(), &sketch).unwrap();
                let (all, some) = (search().samples().unwrap(), search().containers(share).unwrap());
                let [all, some] = [all, some].map(|search| search.candidates().unwrap().list);
                fewer += usize::from(some.len() < all.len());
                let containers = |list: &[(ContentId, FoundBy)]| -> Vec<ContentId> {
                    let contains = |content: &ContentId| {
                        let measures = measure(&*view, &sketch, *content).unwrap();
                        measures.containment.is_some_and(|estimate| estimate.value >= share)
                    };
                    list.iter().map(|candidate| candidate.0).filter(contains).collect()
                };
                let expected = containers(&all);
                found += expected.len();
                assert_eq!(containers(&some), expected, "text {number}, share {share}");
            }
        }
        assert!(found > 1000 && fewer > 100, "{found} found, fewer looked at in {fewer}");
    }
}
