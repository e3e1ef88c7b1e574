//! A buffered reader that knows where it is, looks ahead, and takes back what it gave.

use std::io::{self, BufRead, Read};

const PIECE: usize = 1 << 16;

/// Reads in pieces of 64 KB.
pub struct Buffered<R> {
    inner: R,
    bytes: Vec<u8>,
    at: usize,
    position: u64,
}

impl<R: Read> Buffered<R> {
    pub fn new(inner: R) -> Self {
        Buffered { inner, bytes: Vec::new(), at: 0, position: 0 }
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

    /// Drops what was read and not consumed.
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

    /// Skips what comes before the next occurrence of one of these, all of one length; false when there is none.
    pub fn skip_to(&mut self, wanted: &[&[u8]]) -> io::Result<bool> {
        let length = wanted.first().map_or(0, |bytes| bytes.len());
        loop {
            let bytes = match self.peek(PIECE) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            let found = bytes.windows(length).position(|window| wanted.contains(&window));
            let ended = bytes.len() < length;
            let passed = if ended { bytes.len() } else { found.unwrap_or(bytes.len() + 1 - length) };
            self.consume(passed);
            match found {
                Some(_) => return Ok(true),
                None if ended => return Ok(false),
                None => {}
            }
        }
    }

    /// Reads a piece more, behind what is held; whether there was any.
    fn more(&mut self) -> io::Result<bool> {
        self.bytes.drain(..self.at);
        self.at = 0;
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
}
