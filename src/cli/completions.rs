//! `sketchdb completions`: what a shell needs to complete verbs, options and files.

use crate::args::{Cli, Completions};
use crate::exit::{Ended, Outcome};
use crate::output::Output;
use clap::CommandFactory;

pub fn run(verb: &Completions) -> Ended {
    let mut script = Vec::new();
    clap_complete::generate(verb.shell, &mut Cli::command(), "sketchdb", &mut script);
    let mut output = Output::new();
    output.text(&String::from_utf8_lossy(&script))?;
    output.flush()?;
    Ok(Outcome::Done)
}
