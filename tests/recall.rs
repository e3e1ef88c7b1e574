//! The permuted simhash tables, end to end: every document within the distance is found and none beyond, also when the
//! distance is exactly the greatest.

use sketchdb::{Database, Document, Measure, Options, Params, Policy, Query, Simhash};

fn mix(seed: u64) -> u64 {
    let z = (seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).rotate_left(29);
    (z ^ z >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// A document whose simhash is given: its other sketches are those of a text of its own.
fn with_simhash(db: &Database, number: u64, simhash: u64) -> Document {
    let mut sketch = db.sketch(format!("text number {number}")).unwrap();
    sketch.simhash = Some(Simhash(simhash));
    Document { key: number.to_string(), sketch, seen_at: None }
}

#[test]
fn all_simhashes_within_the_distance_are_found_and_none_beyond() {
    for (hamming, hamming_tables) in
        [(1, 2), (2, 3), (3, 4), (3, 10), (3, 16), (3, 20), (4, 5), (5, 6), (6, 7), (7, 8)]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tables.sketchdb");
        Database::create(&path, &Params { hamming, hamming_tables, ..Params::default() }).unwrap();
        let db = Database::open(&path, Options::default()).unwrap();
        // A neighbour at every distance from 0 to twice the greatest around each of 150 centres.
        let centres: Vec<u64> = (0..150).map(mix).collect();
        let mut simhashes = Vec::new();
        for (number, centre) in centres.iter().enumerate() {
            for distance in 0..=2 * hamming as u64 {
                let mut flipped = *centre;
                let mut draw = mix(number as u64 * 1000 + distance);
                while (flipped ^ centre).count_ones() < distance as u32 {
                    flipped ^= (1 << (draw % 64)) & !(flipped ^ centre);
                    draw = mix(draw);
                }
                simhashes.push(flipped);
            }
        }
        let documents =
            simhashes.iter().enumerate().map(|(i, &simhash)| with_simhash(&db, i as u64, simhash));
        db.add_batch(documents.collect(), Policy::Everything).unwrap();
        for (number, &centre) in centres.iter().enumerate() {
            let query = with_simhash(&db, 1_000_000 + number as u64, centre).sketch;
            let by = Some(Measure::Hamming(hamming));
            let answer = db.query(&query, &Query { by, ..Query::default() }).unwrap();
            let mut found: Vec<u64> = answer.matches.iter().map(|m| m.key.parse().unwrap()).collect();
            found.sort_unstable();
            let near = |other: u64| (other ^ centre).count_ones() <= hamming;
            let expected: Vec<u64> =
                (0..simhashes.len() as u64).filter(|&i| near(simhashes[i as usize])).collect();
            assert_eq!(found, expected, "distance {hamming}, {hamming_tables} tables");
            assert!(
                answer.matches.iter().any(|m| m.hamming == Some(hamming)),
                "one at the greatest distance"
            );
            assert!(answer.matches.windows(2).all(|pair| pair[0].hamming <= pair[1].hamming), "best first");
        }
    }
}

#[test]
fn distances_beyond_the_tables_are_answered_with_the_recall_to_expect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tables.sketchdb");
    Database::create(&path, &Params::default()).unwrap();
    let db = Database::open(&path, Options::default()).unwrap();
    let recall = |distance| {
        let query = Query { by: Some(Measure::Hamming(distance)), ..Query::default() };
        db.query(&db.sketch("some text").unwrap(), &query).unwrap().expected_recall
    };
    assert_eq!(recall(3), None);
    // Six bits thrown on four blocks of 16 leave a block untouched with probability
    // (4·C(48,6) - 6·C(32,6) + 4·C(16,6)) / C(64,6) = .583; four standard errors of 2,000 draws are .044.
    assert!((recall(6).unwrap() - 0.583).abs() < 0.044, "{:?}", recall(6));
    assert!(recall(20).unwrap() < 0.05);
}
