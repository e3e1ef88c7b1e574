//! A site with all that wastes a crawler's time: four versions of one documentation, a mirror, session ids, an endless
//! calendar, a folder that robots.txt forbids. The same URL always gives the same answer.

use reqwest::Url;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Pages that each visitor gets under a name of his own.
pub const SESSIONS: usize = 6;
/// The first day of the calendar; each day leads to the next.
const FIRST_DAY: &str = "/calendar/2026-01-01";

pub struct Answer {
    pub status: &'static str,
    pub header: String,
    pub body: Vec<u8>,
}

impl Answer {
    fn html(body: impl Into<Vec<u8>>) -> Self {
        Answer {
            status: "200 OK",
            header: "Content-Type: text/html; charset=utf-8".into(),
            body: body.into(),
        }
    }

    pub fn is_page(&self) -> bool {
        self.status == "200 OK" && self.header.starts_with("Content-Type: text/html")
    }
}

pub struct Site {
    /// Path below a version → its bytes, for each version.
    versions: [BTreeMap<String, Vec<u8>>; 4],
}

impl Site {
    /// The documentation is that of the corpora, where they are; else it is made.
    pub fn new() -> Self {
        let corpus =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/raw/rust_by_example_html");
        let versions = [0, 1, 2, 3].map(|version| pages(&corpus.join(format!("v{version}"))));
        if versions.iter().all(|pages| !pages.is_empty()) {
            return Site { versions: versions.map(closed) };
        }
        eprintln!("rust_by_example_html is not there: the crawled pages are made");
        Site { versions: [0, 1, 2, 3].map(made) }
    }

    pub fn answer(&self, target: &str) -> Answer {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (folder, rest) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
        let version =
            folder.strip_prefix('v').and_then(|number| number.parse().ok()).filter(|&version| version < 4);
        match (folder, rest, version) {
            ("", _, _) => Answer::html(self.start()),
            ("robots.txt", _, _) => {
                let header = "Content-Type: text/plain".into();
                let body = b"User-agent: *\nDisallow: /private/\n".to_vec();
                Answer { status: "200 OK", header, body }
            }
            (_, "", Some(version)) => Answer::html(self.index(version as u64, &format!("/{folder}"))),
            (_, page, Some(version)) => self.page(version, page),
            ("mirror", "", _) => Answer::html(self.index(9, "/mirror")),
            ("mirror", page, _) => self.page(0, page),
            ("session", number, _) => Answer::html(session(number, query)),
            ("calendar", day, _) => Answer::html(calendar(day)),
            ("quote", ..) => Answer::html(page(&words(session_seed("0"), 200), &["/behind/quote".into()])),
            ("private" | "behind", ..) => Answer::html(page(&words(77, 300), &[])),
            ("picture", ..) => {
                Answer { header: "Content-Type: image/png".into(), ..Answer::html(*b"\x89PNG") }
            }
            // Of a type that is not told, and no text.
            ("data", ..) => {
                Answer { header: "X-Powered-By: nobody".into(), ..Answer::html(*b"\0\x01\x02\x03") }
            }
            ("old", ..) => {
                Answer { status: "302 Found", header: "Location: /v0/#top".into(), body: Vec::new() }
            }
            _ => absent(),
        }
    }

    fn page(&self, version: usize, page: &str) -> Answer {
        self.versions[version].get(page).map_or_else(absent, |page| Answer::html(page.clone()))
    }

    fn start(&self) -> String {
        let links = [
            "/v0/",
            "/v1/",
            "/v2/",
            "/v3/",
            "/session/0?sid=1",
            "/mirror/",
            FIRST_DAY,
            "/quote",
            "/private/a",
            "/picture",
            "/data",
            "/old",
            "/absent",
            "/#top",
            "http://elsewhere.example/",
            "mailto:nobody@example.org",
        ];
        page(&words(1, 60), &links.map(str::to_owned))
    }

    /// A list of the pages of a version, with news of its own; of the mirror the first page only, which leads to others.
    fn index(&self, seed: u64, folder: &str) -> String {
        let names = self
            .versions
            .get(seed as usize)
            .map_or(self.versions[0].keys().take(1), |pages| pages.keys().take(pages.len()));
        let links: Vec<String> = names.map(|name| format!("{folder}/{name}")).collect();
        page(&words(100 + seed, 400), &links)
    }
}

fn absent() -> Answer {
    Answer { status: "404 Not Found", ..Answer::html("not here") }
}

