//! Which pages are to fetch and which were: one transaction a page, durable when [`Frontier::settle`] returns.
//!
//! A page leaves `WAITING` in the transaction that puts its links there, and only after its verdict is durable. So whenever the
//! process is killed, the pages that were being fetched or judged are still in `WAITING`, and all others are done with.

use crate::Result;
use crate::savings::{Outcome, Savings, Summary};
use redb::{ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use std::path::Path;

/// Number → links from the start, URL. Numbers are given in the order in which URLs are found.
const WAITING: TableDefinition<u64, (u32, &str)> = TableDefinition::new("waiting");
/// The same, of pages that could not be fetched.
const FAILED: TableDefinition<u64, (u32, &str)> = TableDefinition::new("failed");
/// Every URL that was ever in `WAITING`.
const KNOWN: TableDefinition<&str, ()> = TableDefinition::new("known");
/// `START`, `BEGUN`, `SAVINGS`.
const CRAWL: TableDefinition<&str, &str> = TableDefinition::new("crawl");
const START: &str = "start";
const BEGUN: &str = "begun";
const SAVINGS: &str = "savings";

/// A page to fetch.
#[derive(Clone, Debug)]
pub struct Page {
    pub number: u64,
    /// Links from the start.
    pub depth: u32,
    pub url: String,
}

pub struct Frontier {
    file: redb::Database,
    /// When the crawl was begun, in seconds since 1970, if that was in an earlier process.
    pub resumed: Option<u64>,
}

impl Frontier {
    /// Goes on with the crawl of this file, or begins it. What could not be fetched is tried again.
    pub fn open(path: &Path, start: &str, now: u64) -> Result<Self> {
        let file = redb::Database::create(path)?;
        let change = file.begin_write()?;
        let resumed = {
            let mut crawl = change.open_table(CRAWL)?;
            let mut waiting = change.open_table(WAITING)?;
            let mut failed = change.open_table(FAILED)?;
            let text =
                |name| Ok::<_, redb::StorageError>(crawl.get(name)?.map(|text| text.value().to_owned()));
            match (text(START)?, text(BEGUN)?) {
                (Some(other), _) if other != start => {
                    return Err(format!(
                        "{} is of a crawl of {other}: --anew begins another",
                        path.display()
                    )
                    .into());
                }
                (Some(_), begun) => {
                    while let Some((number, page)) = failed.pop_first()? {
                        waiting.insert(number.value(), page.value())?;
                    }
                    Some(begun.map_or(Ok(0), |begun| begun.parse())?)
                }
                (None, _) => {
                    crawl.insert(START, start)?;
                    crawl.insert(BEGUN, now.to_string().as_str())?;
                    crawl.insert(SAVINGS, serde_json::to_string(&Savings::default())?.as_str())?;
                    waiting.insert(0, (0, start))?;
                    change.open_table(KNOWN)?.insert(start, ())?;
                    None
                }
            }
        };
        change.commit()?;
        Ok(Frontier { file, resumed })
    }

    /// The first page to fetch with a higher number than this.
    pub fn next(&self, after: Option<u64>) -> Result<Option<Page>> {
        let waiting = self.file.begin_read()?.open_table(WAITING)?;
        let first = waiting.range(after.map_or(0, |after| after + 1)..)?.next().transpose()?;
        Ok(first.map(|(number, page)| {
            let (depth, url) = page.value();
            Page { number: number.value(), depth, url: url.to_owned() }
        }))
    }

    /// A page was fetched and judged: notes that, and the links that are to follow, those not seen before, in one step.
    pub fn settle(&self, page: &Page, outcome: &Outcome, links: &[String]) -> Result<()> {
        let change = self.file.begin_write()?;
        {
            let mut crawl = change.open_table(CRAWL)?;
            let mut waiting = change.open_table(WAITING)?;
            let mut known = change.open_table(KNOWN)?;
            let mut savings = read_savings(&crawl)?;
            savings.count(outcome);
            waiting.remove(page.number)?;
            if outcome.failed() {
                change.open_table(FAILED)?.insert(page.number, (page.depth, page.url.as_str()))?;
            }
            for link in links {
                if known.get(link.as_str())?.is_some() {
                    continue;
                }
                if !outcome.is_followed() {
                    savings.links_not_followed += 1;
                    continue;
                }
                waiting.insert(known.len()?, (page.depth + 1, link.as_str()))?;
                known.insert(link.as_str(), ())?;
            }
            crawl.insert(SAVINGS, serde_json::to_string(&savings)?.as_str())?;
        }
        Ok(change.commit()?)
    }

    /// What the crawl has saved so far, and what is left to do.
    pub fn summary(&self) -> Result<Summary> {
        let view = self.file.begin_read()?;
        let savings = read_savings(&view.open_table(CRAWL)?)?;
        let (failed, left) = (view.open_table(FAILED)?.len()?, view.open_table(WAITING)?.len()?);
        Ok(Summary { savings, failed, left })
    }
}

fn read_savings(crawl: &impl ReadableTable<&'static str, &'static str>) -> Result<Savings> {
    let savings = crawl.get(SAVINGS)?;
    Ok(savings.map_or(Ok(Savings::default()), |savings| serde_json::from_str(savings.value()))?)
}
