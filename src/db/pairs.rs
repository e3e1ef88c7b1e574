//! `pairs`: every two stored documents that are alike.
//!
//! The index is walked once in its own order: contents that stand together under a term are candidates of each other. The
//! pairs are sorted outside of memory by their later text, so that each is verified once and its later text is read once for
//! all its pairs; of the earlier ones those that hot terms yield come again and again.
//! By Hamming distance the permuted tables are walked in the same way (Manku et al. 2007, section 4: fingerprints against
//! all others by sequential reads).

use super::candidate::{HOT, YIELD_OF_HOT};
use super::common::CommonShingles;
use super::database::Database;
use super::measures::{Candidate, CandidateCache, Measures};
use super::query::{Accept, Confirm, Measure, Verifier};
use super::reader::Reader;
use crate::error::{Error, Result};
use crate::id::{ContentId, DocId};
use crate::index::TableDesign;
use crate::index::term::{Address, Space};
use crate::sketch::{Interval, Sketch};
use crate::store::sort::{Sorted, Sorter};
use crate::store::view::View;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Pairs that are verified between two calls of the caller.
const BATCH: usize = 8192;

/// Which pairs to list.
#[derive(Clone, Debug)]
pub struct PairOptions {
    /// Resemblance, agreement or Hamming distance; resemblance at the threshold of the database by default.
    pub by: Option<Measure>,
    /// Which end of the interval decides.
    pub accept: Accept,
    /// Measures that must agree.
    pub confirm: Vec<Confirm>,
    /// Pair every document that holds a text, not only the first.
    pub copies: bool,
    /// Shingles to leave out of the resemblance. Candidates are found by all shingles.
    pub ignore: Option<Arc<CommonShingles>>,
    /// Bytes for sorting candidates; more of them go to temporary files.
    pub memory: usize,
    /// Threads that verify.
    pub threads: usize,
}

impl Default for PairOptions {
    fn default() -> Self {
        PairOptions {
            by: None,
            accept: Accept::default(),
            confirm: Vec::new(),
            copies: false,
            ignore: None,
            memory: 64 << 20,
            threads: 1,
        }
    }
}

/// Two documents that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The key of the one whose text was stored first.
    pub a: String,
    /// The key of the other.
    pub b: String,
    /// The estimated resemblance.
    pub resemblance: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// In how many of 64 bits the simhashes differ.
    pub hamming: Option<u32>,
    /// Whether both hold the same text.
    pub exact: bool,
    /// Whether other pairs of near duplicates may be missing from the list, as a term was shared by too many contents. Never said
    /// of the same text: those pairs are complete.
    pub bounded: bool,
}

/// What a caller of [`Database::pairs`] is told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PairEvent {
    /// The next pair.
    Pair(Pair),
    /// So many of so many index entries were walked over.
    Walked(u64, u64),
    /// So many candidate pairs were verified.
    Verified(u64),
}

/// How a listing of pairs went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PairSummary {
    /// Candidate pairs that were verified.
    pub candidates: u64,
    /// Terms shared by too many contents, whose contents were paired with some of them only.
    pub bounded: u64,
    /// When the threshold asked for lies below what the index was made for: the share of the pairs at it that are found.
    pub expected_recall: Option<f64>,
}

