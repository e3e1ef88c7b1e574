//! What is too long to hold, a line or all of stdin: its bytes pass from the thread that walks to the one that sketches,
//! a chunk at a time.

use crossbeam_channel::{Receiver, Sender, bounded, select};
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
    /// Hangs up when nobody wants the rest: it may never come.
    stopped: Receiver<()>,
}

/// Where the bytes of a line are put while somebody wants them.
pub struct Rest(Sender<io::Result<Vec<u8>>>);

impl Long {
    /// A line of which this is the beginning.
    pub fn new(beginning: Vec<u8>, stopped: Receiver<()>) -> (Long, Rest) {
        let (rest, more) = bounded(WAITING);
        (Long { chunk: beginning, read: 0, more, stopped }, Rest(rest))
    }

    /// Bytes in memory, at most.
    pub fn held(&self) -> usize {
        self.chunk.len() + HELD
    }
}

impl Read for Long {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read == self.chunk.len() {
            let more = select! {
                recv(self.more) -> more => more,
                recv(self.stopped) -> _ => return Err(io::Error::other("the command has ended")),
            };
            match more {
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
    /// Passes on the rest of the line that the reader is in; what nobody wants is skipped. False when it could not be
    /// read to its end and whoever reads it knows; the error when nobody does.
    pub fn pass_line(self, reader: &mut impl BufRead, read: &dyn Fn(u64)) -> io::Result<bool> {
        self.pass(reader, Some(b'\n'), read)
    }

    /// Passes on everything that the reader has.
    pub fn pass_all(self, reader: &mut impl BufRead, read: &dyn Fn(u64)) -> io::Result<bool> {
        self.pass(reader, None, read)
    }

    fn pass(self, reader: &mut impl BufRead, end: Option<u8>, read: &dyn Fn(u64)) -> io::Result<bool> {
        let mut wanted = true;
        loop {
            let bytes = match reader.fill_buf() {
                Ok(bytes) => &bytes[..bytes.len().min(CHUNK)],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return self.0.send(Err(error)).map(|()| false).or_else(|unsent| unsent.0.map(|_| false));
                }
            };
            let at = end.and_then(|end| bytes.iter().position(|byte| *byte == end));
            let part = &bytes[..at.unwrap_or(bytes.len())];
            wanted = wanted && (part.is_empty() || self.0.send(Ok(part.to_vec())).is_ok());
            let used = part.len() + usize::from(at.is_some());
            let ended = at.is_some() || used == 0;
            reader.consume(used);
            read(used as u64);
            if ended || (!wanted && end.is_none()) {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// A reader that fails after these bytes.
    struct Cut(&'static [u8]);

    impl Read for Cut {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match self.0.read(into)? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                n => Ok(n),
            }
        }
    }

    #[test]
    fn a_line_comes_as_it_is_and_the_next_one_stays() {
        let line = vec![b'x'; 3 * CHUNK + 17];
        let text = [&line[..], b"\nnext"].concat();
        let mut reader = &text[1000..];
        let (_going_on, stopped) = bounded(0);
        let (mut long, rest) = Long::new(text[..1000].to_vec(), stopped);
        let mut came = Vec::new();
        let read = std::thread::scope(|scope| {
            let passing = scope.spawn(|| {
                let read = Cell::new(0);
                assert!(rest.pass_line(&mut reader, &|n| read.set(read.get() + n)).unwrap());
                read.get()
            });
            long.read_to_end(&mut came).unwrap();
            passing.join().unwrap()
        });
        assert_eq!((came, read, reader), (line, (text.len() - 1004) as u64, &b"next"[..]));
    }

    #[test]
    fn a_line_that_nobody_wants_is_skipped() {
        let text = [&vec![b'x'; 9 * CHUNK][..], b"\nnext"].concat();
        let mut reader = &text[..];
        let (_going_on, stopped) = bounded(0);
        let (long, rest) = Long::new(Vec::new(), stopped);
        drop(long);
        let read = Cell::new(0);
        assert!(rest.pass_line(&mut reader, &|n| read.set(read.get() + n)).unwrap());
        assert_eq!((read.get(), reader), (text.len() as u64 - 4, &b"next"[..]));
    }

    #[test]
    fn a_line_that_fails_is_told_once() {
        let (_going_on, stopped) = bounded(0);
        let (mut long, rest) = Long::new(Vec::new(), stopped.clone());
        assert!(!rest.pass_line(&mut io::BufReader::new(Cut(b"ab")), &|_| ()).unwrap());
        let mut came = Vec::new();
        assert_eq!(long.read_to_end(&mut came).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(came, b"ab");
        let (long, rest) = Long::new(Vec::new(), stopped);
        drop(long);
        rest.pass_line(&mut io::BufReader::new(Cut(b"ab")), &|_| ()).unwrap_err();
    }

    #[test]
    fn who_waits_for_a_line_is_told_when_nobody_wants_it() {
        let (going_on, stopped) = bounded(0);
        let (mut long, _rest) = Long::new(b"ab".to_vec(), stopped);
        drop(going_on);
        let mut came = Vec::new();
        long.read_to_end(&mut came).unwrap_err();
        assert_eq!(came, b"ab");
    }
}
