//! `sketchdb man`: a page of the manual, of the command or of a verb, as `man -l` shows it.

use crate::args::{Cli, Man};
use crate::exit::{Ended, Outcome, Stop};
use crate::output::Output;
use clap::CommandFactory;
use sketchdb::Error;

pub fn run(verb: &Man) -> Ended {
    let mut command = Cli::command();
    command.build();
    let page = match &verb.verb {
        None => command,
        Some(name) => command.find_subcommand(name).cloned().ok_or_else(|| unknown(name))?,
    };
    let mut rendered = Vec::new();
    clap_mangen::Man::new(page).render(&mut rendered).map_err(Stop::Output)?;
    let mut output = Output::new();
    output.text(&String::from_utf8_lossy(&rendered))?;
    output.flush()?;
    Ok(Outcome::Done)
}

fn unknown(verb: &str) -> Error {
    Error::Invalid {
        what: format!("no verb {verb}"),
        remedy: "`sketchdb --help` names them; without a verb the page of the command is printed".into(),
    }
}
