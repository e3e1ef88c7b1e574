//! Proves that a crawler that is killed goes on where it stopped: nothing that it acknowledged is lost or fetched again, and
//! one fetcher ends with what an undisturbed crawl ends with.
//!
//! Short here; `SKETCHDB_KILLS=n` crawls n times with each number of fetchers.

use crate::expected::Expected;
use crate::run::{Place, see, target};
use crate::server::Server;
use sketchdb::Sighting;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

fn rounds() -> usize {
    std::env::var("SKETCHDB_KILLS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2)
}

/// Numbers for places and moments to kill at.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Crawls to the end, killed again and again; how often. After each time nothing that was acknowledged is lost.
fn crawl_and_kill(server: &Server, place: &Place, fetchers: usize, rng: &mut Rng) -> usize {
    let (number, mut kills) = (fetchers.to_string(), 0);
    let mut acknowledged = 0;
    loop {
        let enough = server.log().len() + 1 + rng.below(12) as usize;
        let mut child = place.spawn(server, &["--fetchers", &number]);
        let killed = server.wait_until(|log| log.len() >= enough, || child.try_wait().unwrap().is_some());
        if !killed {
            assert!(child.wait().unwrap().success());
            return kills;
        }
        std::thread::sleep(Duration::from_micros(rng.below(12_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        server.wait_for_nobody();
        kills += 1;
        assert!(kills < 300, "the crawl makes no way");
        let lines = place.acknowledged();
        place.with(|db| {
            for (word, url) in &lines[acknowledged..] {
                assert_eq!(db.get(url).unwrap().is_some(), word == "new", "{url} is {word}");
            }
        });
        acknowledged = lines.len();
    }
}

/// How often each target was asked for again; all of them were in flight when the crawler was killed.
fn check_repeated(server: &Server, place: &Place, fetchers: usize, kills: usize) -> usize {
    let mut times: HashMap<String, usize> = HashMap::new();
    server.log().into_iter().for_each(|target| *times.entry(target).or_default() += 1);
    let repeated = times.values().map(|times| times - 1).sum();
    assert!(repeated <= kills * fetchers, "{repeated} requests repeated after {kills} kills");
    let mut lines: HashMap<String, usize> = HashMap::new();
    place.acknowledged().into_iter().for_each(|(_, url)| *lines.entry(target(&url)).or_default() += 1);
    assert_eq!(lines.values().max(), Some(&1), "nothing is acknowledged twice");
    // The lines of pages that were done with, but killed before they were told, are all that lacks.
    assert!(times.len() - lines.len() <= kills * fetchers);
    repeated
}

#[test]
fn a_killed_crawl_ends_as_an_undisturbed_one() {
    let mut rng = Rng(7);
    for round in 0..rounds() {
        let (server, place) = (Server::start(), Place::new());
        let expected = Expected::of(&server);
        let kills = crawl_and_kill(&server, &place, 1, &mut rng);
        let repeated = check_repeated(&server, &place, 1, kills);
        assert!(kills >= 5, "only {kills} kills");
        let mut log = server.log();
        assert_eq!(log.len(), expected.requests.len() + repeated);
        log.dedup();
        assert_eq!(log, expected.requests, "only what was in flight is asked for again, at once");
        assert_eq!(place.crawl(&server, &[]), expected.object(), "the savings of an undisturbed crawl");

        let undisturbed = Place::new();
        undisturbed.crawl(&server, &["--fetchers", "1"]);
        let targets = &expected.requests;
        assert_eq!(place.stored(&server, targets), undisturbed.stored(&server, targets));
        eprintln!("round {round}, one fetcher: {kills} kills, {repeated} of {} requests repeated", log.len());
    }
}

#[test]
fn several_fetchers_lose_nothing_when_killed() {
    const FETCHERS: usize = 4;
    let mut rng = Rng(8);
    for round in 0..rounds() {
        let (server, place) = (Server::start(), Place::new());
        let kills = crawl_and_kill(&server, &place, FETCHERS, &mut rng);
        let repeated = check_repeated(&server, &place, FETCHERS, kills);
        assert!(kills >= 5, "only {kills} kills");
        // Which of two pages that are alike came first may differ: that one is stored, or something like it.
        let expected = Expected::of(&server);
        let undisturbed = Place::new();
        undisturbed.crawl(&server, &["--fetchers", "1"]);
        let stored = undisturbed.stored(&server, &expected.requests);
        place.with(|db| {
            for target in stored {
                let page = server.site().answer(&target).body;
                let sighting = see(db, &server.url(&target), &page, None);
                assert_ne!(sighting, Sighting::New, "{target} was lost");
            }
        });
        eprintln!("round {round}, {FETCHERS} fetchers: {kills} kills, {repeated} requests repeated");
    }
}

#[test]
fn a_verdict_that_the_frontier_did_not_hear_of_is_no_reason_to_stop() {
    let (server, place) = (Server::start(), Place::new());
    let expected = Expected::of(&server);
    // Killed while it waits for a page; the verdict on it is made durable, as if it had been killed just after that.
    server.hold(Some("/v0/"));
    let mut child = place.spawn(&server, &["--fetchers", "1"]);
    let is_held = |log: &[String]| log.last().is_some_and(|target| target == "/v0/");
    assert!(server.wait_until(is_held, || child.try_wait().unwrap().is_some()));
    child.kill().unwrap();
    child.wait().unwrap();
    server.hold(None);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let body = server.site().answer("/v0/").body;
    let sighting = place.with(|db| see(db, &server.url("/v0/"), &body, Some(now)));
    assert_eq!(sighting, Sighting::New);

    let savings = place.crawl(&server, &["--fetchers", "1"]);
    assert_eq!(savings, expected.object(), "its verdict is new, and its links are followed");
    let asked: BTreeSet<String> = server.log().into_iter().collect();
    assert_eq!(asked, expected.requests.iter().cloned().collect());
}
