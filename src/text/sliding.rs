//! The windows of w tokens of a text that comes in parts.

/// The sliding window over one text's tokens. A text of 1 … w-1 tokens has one window, all of it; a text without tokens none.
#[derive(Clone, Debug)]
pub(crate) struct Sliding {
    width: usize,
    /// The last tokens, at most w-1.
    last: Vec<u64>,
    /// Whether a window was full.
    full: bool,
}

impl Sliding {
    pub fn new(width: u32) -> Self {
        Sliding { width: width as usize, last: Vec::new(), full: false }
    }

    /// Tokens in a window.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Takes the next tokens. `each` is called with tokens of which all windows are to be taken, in their order.
    pub fn push(&mut self, tokens: &[u64], mut each: impl FnMut(&[u64])) {
        let most = self.width - 1;
        if !self.last.is_empty() {
            // Windows that begin before these tokens.
            self.last.extend_from_slice(&tokens[..tokens.len().min(most)]);
            if self.last.len() > most {
                each(&self.last);
                self.full = true;
            }
        }
        if tokens.len() > most {
            each(tokens);
            self.full = true;
        }
        match tokens.len().checked_sub(most) {
            Some(before) => {
                self.last.clear();
                self.last.extend_from_slice(&tokens[before..]);
            }
            None if self.last.is_empty() => self.last.extend_from_slice(tokens),
            None => {
                self.last.drain(..self.last.len().saturating_sub(most));
            }
        }
    }

    /// What `of` makes of the tokens of a text that ended before the window was full; then ready for the next text.
    pub fn finish<T>(&mut self, of: impl FnOnce(&[u64]) -> T) -> Option<T> {
        let short = !self.full && !self.last.is_empty();
        let last = short.then(|| of(&self.last));
        self.last.clear();
        self.full = false;
        last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_comes_once_however_the_text_is_cut() {
        for width in 1..=6 {
            for length in 0..20 {
                let tokens: Vec<u64> = (1..=length).collect();
                let all: Vec<Vec<u64>> = tokens.windows(width as usize).map(<[u64]>::to_vec).collect();
                for part in 1..=9 {
                    let (mut sliding, mut found) = (Sliding::new(width), Vec::new());
                    for part in tokens.chunks(part) {
                        sliding.push(part, |tokens| {
                            found.extend(tokens.windows(width as usize).map(<[u64]>::to_vec));
                        });
                    }
                    assert_eq!(found, all, "{width} of {length} in parts of {part}");
                    let short = (1..u64::from(width)).contains(&length).then(|| tokens.clone());
                    assert_eq!(sliding.finish(<[u64]>::to_vec), short);
                    assert_eq!(sliding.finish(<[u64]>::to_vec), None);
                }
            }
        }
    }
}
