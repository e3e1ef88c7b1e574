//! Texts that are made up: words of syllables, drawn from a seed.

use super::rng::Rng;

/// A seeded sequence of numbers, and choices by them.
#[derive(Clone, Debug)]
pub struct Draw(Rng);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(Rng(seed))
    }

    pub fn number(&mut self) -> u64 {
        self.0.next()
    }

    pub fn below(&mut self, end: usize) -> usize {
        self.0.below(end)
    }

    /// True in so many of a hundred draws.
    pub fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    /// A member of a list that is not empty.
    pub fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

const SYLLABLES: [&str; 16] =
    ["ba", "co", "di", "fu", "ga", "hel", "im", "jo", "ku", "lan", "mer", "no", "pri", "ros", "ta", "ve"];

/// One of some million words.
pub fn word(draw: &mut Draw) -> String {
    (0..5).map(|_| *draw.one_of(&SYLLABLES)).collect()
}

/// So many words.
pub fn text(draw: &mut Draw, words: usize) -> String {
    (0..words).map(|_| word(draw)).collect::<Vec<_>>().join(" ")
}

/// The text with so many of its words replaced by others.
pub fn edited(draw: &mut Draw, text: &str, edits: usize) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for _ in 0..edits {
        let at = draw.below(words.len());
        words[at] = word(draw);
    }
    words.join(" ")
}
