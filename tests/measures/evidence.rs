//! What it takes to be dropped as a part of another: the lower end of the interval, and 16 sample values.

use crate::common::place::{Place, document};
use crate::common::texts::{Draw, text};
use sketchdb::{
    Accept, AddOptions, Added, Database, Dedup, DedupOptions, Duplicate, Keep, Options, Params, Policy,
    Query, Sighting, Verdict,
};

const SHARE: f64 = 0.8;
const CONTAINED: AddOptions =
    AddOptions { policy: Policy::OnlyNew, contained: Some(SHARE), durability: sketchdb::Durability::Durable };

/// A long text of so many words, and one of 300 of which so many in a hundred are its words, in one piece.
fn pair(draw: &mut Draw, long: usize, percent: usize) -> [String; 2] {
    let words: Vec<String> = text(draw, long).split(' ').map(str::to_owned).collect();
    let (part, at) = (3 * percent, draw.below(long - 300));
    let short = format!("{} {}", words[at..at + part].join(" "), text(draw, 300 - part));
    [words.join(" "), short]
}

/// Pairs of which none is contained by the share asked for, but whose few common values say so now and then.
fn wrong() -> Vec<[String; 2]> {
    let mut draw = Draw::new(331);
    let shapes = [(20_000, 50), (20_000, 60), (5000, 60)];
    shapes
        .iter()
        .flat_map(|&(long, percent)| [(long, percent); 25])
        .map(|(l, p)| pair(&mut draw, l, p))
        .collect()
}

/// Documents that each verb would have dropped by the estimate.
fn estimated(db: &Database, short: &str) -> bool {
    let by = Some(sketchdb::Measure::Containment(SHARE));
    db.query(&db.sketch(short).unwrap(), &Query { by, ..Query::default() }).unwrap().total > 0
}

#[test]
fn nothing_is_dropped_by_an_estimate() {
    let (wrong, mut by_estimate) = (wrong(), 0);
    let place = Place::new();
    let db = place.open();
    let seen = Place::new();
    let adding = Options { adding: CONTAINED, ..Options::default() };
    let seen = Database::open(seen.path(), adding).unwrap();
    for (number, [long, short]) in wrong.iter().enumerate() {
        let add = |policy: Policy, key: String, text: &str| -> Added {
            let options = AddOptions { policy, ..CONTAINED };
            db.add_batch(vec![document(&db, &key, text)], options).unwrap().remove(0)
        };
        add(Policy::Everything, format!("long {number}"), long);
        by_estimate += usize::from(estimated(&db, short));
        let stored = add(Policy::OnlyNew, format!("short {number}"), short);
        assert_eq!((stored.verdict, stored.id.is_some()), (Verdict::New, true), "pair {number}: {stored:?}");
        assert_eq!(seen.seen_or_add(format!("long {number}"), long, None).unwrap(), Sighting::New);
        let sighting = seen.seen_or_add(format!("short {number}"), short, None).unwrap();
        assert_eq!(sighting, Sighting::New, "pair {number}");
    }
    assert!(by_estimate >= 3, "the estimate alone would drop {by_estimate} of {}", wrong.len());
}

/// Long texts first, then the short ones: what becomes of these.
fn deduped(pairs: &[[String; 2]], options: DedupOptions) -> Vec<Option<Duplicate>> {
    let db = Place::new().open();
    let mut dedup = Dedup::new(&Params::default(), None, options).unwrap();
    let documents: Vec<_> = [0, 1]
        .iter()
        .flat_map(|&side| pairs.iter().enumerate().map(move |(number, pair)| (side, number, pair)))
        .map(|(side, number, pair)| document(&db, &format!("{side} {number}"), &pair[side]))
        .collect();
    let mut decided = dedup.push(documents).unwrap();
    dedup
        .finish(|duplicate| -> Result<(), sketchdb::Error> {
            decided.push(duplicate);
            Ok(())
        })
        .unwrap();
    assert!(decided[..pairs.len()].iter().all(Option::is_none), "the long ones stay");
    decided.split_off(pairs.len())
}

fn contained(accept: Option<Accept>, keep: Keep) -> DedupOptions {
    DedupOptions { contained: Some(SHARE), accept, keep, ..DedupOptions::default() }
}

