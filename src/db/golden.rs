//! Golden parameters, their known answer, tables and texts that the format names, and whole files that must open and answer
//! for ever as they did when they were made: one with the default parameters, one of greedy clusters, one of nothing but
//! simhashes.
//!
//! `NAME.txt` holds questions to `NAME.zst`, one a line, each followed by indented answers.

use super::add::{Document, Policy};
use super::clusters::{Cluster, ClusterOptions};
use super::database::{Database, Options};
use super::keep::Kept;
use super::params::{ClusterRule, Params, RepresentativeRule};
use super::query::{Match, Measure, Query};
use crate::error::Result;
use crate::id::DatabaseId;
use crate::sketch::{SketchParams, Sketcher};
use crate::store::disk::FileDisk;
use crate::store::file::{Birth, StoreFile};
use crate::store::golden::{blessing, path, stored};
use crate::store::view::View;
use crate::text::rabin::mix;
use crate::text::{Shingling, Unit};
use crate::web::{Extraction, text_of};
use std::fmt::Write;
use std::fs;
use std::ops::ControlFlow;

#[test]
fn parameters() {
    let params = Params::default();
    let bytes = serde_json::to_vec(&params.to_json()).expect("plain values");
    let bytes = stored("params", "Parameters: the defaults, as JSON", &bytes);
    assert_eq!(Params::from_json(&bytes).expect("parameters"), params);
    let answer = params.known_answer().expect("valid parameters");
    stored("known-answer", "Known answer of the default parameters", &answer);
}

/// The known answer, made of the texts in `known-text.txt`, `known-page.html` and `known-japanese.bin` as `schema/format.md`
/// says: those of the source are these.
#[test]
fn known_texts() {
    let [text, page, japanese] = ["known-text.txt", "known-page.html", "known-japanese.bin"]
        .map(|name| fs::read(path(name)).expect("a golden file"));
    let bytes = |width| Shingling::new(Unit::Bytes, width).expect("a width");
    let defaults = SketchParams::default;
    for sketch in [
        defaults(),
        SketchParams { html: Extraction::Text, ..defaults() },
        SketchParams { html: Extraction::Raw, labelled: true, ..defaults() },
        SketchParams { shingle: bytes(9), simhash: bytes(4), ..defaults() },
    ] {
        let keep_sketches = Kept { simhash: sketch.labelled, ..Kept::default() };
        let params = Params { sketch, keep_sketches, ..Params::default() };
        let sketch = Sketcher::new(&params.sketch).expect("parameters").sketch(&text);
        let mut told = sketch.hash.0.to_vec();
        told.extend(sketch.sample.encode());
        told.extend(sketch.signature.as_ref().expect("tokens").encode());
        told.extend(sketch.simhash.expect("tokens").0.to_le_bytes());
        told.extend(sketch.edit.as_ref().expect("characters").encode());
        let indexing = params.indexing().expect("parameters");
        let addresses = indexing.addresses(keep_sketches.indexed(&sketch));
        told.extend(addresses.flat_map(|address| address.bits().to_le_bytes()));
        for page in [&page, &japanese] {
            told.extend(text_of(page, "", params.sketch.html).expect("a text").bytes());
        }
        let answer = params.known_answer().expect("parameters");
        assert_eq!(answer, blake3::hash(&told).as_bytes()[..16], "{params:?}");
    }
}

/// The lines of a golden file behind its remark.
fn lines_of(name: &str) -> Vec<String> {
    let text = fs::read_to_string(path(name)).expect("a golden file");
    text.lines().skip(1).map(str::to_owned).collect()
}

/// What stands between the brackets of a constant in a source.
fn constant<'s>(source: &'s str, name: &str) -> &'s str {
    let value = source.split(&format!("const {name}: ")).nth(1).and_then(|rest| rest.split(" = ").nth(1));
    value.and_then(|value| value.split("];").next()).expect("a table")
}

