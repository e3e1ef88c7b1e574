//! A buffered reader that knows where it is, looks ahead, and takes back what it gave.

use std::io::{self, BufRead, Read};

const PIECE: usize = 1 << 16;

/// Reads in pieces of 64 KB.
pub struct Buffered<R> {
    inner: R,
    bytes: Vec<u8>,
    at: usize,
    position: u64,
    /// How many of the bytes that were consumed last are kept.
    kept: usize,
}

impl<R: Read> Buffered<R> {
    pub fn new(inner: R) -> Self {
        Buffered { inner, bytes: Vec::new(), at: 0, position: 0, kept: 0 }
    }

    /// Keeps so many of the bytes that were consumed last, to go back to.
    pub fn keeping(self, kept: usize) -> Self {
        Buffered { kept, ..self }
    }

    /// How many bytes were consumed so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn inner_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Whether all that was read was consumed.
    pub fn is_drained(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Drops what was read.
    pub fn forget(&mut self) {
        self.bytes.clear();
        self.at = 0;
    }

    /// The next `n` bytes, fewer at the end.
    pub fn peek(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.bytes.len() - self.at < n && self.more()? {}
        Ok(&self.bytes[self.at..self.bytes.len().min(self.at + n)])
    }

    /// Takes back the last bytes that were consumed.
    pub fn take_back(&mut self, mut bytes: Vec<u8>) {
        self.position -= bytes.len() as u64;
        bytes.extend_from_slice(&self.bytes[self.at..]);
        (self.bytes, self.at) = (bytes, 0);
    }

    /// How far [`back`](Self::back) goes.
    pub fn behind(&self) -> usize {
        self.at.min(self.kept)
    }

    /// Goes back to bytes that were kept.
    pub fn back(&mut self, n: usize) {
        let n = n.min(self.behind());
        self.at -= n;
        self.position -= n as u64;
    }

    /// Skips what comes before the next occurrence of one of these, all of one length; false when there is none. When reading
    /// fails, none is in what was read before.
    pub fn skip_to(&mut self, wanted: &[&[u8]]) -> io::Result<bool> {
        loop {
            if self.skip_within(wanted) {
                return Ok(true);
            }
            match self.more() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(false) => {
                    self.consume(self.bytes.len() - self.at);
                    return Ok(false);
                }
                more => drop(more?),
            }
        }
    }

    /// Skips what comes before the next occurrence of one of these, all of one length, in what was read already; where there is
    /// none, all but what one may begin with.
    pub fn skip_within(&mut self, wanted: &[&[u8]]) -> bool {
        let length = wanted.first().map_or(0, |bytes| bytes.len());
        let bytes = &self.bytes[self.at..];
        let found = bytes.windows(length).position(|window| wanted.contains(&window));
        self.consume(found.unwrap_or((bytes.len() + 1).saturating_sub(length)));
        found.is_some()
    }

    /// Reads a piece more, behind what is held; whether there was any.
    fn more(&mut self) -> io::Result<bool> {
        if self.at >= 2 * self.kept {
            self.bytes.drain(..self.at - self.kept);
            self.at = self.kept;
        }
        let held = self.bytes.len();
        self.bytes.resize(held + PIECE, 0);
        let read = self.inner.read(&mut self.bytes[held..]);
        self.bytes.truncate(held + read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }
}

impl<R: Read> BufRead for Buffered<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.peek(1)?;
        Ok(&self.bytes[self.at..])
    }

    fn consume(&mut self, n: usize) {
        self.at += n;
        self.position += n as u64;
    }
}

impl<R: Read> Read for Buffered<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        self.consume(n);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_comes_again() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut reader = Buffered::new(&text[..]);
        let mut came = vec![0; 300_000];
        reader.read_exact(&mut came).unwrap();
        assert_eq!(reader.position(), 300_000);
        assert_eq!(reader.peek(8).unwrap(), &text[300_000..300_008]);
        reader.take_back(came[100_000..].to_vec());
        assert_eq!(reader.position(), 100_000);
        assert_eq!(reader.peek(100_000).unwrap(), &text[100_000..200_000]);
        let aim = 150_001_u32.to_le_bytes();
        assert!(reader.skip_to(&[&aim]).unwrap());
        assert_eq!(reader.position(), 600_004);
        assert!(!reader.skip_to(&[b"none"]).unwrap());
        assert_eq!(reader.position(), 800_000);
        assert!(reader.peek(1).unwrap().is_empty());
    }

    #[test]
    fn what_is_kept_comes_again() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let mut reader = Buffered::new(&text[..]).keeping(1000);
        let mut came = vec![0; 700_000];
        for _ in 0..5 {
            reader.read_exact(&mut came).unwrap();
            assert_eq!(came, text[..700_000]);
            assert_eq!(reader.behind(), 1000);
            reader.back(5000);
            assert_eq!(reader.position(), 699_000);
            assert_eq!(reader.peek(2000).unwrap(), &text[699_000..701_000]);
            reader = Buffered::new(&text[..]).keeping(1000);
        }
        reader.back(5000);
        assert_eq!((reader.position(), reader.behind()), (0, 0));
    }

    #[test]
    fn what_was_read_before_a_failure_is_searched() {
        struct Failing(&'static [u8]);
        impl Read for Failing {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                match self.0.read(into)? {
                    0 => Err(io::ErrorKind::InvalidData.into()),
                    n => Ok(n),
                }
            }
        }
        let mut reader = Buffered::new(Failing(b"one aim and one aim more"));
        for at in [4, 16] {
            assert!(reader.skip_to(&[b"aim"]).unwrap());
            assert_eq!(reader.position(), at);
            reader.consume(1);
        }
        reader.skip_to(&[b"aim"]).unwrap_err();
        assert_eq!(reader.position(), 22);
    }
}
