//! The crawl: fetches pages, several at once, and has each judged by the database before the frontier hears of it.

use crate::fetch::{Fetched, Site};
use crate::frontier::{Frontier, Page};
use crate::links::links;
use crate::savings::Outcome;
use crate::{Result, now};
use reqwest::Url;
use sketchdb::web::{MediaType, text_of};
use sketchdb::{Database, Sighting};
use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;
use tokio::task::{JoinSet, spawn_blocking};

/// How far a crawl goes.
pub struct Limits {
    pub fetchers: usize,
    /// Requests.
    pub pages: Option<u64>,
    /// Links from the start.
    pub depth: Option<u32>,
}

pub struct Crawl {
    pub db: Database,
    pub frontier: Frontier,
    pub site: Site,
    pub limits: Limits,
    /// No line for each page.
    pub quiet: bool,
}

impl Crawl {
    /// Fetches until nothing is left or a limit is reached. Pages begin in the order in which they were found.
    pub async fn run(self: &Arc<Self>) -> Result<()> {
        let mut begun = self.frontier.summary()?.requests();
        let (mut last, mut visits) = (None, JoinSet::new());
        loop {
            while visits.len() < self.limits.fetchers
                && self.limits.pages.is_none_or(|most| begun < most)
                && let Some(page) = self.frontier.next(last)?
            {
                (last, begun) = (Some(page.number), begun + 1);
                visits.spawn(Arc::clone(self).visit(page));
                if let Some(delay) = self.site.delay() {
                    tokio::time::sleep(delay).await;
                }
            }
            match visits.join_next().await {
                Some(visited) => visited??,
                None => return Ok(()),
            }
        }
    }

    /// The database and the frontier wait for the disk: that is done where waiting keeps no other page from being fetched.
    async fn visit(self: Arc<Self>, page: Page) -> Result<()> {
        let url = Url::parse(&page.url)?;
        let fetched = self.site.get(&url).await;
        spawn_blocking(move || self.settle(&page, &url, fetched)).await?
    }

    /// The verdict of the database first, durable; then the frontier; then whoever reads along.
    fn settle(&self, page: &Page, url: &Url, fetched: Fetched) -> Result<()> {
        let (outcome, links) = match fetched {
            Fetched::Page { bytes, content_type } => self.read(page, url, &bytes, &content_type)?,
            Fetched::Moved(to) => (Outcome::Moved, to.into_iter().collect()),
            Fetched::Absent => (Outcome::Absent, Vec::new()),
            Fetched::Unfit => (Outcome::Unfit, Vec::new()),
            Fetched::Failed(why) => (Outcome::Failed(why), Vec::new()),
        };
        let deeper = self.limits.depth.is_none_or(|most| page.depth < most);
        let links = links.iter().filter(|link| deeper && self.site.admits(link));
        let links: Vec<String> = links.map(ToString::to_string).collect();
        self.frontier.settle(page, &outcome, &links)?;
        match self.quiet {
            true => Ok(()),
            false => Ok(writeln!(std::io::stdout(), "{}\t{url}\t{}", outcome.word(), outcome.why())?),
        }
    }

    /// What a page is to the database, and its links.
    fn read(&self, page: &Page, url: &Url, bytes: &[u8], content_type: &str) -> Result<(Outcome, Vec<Url>)> {
        let text = match self.db.params().sketch.extraction() {
            Some(extraction) => {
                text_of(bytes, content_type, extraction).map(|text| Cow::Owned(text.into_bytes()))
            }
            None => Some(Cow::Borrowed(bytes)),
        };
        let Some(text) = text else { return Ok((Outcome::Unfit, Vec::new())) };
        let outcome = Outcome::Seen(self.judge(&page.url, &text)?, bytes.len() as u64);
        let media = MediaType::parse(content_type);
        Ok(match media.is_html() || media.is_unknown() {
            true => (outcome, links(url, &String::from_utf8_lossy(bytes))),
            false => (outcome, Vec::new()),
        })
    }

    fn judge(&self, url: &str, text: &[u8]) -> Result<Sighting> {
        let sighting = self.db.seen_or_add(url, text, Some(now()))?;
        // An earlier process of this crawl was killed after the verdict on this page, and before the frontier heard of it.
        let begun = self.frontier.resumed.filter(|_| sighting == Sighting::Unchanged);
        let first_seen =
            begun.map(|_| self.db.get(url)).transpose()?.flatten().and_then(|stored| stored.first_seen);
        Ok(match first_seen >= begun && begun.is_some() {
            true => Sighting::New,
            false => sighting,
        })
    }
}
