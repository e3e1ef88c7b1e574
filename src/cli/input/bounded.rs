//! Lines of which none may be longer than what they are for.

use std::io::{self, BufRead, Read};

/// A line without its end.
pub enum Line {
    Whole(Vec<u8>),
    /// One that was skipped, and how many bytes it had.
    TooLong(u64),
}

impl Line {
    /// The bytes of the line, or what is wrong with it.
    pub fn whole(self, most: usize) -> Result<Vec<u8>, String> {
        match self {
            Line::Whole(bytes) => Ok(bytes),
            Line::TooLong(bytes) => Err(format!("a line of {bytes} bytes: it may have {most}")),
        }
    }
}

/// The lines of a reader, each of at most so many bytes.
pub fn bounded_lines(mut reader: impl BufRead, most: usize) -> impl Iterator<Item = io::Result<Line>> {
    std::iter::from_fn(move || next(&mut reader, most).transpose())
}

fn next(reader: &mut impl BufRead, most: usize) -> io::Result<Option<Line>> {
    let mut bytes = Vec::new();
    // One byte more for the line feed.
    let read = reader.by_ref().take(most as u64 + 1).read_until(b'\n', &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    if bytes.pop_if(|byte| *byte == b'\n').is_none() && read > most {
        let more = skip(reader)?;
        return Ok(Some(Line::TooLong(read as u64 + more)));
    }
    bytes.pop_if(|byte| *byte == b'\r');
    Ok(Some(Line::Whole(bytes)))
}

/// Skips the rest of a line: how many bytes it had.
fn skip(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let bytes = reader.fill_buf()?;
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(bytes.len(), |end| end + 1);
        let ended = end.is_some() || used == 0;
        reader.consume(used);
        skipped += (used - usize::from(end.is_some())) as u64;
        if ended {
            return Ok(skipped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_line_feeds_and_long_ones_are_counted() {
        let text = b"one\r\n\nfour\nfives\nabcdefghij\nlast6789";
        let found: Vec<Result<String, u64>> = bounded_lines(io::BufReader::with_capacity(3, &text[..]), 5)
            .map(|line| match line.unwrap() {
                Line::Whole(bytes) => Ok(String::from_utf8(bytes).unwrap()),
                Line::TooLong(length) => Err(length),
            })
            .collect();
        let whole = |text: &str| Ok(text.to_owned());
        assert_eq!(found, [whole("one"), whole(""), whole("four"), whole("fives"), Err(10), Err(8)]);
    }
}
