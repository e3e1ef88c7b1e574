//! A crawler that stores what is new of a site in a sketchdb file, and follows no links of pages that it knows by another name.

#![forbid(unsafe_code)]

mod crawl;
mod fetch;
mod frontier;
mod links;
mod savings;

use clap::Parser;
use crawl::{Crawl, Limits};
use fetch::Site;
use frontier::Frontier;
use reqwest::Url;
use sketchdb::{AddOptions, Database, Options, Params, Policy};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Crawls a site and stores what is new of it.
///
/// A page that is a copy or near duplicate of another, or contained in it, is not stored, and its links are not followed: a
/// mirror, a session's name for a page, a day of an endless calendar cost one request each. Killed at any moment, the same
/// command goes on where it stopped.
#[derive(Parser)]
#[command(name = "sketchdb-crawler")]
struct Args {
    /// The database; made when it is not there
    db: PathBuf,
    /// Where to begin: pages of this scheme, host and port are fetched
    start: Url,
    /// Pages fetched at a time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    fetchers: u16,
    /// Requests at most, those of earlier runs counted
    #[arg(long, value_name = "N")]
    pages: Option<u64>,
    /// Links from the start at most
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// A page of which this share is in another is known, too
    #[arg(long, value_name = "SHARE")]
    contained: Option<f64>,
    /// What is to fetch and what was [default: DB.frontier]
    #[arg(long, value_name = "FILE")]
    frontier: Option<PathBuf>,
    /// Forget what was fetched, and visit the site again
    #[arg(long)]
    anew: bool,
    /// No line for each page; at the end one JSON object
    #[arg(long)]
    json: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sketchdb-crawler: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(mut args: Args) -> Result<()> {
    args.start.set_fragment(None);
    let site = Site::of(args.start.clone()).await?;
    // The database first: no other crawler has it then, nor the frontier beside it.
    let db = open(&args.db, args.contained)?;
    let path = args.frontier.unwrap_or_else(|| beside(&args.db));
    if args.anew && path.exists() {
        std::fs::remove_file(&path)?;
    }
    let frontier = Frontier::open(&path, args.start.as_str(), now())?;
    let limits = Limits { fetchers: args.fetchers.into(), pages: args.pages, depth: args.depth };
    let crawl = Arc::new(Crawl { db, frontier, site, limits, quiet: args.json });
    crawl.run().await?;
    let summary = crawl.frontier.summary()?;
    match args.json {
        true => println!("{}", serde_json::to_string(&summary)?),
        false => eprintln!("{summary}"),
    }
    match Arc::into_inner(crawl) {
        Some(crawl) => Ok(crawl.db.close()?),
        None => Ok(()),
    }
}

fn open(path: &Path, contained: Option<f64>) -> Result<Database> {
    if !path.exists() {
        Database::create(path, &Params::default())?;
    }
    let adding = AddOptions { policy: Policy::OnlyNew, contained, ..AddOptions::default() };
    Ok(Database::open(path, Options { adding, ..Options::default() })?)
}

fn beside(db: &Path) -> PathBuf {
    let mut path = db.as_os_str().to_owned();
    path.push(".frontier");
    path.into()
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
