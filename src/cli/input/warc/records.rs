//! The records of an archive (ISO 28500, WARC 1.0 and 1.1), one after the other, each with its head and its block.
//!
//! A record ends well when two line ends follow its block, or fewer and then another record, or nothing. One that does not is damaged:
//! the next record is looked for from the beginning of its block on.

use super::buffered::Buffered;
use super::head::Head;
use super::members::Members;
use std::io::{self, BufRead, Read};

/// Bytes of a head.
const MOST_HEAD: usize = 1 << 18;
/// How every record begins.
const MAGIC: &[u8] = b"WARC/";
/// How records begin that are looked for.
const VERSIONS: &[&[u8]] = &[b"WARC/1.0\r", b"WARC/1.1\r", b"WARC/1.0\n", b"WARC/1.1\n"];
/// How every record ends.
const END: &[u8] = b"\r\n\r\n";

/// Records of a file, compressed or not.
pub struct Records<R: Read> {
    reader: Buffered<Members<R>>,
}

/// What stands next in a file.
pub enum Next {
    Record {
        head: Head,
        at: u64,
    },
    /// Something that is no record: where, and why. What follows may be records.
    Damaged {
        what: String,
        at: u64,
    },
    End,
}

impl<R: Read> Records<R> {
    pub fn new(file: R) -> io::Result<Self> {
        Ok(Records { reader: Buffered::new(Members::new(file)?) })
    }

    /// Bytes of the unpacked file that were passed.
    pub fn position(&self) -> u64 {
        self.reader.position()
    }

    /// The head of the next record; its block must be read or given up next.
    pub fn next(&mut self) -> io::Result<Next> {
        skip_blank(&mut self.reader)?;
        let at = self.position();
        if self.reader.peek(1)?.is_empty() {
            return Ok(Next::End);
        }
        let lines = self.head_lines()?;
        Ok(match Head::parse(&lines) {
            Ok(head) => Next::Record { head, at },
            Err(what) => Next::Damaged { what, at },
        })
    }

    /// The block of a record with this head.
    pub fn block(&mut self, head: &Head) -> Block<'_, R> {
        Block { left: head.length, ended: false, reader: &mut self.reader }
    }

    /// Takes back what was read last.
    pub fn take_back(&mut self, bytes: Vec<u8>) {
        self.reader.take_back(bytes);
    }

    /// Whether the next byte has to be waited for.
    pub fn is_drained(&self) -> bool {
        self.reader.is_drained()
    }

    /// Whether the last error was of a member, which [`recover`](Self::recover) leaves behind.
    pub fn has_failed_member(&mut self) -> bool {
        self.reader.inner_mut().failed()
    }

    /// After damage, goes to the next record: whether there is one. It fails when there is damage on the way.
    pub fn recover(&mut self) -> io::Result<bool> {
        if !self.has_failed_member() {
            return self.reader.skip_to(VERSIONS);
        }
        // What was read of the member before it failed may hold records.
        if self.reader.skip_within(VERSIONS) {
            return Ok(true);
        }
        loop {
            if !self.reader.inner_mut().recover()? {
                return Ok(false);
            }
            self.reader.forget();
            match self.reader.peek(MAGIC.len()).map(|start| start == MAGIC) {
                Ok(true) => return Ok(true),
                Ok(false) => return self.reader.skip_to(VERSIONS),
                // It only looked like a member.
                Err(_) if self.has_failed_member() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The lines up to the first blank one, without line feeds; all that there are when none is blank.
    fn head_lines(&mut self) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        loop {
            let began = head.len();
            let room = (MOST_HEAD - began) as u64;
            self.reader.by_ref().take(room).read_until(b'\n', &mut head)?;
            let line = &head[began..];
            let first = began == 0 && !line.starts_with(MAGIC);
            if first || line.trim_ascii().is_empty() || head.len() == MOST_HEAD {
                return Ok(head);
            }
        }
    }
}

fn skip_blank(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = reader.fill_buf()?;
        let blank = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if blank == 0 {
            return Ok(());
        }
        reader.consume(blank);
    }
}

/// The block of a record. Reading to its end checks that the record ends well.
pub struct Block<'a, R: Read> {
    reader: &'a mut Buffered<Members<R>>,
    left: u64,
    ended: bool,
}

impl<R: Read> Block<'_, R> {
    /// Passes over the rest.
    pub fn skip(&mut self) -> io::Result<()> {
        loop {
            let n = match self.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                bytes => bytes?.len(),
            };
            if n == 0 {
                return Ok(());
            }
            self.consume(n);
        }
    }

    fn check_end(&mut self) -> io::Result<()> {
        if self.reader.peek(END.len())? == END {
            return Ok(());
        }
        skip_blank(self.reader)?;
        let next = self.reader.peek(MAGIC.len())?;
        match next.is_empty() || next == MAGIC {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no record begins where this one ends: its Content-Length is wrong, or it is damaged",
            )),
        }
    }
}

impl<R: Read> BufRead for Block<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            if !std::mem::replace(&mut self.ended, true) {
                self.check_end()?;
            }
            return Ok(&[]);
        }
        if self.reader.peek(1)?.is_empty() {
            let what = format!("the record is cut: {} bytes are missing", self.left);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        let bytes = self.reader.fill_buf()?;
        Ok(&bytes[..bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX))])
    }

    fn consume(&mut self, n: usize) {
        self.reader.consume(n);
        self.left -= n as u64;
    }
}

impl<R: Read> Read for Block<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        self.consume(n);
        Ok(n)
    }
}
