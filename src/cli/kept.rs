//! Lines that are handed on as they came: in memory, or in a temporary file when they are too long for it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// What a line in a file counts for where lines in memory are counted: files may not be open without end.
const SPILLED: usize = 1 << 18;
/// A line of a spool that is longer than this is not read into memory.
const MOST_HELD: u64 = 16 << 20;

/// A line as it came, without the line feed.
pub enum Kept {
    Held(Vec<u8>),
    Spilled(Spilled),
}

/// A line that is a part of a file.
pub struct Spilled {
    file: Arc<File>,
    at: u64,
    len: u64,
    /// Where the object that the line holds ends: before its closing brace.
    end: u64,
}

impl Kept {
    pub fn weight(&self) -> usize {
        match self {
            Kept::Held(line) => line.len(),
            Kept::Spilled(_) => SPILLED,
        }
    }

    fn len(&self) -> u64 {
        match self {
            Kept::Held(line) => line.len() as u64,
            Kept::Spilled(line) => line.len,
        }
    }

    /// Where the object ends.
    fn end(&self) -> u64 {
        match self {
            Kept::Held(line) => line.iter().rposition(|&byte| byte == b'}').unwrap_or(line.len()) as u64,
            Kept::Spilled(line) => line.end,
        }
    }

    fn copy(&self, from: u64, to: u64, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Kept::Held(line) => out.write_all(&line[from as usize..to as usize]),
            Kept::Spilled(line) => {
                let mut part = Part { file: &line.file, at: line.at + from, end: line.at + to };
                io::copy(&mut BufReader::with_capacity(1 << 16, &mut part), out).map(|_| ())
            }
        }
    }

    /// Writes the line as it came.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.copy(0, self.len(), out)
    }

    /// Writes the line with more fields at the end of its object.
    pub fn write_with(&self, fields: &[u8], out: &mut dyn Write) -> io::Result<()> {
        self.copy(0, self.end(), out)?;
        out.write_all(fields)?;
        self.copy(self.end(), self.len(), out)
    }
}

/// A part of a file, read without moving where others read it.
struct Part<'f> {
    file: &'f File,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min((self.end - self.at) as usize);
        let n = self.file.read_at(&mut into[..most], self.at)?;
        self.at += n as u64;
        match n {
            0 if most > 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            n => Ok(n),
        }
    }
}

/// A line that is kept in a file while it is read.
pub struct Spilling<R> {
    line: R,
    file: io::Result<File>,
    len: u64,
    end: u64,
}

impl<R: Read> Spilling<R> {
    pub fn new(line: R) -> Self {
        Spilling { line, file: tempfile::tempfile(), len: 0, end: 0 }
    }

    /// All of the line that was read.
    pub fn kept(self) -> io::Result<Kept> {
        let Spilling { file, len, end, .. } = self;
        Ok(Kept::Spilled(Spilled { file: Arc::new(file?), at: 0, len, end }))
    }
}

impl<R: Read> Read for Spilling<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.line.read(into)?;
        if let Some(brace) = into[..n].iter().rposition(|&byte| byte == b'}') {
            self.end = self.len + brace as u64;
        }
        self.len += n as u64;
        if let Ok(file) = &mut self.file
            && let Err(error) = file.write_all(&into[..n])
        {
            self.file = Err(error);
        }
        Ok(n)
    }
}

/// Lines that wait in a temporary file.
pub struct Spool {
    writer: BufWriter<File>,
}

impl Spool {
    pub fn new() -> io::Result<Self> {
        Ok(Spool { writer: BufWriter::with_capacity(1 << 16, tempfile::tempfile()?) })
    }

    pub fn push(&mut self, line: &Kept) -> io::Result<()> {
        self.writer.write_all(&line.len().to_le_bytes())?;
        self.writer.write_all(&line.end().to_le_bytes())?;
        line.write(&mut self.writer)
    }

    /// The lines from the first one on.
    pub fn rewound(self) -> io::Result<Spooled> {
        let mut file = self.writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let reader = BufReader::with_capacity(1 << 16, file.try_clone()?);
        Ok(Spooled { file: Arc::new(file), reader, at: 0 })
    }
}

/// A spool that is read.
pub struct Spooled {
    file: Arc<File>,
    reader: BufReader<File>,
    at: u64,
}

impl Spooled {
    pub fn next(&mut self) -> io::Result<Kept> {
        let [len, end] = [self.number()?, self.number()?];
        let at = self.at;
        self.at += len;
        if len <= MOST_HELD {
            let mut line = vec![0; len as usize];
            self.reader.read_exact(&mut line)?;
            return Ok(Kept::Held(line));
        }
        self.reader.seek_relative(len as i64)?;
        Ok(Kept::Spilled(Spilled { file: self.file.clone(), at, len, end }))
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.reader.read_exact(&mut bytes)?;
        self.at += 8;
        Ok(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(line: &Kept) -> [String; 2] {
        let (mut plain, mut with) = (Vec::new(), Vec::new());
        line.write(&mut plain).unwrap();
        line.write_with(b",\"b\":1", &mut with).unwrap();
        [plain, with].map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn lines_come_out_as_they_came_wherever_they_were() {
        let short = "{\"a\":\"}x\"} ".to_owned();
        let long = format!("{{\"a\":\"}}{}\"}} ", "x".repeat(MOST_HELD as usize + 100));
        let mut spool = Spool::new().unwrap();
        for text in [&short, &long, &short] {
            let mut spilling = Spilling::new(text.as_bytes());
            io::copy(&mut spilling, &mut io::sink()).unwrap();
            let spilled = spilling.kept().unwrap();
            let held = Kept::Held(text.clone().into_bytes());
            let expected = [text.clone(), text.replace("} ", ",\"b\":1} ")];
            for line in [&held, &spilled] {
                assert_eq!(written(line), expected);
                spool.push(line).unwrap();
            }
        }
        let mut spooled = spool.rewound().unwrap();
        for text in [&short, &short, &long, &long, &short, &short] {
            let line = spooled.next().unwrap();
            assert_eq!(matches!(line, Kept::Held(_)), text == &short);
            assert_eq!(written(&line)[0], *text);
        }
    }
}