impl Database {
    /// Tells every two documents that are alike, each pair once: first those of the same text, then the others by their
    /// texts in the order in which the later one was stored. Only the first document of a text is paired, and with each of its copies, unless
    /// `copies`. Memory is bounded by the options.
    pub fn pairs<B>(
        &self,
        options: &PairOptions,
        mut each: impl FnMut(PairEvent) -> ControlFlow<B>,
    ) -> Result<(PairSummary, Option<B>)> {
        let verifier = Verifier::new(self, options.by, options.accept, &options.confirm)?;
        options.ignore.iter().try_for_each(|common| common.check(self.sketch_params()))?;
        if matches!(verifier.by(), Measure::Resemblance(_)) {
            let bands = self.params().keep_sketches.signature;
            self.params().check_kept("pairs by resemblance", bands)?;
        }
        if !matches!(verifier.by(), Measure::Resemblance(_) | Measure::Agreement(_) | Measure::Hamming(_)) {
            return Err(not_listed());
        }
        let view = self.view();
        let mut summary =
            PairSummary { expected_recall: verifier.expected_recall(), ..PairSummary::default() };
        if let ControlFlow::Break(value) = exact_pairs(&view, options.copies, &mut each)? {
            return Ok((summary, Some(value)));
        }
        let mut gathering = Gathering::new(&view, options.memory);
        let gathered = match verifier.by() {
            Measure::Resemblance(_) | Measure::Agreement(_) => gathering.bands(&mut each)?,
            Measure::Hamming(distance) => {
                gathering.simhashes(&self.indexing().tables, distance, &mut each)?
            }
            _ => return Err(not_listed()),
        };
        summary.bounded = gathering.bounded;
        if let ControlFlow::Break(value) = gathered {
            return Ok((summary, Some(value)));
        }
        let mut candidates = gathering.sorter.finish()?;
        let mut caches: Vec<CandidateCache> = Vec::new();
        caches.resize_with(options.threads.max(1), CandidateCache::default);
        let (copies, bounded) = (options.copies, summary.bounded > 0);
        let mut telling = Telling { view: &view, copies, bounded, keys: HashMap::new() };
        loop {
            let batch = next_batch(&mut candidates)?;
            if batch.is_empty() {
                return Ok((summary, None));
            }
            summary.candidates += batch.len() as u64;
            for (pair, measures) in verify(&view, &verifier, &batch, &mut caches, options.ignore.as_deref())?
            {
                if let ControlFlow::Break(value) = telling.tell(pair, &measures, &mut each)? {
                    return Ok((summary, Some(value)));
                }
            }
            if let ControlFlow::Break(value) = each(PairEvent::Verified(summary.candidates)) {
                return Ok((summary, Some(value)));
            }
        }
    }
}

/// Of a measure that no walk over the index gives candidates for.
fn not_listed() -> Error {
    Error::invalid("pairs", "list them by resemblance, agreement or Hamming distance")
}

fn next_batch(candidates: &mut Sorted<2>) -> Result<Vec<[u64; 2]>> {
    candidates.take(BATCH).collect()
}

/// Candidate pairs under way.
struct Gathering<'v> {
    view: &'v View,
    sorter: Sorter<2>,
    bounded: u64,
    walked: u64,
}

type Each<'e, B> = &'e mut dyn FnMut(PairEvent) -> ControlFlow<B>;

impl<'v> Gathering<'v> {
    fn new(view: &'v View, memory: usize) -> Self {
        Gathering { view, sorter: Sorter::new(memory), bounded: 0, walked: 0 }
    }

    fn push(&mut self, a: u64, b: u64) -> Result<()> {
        if a == b { Ok(()) } else { self.sorter.push([a.max(b), a.min(b)]) }
    }

    /// Tells now and then how far the walk is.
    fn step<B>(&mut self, each: Each<B>) -> ControlFlow<B> {
        self.walked += 1;
        match self.walked.is_multiple_of(1 << 20) {
            true => each(PairEvent::Walked(self.walked, self.view.entries())),
            false => ControlFlow::Continue(()),
        }
    }

    /// Contents that share a band.
    fn bands<B>(&mut self, each: Each<B>) -> Result<ControlFlow<B>> {
        let view = self.view;
        let (mut sharing, mut stopped) = (Sharing::default(), None);
        view.walk(Address::first(Space::CONTENTS), |address, content| {
            if address.space() != Space::CONTENTS {
                return Ok(false);
            }
            if sharing.address != Some(address) {
                self.pair_all(&std::mem::take(&mut sharing))?;
                sharing.address = Some(address);
            }
            self.share(&mut sharing, content)?;
            stopped = self.step(each).break_value();
            Ok(stopped.is_none())
        })?;
        self.pair_all(&sharing)?;
        Ok(stopped.map_or(ControlFlow::Continue(()), ControlFlow::Break))
    }

