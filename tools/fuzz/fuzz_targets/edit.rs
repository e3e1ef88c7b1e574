//! The edit distance of bit strings, 64 cells at a time, against the plain table of all cells; alignments that reach it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sketchdb::fuzzing::{alignment, distances};
use sketchdb_fuzz::{Input, within};

/// The definition: between the whole strings, and of the first within the second.
fn definition(first: &[bool], second: &[bool]) -> [usize; 2] {
    [true, false].map(|whole| {
        let mut table = vec![vec![0; second.len() + 1]; first.len() + 1];
        for (row, cells) in table.iter_mut().enumerate() {
            cells[0] = row;
        }
        for column in 0..=second.len() {
            table[0][column] = if whole { column } else { 0 };
        }
        for row in 1..=first.len() {
            for column in 1..=second.len() {
                let other = usize::from(first[row - 1] != second[column - 1]);
                let (left, above) = (table[row][column - 1] + 1, table[row - 1][column] + 1);
                table[row][column] = (table[row - 1][column - 1] + other).min(left).min(above);
            }
        }
        match whole {
            true => table[first.len()][second.len()],
            false => *table[first.len()].iter().min().unwrap(),
        }
    })
}

fuzz_target!(|input: &[u8]| {
    let mut input = Input(input);
    let (cut, drop) = (input.below(320), input.byte() % 8);
    let mut bits: Vec<bool> =
        input.0.iter().take(40).flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1)).collect();
    bits.truncate(bits.len().saturating_sub(usize::from(drop)));
    let (first, second) = bits.split_at(cut.min(bits.len()));
    let (found, steps) = within(4 << 20, || (distances(first, second), alignment(first, second)));
    assert_eq!(found, definition(first, second));
    assert_eq!(distances(second, first)[0], found[0]);
    let (mut a, mut b) = (first.iter(), second.iter());
    for step in steps.chars() {
        match step {
            'm' => assert_eq!(a.next().unwrap(), b.next().unwrap()),
            's' => assert_ne!(a.next().unwrap(), b.next().unwrap()),
            'd' => drop_one(&mut a),
            _ => drop_one(&mut b),
        }
    }
    assert!(a.next().is_none() && b.next().is_none(), "an alignment leaves bits out");
    assert_eq!(steps.chars().filter(|&step| step != 'm').count(), found[0]);
});

fn drop_one<'b>(bits: &mut impl Iterator<Item = &'b bool>) {
    assert!(bits.next().is_some());
}
