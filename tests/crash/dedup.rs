//! Proves that `dedup` killed at any moment leaves each of its outputs complete or absent, what it reads as it was, and
//! nothing that is in the way of the next run.

use super::common::place::Place;
use super::common::rng::Rng;
use super::processes::{fill, rounds, run};
use std::time::Duration;

const DOCUMENTS: usize = 3000;

/// A folder with an input, a database, and outputs.
struct Collection {
    place: Place,
    input: Vec<u8>,
    database: Vec<u8>,
}

impl Collection {
    fn new() -> Self {
        let (place, mut rng, mut input) = (Place::empty(), Rng(6), String::new());
        for number in 0..DOCUMENTS {
            let mut rng = if number % 3 == 0 { Rng(number as u64 / 9) } else { Rng(rng.next()) };
            let text: String = (0..30).map(|_| format!("w{} ", rng.below(5000))).collect();
            input += &format!("{{\"id\":\"{number}\",\"text\":\"{text}\"}}\n");
        }
        fill(&place.file("against"), "a");
        let database = std::fs::read(place.file("against")).unwrap();
        Collection { place, input: input.into_bytes(), database }
    }

    fn path(&self, name: &str) -> String {
        self.place.file(name).to_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.place.file(name)).ok()
    }

    /// Files that were made until an output would be complete.
    fn temporary(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.place.file("")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".sketchdb-")).collect()
    }

    fn begin(&self) {
        std::fs::write(self.place.file("in.jsonl"), &self.input).unwrap();
        for name in ["kept.jsonl", "removed.jsonl"] {
            let _ = std::fs::remove_file(self.place.file(name));
        }
    }

    /// Runs to the end or to its death: how long it took.
    fn dedup(&self, way: &Way, at_most: Option<Duration>) -> Option<Duration> {
        let [input, output, removed, against] =
            ["in.jsonl", way.output, "removed.jsonl", "against"].map(|name| self.path(name));
        run(
            &[
                "dedup",
                &input,
                "--output",
                &output,
                "--removed",
                &removed,
                "--against",
                &against,
                "--keep",
                way.keep,
            ],
            at_most,
        )
    }
}

/// How the verb is run.
struct Way {
    output: &'static str,
    keep: &'static str,
}

const WAYS: [Way; 4] = [
    Way { output: "kept.jsonl", keep: "first" },
    Way { output: "kept.jsonl", keep: "longest" },
    Way { output: "in.jsonl", keep: "first" },
    Way { output: "in.jsonl", keep: "longest" },
];

#[test]
fn a_dedup_that_is_killed_leaves_complete_outputs_or_none() {
    let (collection, mut rng) = (Collection::new(), Rng(9));
    let (mut done, mut none, mut left) = (0, 0, 0);
    for way in &WAYS {
        collection.begin();
        let whole = collection.dedup(way, None).unwrap();
        let [kept, removed] = [way.output, "removed.jsonl"].map(|name| collection.read(name).unwrap());
        for _ in 0..rounds().div_ceil(WAYS.len()) {
            collection.begin();
            collection.dedup(way, Some(whole * rng.below(1100) as u32 / 1000));
            let found = collection.read("removed.jsonl");
            left += usize::from(!collection.temporary().is_empty());
            assert!(found.as_ref().is_none_or(|found| *found == removed), "a part of what was removed");
            let took_place = collection.read(way.output).is_some_and(|found| found == kept);
            match took_place {
                true => assert!(found.is_some(), "what is kept came before what was removed"),
                false => assert_eq!(collection.read("kept.jsonl"), None, "a part of what is kept"),
            }
            if !(took_place && way.output == "in.jsonl") {
                assert!(collection.read("in.jsonl").unwrap() == collection.input, "the input changed");
                collection.dedup(way, None).unwrap();
                assert!(collection.read(way.output).unwrap() == kept, "the next run kept something else");
                assert_eq!(collection.temporary(), [""; 0], "the next run left what the killed one made");
            }
            assert!(collection.read("against").unwrap() == collection.database, "the database changed");
            done += usize::from(took_place);
            none += usize::from(!took_place);
        }
    }
    eprintln!(
        "dedup: killed {} times, {done} complete, {none} of which nothing was in its place, {left} with a file left",
        done + none
    );
}