    /// Notes one more content of a term; of a hot one it is paired with what the term yields.
    fn share(&mut self, sharing: &mut Sharing, content: u64) -> Result<()> {
        sharing.contents.push(content);
        if sharing.contents.len() > HOT && sharing.yielded.is_empty() {
            self.bounded += 1;
            sharing.yielded = sharing.contents[..YIELD_OF_HOT].to_vec();
            for at in 0..YIELD_OF_HOT {
                let top = ContentId(self.view.cluster(ContentId(sharing.contents[at]))?.0);
                if self.view.is_alive(top) {
                    sharing.yielded.push(top.0);
                }
            }
        }
        if !sharing.yielded.is_empty() {
            for content in sharing.contents.drain(..) {
                sharing.yielded.iter().try_for_each(|&yielded| self.push(content, yielded))?;
            }
        }
        Ok(())
    }

    /// Pairs the contents of a term that is not hot.
    fn pair_all(&mut self, sharing: &Sharing) -> Result<()> {
        for (at, &content) in sharing.contents.iter().enumerate() {
            sharing.contents[..at].iter().try_for_each(|&other| self.push(other, content))?;
        }
        Ok(())
    }

    /// Contents that share a prefix in a permuted table and whose stored bits are close enough.
    fn simhashes<B>(&mut self, tables: &TableDesign, distance: u32, each: Each<B>) -> Result<ControlFlow<B>> {
        let view = self.view;
        let mut prefix: Vec<(Address, u64)> = Vec::new();
        let mut stopped = None;
        view.walk(Address::first(Space::simhash(0)), |address, content| {
            if !address.space().is_simhash() {
                return Ok(false);
            }
            if prefix.first().is_some_and(|first| !tables.share_prefix(first.0, address)) {
                prefix.clear();
            }
            for &(other, number) in &prefix {
                if !TableDesign::is_apart(other, address, distance) {
                    self.push(number, content)?;
                }
            }
            prefix.push((address, content));
            stopped = self.step(each).break_value();
            Ok(stopped.is_none())
        })?;
        Ok(stopped.map_or(ControlFlow::Continue(()), ControlFlow::Break))
    }
}

/// The contents of one term, as far as they were met.
#[derive(Default)]
struct Sharing {
    address: Option<Address>,
    /// Those that are not paired yet.
    contents: Vec<u64>,
    /// What the term yields, once it is known to be hot.
    yielded: Vec<u64>,
}

/// Two contents that are alike, and how.
type Alike = ([u64; 2], Measures);

/// Verifies pairs on some threads; what passed, in order.
fn verify(
    view: &View,
    verifier: &Verifier,
    pairs: &[[u64; 2]],
    caches: &mut [CandidateCache],
    common: Option<&CommonShingles>,
) -> Result<Vec<Alike>> {
    let share = pairs.len().div_ceil(caches.len().max(1)).max(1);
    let verified: Vec<Result<Vec<Alike>>> = std::thread::scope(|scope| {
        let parts = pairs.chunks(share).zip(caches);
        let work = |(part, cache)| scope.spawn(move || verify_part(view, verifier, part, cache, common));
        let threads: Vec<_> = parts.map(work).collect();
        let panicked = || Err(Error::Failed("a thread panicked while verifying".into()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| panicked())).collect()
    });
    let mut all = Vec::new();
    for part in verified {
        all.extend(part?);
    }
    Ok(all)
}

fn verify_part(
    view: &View,
    verifier: &Verifier,
    pairs: &[[u64; 2]],
    cache: &mut CandidateCache,
    common: Option<&CommonShingles>,
) -> Result<Vec<Alike>> {
    let mut kept = Vec::new();
    let mut open: Option<(u64, Sketch)> = None;
    for &[later, earlier] in pairs {
        if open.as_ref().is_none_or(|open| open.0 != later) {
            let sketch =
                view.content(ContentId(later), |record| Sketch::of_record(verifier.sketch_params(), record))?;
            let without = common.map(|common| common.left_out_of_sketch(&sketch).into_owned());
            open = Some((later, without.unwrap_or(sketch)));
        }
        if let Some((_, sketch)) = &open {
            let earlier = ContentId(earlier);
            let read = || Ok(view.content(earlier, Candidate::of)?.without(common));
            let candidate = cache.get(earlier, read)?;
            let measures = Measures::of(sketch, earlier, &candidate);
            if verifier.verify(view, sketch, &measures)? {
                kept.push(([later, earlier.0], measures));
            }
        }
    }
    Ok(kept)
}

