//! Raw flags → what they mean. The verbs never see a raw flag.

mod inputs;
mod measuring;
mod parse;
mod values;

pub use inputs::{Format, Inputs};
pub use measuring::Measuring;
pub use parse::parse;
pub use values::time;

use crate::creation::{Creation, HEADING};
use crate::interrupt::Interrupt;
use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand};
use measuring::{AcceptArg, By, PAIRS_THRESHOLD, PairsBy};
use sketchdb::{Accept, AddOptions, Cancel, DedupOptions, Params, Policy, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;
use values::{KeepArg, clock, duration, seconds, size};

/// A persistent near-duplicate database for text.
///
/// Exit codes: 0 done, 1 nothing found, 2 wrong usage, 3 some inputs unreadable, 4 database damaged or incompatible,
/// 5 system failure, 6 database locked, 130 interrupted (SIGINT), 143 terminated (SIGTERM).
#[derive(Debug, Parser)]
#[command(name = "sketchdb", version, max_term_width = 110)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub verb: Verb,
}

/// What every verb takes.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// Threads that sketch and query; as many as there are cores by default
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Memory for caches, for example 512M or 2G
    #[arg(long, global = true, value_name = "SIZE", default_value = "256M", value_parser = size)]
    pub memory: usize,
    /// Wait this long for other processes to let go of the database
    #[arg(long, global = true, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub wait: Duration,
    /// No progress, no summary, no warnings on stderr
    #[arg(long, global = true)]
    pub quiet: bool,
    /// One JSON object a line on stdout
    #[arg(long, global = true)]
    pub json: bool,
    /// Whether a signal asked the verb to end.
    #[arg(skip)]
    pub interrupt: Interrupt,
}

impl Common {
    /// Threads to work with.
    pub fn threads(&self) -> usize {
        self.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from)
    }
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Make a new, empty database
    Create(Create),
    /// Store documents, one verdict each; the first that is stored makes the database when there is none
    Add(Add),
    /// Find stored documents that are alike; stores nothing
    Query(QueryArgs),
    /// Compare two files by every measure, and tell where they differ
    Compare(Compare),
    /// Print the sketches of documents, one JSON line each
    Sketch(SketchArgs),
    /// Show what is stored about a key
    Get(Get),
    /// Remove documents by their keys
    Remove(Remove),
    /// Remove documents that were not seen for long
    Expire(Expire),
    /// List every two stored documents that are alike
    Pairs(PairsArgs),
    /// List which stored documents belong together
    Clusters(ClustersArgs),
    /// Read documents and write those worth keeping; stores nothing
    Dedup(DedupArgs),
    /// Show sizes, parameters, and what the index promises
    Stats(StatsArgs),
    /// Check a whole file
    Verify(Verify),
    /// Recover a database whose last writer did not close it; every other verb does so too
    Recover(OfDatabase),
    /// Drop what is dead: a file as small as its content
    Compact(OfDatabase),
    /// Make every index and the clusters again from the sketches, with other parameters; or save what is whole of a damaged file
    Rebuild(Rebuild),
    /// Take the documents of other databases over
    Merge(Merge),
    /// Print everything that lives in a database, as JSON lines
    Export(OfDatabase),
    /// Make a database of an export, or merge it into one
    Import(Import),
    /// Print the completions of a shell
    Completions(Completions),
    /// Print a page of the manual: `sketchdb man query > sketchdb-query.1`
    Man(Man),
}

impl Verb {
    /// Whether it stores something: then a signal lets it end in order.
    pub fn ends_in_order(&self) -> bool {
        self.changes().is_some() || matches!(self, Verb::Create(_) | Verb::Dedup(_))
    }

    /// The database that is changed where it is.
    pub fn changes(&self) -> Option<&Path> {
        match self {
            Verb::Add(verb) => Some(&verb.db),
            Verb::Remove(verb) => Some(&verb.db),
            Verb::Expire(verb) => Some(&verb.db),
            Verb::Merge(verb) => Some(&verb.into),
            Verb::Import(verb) => Some(&verb.db),
            Verb::Compact(verb) => Some(&verb.db),
            Verb::Rebuild(verb) => Some(&verb.db),
            _ => None,
        }
    }

