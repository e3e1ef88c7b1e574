//! What became of the pages of a crawl, and what it saved.

use serde::{Deserialize, Serialize};
use sketchdb::Sighting;
use std::fmt::{self, Display, Formatter};

/// What became of a page.
#[derive(Debug)]
pub enum Outcome {
    /// It was fetched and judged; its bytes.
    Seen(Sighting, u64),
    /// It is elsewhere: the one link of this page.
    Moved,
    /// The site does not have it.
    Absent,
    /// It is no text, or larger than a page may be.
    Unfit,
    /// It could not be fetched now, and why.
    Failed(String),
}

impl Outcome {
    /// Whether the links of the page are followed. Those of a page that did not change since an earlier crawl are: what it
    /// links to may have changed.
    pub fn is_followed(&self) -> bool {
        match self {
            Outcome::Seen(sighting, _) => sighting.is_news() || *sighting == Sighting::Unchanged,
            outcome => matches!(outcome, Outcome::Moved),
        }
    }

    pub fn failed(&self) -> bool {
        matches!(self, Outcome::Failed(_))
    }

    /// What became of the page in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Seen(Sighting::Unchanged, _) => "unchanged",
            Outcome::Seen(Sighting::Updated, _) => "updated",
            Outcome::Seen(Sighting::Exact { .. }, _) => "exact",
            Outcome::Seen(Sighting::Near { .. }, _) => "near",
            Outcome::Seen(Sighting::Contained { .. }, _) => "contained",
            Outcome::Seen(..) => "new",
            Outcome::Moved => "moved",
            Outcome::Absent => "absent",
            Outcome::Unfit => "unfit",
            Outcome::Failed(_) => "failed",
        }
    }

    /// The other page that is like it, or why it could not be fetched.
    pub fn why(&self) -> &str {
        match self {
            Outcome::Seen(Sighting::Exact { of } | Sighting::Near { of, .. }, _) => of,
            Outcome::Seen(Sighting::Contained { within, .. }, _) => within,
            Outcome::Failed(why) => why,
            _ => "",
        }
    }
}

/// Counts of a crawl since it was begun.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Savings {
    /// Answers to requests, whatever they were; pages that were in flight when the process was killed count once.
    requests: u64,
    /// Pages that were fetched and judged: the sum of the next six.
    pages: u64,
    new: u64,
    unchanged: u64,
    updated: u64,
    exact: u64,
    near: u64,
    contained: u64,
    moved: u64,
    absent: u64,
    unfit: u64,
    /// Of pages that were judged, and of those of them that are new or updated.
    bytes_fetched: u64,
    bytes_new: u64,
    /// Links of exact, near and contained pages to pages that were not known when the page was judged.
    pub links_not_followed: u64,
}

impl Savings {
    pub fn count(&mut self, outcome: &Outcome) {
        self.requests += 1;
        *match outcome {
            Outcome::Seen(sighting, bytes) => {
                self.pages += 1;
                self.bytes_fetched += bytes;
                self.bytes_new += if sighting.is_news() { *bytes } else { 0 };
                match sighting {
                    Sighting::Unchanged => &mut self.unchanged,
                    Sighting::Updated => &mut self.updated,
                    Sighting::Exact { .. } => &mut self.exact,
                    Sighting::Near { .. } => &mut self.near,
                    Sighting::Contained { .. } => &mut self.contained,
                    _ => &mut self.new,
                }
            }
            Outcome::Moved => &mut self.moved,
            Outcome::Absent => &mut self.absent,
            Outcome::Unfit => &mut self.unfit,
            Outcome::Failed(_) => return,
        } += 1;
    }
}

/// What is told at the end.
#[derive(Debug, Serialize)]
pub struct Summary {
    #[serde(flatten)]
    pub savings: Savings,
    /// Pages that could not be fetched; the next run tries them again.
    pub failed: u64,
    /// Pages that are to fetch.
    pub left: u64,
}

impl Summary {
    pub fn requests(&self) -> u64 {
        self.savings.requests
    }
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Savings { requests, pages, new, unchanged, updated, exact, near, contained, .. } = self.savings;
        let Savings { moved, absent, unfit, bytes_fetched, bytes_new, links_not_followed, .. } = self.savings;
        let Summary { failed, left, .. } = self;
        let megabytes = |bytes| bytes as f64 / 1e6;
        writeln!(
            f,
            "{requests} requests, {pages} pages: {new} new, {updated} updated, {unchanged} unchanged, {exact} exact, {near} near, \
             {contained} contained; {moved} moved, {absent} absent, {unfit} unfit, {failed} failed",
        )?;
        write!(
            f,
            "{:.1} MB fetched, {:.1} MB of it new; {links_not_followed} links of known pages not followed; {left} pages left",
            megabytes(bytes_fetched),
            megabytes(bytes_new),
        )
    }
}