/// The documents that hold a content, the first only unless `copies`.
fn documents(view: &View, content: u64, copies: bool) -> Result<Vec<DocId>> {
    let founder = view.content(ContentId(content), |record| Ok(DocId(record.founder)))?;
    let holders = view.holders(ContentId(content), founder)?;
    Ok(holders.iter().take(if copies { usize::MAX } else { 1 }).map(DocId).collect())
}

/// The most texts whose keys are kept in memory, and the most keys of one.
const TEXTS: usize = 16_384;
const KEYS: usize = 16;

/// Tells verified pairs of contents by the keys of their documents.
struct Telling<'v> {
    view: &'v View,
    copies: bool,
    bounded: bool,
    /// Keys of contents that were told lately.
    keys: HashMap<u64, Arc<Vec<String>>>,
}

impl Telling<'_> {
    fn tell<B>(
        &mut self,
        [later, earlier]: [u64; 2],
        measures: &Measures,
        each: Each<B>,
    ) -> Result<ControlFlow<B>> {
        let (firsts, others) = (self.keys(earlier)?, self.keys(later)?);
        for (first, other) in firsts.iter().flat_map(|first| others.iter().map(move |other| (first, other))) {
            let told = each(PairEvent::Pair(Pair {
                a: first.clone(),
                b: other.clone(),
                resemblance: measures.resemblance.map(|estimate| estimate.value),
                interval: measures.resemblance.map(|estimate| estimate.interval),
                hamming: measures.hamming,
                exact: false,
                bounded: self.bounded,
            }));
            if told.is_break() {
                return Ok(told);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn keys(&mut self, content: u64) -> Result<Arc<Vec<String>>> {
        if let Some(keys) = self.keys.get(&content) {
            return Ok(keys.clone());
        }
        let holders = documents(self.view, content, self.copies)?.into_iter();
        let keys: Result<Vec<String>> =
            holders.map(|id| Ok(self.view.holder(ContentId(content), id)?.key)).collect();
        let keys = Arc::new(keys?);
        if self.keys.len() >= TEXTS {
            self.keys.clear();
        }
        if keys.len() <= KEYS {
            self.keys.insert(content, keys.clone());
        }
        Ok(keys)
    }
}

/// Tells the documents of one text: the first with each other, or all with all.
fn exact_pairs<B>(view: &View, copies: bool, each: Each<B>) -> Result<ControlFlow<B>> {
    let mut stopped = None;
    view.each_held(&mut |content| {
        if view.marks.is_dead(content) || stopped.is_some() {
            return Ok(());
        }
        let holders = documents(view, content, true)?;
        let firsts = if copies { holders.len() } else { 1 };
        for (at, &first) in holders.iter().enumerate().take(firsts) {
            let key = view.holder(ContentId(content), first)?.key;
            for &other in &holders[at + 1..] {
                let b = view.holder(ContentId(content), other)?.key;
                let interval = Some(Interval { low: 1.0, high: 1.0 });
                let (a, resemblance, hamming) = (key.clone(), Some(1.0), Some(0));
                let (exact, bounded) = (true, false);
                let pair = Pair { a, b, resemblance, interval, hamming, exact, bounded };
                if let ControlFlow::Break(value) = each(PairEvent::Pair(pair)) {
                    stopped = Some(value);
                    return Ok(());
                }
            }
        }
        Ok(())
    })?;
    Ok(stopped.map_or(ControlFlow::Continue(()), ControlFlow::Break))
}
