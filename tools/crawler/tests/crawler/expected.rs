//! What a crawl by one fetcher must ask for and count: the definition, without network, threads or a frontier on disk.

use crate::run::{open, see, target};
use crate::server::Server;
use crate::site;
use reqwest::Url;
use serde_json::{Map, Value, json};
use sketchdb::Sighting;
use std::collections::{BTreeMap, HashSet};

#[derive(Default)]
pub struct Expected {
    /// What is asked for, in order.
    pub requests: Vec<String>,
    pub counts: BTreeMap<&'static str, u64>,
}

impl Expected {
    pub fn of(server: &Server) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&folder.path().join("expected.sketchdb"));
        let mut expected = Expected::default();
        let mut urls = vec![server.url("/")];
        let mut known: HashSet<String> = urls.iter().cloned().collect();
        let mut at = 0;
        while let Some(url) = urls.get(at).cloned() {
            at += 1;
            let answer = server.site().answer(&target(&url));
            expected.requests.push(target(&url));
            expected.add("requests", 1);
            let (mut links, mut follow) = (Vec::new(), true);
            match answer.status {
                "302 Found" => expected.add("moved", 1),
                "404 Not Found" => expected.add("absent", 1),
                _ if !answer.is_page() => expected.add("unfit", 1),
                _ => {
                    let sighting = see(&db, &url, &answer.body, None);
                    let bytes = answer.body.len() as u64;
                    follow = sighting == Sighting::New;
                    expected.add(word(&sighting), 1);
                    expected.add("pages", 1);
                    expected.add("bytes_fetched", bytes);
                    expected.add("bytes_new", if follow { bytes } else { 0 });
                    links = site::links(&Url::parse(&url).unwrap(), &String::from_utf8_lossy(&answer.body));
                }
            }
            links.retain(|link| !known.contains(link));
            match follow {
                true => {
                    known.extend(links.iter().cloned());
                    urls.extend(links);
                }
                false => expected.add("links_not_followed", links.len() as u64),
            }
        }
        expected
    }

    fn add(&mut self, name: &'static str, count: u64) {
        *self.counts.entry(name).or_default() += count;
    }

    /// What is printed at the end.
    pub fn object(&self) -> Value {
        const FIELDS: [&str; 16] = [
            "requests",
            "pages",
            "new",
            "unchanged",
            "updated",
            "exact",
            "near",
            "contained",
            "moved",
            "absent",
            "unfit",
            "failed",
            "left",
            "bytes_fetched",
            "bytes_new",
            "links_not_followed",
        ];
        let field = |name: &str| (name.to_owned(), json!(self.counts.get(name).copied().unwrap_or(0)));
        Value::Object(FIELDS.map(field).into_iter().collect::<Map<_, _>>())
    }
}

fn word(sighting: &Sighting) -> &'static str {
    match sighting {
        Sighting::New => "new",
        Sighting::Exact { .. } => "exact",
        Sighting::Near { .. } => "near",
        Sighting::Contained { .. } => "contained",
        other => panic!("{other:?} in a first crawl"),
    }
}
