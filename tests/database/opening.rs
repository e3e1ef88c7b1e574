//! Making, opening and sharing a file.

use crate::common::place::{Place, read_only};
use crate::common::texts::{Draw, text};
use sketchdb::{Database, Error, Options, Params, Query, Verdict};

#[test]
fn create_refuses_what_exists() {
    let place = Place::new();
    let made = std::fs::read(place.path()).unwrap();
    assert!(
        matches!(Database::create(place.path(), &Params::default()), Err(Error::Exists(path)) if path == place.path())
    );
    assert_eq!(std::fs::read(place.path()).unwrap(), made, "it was not touched");
    std::fs::write(place.file("notes.txt"), "mine").unwrap();
    assert!(matches!(Database::create(place.file("notes.txt"), &Params::default()), Err(Error::Exists(_))));
    std::fs::create_dir(place.file("folder")).unwrap();
    assert!(matches!(Database::create(place.file("folder"), &Params::default()), Err(Error::Exists(_))));
}

#[test]
fn create_leaves_nothing_behind_when_it_fails() {
    let place = Place::empty();
    let wrong = Params { threshold: 1.5, ..Params::default() };
    assert!(matches!(Database::create(place.path(), &wrong), Err(Error::Invalid { .. })));
    assert!(matches!(
        Database::create(place.file("no/such/folder/db"), &Params::default()),
        Err(Error::Invalid { .. })
    ));
    assert_eq!(std::fs::read_dir(place.file("")).unwrap().count(), 0);
}

#[test]
fn nothing_at_the_path_is_missing() {
    let place = Place::empty();
    for options in [Options::default(), read_only()] {
        assert!(
            matches!(Database::open(place.path(), options), Err(Error::Missing(path)) if path == place.path())
        );
    }
    assert!(!place.path().exists(), "opening makes nothing");
}

#[test]
fn a_folder_is_no_database() {
    let place = Place::empty();
    std::fs::create_dir(place.path()).unwrap();
    for options in [Options::default(), read_only()] {
        assert!(matches!(Database::open(place.path(), options), Err(Error::Invalid { .. })));
    }
}

#[test]
fn another_file_is_refused_and_left_as_it_was() {
    let place = Place::empty();
    let page = vec![b'x'; 4096];
    for other in [&b""[..], b"short", &page, &page.repeat(300), &vec![0; 1 << 20]] {
        std::fs::write(place.path(), other).unwrap();
        for options in [Options::default(), read_only()] {
            let refused = Database::open(place.path(), options).map(drop).unwrap_err();
            let apt =
                matches!(refused, Error::Corrupt { .. } | Error::Incompatible { .. } | Error::Invalid { .. });
            assert!(apt, "{} bytes: {refused:?}", other.len());
            assert_eq!(std::fs::read(place.path()).unwrap(), other, "{} bytes", other.len());
        }
    }
}

#[test]
fn what_was_added_is_there_after_reopening() {
    let place = Place::new();
    let mut draw = Draw::new(1);
    let texts: Vec<String> = (0..50).map(|_| text(&mut draw, 60)).collect();
    for (number, text) in texts.iter().enumerate() {
        let db = place.open();
        assert_eq!(db.add(format!("{number}"), text).unwrap().verdict, Verdict::New);
        if number % 2 == 0 {
            db.close().unwrap();
        }
    }
    let db = place.read().unwrap();
    for (number, text) in texts.iter().enumerate() {
        let answer = db.query(&db.sketch(text).unwrap(), &Query::default()).unwrap();
        assert_eq!((answer.matches.len(), &answer.matches[0].key), (1, &format!("{number}")));
        assert_eq!(db.get(&format!("{number}")).unwrap().unwrap().id.0, number as u64);
    }
}

#[test]
fn a_reader_refuses_to_add_and_shares_the_file() {
    let place = Place::new();
    place.open().add("a", "one two three four five six").unwrap();
    let before = std::fs::read(place.path()).unwrap();
    let (first, second) = (place.read().unwrap(), place.read().unwrap());
    for db in [&first, &second] {
        assert!(matches!(db.add("b", "other"), Err(Error::Invalid { .. })));
        assert_eq!(db.get("a").unwrap().unwrap().bytes, 27);
        assert_eq!(db.get("b").unwrap(), None);
    }
    first.close().unwrap();
    drop(second);
    assert_eq!(std::fs::read(place.path()).unwrap(), before, "readers write nothing");
}

#[test]
fn one_writer_or_many_readers() {
    let place = Place::new();
    let writer = place.open();
    for options in [Options::default(), read_only()] {
        assert!(
            matches!(Database::open(place.path(), options), Err(Error::Locked(path)) if path == place.path())
        );
    }
    writer.close().unwrap();
    let reader = place.read().unwrap();
    assert!(matches!(Database::open(place.path(), Options::default()), Err(Error::Locked(_))));
    drop(reader);
    place.open().close().unwrap();
}

#[test]
fn a_file_whose_writer_was_killed_is_recovered_in_memory_by_a_reader_and_for_good_by_a_writer() {
    let place = Place::new();
    let db = place.open();
    db.add("a", "one two three four five six").unwrap();
    let image = place.file("image.sketchdb");
    std::fs::copy(place.path(), &image).unwrap();
    drop(db);
    let before = std::fs::read(&image).unwrap();
    let readers = [0, 1].map(|_| Database::open(&image, read_only()).unwrap());
    for reader in &readers {
        assert!(reader.get("a").unwrap().is_some());
        assert_eq!(reader.verify(true).unwrap().damage, []);
    }
    assert!(matches!(Database::recover(&image, Options::default()), Err(Error::Locked(_))));
    drop(readers);
    assert_eq!(std::fs::read(&image).unwrap(), before, "readers write nothing");
    assert!(Database::recover(&image, Options::default()).unwrap());
    assert_ne!(std::fs::read(&image).unwrap(), before);
    assert!(!Database::recover(&image, Options::default()).unwrap(), "nothing is left to recover");
    std::fs::write(&image, before).unwrap();
    Database::open(&image, Options::default()).unwrap().close().unwrap();
    assert!(!Database::recover(&image, Options::default()).unwrap());
}
