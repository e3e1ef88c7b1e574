//! Stdout, which its reader may close early: a reading verb ends then; one that stores goes on and counts what it could not print.

use std::cell::Cell;
use std::io::{self, ErrorKind, StdoutLock, Write};
use std::rc::Rc;

/// Lines that were not printed because stdout was closed; `None` while it is open.
#[derive(Clone, Debug, Default)]
pub struct Unprinted(Rc<Cell<Option<u64>>>);

impl Unprinted {
    /// How many lines.
    pub fn lines(&self) -> Option<u64> {
        self.0.get()
    }
}

/// Unbuffered stdout that takes everything, whether or not anybody reads it.
pub struct Lasting {
    out: StdoutLock<'static>,
    unprinted: Unprinted,
}

impl Lasting {
    pub fn new(unprinted: &Unprinted) -> Self {
        Lasting { out: io::stdout().lock(), unprinted: unprinted.clone() }
    }
}

impl Write for Lasting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Around the buffer of the standard library: what that takes may never be written, and nobody would count it.
        let before = match self.unprinted.lines() {
            Some(lines) => lines,
            None => match rustix::io::write(&self.out, bytes).map_err(io::Error::from) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => 0,
                written => return written,
            },
        };
        let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
        self.unprinted.0.set(Some(before + lines));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
