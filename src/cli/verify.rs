//! `sketchdb verify`: whether a file is what was written, and whether its parts agree.

use crate::args::{Common, Verify};
use crate::exit::{Ended, Outcome};
use crate::open;
use crate::output::Output;
use crate::say::say;
use serde::Serialize;
use sketchdb::{Database, Verified};

#[derive(Serialize)]
struct Line<'a> {
    ok: bool,
    deep: bool,
    pages: u64,
    contents: u64,
    documents: u64,
    entries: u64,
    clusters: u64,
    damaged: u64,
    damage: Vec<Place<'a>>,
    intact_contents: Option<u64>,
    intact_documents: Option<u64>,
}

#[derive(Serialize)]
struct Place<'a> {
    at: &'a str,
    what: &'a str,
}

pub fn run(verb: &Verify, common: &Common) -> Ended {
    open::recover(&verb.db, common);
    let verified = Database::verify_at(&verb.db, open::options(common), verb.deep)
        .map_err(open::wrong_with(&verb.db))?;
    let mut output = Output::new();
    let damage: Vec<Place> = verified.damage.iter().map(|d| Place { at: &d.at, what: &d.what }).collect();
    let Verified { deep, pages, contents, documents, entries, clusters, damaged, intact, .. } = verified;
    let ok = damaged == 0;
    if common.json {
        let (intact_contents, intact_documents) = (intact.map(|i| i.0), intact.map(|i| i.1));
        output.json(&Line {
            ok,
            deep,
            pages,
            contents,
            documents,
            entries,
            clusters,
            damaged,
            damage,
            intact_contents,
            intact_documents,
        })?;
    } else {
        output.line(if ok { "whole" } else { "damaged" })?;
        output.line(&format!(
            "{pages} pages, {documents} documents, {contents} contents, {entries} index entries, {clusters} clusters{}",
            if deep { ", index derived again" } else { "" }
        ))?;
        for place in &damage {
            output.line(&format!("  {}: {}", place.at, place.what))?;
        }
    }
    output.flush()?;
    if let (false, Some((contents, documents)), false) = (ok, intact, common.quiet) {
        let saved = match contents + documents {
            0 => "nothing of it can be saved: take a backup, or add the texts again".into(),
            _ => format!(
                "{contents} contents and {documents} documents are in frames that are whole, which `sketchdb rebuild --salvage` keeps"
            ),
        };
        say(&format!("sketchdb: {damaged} places are wrong; {saved}"));
    }
    Ok(if ok { Outcome::Done } else { Outcome::Database })
}
