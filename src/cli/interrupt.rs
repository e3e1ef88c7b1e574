//! SIGINT and SIGTERM. A verb that stores notes the first and ends in order: it commits, closes, and says how far it came.
//! The second ends it at once, as the first does any other verb.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use sketchdb::{Cancel, Error};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// What is added to the number of a signal to make an exit code.
const SIGNALLED: i32 = 128;
/// How long a read waits before it looks for a signal again. One that comes during the wait ends it.
const LOOK_EVERY: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

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

    /// Stdin, of which a read fails once a signal has come, and until then waits for whatever may come.
    pub fn stdin(&self) -> impl Read + use<> {
        Stdin { stdin: io::stdin(), interrupt: self.clone() }
    }
}

struct Stdin {
    stdin: io::Stdin,
    interrupt: Interrupt,
}

impl Read for Stdin {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            self.interrupt.check().map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&self.stdin, PollFlags::IN)], Some(&LOOK_EVERY)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(rustix::io::read(&self.stdin, &mut *into)?),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