    /// What is wrong with the files that are named, and the verb.
    pub(super) fn refuses_files(&self) -> Option<(&'static str, ErrorKind, &'static str)> {
        let (name, made, inputs) = match self {
            Verb::Create(verb) => ("create", Some(&verb.db), None),
            Verb::Import(verb) => ("import", Some(&verb.db), None),
            Verb::Add(verb) => ("add", Some(&verb.db), Some(&verb.inputs)),
            Verb::Sketch(verb) => ("sketch", None, Some(&verb.inputs)),
            Verb::Dedup(verb) => ("dedup", None, Some(&verb.inputs)),
            Verb::Query(verb) => ("query", None, Some(&verb.inputs)),
            _ => return None,
        };
        let stdin = inputs.map_or(0, |inputs| inputs.inputs.iter().filter(|input| *input == "-").count());
        match (made.is_some_and(|db| db == Path::new("-")), stdin) {
            (true, _) => Some((
                name,
                ErrorKind::InvalidValue,
                "the database is a file: name it first (./- if it is called -)",
            )),
            (_, 2..) => Some((name, ErrorKind::ArgumentConflict, "stdin can be read once: name - once")),
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
pub struct Create {
    /// The database file
    pub db: PathBuf,
    #[command(flatten, next_help_heading = HEADING)]
    pub creation: Creation,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// The first file
    pub a: String,
    /// The second file
    pub b: String,
    #[command(flatten, next_help_heading = "Parameters")]
    pub creation: Creation,
}

#[derive(Debug, Args)]
pub struct SketchArgs {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Take the parameters of this database
    #[arg(long, value_name = "DB")]
    pub like: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Parameters")]
    pub creation: Creation,
}

#[derive(Debug, Args)]
pub struct OfDatabase {
    /// The database file
    pub db: PathBuf,
}

#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct Man {
    /// The verb; without one, the page of the command
    pub verb: Option<String>,
}

#[derive(Debug, Args)]
pub struct StatsArgs {
    /// The database file
    pub db: PathBuf,
    /// Also list the shingles that more than this share of the texts have, in (0, 1], by the values that samples have
    /// of them: reads every stored sample
    #[arg(long, value_name = "SHARE")]
    pub common: Option<f64>,
}

#[derive(Debug, Args)]
pub struct Get {
    /// The database file
    pub db: PathBuf,
    /// The document's key
    pub key: String,
}

#[derive(Debug, Args)]
pub struct Add {
    /// The database file
    pub db: PathBuf,
    #[command(flatten)]
    pub inputs: Inputs,
    /// When the documents were seen: RFC 3339 or Unix seconds; of records of archives their own time, else now by default
    #[arg(long, value_name = "T", value_parser = time)]
    seen_at: Option<u64>,
    /// Store new and updated documents only; of the others, note the one they duplicate as seen
    #[arg(long)]
    only_new: bool,
    /// Give the verdict contained to documents of which this share, in (0, 1], is in another: by the lower end of the 95 %
    /// interval, of at least 16 sample values
    #[arg(long, value_name = "T")]
    contained: Option<f64>,
    #[command(flatten, next_help_heading = HEADING)]
    pub creation: Creation,
}

impl Add {
    /// How documents are stored.
    pub fn options(&self) -> AddOptions {
        let policy = if self.only_new { Policy::OnlyNew } else { Policy::Everything };
        AddOptions { policy, contained: self.contained, ..AddOptions::default() }
    }

    /// When documents were seen that may have a time of their own, in seconds since 1970.
    pub fn seen_at(&self) -> impl Fn(Option<u64>) -> Option<u64> + 'static {
        let (given, now) = (self.seen_at, clock());
        move |own| given.or(own).or(now)
    }
}

#[derive(Debug, Args)]
pub struct QueryArgs {
    /// The database file
    pub db: PathBuf,
    #[command(flatten)]
    pub inputs: Inputs,
    /// Ask by sketches (lines of `sketchdb sketch`) instead of documents; - for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "inputs")]
    pub sketches: Option<String>,
    /// Say only whether anything was found
    #[arg(long)]
    pub yes_no: bool,
    /// The measure that decides
    #[arg(long, value_enum, default_value = "resemblance")]
    pub by: By,
    #[command(flatten)]
    pub measuring: Measuring,
    /// The most matches of a query; 0 for all
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
    /// Show every key that holds a matching text, not only the first
    #[arg(long)]
    pub copies: bool,
    /// Let a document match its own key
    #[arg(long = "self")]
    pub own: bool,
}

#[derive(Debug, Args)]
#[command(mut_arg("threshold", |arg| arg.help(PAIRS_THRESHOLD)))]
pub struct PairsArgs {
    /// The database file
    pub db: PathBuf,
    /// The measure that decides
    #[arg(long, value_enum, default_value = "resemblance")]
    pub by: PairsBy,
    #[command(flatten)]
    pub measuring: Measuring,
    /// Pair every key that holds a text, not only the first
    #[arg(long)]
    pub copies: bool,
}

#[derive(Debug, Args)]
pub struct ClustersArgs {
    /// The database file
    pub db: PathBuf,
    /// The fewest documents of a cluster, copies among them
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub min_size: u64,
    /// Only the cluster of this document
    #[arg(long, value_name = "KEY")]
    pub of: Option<String>,
}

#[derive(Debug, Args)]
pub struct Remove {
    /// The database file
    pub db: PathBuf,
    /// The documents' keys
    #[arg(value_name = "KEY", required_unless_present = "keys_from")]
    pub keys: Vec<String>,
    /// Read keys from a file, one a line; - for stdin
    #[arg(long, value_name = "FILE")]
    pub keys_from: Option<String>,
}

#[derive(Debug, Args)]
pub struct Expire {
    /// The database file
    pub db: PathBuf,
    /// How long a document may go unseen: 30d, 12h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    unseen_for: Duration,
    /// The time to count from: RFC 3339 or Unix seconds; now by default
    #[arg(long, value_name = "T", value_parser = time)]
    now: Option<u64>,
}

impl Expire {
    /// Documents last seen before this time go, in seconds since 1970.
    pub fn before(&self) -> u64 {
        self.now.or_else(clock).unwrap_or(0).saturating_sub(self.unseen_for.as_secs())
    }
}

#[derive(Debug, Args)]
pub struct Verify {
    /// The database file
    pub db: PathBuf,
    /// Also derive the index again from the sketches and compare
    #[arg(long)]
    pub deep: bool,
}

#[derive(Debug, Args)]
#[command(mut_args(Creation::of_file))]
pub struct Rebuild {
    /// The database file
    pub db: PathBuf,
    /// Save every whole record of a damaged file, with its own parameters. What is lost is listed; then the exit code is 3
    #[arg(long, conflicts_with_all = ["Creation", "containment"])]
    pub salvage: bool,
    #[command(
        flatten,
        next_help_heading = "Parameters (the file's own unless given, but of permuted tables those that suit the number of texts)"
    )]
    creation: Creation,
    /// Index containment, where the file was made without
    #[arg(long, conflicts_with = "no_containment")]
    containment: bool,
}

