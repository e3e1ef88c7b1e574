//! What goes to stdout: data only, as JSON lines or as text for people.

use crate::args::Common;
use crate::compressed::Writer;
use crate::exit::Stop;
use crate::interrupt::Interrupt;
use crate::say::say;
use crate::stdout::{Lasting, Unprinted};
use serde::Serialize;
use sketchdb::{AtomicFile, Error, Interval};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// Buffered stdout.
pub struct Output {
    out: BufWriter<Box<dyn Write>>,
    unprinted: Unprinted,
}

impl Output {
    /// Of a verb that reads: it ends when stdout is closed.
    pub fn new() -> Self {
        Self::of(Box::new(io::stdout().lock()), Unprinted::default())
    }

    /// Of a verb that stores: it goes on when stdout is closed.
    pub fn of_storing() -> Self {
        let unprinted = Unprinted::default();
        Self::of(Box::new(Lasting::new(&unprinted)), unprinted)
    }

    fn of(out: Box<dyn Write>, unprinted: Unprinted) -> Self {
        Output { out: BufWriter::with_capacity(1 << 16, out), unprinted }
    }

    /// Lines that were not printed because stdout was closed; `None` while it is open.
    pub fn unprinted(&self) -> Option<u64> {
        self.unprinted.lines()
    }

    /// Ends the output of a verb that has stored everything before it prints.
    pub fn finish(mut self, common: &Common) -> Result<(), Stop> {
        self.flush()?;
        if self.unprinted().is_some() && !common.quiet {
            say("sketchdb: stdout was closed: the result was not printed; everything is stored");
        }
        Ok(())
    }

    /// One JSON object on a line.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// Text as it is.
    pub fn text(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// A JSON value within a line.
    pub fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        Ok(serde_json::to_writer(&mut self.out, value)?)
    }

    /// One line for people.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{}", line.trim_end())
    }

    /// Makes everything so far visible to whoever reads.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Where lines go: stdout, or a file that is there under its name when all of it is, packed as that says.
pub struct Target {
    out: Writer<BufWriter<Box<dyn Write>>>,
    file: Option<(AtomicFile, PathBuf)>,
}

impl Target {
    /// A file, or stdout. What is no plain file, as a pipe, is written to at once.
    pub fn new(path: Option<&Path>, interrupt: &Interrupt) -> Result<Self, Error> {
        let Some(path) = path else {
            return Ok(Target { out: Writer::Plain(buffered(io::stdout().lock())), file: None });
        };
        let failed = |source| Error::Io { doing: format!("write {}", path.display()), source };
        let packed = |out| Writer::new(path, out).map_err(failed);
        if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            let opened = interrupt.open(path, OpenOptions::new().write(true));
            interrupt.check()?;
            let opened = opened.map_err(failed)?;
            return Ok(Target { out: packed(buffered(opened))?, file: None });
        }
        let file = AtomicFile::for_place(path)?;
        Ok(Target { out: packed(buffered(file.reopen()?))?, file: Some((file, path.to_owned())) })
    }

    /// Stdout, which may be closed: then lines are counted that could not be printed.
    pub fn lasting(unprinted: &Unprinted) -> Self {
        Target { out: Writer::Plain(buffered(Lasting::new(unprinted))), file: None }
    }

    /// A line, which is what `write` writes.
    pub fn line(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Stop> {
        let written = write(&mut self.out).and_then(|()| self.out.write_all(b"\n"));
        written.map_err(|error| self.stop(error))
    }

    /// Makes what is not packed visible to whoever reads.
    pub fn flush(&mut self) -> Result<(), Stop> {
        self.out.flush().map_err(|error| self.stop(error))
    }

    /// Ends the file and puts it on the disk: no line may follow.
    pub fn settle(&mut self) -> Result<(), Stop> {
        self.out.finish().map_err(|error| self.stop(error))?;
        Ok(self.file.as_ref().map_or(Ok(()), |(file, _)| file.sync())?)
    }

    /// Makes everything be there. What a link points at is replaced, not the link, and keeps its permissions.
    pub fn finish(mut self) -> Result<(), Stop> {
        self.out.finish().map_err(|error| self.stop(error))?;
        Ok(self.file.map_or(Ok(()), |(file, _)| file.replace())?)
    }

    fn stop(&self, source: io::Error) -> Stop {
        match &self.file {
            Some((_, path)) => Stop::Failed(Error::Io { doing: format!("write {}", path.display()), source }),
            None => Stop::Output(source),
        }
    }
}

fn buffered(out: impl Write + 'static) -> BufWriter<Box<dyn Write>> {
    BufWriter::with_capacity(1 << 16, Box::new(out))
}

/// Seconds since 1970 as RFC 3339.
pub fn rfc3339(seconds: u64) -> String {
    // The formatter knows times up to the year 9999.
    let last = 253_402_300_799;
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds.min(last))).to_string()
}

/// A share with six decimals: plain, and more than any estimate is worth.
pub fn rounded(share: Option<f64>) -> Option<f64> {
    share.map(|share| (share * 1e6).round() / 1e6)
}

/// The ends of an interval, as [`rounded`].
pub fn low(interval: Option<Interval>) -> Option<f64> {
    rounded(interval.map(|interval| interval.low))
}

pub fn high(interval: Option<Interval>) -> Option<f64> {
    rounded(interval.map(|interval| interval.high))
}

/// A share for people: three decimals, or a dash.
pub fn short(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{share:.3}"))
}

/// Bytes for people.
pub fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}