#[test]
fn tables_of_the_source() {
    let ranges = constant(include_str!("../text/canonical.rs"), "ALONE").split("),");
    let code = |code: &str| code.split("0x").nth(1).map(str::to_lowercase);
    let ranges = ranges.filter_map(|range| range.split_once(", ")).map(|(first, last)| {
        let [first, last] = [first, last].map(|end| code(end).expect("a code point"));
        format!("{first} {last}")
    });
    assert_eq!(ranges.collect::<Vec<_>>(), lines_of("alone.txt"));
    let names = constant(include_str!("../web/html.rs"), "BLOCKS").split('"').skip(1).step_by(2);
    assert_eq!(names.collect::<Vec<_>>(), lines_of("blocks.txt"));
}

/// What the document names is what is built with: the crates that `Cargo.toml` pins, and the versions of Unicode.
#[test]
fn the_document_names_versions() {
    let document = include_str!("../../schema/format.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let pins = include_str!("../../Cargo.toml").lines().filter_map(|line| line.split_once(" = \"="));
    let named: Vec<String> =
        pins.map(|(name, version)| format!("{name} {}", version.trim_end_matches('"'))).collect();
    assert!(named.len() > 7, "{named:?}");
    for name in &named {
        assert!(document.contains(name), "{name}");
    }
    assert!(document.contains("Unicode 18.0 (unicode-normalization "));
    assert_eq!(unicode_normalization::UNICODE_VERSION, (18, 0, 0));
    assert!(document.contains("those of 16.0 (unicode-case-mapping "));
    assert_eq!(unicode_case_mapping::UNICODE_VERSION, (16, 0, 0));
    assert_eq!(unicode_general_category::UNICODE_VERSION, (16, 0, 0));
}

/// `words` words of a small vocabulary; texts of one seed begin alike.
fn text(seed: u64, words: u64) -> String {
    const VOCABULARY: [&str; 16] = [
        "amber", "birch", "cloud", "delta", "ember", "fjord", "grove", "harbour", "island", "juniper",
        "kelp", "lantern", "meadow", "north", "orchard", "pebble",
    ];
    let word = |i: u64| VOCABULARY[mix(seed << 32 | i) as usize % VOCABULARY.len()];
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// Documents in batches, each of which becomes a run, but for the last.
fn batches(params: &Params) -> Vec<Vec<Document>> {
    let sketcher = &mut Sketcher::new(&params.sketch).expect("valid parameters");
    let mut document = |key: String, text: &str, seen| Document {
        key,
        sketch: sketcher.sketch(text.as_bytes()),
        seen_at: seen,
    };
    let mut batches: Vec<Vec<Document>> = (0..6)
        .map(|batch| {
            let plain =
                |i: u64| (format!("{batch}/{i}"), text(10 * batch + i, 40 + 3 * i), Some(1000 + batch));
            let documents = (0..8).map(plain).map(|(key, text, seen)| document(key, &text, seen));
            documents.collect()
        })
        .collect();
    batches[1].push(document("near".into(), &(text(0, 40) + " and a little more"), None));
    batches[1].push(document("copy".into(), &text(3, 49), None));
    batches[2].push(document("no tokens".into(), "?!", None));
    batches[2].push(document("long".into(), &text(99, 400), None));
    batches[3].push(document("4/0".into(), &text(98, 30), None));
    batches[5].push(document("0/1".into(), &text(97, 30), Some(2000)));
    // Two chains, in each of which the first is near the second only, and the second near the third.
    for (chain, seed) in [("whole", 95), ("torn", 94)] {
        for (link, words) in [60, 70, 82].into_iter().enumerate() {
            batches[link].push(document(format!("{chain}/{link}"), &text(seed, words), Some(3000)));
        }
    }
    // What is removed, and what comes back under the same key; what expires, with a copy and a near one that do not.
    batches[0].push(document("removed".into(), &text(93, 50), Some(3000)));
    batches[0].push(document("back".into(), &text(92, 50), Some(3000)));
    batches[0].push(document("old".into(), &text(91, 60), Some(900)));
    batches[1].push(document("old copy".into(), &text(90, 60), Some(900)));
    batches[1].push(document("young copy".into(), &text(90, 60), Some(3000)));
    batches[2].push(document("young near".into(), &text(91, 64), Some(3000)));
    batches[5].push(document("back".into(), &text(89, 50), Some(3000)));
    batches
}

fn questions(params: &Params) -> Vec<String> {
    let keys = ["0/0", "0/1", "3/7", "5/7", "near", "copy", "no tokens", "long", "4/0", "absent"];
    let gone = ["removed", "back", "old", "old copy", "young copy", "torn/1"];
    let clustered = ["whole/2", "torn/0", "torn/2", "copy", "young near", "removed"];
    let texts =
        [text(0, 40), text(1, 43), text(3, 49), text(97, 30), text(99, 380), text(99, 20), "!!".into()];
    let dead = [text(93, 50), text(92, 50), text(89, 50), text(91, 60), text(90, 60), text(94, 70)];
    let mut measures = vec!["hamming"];
    measures.extend(params.keep_sketches.sample.then_some("query"));
    let gets = keys.iter().chain(&gone).map(|key| format!("get {key}"));
    let queries = texts
        .iter()
        .chain(&dead)
        .flat_map(|text| measures.iter().map(move |measure| format!("{measure} {text}")));
    let clusters = clustered.iter().map(|key| format!("cluster {key}"));
    let whole = ["clusters of 2", "verify deep"].map(String::from);
    gets.chain(queries).chain(clusters).chain(whole).collect()
}

fn make(params: &Params) -> Result<Vec<u8>> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let json = serde_json::to_vec(&params.to_json()).expect("plain values");
    let birth = Birth { id: DatabaseId(0x601D), params: &json, known_answer: &params.known_answer()? };
    let disk = FileDisk::new(file.reopen().expect("a temporary file"), file.path());
    drop(StoreFile::create_on(Box::new(disk), birth, 1 << 20)?);
    let db = Database::open(file.path(), Options::default())?;
    let mut batches = batches(params);
    let last = batches.pop().expect("several batches");
    for batch in batches {
        db.add_batch(batch, Policy::Everything)?;
        db.step(&mut db.commits().state(), true)?;
    }
    assert_eq!(db.remove(["removed", "back", "torn/1", "absent"])?, [true, true, true, false]);
    assert_eq!(db.expire(1000)?, 2);
    db.add_batch(last, Policy::Everything)?;
    db.close()?;
    Ok(fs::read(file.path()).expect("the file"))
}

