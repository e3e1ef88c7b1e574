//! Which terms of new documents nothing has: looked up side by side before the documents are added one after the other.
//!
//! Most terms of most documents are new, and looking them up takes most of the time of an addition. What a view does not
//! have it never has, so threads may ask it beforehand; what a batch added before is looked up by the batch.

use super::add::Document;
use super::params::Params;
use crate::error::Result;
use crate::index::indexing::Indexing;
use crate::index::term::Address;
use crate::store::view::View;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::Builder;

/// Fewer documents are not worth a thread.
const LEAST: usize = 64;
/// More threads have nothing to do beside those that sketch.
const MOST_THREADS: usize = 8;

/// Of documents one after the other, the addresses that nothing alive in a view has.
#[derive(Debug, Default)]
pub(crate) struct Absent {
    addresses: Vec<Address>,
    /// Where those of each document end.
    ends: Vec<usize>,
    /// The document at hand, and how many there were before it.
    current: Range<usize>,
    before: usize,
}

impl Absent {
    /// Goes on to the next document.
    pub fn next(&mut self) {
        let end = self.ends.get(self.before).copied().unwrap_or(self.current.end);
        self.current = self.current.end..end;
        self.before += 1;
    }

    /// Whether nothing has a term of the document at hand.
    pub fn contains(&self, address: Address) -> bool {
        self.addresses[self.current.clone()].binary_search(&address).is_ok()
    }

    fn append(&mut self, more: Absent) {
        let before = self.addresses.len();
        self.addresses.extend(more.addresses);
        self.ends.extend(more.ends.iter().map(|end| before + end));
    }
}

/// For each document which of its terms are absent: of its key, of its text and of its bands.
pub(crate) fn absent(
    view: &View,
    params: &Params,
    indexing: &Indexing,
    documents: &[Document],
) -> Result<Absent> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if documents.len() < 2 * LEAST { 1 } else { cores().min(MOST_THREADS) };
    let look = move |part: &[Document]| of_part(view, params, indexing, part);
    if threads == 1 {
        return look(documents);
    }
    let (first, others) = documents.split_at(documents.len().div_ceil(threads));
    std::thread::scope(|scope| {
        let begun: Vec<_> = others
            .chunks(first.len())
            .map(|part| (part, Builder::new().spawn_scoped(scope, move || look(part))))
            .collect();
        let mut all = look(first)?;
        for (part, thread) in begun {
            // Where there is no thread to be had, this one does it.
            let found = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(_) => look(part),
            };
            all.append(found?);
        }
        Ok(all)
    })
}

fn of_part(view: &View, params: &Params, indexing: &Indexing, documents: &[Document]) -> Result<Absent> {
    let (mut found, mut addresses) = (Absent::default(), Vec::new());
    for Document { key, sketch, .. } in documents {
        let start = found.addresses.len();
        let signature = sketch.signature.as_ref().filter(|_| params.keep_sketches.signature);
        let bands = signature.into_iter().flat_map(|signature| indexing.bands.addresses(signature));
        addresses.clear();
        addresses.extend([Indexing::key(key), Indexing::content(&sketch.hash)].into_iter().chain(bands));
        view.foresee(&addresses);
        for &address in &addresses {
            if view.scan(&(address..=address), |_| true, |_, _| false)? {
                found.addresses.push(address);
            }
        }
        found.addresses[start..].sort_unstable();
        found.ends.push(found.addresses.len());
    }
    Ok(found)
}
