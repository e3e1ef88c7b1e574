//! The command `sketchdb`: one match from verb to what it does.

mod creation;
mod args;
mod budget;
mod exit;
mod input;
mod output;
mod say;
mod pipeline;
mod progress;
mod create;
mod add;
mod query;
mod compare;
mod sketch;
mod get;
mod stats;

use args::Verb;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::parse() {
        Ok(args) => args,
        Err(code) => return code,
    };
    let ended = match &args.verb {
        Verb::Create(verb) => create::run(verb, &args.common),
        Verb::Add(verb) => add::run(verb, &args.common),
        Verb::Query(verb) => query::run(verb, &args.common),
        Verb::Compare(verb) => compare::run(verb, &args.common),
        Verb::Sketch(verb) => sketch::run(verb, &args.common),
        Verb::Get(verb) => get::run(verb, &args.common),
        Verb::Stats(verb) => stats::run(verb, &args.common),
    };
    exit::code(ended)
}
