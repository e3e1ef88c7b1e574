//! SIGINT and SIGTERM. A verb that stores notes the first and ends in order: it commits, closes, and says how far it came.
//! The second ends it at once, as the first does any other verb.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use sketchdb::{Cancel, Error};
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// What is added to the number of a signal to make an exit code.
const SIGNALLED: i32 = 128;
/// How long a read waits before it looks for a signal again. One that comes during the wait ends it.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// How long opening a file waits before it looks for a signal.
const OPEN_LOOK_EVERY: Duration = Duration::from_millis(100);

/// Has a write beyond the limit of file sizes fail, as on a full disk, where it would end the process.
pub fn let_writes_fail() -> io::Result<()> {
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Whether a signal has come, and which.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    raised: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Notes the first signal; a second ends the process.
    pub fn note(&self) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, SIGNALLED + signal, self.raised.clone())?;
            flag::register_usize(signal, self.signal.clone(), signal as usize)?;
            flag::register(signal, self.raised.clone())?;
        }
        Ok(())
    }

    /// Ends the process with the first signal.
    pub fn end_at_once(&self) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, SIGNALLED + signal, Arc::new(AtomicBool::new(true)))?;
        }
        Ok(())
    }

    /// What the library is cancelled by.
    pub fn cancel(&self) -> Cancel {
        self.raised.clone().into()
    }

    /// An error once a signal has come.
    pub fn check(&self) -> Result<(), Error> {
        if self.raised.load(Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// The exit code of a verb that a signal ended.
    pub fn code(&self) -> u8 {
        let signal = self.signal.load(Relaxed);
        u8::try_from(SIGNALLED as usize + signal).unwrap_or(u8::MAX)
    }

    /// What may be long in coming: a read fails once a signal has come, and until then waits.
    pub fn awaited<F: AsFd>(&self, file: F) -> impl Read + use<F> {
        Awaited { file, interrupt: self.clone() }
    }

    /// Opens a file that may be a pipe with nobody at its other end yet; fails once a signal has come.
    pub fn open(&self, path: &Path, options: &OpenOptions) -> io::Result<File> {
        let (sender, receiver) = sync_channel(1);
        let (path, options) = (path.to_owned(), options.clone());
        // It may wait for ever: then it ends with the process.
        Builder::new().name("open".into()).spawn(move || sender.send(options.open(path)))?;
        loop {
            match receiver.recv_timeout(OPEN_LOOK_EVERY) {
                Ok(opened) => return opened,
                Err(RecvTimeoutError::Timeout) => self.check().map_err(io::Error::other)?,
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}

struct Awaited<F> {
    file: F,
    interrupt: Interrupt,
}

impl<F: AsFd> Read for Awaited<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            self.interrupt.check().map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&LOOK_EVERY)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(rustix::io::read(&self.file, &mut *into)?),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