fn answer(db: &Database, question: &str) -> Result<String> {
    let (verb, rest) = question.split_once(' ').expect("a verb and its argument");
    match verb {
        "get" => about(db, rest),
        "cluster" => match db.cluster_of(rest)? {
            None => Ok("  nothing\n".into()),
            Some(cluster) => described(db, &cluster),
        },
        "clusters" => listed(db),
        "verify" => Ok(format!("  {:?}\n", db.verify(true)?.damage)),
        _ => matches(db, verb, rest),
    }
}

fn about(db: &Database, key: &str) -> Result<String> {
    let Some(found) = db.get(key)? else { return Ok("  nothing\n".into()) };
    Ok(format!(
        "  id {}, seen {:?} to {:?}, cluster {}, {} copies, {:.3} shingles, {} bytes\n",
        found.id,
        found.first_seen,
        found.last_seen,
        found.cluster,
        found.copies,
        found.shingles.unwrap_or_default(),
        found.bytes
    ))
}

fn described(db: &Database, cluster: &Cluster) -> Result<String> {
    let mut members = Vec::new();
    db.cluster_members(cluster, |key| {
        members.push(key);
        ControlFlow::<()>::Continue(())
    })?;
    let Cluster { id, size, representative, cohesion, .. } = cluster;
    let cohesion = cohesion.unwrap_or(-1.0);
    Ok(format!("  {id}: {size} like {representative}, {cohesion:.6}: {}\n", members.join(", ")))
}

fn listed(db: &Database) -> Result<String> {
    let mut out = Ok(String::new());
    db.clusters(ClusterOptions::default())?.each(|cluster| {
        out = std::mem::replace(&mut out, Ok(String::new()))
            .and_then(|out| Ok(out + &described(db, &cluster)?));
        ControlFlow::<()>::Continue(())
    })?;
    out
}