fn page(text: &str, links: &[String]) -> String {
    let mut page =
        format!("<!DOCTYPE html><html><head><title>A page</title></head><body><main><p>{text}</p>\n<ul>");
    for link in links {
        let _ = write!(page, "<li><a href=\"{link}\">more</a></li>");
    }
    page + "</ul></main></body></html>\n"
}

fn words(seed: u64, count: u64) -> String {
    let word = |at: u64| (seed * 1_000_003 + at + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44;
    (0..count).map(|at| format!("w{:x} ", word(at))).collect()
}

fn session_seed(number: &str) -> u64 {
    200 + number.parse::<u64>().unwrap_or(99)
}

/// A page that leads to all of its kind, each under a name that was never given before.
fn session(number: &str, query: &str) -> String {
    let sid = |to: usize| {
        let name = format!("{number} {query} {to}");
        name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
        })
    };
    let links: Vec<String> = (0..SESSIONS).map(|to| format!("/session/{to}?sid={}", sid(to))).collect();
    page(&words(session_seed(number), 800), &links)
}

fn calendar(day: &str) -> String {
    let mut numbers = day.split('-').map(|number| number.parse::<u32>().unwrap_or(1));
    let [year, month, date] = [(); 3].map(|()| numbers.next().unwrap_or(1));
    let (year, month, date) = match (month, date) {
        (12, 28) => (year + 1, 1, 1),
        (_, 28) => (year, month + 1, 1),
        _ => (year, month, date + 1),
    };
    let text = format!("Nothing happens on {day}. {}", words(300, 300));
    page(&text, &[format!("/calendar/{year}-{month:02}-{date:02}")])
}

/// The files below a folder.
fn pages(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut pages = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
    while let Some(below) = folders.pop() {
        for entry in std::fs::read_dir(&below).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                    pages.insert(name, std::fs::read(&path).unwrap());
                }
            }
        }
    }
    pages
}

/// Pages of which each version changes a word in a hundred, and a third are written anew in the last.
fn made(version: u64) -> BTreeMap<String, Vec<u8>> {
    let one = |number: u64| {
        let seed = 400 + number + if version == 3 && number.is_multiple_of(3) { 50 } else { 0 };
        let text = words(seed, 500) + &words(500 + version, version * 5);
        let links = [format!("page{}.html", (number + 1) % 15), format!("only-here-{number}.html")];
        (format!("page{number}.html"), page(&text, &links).into_bytes())
    };
    (0..15).map(one).collect()
}

/// The same without links to pages that are not there: of each version the corpora have a part.
fn closed(pages: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let root = Url::parse("http://localhost/").unwrap();
    let close = |(name, bytes): (&String, &Vec<u8>)| {
        let html = String::from_utf8_lossy(bytes);
        let base = base(&root.join(name).unwrap(), &html);
        let is_there = |href: &str| base.join(href).is_ok_and(|url| pages.contains_key(&url.path()[1..]));
        let mut parts = html.split("<a ");
        let mut closed = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let away = href(part).is_some_and(|href| !is_there(href));
            let tag = if away { part.replacen("href=", "data-href=", 1) } else { part.to_owned() };
            closed = closed + "<a " + &tag;
        }
        (name.clone(), closed.into_bytes())
    };
    pages.iter().map(close).collect()
}

/// What the links of a page are relative to.
fn base(page: &Url, html: &str) -> Url {
    let base = html.split("<base href=\"").nth(1).and_then(|rest| rest.split('"').next());
    base.map_or(page.clone(), |base| page.join(base).unwrap())
}

/// The target in what follows `<a `.
fn href(tag: &str) -> Option<&str> {
    let tag = tag.split('>').next()?;
    let start = if tag.starts_with("href=\"") { 0 } else { tag.find(" href=\"")? + 1 };
    tag[start + 6..].split('"').next()
}

/// Where the links of a page lead, as the site's own pages write them; an oracle of its own.
pub fn links(page: &Url, html: &str) -> Vec<String> {
    let base = base(page, html);
    let mut links = Vec::new();
    for href in html.split("<a ").skip(1).filter_map(href) {
        let Ok(mut url) = base.join(href) else { continue };
        url.set_fragment(None);
        let allowed = url.origin() == page.origin() && !url.path().starts_with("/private/");
        if allowed && !links.contains(&url.to_string()) {
            links.push(url.to_string());
        }
    }
    links
}
