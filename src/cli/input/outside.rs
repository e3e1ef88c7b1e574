//! Which bytes of JSON stand outside its strings, where blanks mean nothing.

/// Goes through JSON byte by byte.
#[derive(Default)]
pub struct Outside {
    within: bool,
    escaped: bool,
}

impl Outside {
    /// Whether the next byte stands outside all strings.
    pub fn next(&mut self, byte: u8) -> bool {
        let before = self.within;
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.within => self.escaped = true,
            b'"' => self.within = !self.within,
            _ => {}
        }
        !before
    }
}

/// What JSON takes for a blank.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_where_their_quotes_are() {
        let mut outside = Outside::default();
        let json = br#"{"a\"b\\": " c "}"#;
        let found: Vec<u8> = json.iter().copied().filter(|&byte| outside.next(byte)).collect();
        assert_eq!(found, br#"{": "}"#);
    }
}
