//! Proves that what is not a database of this format is refused with the error that says what it is, by readers and
//! writers alike.

mod common;

use common::disk::MemoryDisk;
use common::version::{set_old_version, set_version};
use sketchdb::{Database, Error, Options, Params};
use std::path::Path;
use std::sync::Arc;

/// The bytes of an empty database.
fn empty_database() -> Vec<u8> {
    let disk = Arc::new(MemoryDisk::default());
    Database::create_on(disk.clone(), &Params::default()).unwrap();
    disk.bytes()
}

/// The error of opening a path read-only and for writing, which leaves its bytes alone.
fn refusals(path: &Path) -> [Error; 2] {
    let before = std::fs::read(path).ok();
    let errors = [true, false].map(|read_only| {
        Database::open(path, Options { read_only, ..Options::default() }).expect_err("refused")
    });
    assert_eq!(std::fs::read(path).ok(), before);
    errors
}

fn refusals_of(bytes: &[u8]) -> [Error; 2] {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    refusals(file.path())
}

fn assert_not_a_database(bytes: &[u8]) {
    for error in refusals_of(bytes) {
        assert!(matches!(&error, Error::Incompatible { name, .. } if name == "file"), "{error}");
    }
}

#[test]
fn other_files_are_not_databases() {
    assert_not_a_database(b"");
    assert_not_a_database(b"sketch");
    assert_not_a_database(&[0; 100_000]);
    assert_not_a_database("a text like any other, of some length\n".repeat(1000).as_bytes());
}

#[test]
fn a_file_of_the_store_below_is_not_a_database() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let redb = redb::Database::create(file.path()).unwrap();
    let writing = redb.begin_write().unwrap();
    writing.open_table(redb::TableDefinition::<u64, u64>::new("meta")).unwrap().insert(1, 2).unwrap();
    writing.commit().unwrap();
    drop(redb);
    assert_not_a_database(&std::fs::read(file.path()).unwrap());
}

#[test]
fn a_directory_is_an_invalid_argument_and_nothing_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    assert!(refusals(folder.path()).iter().all(|error| matches!(error, Error::Invalid { .. })));
    assert!(refusals(&folder.path().join("no")).iter().all(|error| matches!(error, Error::Missing(_))));
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let dangling = refusals(&link);
    assert!(dangling.iter().all(|error| error.to_string().contains("links to a file that is not there")));
}

#[test]
fn another_format_version_is_named() {
    let bytes = empty_database();
    let mut torn = bytes.clone();
    torn[12] += 1;
    for error in refusals_of(&torn) {
        assert!(matches!(error, Error::Corrupt { .. }), "its checksum does not hold: {error}");
    }
    for (number, draft) in [(2, 0), (2, u32::MAX), (3, 0), (0, 0)] {
        let mut other = bytes.clone();
        set_version(&mut other, number, draft);
        assert_version(&other, number, draft);
    }
    for number in [0, 1] {
        let mut old = bytes.clone();
        set_old_version(&mut old, number);
        assert_version(&old, number, 0);
    }
}

fn assert_version(bytes: &[u8], number: u32, draft: u32) {
    for error in refusals_of(bytes) {
        let Error::Version { found, known } = error else { panic!("{error}") };
        assert_eq!((found.number, found.draft, known.number), (number, draft, 2));
    }
}

#[test]
fn a_text_that_begins_with_the_name_is_no_database() {
    for text in ["sketchdb: 3 documents\n", "sketchdb", "sketchdb\n\x1a\n"] {
        let text = text.repeat(1000);
        assert_not_a_database(text.as_bytes());
    }
}

#[test]
fn a_file_without_all_of_its_pages_is_corrupt() {
    let bytes = empty_database();
    for len in
        [8, 9, 11, 12, 4095, 4096, 8192, 8193, 12_288, bytes.len() / 2, bytes.len() - 4096, bytes.len() - 1]
    {
        for error in refusals_of(&bytes[..len]) {
            assert!(matches!(error, Error::Corrupt { .. }), "{len} bytes: {error:?}");
        }
    }
}

#[test]
fn a_file_that_was_not_closed_is_read_as_it_was_last_committed() {
    let disk = MemoryDisk::of(empty_database());
    let db = Database::open_on(disk.clone(), Options::default()).unwrap();
    db.add("key", "some words that are stored").unwrap();
    let image = MemoryDisk::of(disk.bytes());
    let read_only = Options { read_only: true, ..Options::default() };
    assert!(Database::open_on(image.clone(), read_only.clone()).unwrap().get("key").unwrap().is_some());
    assert_eq!(image.bytes(), disk.bytes());
    Database::open_on(image.clone(), Options::default()).unwrap().close().unwrap();
    assert!(Database::open_on(image.clone(), read_only).unwrap().get("key").unwrap().is_some());
}
