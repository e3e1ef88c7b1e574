//! Texts that are made up: words of syllables, drawn from a seed.

/// A seeded sequence of numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
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
