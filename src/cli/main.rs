//! The command `sketchdb`: one match from verb to what it does.

mod creation;
mod args;
mod sync;
mod budget;
mod exit;
mod compressed;
mod interrupt;
mod input;
mod kept;
mod open;
mod stdout;
mod output;
mod outputs;
mod say;
mod table;
mod pipeline;
mod progress;
mod create;
mod add;
mod query;
mod compare;
mod sketch;
mod get;
mod remove;
mod expire;
mod pairs;
mod clusters;
mod dedup;
mod stats;
mod verify;
mod recover;
mod compact;
mod rebuild;
mod merge;
mod export;
mod import;
mod completions;
mod man;

use args::Verb;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = match args::parse() {
        Ok(args) => args,
        Err(code) => return code,
    };
    let interrupt = &args.common.interrupt;
    let _ = interrupt::let_writes_fail();
    // Where signals cannot be taken over they end the process, which harms nothing that was acknowledged.
    let _ = if args.verb.ends_in_order() { interrupt.note() } else { interrupt.end_at_once() };
    let ended = match &args.verb {
        Verb::Create(verb) => create::run(verb, &args.common),
        Verb::Add(verb) => add::run(verb, &args.common),
        Verb::Query(verb) => query::run(verb, &args.common),
        Verb::Compare(verb) => compare::run(verb, &args.common),
        Verb::Sketch(verb) => sketch::run(verb, &args.common),
        Verb::Get(verb) => get::run(verb, &args.common),
        Verb::Remove(verb) => remove::run(verb, &args.common),
        Verb::Expire(verb) => expire::run(verb, &args.common),
        Verb::Pairs(verb) => pairs::run(verb, &args.common),
        Verb::Clusters(verb) => clusters::run(verb, &args.common),
        Verb::Dedup(verb) => dedup::run(verb, &args.common),
        Verb::Stats(verb) => stats::run(verb, &args.common),
        Verb::Verify(verb) => verify::run(verb, &args.common),
        Verb::Recover(verb) => recover::run(verb, &args.common),
        Verb::Compact(verb) => compact::run(verb, &args.common),
        Verb::Rebuild(verb) => rebuild::run(verb, &args.common),
        Verb::Merge(verb) => merge::run(verb, &args.common),
        Verb::Export(verb) => export::run(verb, &args.common),
        Verb::Import(verb) => import::run(verb, &args.common),
        Verb::Completions(verb) => completions::run(verb),
        Verb::Man(verb) => man::run(verb),
    };
    let full = open::met_full_disk(&ended);
    // What went wrong is said first: recovery takes its time, and somebody may end it.
    let code = exit::code(ended, interrupt);
    if let (true, Some(path)) = (full, args.verb.changes()) {
        open::recover(path, &args.common);
    }
    code
}
