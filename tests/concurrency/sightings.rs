//! Eight fetchers ask one database whether a page was seen: pages of their own, the same page at the same time, the same
//! text under other URLs, pages edited a little. Of each only one verdict is right.
//!
//! `SKETCHDB_PAGES` is how many pages each fetcher asks for, 400 by default; it prints how long they waited.

use super::stress::watched;
use crate::common::place::Place;
use crate::common::texts::{Draw, edited, text};
use sketchdb::{AddOptions, Database, Durability, Options, Policy, Sighting};
use std::collections::BTreeMap;
use std::time::Instant;

const FETCHERS: usize = 8;
/// With one word of them exchanged pages resemble by .95, and share no band once in 10^13.
const WORDS: usize = 240;

fn pages() -> usize {
    std::env::var("SKETCHDB_PAGES").ok().and_then(|asked| asked.parse().ok()).unwrap_or(400)
}

/// What a page is about, and so what may be said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Nobody else has it.
    Own,
    /// A session id in the URL of the page before.
    Session,
    /// The page before with a word exchanged, under another URL.
    Edited,
    /// The same URL and text from every fetcher.
    Popular,
    /// The same text from every fetcher, each under a mirror's URL.
    Mirrored,
}

const KINDS: [Kind; 5] = [Kind::Own, Kind::Session, Kind::Edited, Kind::Popular, Kind::Mirrored];

/// The number-th page of a fetcher: its key and its text.
fn page(fetcher: usize, number: usize) -> (Kind, String, String) {
    let (kind, group) = (KINDS[number % KINDS.len()], number / KINDS.len());
    let own = |seed: usize| text(&mut Draw::new((fetcher << 32 | seed) as u64), WORDS);
    let common = |salt: u64| text(&mut Draw::new(salt << 56 | group as u64), WORDS);
    let (key, text) = match kind {
        Kind::Own => (format!("{fetcher}/{group}"), own(group)),
        Kind::Session => (format!("{fetcher}/{group}?sid={number}"), own(group)),
        Kind::Edited => {
            (format!("{fetcher}/{group}/edited"), edited(&mut Draw::new(number as u64), &own(group), 1))
        }
        Kind::Popular => (format!("popular/{group}"), common(1)),
        Kind::Mirrored => (format!("mirror{fetcher}/{group}"), common(2)),
    };
    (kind, key, text)
}

/// Has every fetcher ask for its pages; all that was said, by kind and group.
fn crawl(db: &Database, pages: usize) -> BTreeMap<(Kind, usize), Vec<(String, Sighting)>> {
    let fetch = |fetcher: usize| {
        let ask = |number| {
            let (kind, key, text) = page(fetcher, number);
            let said = db.seen_or_add(key.clone(), text, Some(number as u64)).unwrap();
            ((kind, number / KINDS.len()), (key, said))
        };
        (0..pages).map(ask).collect::<Vec<_>>()
    };
    let mut said: BTreeMap<_, Vec<_>> = BTreeMap::new();
    std::thread::scope(|scope| {
        let fetchers: Vec<_> = (0..FETCHERS).map(|fetcher| scope.spawn(move || fetch(fetcher))).collect();
        for fetcher in fetchers {
            for (page, answer) in fetcher.join().unwrap() {
                said.entry(page).or_default().push(answer);
            }
        }
    });
    said
}

/// How many of the answers are right; all must be.
fn check(said: &BTreeMap<(Kind, usize), Vec<(String, Sighting)>>) -> usize {
    for ((kind, group), answers) in said {
        let news: Vec<&String> =
            answers.iter().filter(|(_, said)| *said == Sighting::New).map(|(key, _)| key).collect();
        let right = |(key, said): &(String, Sighting)| match (kind, said) {
            (Kind::Own | Kind::Popular | Kind::Mirrored, Sighting::New) => true,
            (Kind::Popular, Sighting::Unchanged) => true,
            (Kind::Session, Sighting::Exact { of }) => key.starts_with(&format!("{of}?")),
            (Kind::Edited, Sighting::Near { of, resemblance }) => {
                key.starts_with(of) && resemblance.is_some_and(|resemblance| resemblance > 0.8)
            }
            (Kind::Mirrored, Sighting::Exact { of }) => news == [of],
            _ => false,
        };
        assert!(answers.iter().all(right), "{kind:?} {group}: {answers:?}");
        let expected = match kind {
            Kind::Own => answers.len(),
            Kind::Session | Kind::Edited => 0,
            Kind::Popular | Kind::Mirrored => 1,
        };
        assert_eq!(news.len(), expected, "{kind:?} {group}: {answers:?}");
    }
    said.values().map(Vec::len).sum()
}

fn run(name: &str, adding: AddOptions) {
    let place = Place::new();
    let open = || Database::open(place.path(), Options { adding, ..Options::default() }).unwrap();
    let db = open();
    let began = Instant::now();
    let answered = check(&watched(|| crawl(&db, pages())));
    let took = began.elapsed().as_secs_f64();
    let activity = db.activity();
    assert_eq!((activity.documents(), activity.waiting), (answered as u64, 0));
    let news = activity.new;
    println!(
        "{name}: {answered} pages, {:.0}/s; {} commits, {} durable; mean wait {:.2} ms, longest {:.1} ms",
        answered as f64 / took,
        activity.commits,
        activity.durable_commits,
        activity.waited.as_secs_f64() * 1e3 / answered as f64,
        activity.longest_wait.as_secs_f64() * 1e3,
    );
    db.close().unwrap();
    let db = open();
    let documents =
        if adding.policy == Policy::OnlyNew { news } else { answered as u64 - activity.unchanged };
    assert_eq!(db.stats().unwrap().documents, documents);
    // What was seen before the restart is seen after it.
    for number in 0..pages().min(50) {
        let (kind, key, text) = page(0, number);
        assert_ne!(db.seen_or_add(key, text, None).unwrap(), Sighting::New, "{kind:?} {number}");
    }
}

#[test]
fn every_fetcher_is_told_what_is_right() {
    run("durable", AddOptions::default());
}

#[test]
fn every_fetcher_is_told_what_is_right_when_only_what_is_new_is_kept_and_buffered() {
    run("buffered", AddOptions { durability: Durability::Buffered, ..AddOptions::from(Policy::OnlyNew) });
}