impl Rebuild {
    /// The parameters of the file with those given in their place, and the permuted tables that suit its contents.
    pub fn applied_to(&self, params: Params, contents: u64) -> Result<Params> {
        let mut params = self.creation.applied_to(params, false)?;
        if !self.creation.names_tables() {
            params = params.with_tables_for(contents)?;
        }
        Ok(Params { containment: params.containment || self.containment, ..params })
    }
}

#[derive(Debug, Args)]
pub struct Merge {
    /// The database that takes over
    pub into: PathBuf,
    /// The databases that are taken over; they stay as they are
    #[arg(required = true)]
    pub from: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Import {
    /// The database file
    pub db: PathBuf,
    /// The export; - for stdin, .gz and .zst are decompressed
    pub file: String,
}

#[derive(Debug, Args)]
pub struct DedupArgs {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Write the documents that are kept to this file instead of stdout, packed when it is .gz or .zst. It may be an input of
    /// JSON lines, which is replaced when all is done, and stays as it is when anything could not be read
    #[arg(long, value_name = "KEPT.jsonl")]
    pub output: Option<PathBuf>,
    /// Write the documents that are removed to this file, each with what it is a duplicate of
    #[arg(long, value_name = "REMOVED.jsonl")]
    pub removed: Option<PathBuf>,
    /// Also remove what this database has; it stays as it is
    #[arg(long, value_name = "DB")]
    pub against: Option<PathBuf>,
    /// Which of several documents that are alike is kept
    #[arg(long, value_enum, default_value = "first")]
    keep: KeepArg,
    /// Also remove documents of which this share, in (0, 1], is in one that is kept, as at least 16 sample values tell
    #[arg(long, value_name = "T")]
    contained: Option<f64>,
    /// Which end of the 95 % interval must reach the threshold or the share [default: estimate, but low with --contained]
    #[arg(long, value_enum)]
    accept: Option<AcceptArg>,
    /// Keep one document of each connected component, whether or not the others match it
    #[arg(long, conflicts_with = "contained")]
    transitive: bool,
    /// With --keep oldest: the field of a JSON line that says when it was seen; of a file it is when it was changed
    #[arg(long, value_name = "NAME", default_value = "seen_at")]
    time_field: String,
    #[command(flatten, next_help_heading = "Parameters")]
    pub creation: Creation,
}

impl DedupArgs {
    /// How documents are compared.
    pub fn options(&self, memory: usize, cancel: Cancel) -> DedupOptions {
        let keep = self.keep.into();
        let accept = self.accept.map(Accept::from);
        let DedupArgs { contained, transitive, .. } = *self;
        DedupOptions { keep, contained, accept, transitive, memory, cancel }
    }

    /// The inputs, each document with its line and, when it matters, its time.
    pub fn inputs_with_lines(&self) -> Inputs {
        let time_field = (self.keep == KeepArg::Oldest).then(|| self.time_field.clone());
        let outputs = [&self.output, &self.removed].into_iter().flatten().cloned().collect();
        Inputs { keep_lines: true, time_field, outputs, ..self.inputs.clone() }
    }
}
