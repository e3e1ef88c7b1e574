//! `add` with the verdict contained: its place among the verdicts, its share, in batches and one by one.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, edited, text};
use sketchdb::{AddOptions, Added, Document, Durability, Error, Params, Policy, Verdict};

const CONTAINED: AddOptions =
    AddOptions { policy: Policy::Everything, contained: Some(0.7), durability: Durability::Durable };

/// Keys and texts on which every verdict is given, and the verdicts, each with the document it names.
type Texts = Vec<(&'static str, String)>;
type Verdicts = Vec<(Verdict, Option<&'static str>)>;

fn story() -> (Texts, Verdicts) {
    let mut draw = Draw::new(311);
    let page = text(&mut draw, 400);
    let part = page.split(' ').skip(90).take(150).collect::<Vec<_>>().join(" ");
    let near = edited(&mut draw, &page, 2);
    let partly = format!("{part} {}", text(&mut draw, 20));
    let hardly = format!("{part} {}", text(&mut draw, 150));
    let longer = format!("{page} {}", text(&mut draw, 900));
    let documents = vec![
        ("page", page.clone()),
        ("same", page),
        ("near", near.clone()),
        ("part", part.clone()),
        ("partly", partly),
        ("hardly", hardly),
        ("part", part.clone()),
        ("longer", longer),
        ("copy of part", part.clone()),
        ("near", format!("{near} {}", text(&mut draw, 2))),
        ("hardly", part),
    ];
    let verdicts = vec![
        (Verdict::New, None),
        (Verdict::Exact, Some("page")),
        (Verdict::Near, Some("page")),
        (Verdict::Contained, Some("page")),
        // .87 of the 166 shingles are those of the part, which is itself stored: resemblance comes first.
        (Verdict::Near, Some("part")),
        (Verdict::New, None),
        (Verdict::Unchanged, None),
        (Verdict::New, None),
        (Verdict::Exact, Some("part")),
        (Verdict::Updated, Some("page")),
        (Verdict::Updated, Some("part")),
    ];
    (documents, verdicts)
}

fn added(one_by_one: bool) -> Vec<Added> {
    let place = Place::new();
    let db = place.open();
    let documents: Vec<Document> =
        story().0.into_iter().map(|(key, text)| document(&db, key, text)).collect();
    match one_by_one {
        true => documents.into_iter().flat_map(|one| db.add_batch(vec![one], CONTAINED).unwrap()).collect(),
        false => db.add_batch(documents, CONTAINED).unwrap(),
    }
}

#[test]
fn near_comes_before_contained_in_batches_and_one_by_one() {
    let (documents, verdicts) = story();
    let answers = added(true);
    for ((answer, (key, _)), (verdict, of)) in answers.iter().zip(&documents).zip(&verdicts) {
        assert_eq!((answer.verdict, answer.of.as_deref()), (*verdict, *of), "{key}");
        assert_eq!(answer.containment.is_some(), *verdict == Verdict::Contained, "{key}");
    }
    assert_eq!(answers[3].containment, Some(1.0));
    // 146 of the page's 396 shingles; the sample of 256 makes an estimate of it.
    assert!((answers[3].resemblance.unwrap() - 146.0 / 396.0).abs() < 0.12, "{:?}", answers[3]);
    assert_eq!(added(false), answers);
}

#[test]
fn only_who_asks_gets_the_verdict_contained() {
    let mut draw = Draw::new(312);
    let page = text(&mut draw, 300);
    let part = page.split(' ').take(120).collect::<Vec<_>>().join(" ");
    let verdict = |options: AddOptions| {
        let db = Place::new().open();
        db.add("page", &page).unwrap();
        db.add_batch(vec![document(&db, "part", &part)], options).unwrap().remove(0)
    };
    assert_eq!(verdict(Policy::Everything.into()).verdict, Verdict::New);
    let answer = verdict(CONTAINED);
    assert_eq!((answer.verdict, answer.of.as_deref()), (Verdict::Contained, Some("page")));
    let answer = verdict(AddOptions { policy: Policy::OnlyNew, ..CONTAINED });
    assert_eq!((answer.verdict, answer.id), (Verdict::Contained, None));
    assert_eq!(verdict(AddOptions { contained: Some(0.9), ..CONTAINED }).verdict, Verdict::Contained);
    // The page has more shingles than its sample: that all of the part is in it cannot be shown.
    assert_eq!(verdict(AddOptions { contained: Some(1.0), ..CONTAINED }).verdict, Verdict::New);
}

#[test]
fn shares_are_checked_and_files_without_containment_refuse() {
    let db = Place::new().open();
    let add = |db: &sketchdb::Database, share: f64| {
        db.add_batch(vec![document(db, "a", "some text")], AddOptions { contained: Some(share), ..CONTAINED })
    };
    for wrong in [0.0, -1.0, 1.01, f64::NAN] {
        assert!(matches!(add(&db, wrong), Err(Error::Invalid { .. })), "{wrong}");
    }
    assert_eq!(add(&db, 1.0).unwrap()[0].verdict, Verdict::New);
    let db = Place::with(&Params { containment: false, ..Params::default() }).open();
    let refused = add(&db, 0.7).unwrap_err();
    assert!(matches!(refused, Error::Invalid { .. }) && refused.to_string().contains("containment"));
    assert!(db.get("a").unwrap().is_none(), "nothing was stored");
}