fn matches(db: &Database, verb: &str, text: &str) -> Result<String> {
    let mut out = String::new();
    let by = match verb {
        "query" => Measure::Resemblance(0.1),
        _ => Measure::Hamming(20),
    };
    let query = Query { by: Some(by), copies: true, limit: 3, ..Query::default() };
    for found in db.query(&db.sketch(text)?, &query)?.matches {
        let Match { key, resemblance, containment, hamming, agreement, exact, copies, found_by, .. } = found;
        let shares = [resemblance, containment, agreement]
            .map(|share| format!("{:.6}", share.unwrap_or(-1.0)))
            .join(" ");
        writeln!(out, "  {key}: {shares} {hamming:?} {exact} +{copies} {}", found_by.names().join(","))
            .expect("writing to memory");
    }
    Ok(out)
}

fn answers<'q>(db: &Database, questions: impl Iterator<Item = &'q str>) -> String {
    let answered = |question: &str| format!("{question}\n{}", answer(db, question).expect("an answer"));
    questions.map(answered).collect()
}

const HEAD: &str = ".zst: questions, and what it must answer.\n";

/// The golden file with this name, its questions and its answers.
fn kept(name: &str) -> (Vec<u8>, String) {
    let [packed, answered] = ["zst", "txt"].map(|end| path(&format!("{name}.{end}")));
    let bytes = zstd::decode_all(&fs::read(packed).expect("the golden file")[..]).expect("unpacking");
    let told = fs::read_to_string(answered).expect("the golden answers");
    (bytes, told.strip_prefix(&format!("# {name}{HEAD}")).expect("the head of the answers").to_owned())
}

fn questions_in(told: &str) -> impl Iterator<Item = &str> {
    told.lines().filter(|line| !line.starts_with(' '))
}

fn laid_down(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), bytes).expect("writing a file");
    file
}

fn opened(file: &tempfile::NamedTempFile, read_only: bool) -> Database {
    Database::open(file.path(), Options { read_only, ..Options::default() }).expect("a golden file")
}

fn has_every_part(view: &View) {
    let levels: Vec<u32> = view.runs.iter().map(|run| run.run.record.level).collect();
    assert_eq!((levels, view.memtable.len() > 0), (vec![1, 0], true), "a merged run, a run, a memtable");
    let marks = &view.marks;
    assert!(!marks.dead.is_empty() && !marks.removed.is_empty(), "dead and removed ones");
}

/// Opens the golden file with this name, also for writing, and asks it everything.
fn answers_as_ever(name: &str, params: &Params) {
    if blessing() {
        let bytes = make(params).expect("a file");
        let packed = path(&format!("{name}.zst"));
        fs::write(packed, zstd::encode_all(&bytes[..], 19).expect("packing")).expect("writing");
        let questions = questions(params);
        let told = answers(&opened(&laid_down(&bytes), true), questions.iter().map(String::as_str));
        fs::write(path(&format!("{name}.txt")), format!("# {name}{HEAD}{told}")).expect("writing");
    }
    let (bytes, told) = kept(name);
    let file = laid_down(&bytes);
    let db = opened(&file, true);
    assert_eq!(db.params(), params);
    has_every_part(&db.view());
    assert_eq!(answers(&db, questions_in(&told)), told);
    drop(db);
    let db = opened(&file, false);
    assert_eq!(answers(&db, questions_in(&told)), told);
    db.add("one more", text(200, 50)).expect("a verdict");
    assert_eq!(answers(&db, questions_in(&told)), told);
}

#[test]
fn a_whole_file_opens_and_answers_as_ever() {
    answers_as_ever("database", &Params::default());
    let db = opened(&laid_down(&kept("database").0), true);
    assert_eq!(db.view().marks.dirty.len(), 2, "clusters to be formed anew");
}

#[test]
fn a_whole_file_of_greedy_clusters_opens_and_answers_as_ever() {
    let shingle = Shingling::new(Unit::Words, 4).expect("a width");
    let sketch = SketchParams { shingle, labelled: true, seed: 7, ..SketchParams::default() };
    let params = Params {
        sketch,
        threshold: 0.6,
        clusters: ClusterRule::Greedy,
        representative: RepresentativeRule::Popular,
        ..Params::default()
    };
    answers_as_ever("greedy", &params);
}

#[test]
fn a_whole_file_of_simhashes_opens_and_answers_as_ever() {
    let keep_sketches = Kept { sample: false, signature: false, simhash: true, edit: false };
    let params = Params { keep_sketches, hamming_tables: 10, ..Params::default() };
    answers_as_ever("lean", &params);
}
