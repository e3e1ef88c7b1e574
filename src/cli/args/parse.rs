//! The command line as it is given.

use super::Cli;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use std::process::ExitCode;

/// A kernel that nobody has.
fn refuses_kernel() -> Option<clap::Error> {
    let kernel = std::env::var_os("SKETCHDB_KERNEL")?.to_string_lossy().into_owned();
    let kernels = sketchdb::Sketcher::KERNELS;
    let known = kernels.contains(&kernel.as_str());
    let what = || format!("SKETCHDB_KERNEL={kernel}: {}", kernels.join(", "));
    (!known).then(|| Cli::command().error(ErrorKind::InvalidValue, what()))
}

/// An error with the usage of a verb.
fn wrong_use((verb, kind, what): (&str, ErrorKind, &str)) -> clap::Error {
    let mut command = Cli::command();
    command.build();
    command.find_subcommand_mut(verb).expect("a verb of the command").error(kind, what)
}

/// The command line, or the exit code after a word on it.
pub fn parse() -> std::result::Result<Cli, ExitCode> {
    let parsed = Cli::try_parse().and_then(|cli| {
        match cli.verb.refuses_files().map(wrong_use).or_else(refuses_kernel) {
            Some(error) => Err(error),
            None => Ok(cli),
        }
    });
    parsed.map_err(|error| {
        drop(error.print());
        ExitCode::from(if error.use_stderr() { 2 } else { 0 })
    })
}
