//! Databases in temporary folders.

use sketchdb::{Added, Database, Document, Error, Options, Params, Policy, Result};
use std::path::PathBuf;

/// A folder that goes away, and where a database is or will be in it.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// Nothing is there yet.
    pub fn empty() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    /// An empty database with default parameters.
    pub fn new() -> Self {
        Self::with(&Params::default())
    }

    pub fn with(params: &Params) -> Self {
        let place = Self::empty();
        Database::create(place.path(), params).unwrap();
        place
    }

    pub fn path(&self) -> PathBuf {
        self.file("test.sketchdb")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn open(&self) -> Database {
        Database::open(self.path(), Options::default()).unwrap()
    }

    pub fn read(&self) -> Result<Database> {
        Database::open(self.path(), read_only())
    }
}

pub fn read_only() -> Options {
    Options { read_only: true, ..Options::default() }
}

pub fn document(db: &Database, key: &str, text: impl AsRef<[u8]>) -> Document {
    Document { key: key.into(), sketch: db.sketch(text).unwrap(), seen_at: None }
}

/// The lines of an export.
pub fn exported(db: &Database) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    db.export::<Error>(&mut |_, _, _| {}, |line| {
        lines.push(line.to_owned());
        Ok(())
    })?;
    Ok(lines)
}

/// Adds a document seen at a time.
pub fn add_seen(db: &Database, key: &str, text: &str, seen: u64, policy: Policy) -> Added {
    let document = Document { seen_at: Some(seen), ..document(db, key, text) };
    db.add_batch(vec![document], policy).unwrap().remove(0)
}
