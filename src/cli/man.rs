//! `sketchdb man`: a page of the manual, of the command or of a verb, as `man -l` shows it.

use crate::args::{self, Cli};
use crate::exit::{Ended, Outcome};
use crate::output::Output;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use sketchdb::Error;
use std::io;

pub fn run(verb: &args::Man) -> Ended {
    let mut command = Cli::command();
    command.build();
    let page = match &verb.verb {
        None => command,
        Some(name) => command.find_subcommand(name).cloned().ok_or_else(|| unknown(name))?,
    };
    let mut output = Output::new();
    output.text(&String::from_utf8_lossy(&rendered(page)?))?;
    output.flush()?;
    Ok(Outcome::Done)
}

/// A page, with the synopsis that the help has.
fn rendered(mut page: Command) -> io::Result<Vec<u8>> {
    let usage = page.render_usage().to_string();
    let has_verbs = page.has_subcommands();
    let (page, mut out, mut synopsis) = (Man::new(page), Vec::new(), Roff::default());
    page.render_title(&mut out)?;
    page.render_name_section(&mut out)?;
    synopsis.control("SH", ["SYNOPSIS"]).text([roman(usage.trim_start_matches("Usage: "))]);
    synopsis.to_writer(&mut out)?;
    page.render_description_section(&mut out)?;
    page.render_options_section(&mut out)?;
    if has_verbs {
        page.render_subcommands_section(&mut out)?;
        page.render_version_section(&mut out)?;
    }
    Ok(out)
}

fn unknown(verb: &str) -> Error {
    Error::Invalid {
        what: format!("no verb {verb}"),
        remedy: "`sketchdb --help` names them; without a verb the page of the command is printed".into(),
    }
}
