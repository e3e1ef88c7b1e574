//! Verdicts: which of them applies, to one document at a time or to many.

use crate::common::place::{Place, add_seen, document};
use crate::common::texts::{Draw, edited, text};
use sketchdb::{Added, Database, Document, Error, Policy, Query, Verdict};

#[test]
fn the_first_verdict_that_applies_is_given() {
    let db = Place::new().open();
    let mut draw = Draw::new(2);
    let first = text(&mut draw, 100);
    let near = format!("{first} addition");
    let say = |key: &str, text: &str| db.add(key, text).map(|added| (added.verdict, added.of)).unwrap();
    assert_eq!(say("a", &first), (Verdict::New, None));
    assert_eq!(say("a", &first), (Verdict::Unchanged, None));
    assert_eq!(say("b", &first), (Verdict::Exact, Some("a".into())));
    assert_eq!(say("c", &near), (Verdict::Near, Some("a".into())));
    assert_eq!(say("a", &near), (Verdict::Updated, Some("c".into())));
    assert_eq!(say("b", &text(&mut draw, 100)), (Verdict::Updated, None));
    assert_eq!(say("d", &text(&mut draw, 100)), (Verdict::New, None));
}

#[test]
fn the_same_text_resembles_by_one_and_a_near_one_by_less() {
    let db = Place::new().open();
    let first = text(&mut Draw::new(3), 104);
    assert_eq!(db.add("a", &first).unwrap().resemblance, None);
    assert_eq!(db.add("b", &first).unwrap().resemblance, Some(1.0));
    // 100 shingles and one more.
    assert_eq!(db.add("c", format!("{first} more")).unwrap().resemblance, Some(100.0 / 101.0));
    // Another text of equal canonical form is near, not exact.
    let upper = db.add("d", first.to_uppercase()).unwrap();
    assert_eq!(
        (upper.verdict, upper.resemblance, upper.of.as_deref()),
        (Verdict::Near, Some(1.0), Some("a"))
    );
}

#[test]
fn a_batch_sees_itself() {
    let db = Place::new().open();
    let first = text(&mut Draw::new(4), 100);
    let near = format!("{first} addition");
    let batch = [
        ("a", &first),
        ("b", &first),
        ("c", &near),
        ("a", &first),
        ("a", &near),
        ("b", &near),
        ("d", &first),
    ];
    let batch = batch.map(|(key, text)| document(&db, key, text)).to_vec();
    let verdicts: Vec<Verdict> =
        db.add_batch(batch, Policy::Everything).unwrap().iter().map(|added| added.verdict).collect();
    use Verdict::*;
    // By the end no document holds the first text: it comes back as a near one.
    assert_eq!(verdicts, [New, Exact, Near, Unchanged, Updated, Updated, Near]);
    assert_eq!(db.stats().unwrap().contents, 2);
}

#[test]
fn an_empty_batch_does_nothing() {
    let db = Place::new().open();
    assert_eq!(db.add_batch(Vec::new(), Policy::Everything).unwrap(), []);
}

/// Three hundred documents with every verdict among them.
fn mixture(db: &Database) -> Vec<Document> {
    let mut draw = Draw::new(5);
    let mut texts = vec![text(&mut draw, 80)];
    let mut one = |number: usize| {
        let earlier = draw.one_of(&texts).clone();
        let text = match number % 3 {
            0 => text(&mut draw, 80),
            1 => edited(&mut draw, &earlier, 1),
            _ => earlier,
        };
        texts.push(text.clone());
        document(db, &format!("{}", draw.below(200)), text)
    };
    (0..300).map(&mut one).collect()
}

#[test]
fn batches_of_any_size_say_the_same() {
    let say = |size: usize, policy: Policy| -> Vec<Added> {
        let db = Place::new().open();
        let mixture = mixture(&db);
        mixture.chunks(size).flat_map(|batch| db.add_batch(batch.to_vec(), policy).unwrap()).collect()
    };
    for policy in [Policy::Everything, Policy::OnlyNew] {
        let one_by_one = say(1, policy);
        for size in [2, 7, 64, 300] {
            assert_eq!(say(size, policy), one_by_one, "batches of {size}, {policy:?}");
        }
    }
}

#[test]
fn only_new_stores_new_and_updated_documents() {
    let db = Place::new().open();
    let first = text(&mut Draw::new(6), 100);
    let near = format!("{first} addition");
    let add = |key: &str, text: &str, seen: u64| add_seen(&db, key, text, seen, Policy::OnlyNew);
    let last_seen = |key: &str| db.get(key).unwrap().and_then(|stored| stored.last_seen);
    assert_eq!(add("a", &first, 10).id.unwrap().0, 0);
    let exact = add("b", &first, 20);
    assert_eq!((exact.id, exact.verdict, last_seen("a")), (None, Verdict::Exact, Some(20)));
    let near = add("c", &near, 30);
    assert_eq!((near.id, near.verdict, last_seen("a")), (None, Verdict::Near, Some(30)));
    assert_eq!(add("a", &first, 25).verdict, Verdict::Unchanged);
    assert_eq!(last_seen("a"), Some(30));
    assert_eq!((db.get("b").unwrap(), db.get("c").unwrap()), (None, None));
    assert!(add("a", "quite another text of a few words", 40).id.is_some());
    assert_eq!((last_seen("a"), db.stats().unwrap().documents), (Some(40), 1));
}

#[test]
fn keys_have_1_to_4096_bytes() {
    let db = Place::new().open();
    let long = "k".repeat(4096);
    assert_eq!(db.add(&*long, "text").unwrap().verdict, Verdict::New);
    assert_eq!(db.add("k", "text").unwrap().of, Some(long.clone()));
    assert!(db.get(&long).unwrap().is_some());
    for wrong in ["".to_string(), long + "k", "\u{1F600}".repeat(1025)] {
        assert!(matches!(db.add(&*wrong, "text"), Err(Error::Invalid { .. })), "{} bytes", wrong.len());
        assert!(matches!(db.get(&wrong), Err(Error::Invalid { .. })), "{} bytes", wrong.len());
    }
    let batch = vec![document(&db, "good", "text"), document(&db, "", "text")];
    let refused = db.add_batch(batch, Policy::Everything);
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    assert_eq!(db.get("good").unwrap(), None, "a batch with a wrong key stores nothing");
    assert_eq!(db.add("good", "text").unwrap().verdict, Verdict::Exact, "and harms nothing");
}

#[test]
fn an_unknown_key_is_none() {
    let db = Place::new().open();
    db.add("a", "text").unwrap();
    assert_eq!(db.get("b").unwrap(), None);
    assert_eq!(db.get("a ").unwrap(), None);
    let own = Query { own: Some("b".into()), ..Query::default() };
    assert_eq!(db.query(&db.sketch("text").unwrap(), &own).unwrap().matches.len(), 1);
}
