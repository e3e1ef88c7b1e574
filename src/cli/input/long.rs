//! A line too long to hold: its bytes pass from the thread that walks to the one that sketches, a chunk at a time.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::io::{self, BufRead, Read};

/// Chunks that wait to be taken.
const WAITING: usize = 4;
/// The most bytes of a chunk.
const CHUNK: usize = 1 << 18;
/// The most bytes that a long line keeps in memory besides its beginning.
pub const HELD: usize = (WAITING + 2) * CHUNK;

/// The bytes of a line as they come, without the line feed.
pub struct Long {
    chunk: Vec<u8>,
    read: usize,
    more: Receiver<io::Result<Vec<u8>>>,
}

/// Where the bytes of a line are put while somebody wants them.
pub struct Rest(Sender<io::Result<Vec<u8>>>);

impl Long {
    /// A line of which this is the beginning.
    pub fn new(beginning: Vec<u8>) -> (Long, Rest) {
        let (rest, more) = bounded(WAITING);
        (Long { chunk: beginning, read: 0, more }, Rest(rest))
    }

    /// Bytes in memory, at most.
    pub fn held(&self) -> usize {
        self.chunk.len() + HELD
    }
}

impl Read for Long {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read == self.chunk.len() {
            match self.more.recv() {
                Ok(chunk) => (self.chunk, self.read) = (chunk?, 0),
                Err(_) => return Ok(0),
            }
        }
        let n = (&self.chunk[self.read..]).read(into)?;
        self.read += n;
        Ok(n)
    }
}

impl Rest {
    /// Passes on the rest of the line that the reader is in; how many bytes were read. What nobody wants is skipped.
    pub fn pass(self, reader: &mut impl BufRead) -> u64 {
        let mut all = 0;
        loop {
            let mut chunk = Vec::new();
            let read = reader.by_ref().take(CHUNK as u64).read_until(b'\n', &mut chunk);
            let ended = match read {
                Ok(n) => {
                    all += n as u64;
                    chunk.pop_if(|byte| *byte == b'\n').is_some() || n == 0
                }
                Err(_) => true,
            };
            if self.0.send(read.map(|_| chunk)).is_err() && !ended {
                return all + reader.skip_until(b'\n').unwrap_or(0) as u64;
            }
            if ended {
                return all;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_as_it_is_and_the_next_one_stays() {
        let line = vec![b'x'; 3 * CHUNK + 17];
        let text = [&line[..], b"\nnext"].concat();
        let mut reader = &text[1000..];
        let (mut long, rest) = Long::new(text[..1000].to_vec());
        let mut came = Vec::new();
        let read = std::thread::scope(|scope| {
            let passing = scope.spawn(|| rest.pass(&mut reader));
            long.read_to_end(&mut came).unwrap();
            passing.join().unwrap()
        });
        assert_eq!((came, read, reader), (line, (text.len() - 1004) as u64, &b"next"[..]));
    }

    #[test]
    fn a_line_that_nobody_wants_is_skipped() {
        let text = [&vec![b'x'; 9 * CHUNK][..], b"\nnext"].concat();
        let mut reader = &text[..];
        let (long, rest) = Long::new(Vec::new());
        drop(long);
        assert_eq!(rest.pass(&mut reader), text.len() as u64 - 4);
        assert_eq!(reader, b"next");
    }
}
