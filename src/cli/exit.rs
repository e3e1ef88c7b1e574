//! How a verb ends: exit codes, and which wins when several hold.

use crate::interrupt::Interrupt;
use crate::open::REMEDY;
use crate::say::{say, visible};
use sketchdb::Error;
use std::process::ExitCode;

/// What went well or wrong; several may hold. The first that applies, in this order, is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// 5: the system failed.
    System,
    /// 4: the database is damaged, of another version or of other parameters.
    Database,
    /// 6: the database is locked.
    Locked,
    /// 2: wrong usage or parameters.
    Usage,
    /// 3: some inputs could not be read.
    Inputs,
    /// 1: nothing found.
    Nothing,
    /// 0: done.
    Done,
}

impl Outcome {
    fn number(self) -> u8 {
        match self {
            Outcome::System => 5,
            Outcome::Database => 4,
            Outcome::Locked => 6,
            Outcome::Usage => 2,
            Outcome::Inputs => 3,
            Outcome::Nothing => 1,
            Outcome::Done => 0,
        }
    }

    fn of(error: &Error) -> Self {
        match error {
            Error::Invalid { .. } | Error::Missing(_) | Error::Exists(_) => Outcome::Usage,
            Error::Incompatible { .. } | Error::Version { .. } | Error::Corrupt { .. } | Error::Lost(_) => {
                Outcome::Database
            }
            Error::Locked(_) => Outcome::Locked,
            _ => Outcome::System,
        }
    }
}

/// Why a verb stopped before its end.
pub enum Stop {
    /// The library failed.
    Failed(Error),
    /// A database is damaged, of another version or of other parameters: which, and what to do.
    Database(String),
    /// Writing to stdout failed.
    Output(std::io::Error),
    /// A signal came: how far the verb has come, and how to go on.
    Interrupted(String),
}

impl Stop {
    /// Whether a signal came.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Stop::Failed(Error::Cancelled))
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Stop::Output(error)
    }
}

/// How an interrupted verb is gone on with.
pub const GO_ON: &str = "run the same command again to continue";

/// How a verb ended.
pub type Ended = Result<Outcome, Stop>;

/// The exit code of a verb, after a word on stderr when it stopped: 130 after SIGINT, 143 after SIGTERM.
pub fn code(ended: Ended, interrupt: &Interrupt) -> ExitCode {
    let outcome = match ended {
        Err(Stop::Interrupted(said)) => {
            say(&format!("sketchdb: interrupted: {}", visible(&said)));
            return ExitCode::from(interrupt.code());
        }
        Err(stop) if stop.is_interruption() => {
            say("sketchdb: interrupted: nothing was changed; run the same command again");
            return ExitCode::from(interrupt.code());
        }
        Ok(outcome) => outcome,
        Err(Stop::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Outcome::Done,
        Err(Stop::Output(error)) => {
            say(&format!("sketchdb: write to stdout: {error}"));
            Outcome::System
        }
        Err(Stop::Database(what)) => {
            say(&format!("sketchdb: {}", visible(&what)));
            Outcome::Database
        }
        Err(Stop::Failed(error)) => {
            let remedy = match &error {
                Error::Corrupt { .. } => format!("; {REMEDY}"),
                _ => String::new(),
            };
            say(&format!("sketchdb: {}{remedy}", visible(&error.to_string())));
            Outcome::of(&error)
        }
    };
    ExitCode::from(outcome.number())
}
