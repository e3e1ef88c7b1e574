//! Proves what is skipped, to the request, and that the printed savings are those of the server's log.

use crate::expected::Expected;
use crate::run::Place;
use crate::server::Server;
use crate::site::SESSIONS;
use serde_json::Value;
use std::collections::HashSet;

fn count(log: &[String], prefix: &str) -> usize {
    log.iter().filter(|target| target.starts_with(prefix)).count()
}

/// The bodies of all pages that were asked for.
fn bytes(server: &Server, targets: impl IntoIterator<Item = impl AsRef<str>>) -> u64 {
    let answers = targets.into_iter().map(|target| server.site().answer(target.as_ref()));
    answers.filter(|answer| answer.is_page()).map(|answer| answer.body.len() as u64).sum()
}

/// What holds for any number of fetchers.
fn check(server: &Server, place: &Place, savings: &Value) {
    let log = server.log();
    let distinct: HashSet<&String> = log.iter().collect();
    assert_eq!(distinct.len(), log.len(), "nothing is asked for twice");
    assert_eq!(count(&log, "/private/"), 0, "robots.txt forbids it");
    assert_eq!(count(&log, "/calendar/"), 2, "the second day is like the first, and not followed");
    // Each page once as it is, and once more from each of the others and itself, under a name of its own.
    assert_eq!(count(&log, "/session/"), SESSIONS * SESSIONS + 1);
    assert_eq!(count(&log, "/mirror/"), 2, "no link of the first mirrored page");
    assert_eq!((count(&log, "/quote"), count(&log, "/behind/")), (1, 0), "no link of a quoted page");
    let number = |name: &str| savings[name].as_u64().unwrap();
    let answers = |status: &str| {
        log.iter().filter(|target| server.site().answer(target).status == status).count() as u64
    };
    assert_eq!(number("requests"), log.len() as u64);
    assert_eq!((number("moved"), number("absent")), (1, answers("404 Not Found")));
    assert_eq!((number("unfit"), number("failed"), number("left")), (2, 0, 0));
    assert_eq!(number("pages"), answers("200 OK") - number("unfit"));
    let stored = place.stored(server, &log);
    assert!(number("contained") > 0 && !stored.contains("/quote"));
    assert_eq!(number("new"), stored.len() as u64, "what is new is stored, and nothing else");
    assert_eq!(number("bytes_fetched"), bytes(server, &log));
    assert_eq!(number("bytes_new"), bytes(server, &stored));
}

#[test]
fn what_is_known_costs_one_request() {
    let (server, place) = (Server::start(), Place::new());
    let savings = place.crawl(&server, &["--fetchers", "1"]);
    check(&server, &place, &savings);
    let expected = Expected::of(&server);
    assert_eq!(server.log(), expected.requests, "in the order in which pages were found");
    assert_eq!(savings, expected.object());

    // It is over: nothing is asked for, and the same is told.
    server.clear();
    assert_eq!(place.crawl(&server, &[]), savings);
    let told = place.told(&server);
    let [requests, pages, new] = ["requests", "pages", "new"].map(|name| &savings[name]);
    assert!(told.starts_with(&format!("{requests} requests, {pages} pages: {new} new, ")), "{told}");
    assert!(told.contains(&format!("; {} links of known pages", savings["links_not_followed"])), "{told}");
    eprintln!("{told}");
    assert_eq!(server.log(), [""; 0]);

    // Anew, what was stored is unchanged, and what it links to is looked at.
    let again = place.crawl(&server, &["--fetchers", "1", "--anew"]);
    assert_eq!(server.log(), expected.requests);
    assert_eq!((&again["new"], &again["unchanged"]), (&0.into(), &savings["new"]));
    assert_eq!(again["links_not_followed"], savings["links_not_followed"]);
}

#[test]
fn several_fetchers_skip_the_same() {
    let (server, place) = (Server::start(), Place::new());
    let savings = place.crawl(&server, &["--fetchers", "4"]);
    check(&server, &place, &savings);
}

#[test]
fn limits_are_kept_and_may_be_raised() {
    let (server, place) = (Server::start(), Place::new());
    let whole = Expected::of(&server);
    let savings = place.crawl(&server, &["--fetchers", "1", "--pages", "25"]);
    assert_eq!((&server.log()[..], &savings["requests"]), (&whole.requests[..25], &25.into()));
    place.crawl(&server, &["--fetchers", "3", "--pages", "40"]);
    assert_eq!(server.log().len(), 40);

    let (server, place) = (Server::start(), Place::new());
    place.crawl(&server, &["--depth", "1"]);
    let start = server.site().answer("/");
    let links = crate::site::links(
        &reqwest::Url::parse(&server.url("/")).unwrap(),
        &String::from_utf8_lossy(&start.body),
    );
    let found: HashSet<String> = server.log().into_iter().map(|target| server.url(&target)).collect();
    assert_eq!(found, links.into_iter().chain([server.url("/")]).collect());
}
