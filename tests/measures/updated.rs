//! Passages live and die with their documents: an update buries them, reopening, flushes and merges keep the living.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use crate::shapes::{ask, keys};
use sketchdb::{Database, Measure, Options, Params, Policy, SketchParams};

fn windows(tokens: u32) -> Params {
    let sketch = SketchParams { passages: Some(tokens), ..SketchParams::default() };
    Params { sketch, ..Params::default() }
}

/// A long text with a paragraph of its own in its middle.
struct Page {
    key: String,
    paragraph: String,
    whole: String,
}

fn page(draw: &mut Draw, number: usize) -> Page {
    let paragraph = text(draw, 60);
    let whole = format!("{} {paragraph} {}", text(draw, 900), text(draw, 2000));
    Page { key: number.to_string(), paragraph, whole }
}

fn pages(seed: u64, count: usize) -> Vec<Page> {
    let mut draw = Draw::new(seed);
    (0..count).map(|number| page(&mut draw, number)).collect()
}

fn add(db: &Database, pages: &[Page]) {
    let documents = pages.iter().map(|page| document(db, &page.key, &page.whole)).collect();
    db.add_batch(documents, Policy::Everything).unwrap();
}

/// Asserts that each paragraph is found in its page, where it is.
fn assert_found(db: &Database, pages: &[Page]) {
    for page in pages {
        let found = ask(db, &page.paragraph, Measure::Containment(0.8), &[]);
        assert_eq!(keys(&found), std::slice::from_ref(&page.key));
        let (first, tokens) = found[0].passage.expect("a window");
        assert!(first <= 900 && first + tokens >= 960, "{first}, {tokens}");
        assert_eq!(found[0].containment, Some(1.0));
    }
}

/// Asserts that no answer names a page for these paragraphs, by whatever measure.
fn assert_buried(db: &Database, pages: &[Page]) {
    for page in pages {
        for by in [Measure::Containment(0.1), Measure::Contained(0.1), Measure::Any(0.1)] {
            let found = ask(db, &page.paragraph, by, &[]);
            assert!(found.is_empty(), "{by:?} names {found:?}");
        }
    }
}

fn flushing(place: &Place, flush_contents: u64) -> Database {
    Database::open(place.path(), Options { flush_contents, ..Options::default() }).unwrap()
}

#[test]
fn an_update_buries_the_windows() {
    let place = Place::with(&windows(120));
    let db = place.open();
    let (old, new) = (pages(351, 8), pages(352, 8));
    add(&db, &old);
    assert_found(&db, &old);
    add(&db, &new);
    assert_buried(&db, &old);
    assert_found(&db, &new);
    drop(db);
    let db = place.open();
    assert_buried(&db, &old);
    assert_found(&db, &new);
    // The first texts again: windows come back with them.
    add(&db, &old);
    assert_found(&db, &old);
    assert_buried(&db, &new);
}

#[test]
fn a_text_that_another_key_holds_keeps_its_windows() {
    let place = Place::with(&windows(120));
    let db = place.open();
    let (old, new) = (pages(353, 1), pages(354, 1));
    add(&db, &old);
    db.add("copy", &old[0].whole).unwrap();
    add(&db, &new);
    let found = ask(&db, &old[0].paragraph, Measure::Containment(0.8), &[]);
    assert_eq!(keys(&found), ["copy"]);
    assert!(found[0].passage.is_some());
}

#[test]
fn flushes_and_merges_keep_windows() {
    for flush_contents in [1, 7, 64] {
        let place = Place::with(&windows(120));
        let (old, new) = (pages(355, 12), pages(356, 12));
        let db = flushing(&place, flush_contents);
        old.iter().for_each(|page| add(&db, std::slice::from_ref(page)));
        assert_found(&db, &old);
        new[..6].iter().for_each(|page| add(&db, std::slice::from_ref(page)));
        drop(db);
        let db = flushing(&place, flush_contents);
        assert_buried(&db, &old[..6]);
        assert_found(&db, &new[..6]);
        assert_found(&db, &old[6..]);
        add(&db, &new[6..]);
        assert_buried(&db, &old);
        assert_found(&db, &new);
        eprintln!("{flush_contents} contents to a run: {} runs", db.stats().unwrap().runs);
    }
}