#[test]
fn dedup_asks_for_the_lower_end_unless_told_and_for_16_values_always() {
    let wrong = wrong();
    for keep in [Keep::First, Keep::Longest] {
        let removed = |accept| {
            let decided = deduped(&wrong, contained(accept, keep));
            decided.into_iter().flatten().collect::<Vec<Duplicate>>()
        };
        assert_eq!(removed(None), [], "{keep:?}");
        assert_eq!(removed(Some(Accept::Low)), [], "{keep:?}");
        let (estimate, high) = (removed(Some(Accept::Estimate)), removed(Some(Accept::High)));
        assert!(high.len() > 3, "{} by the upper end", high.len());
        assert!(high.len() >= estimate.len());
        for duplicate in estimate.iter().chain(&high) {
            let (values, interval) = (duplicate.values.unwrap(), duplicate.containment_interval.unwrap());
            assert!(values >= 16 && interval.high >= SHARE, "{duplicate:?}");
            assert!((interval.low..=interval.high).contains(&duplicate.containment.unwrap()));
        }
    }
}

#[test]
fn what_is_contained_goes_and_says_by_what() {
    let mut draw = Draw::new(332);
    let pairs: Vec<[String; 2]> = (0..20).map(|_| pair(&mut draw, 1200, 100)).collect();
    for keep in [Keep::First, Keep::Longest] {
        for (number, duplicate) in deduped(&pairs, contained(None, keep)).into_iter().enumerate() {
            let duplicate = duplicate.unwrap_or_else(|| panic!("{number} stayed, {keep:?}"));
            assert_eq!((duplicate.of, duplicate.exact), (format!("0 {number}"), false));
            let (low, high) = duplicate.containment_interval.map(|i| (i.low, i.high)).unwrap();
            assert_eq!((duplicate.containment, high), (Some(1.0), 1.0));
            assert!((SHARE..1.0).contains(&low) && duplicate.values.unwrap() >= 16);
        }
    }
    let db = Place::new().open();
    for [long, short] in &pairs {
        db.add_batch(vec![document(&db, "long", long)], CONTAINED).unwrap();
        let answer = db.add_batch(vec![document(&db, "short", short)], CONTAINED).unwrap().remove(0);
        assert_eq!((answer.verdict, answer.id), (Verdict::Contained, None));
        assert!(answer.containment_interval.unwrap().low >= SHARE && answer.values.unwrap() >= 16);
        db.remove(["long"]).unwrap();
    }
}

#[test]
fn the_other_database_of_dedup_is_asked_by_the_same_rule() {
    let place = Place::new();
    let db = place.open();
    let (wrong, mut draw) = (wrong(), Draw::new(333));
    let right = [pair(&mut draw, 1200, 100), pair(&mut draw, 600, 100)];
    for (number, [long, _]) in wrong.iter().chain(&right).enumerate() {
        db.add(format!("{number}"), long).unwrap();
    }
    db.close().unwrap();
    let removed = |accept| {
        let options = DedupOptions { contained: Some(SHARE), accept, ..DedupOptions::default() };
        let against = place.read().unwrap();
        let shorts = wrong.iter().chain(&right).map(|pair| document(&against, "short", &pair[1])).collect();
        let mut dedup = Dedup::new(against.params(), Some(place.read().unwrap()), options).unwrap();
        dedup.push(shorts).unwrap()
    };
    let low = removed(None);
    assert!(low[..wrong.len()].iter().all(Option::is_none));
    for duplicate in low[wrong.len()..].iter().map(|duplicate| duplicate.as_ref().unwrap()) {
        assert!(duplicate.containment_interval.unwrap().low >= SHARE && duplicate.values.unwrap() >= 16);
    }
    let high = removed(Some(Accept::High));
    assert!(high[..wrong.len()].iter().flatten().count() > 3);
    assert!(high.iter().flatten().all(|duplicate| duplicate.values.unwrap() >= 16));
}

#[test]
fn texts_of_fewer_than_16_shingles_are_never_parts() {
    let mut draw = Draw::new(334);
    let long = text(&mut draw, 150);
    for (words, verdict) in [(19, Verdict::New), (20, Verdict::Contained)] {
        let db = Place::new().open();
        db.add("long", &long).unwrap();
        let short = long.split(' ').take(words).collect::<Vec<_>>().join(" ");
        let answer = db.add_batch(vec![document(&db, "short", &short)], CONTAINED).unwrap().remove(0);
        assert_eq!(answer.verdict, verdict, "{words} words: both samples are whole");
    }
}

#[test]
fn near_duplicates_go_by_the_estimate_unless_told() {
    let mut draw = Draw::new(335);
    let long = text(&mut draw, 2000);
    let head = long.split(' ').take(1640).collect::<Vec<_>>().join(" ");
    let removed = |accept| {
        let options = DedupOptions { accept, ..DedupOptions::default() };
        deduped(&[[long.clone(), head.clone()]], options).iter().flatten().count()
    };
    // Resemblance .82 and a sample of 256: an interval of some .045 to either side.
    assert_eq!(removed(None), removed(Some(Accept::Estimate)));
    assert_eq!([removed(None), removed(Some(Accept::Low)), removed(Some(Accept::High))], [1, 0, 1]);
}
