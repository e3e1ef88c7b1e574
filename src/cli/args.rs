//! Raw flags → what they mean. The verbs never see a raw flag.

use crate::creation::Creation;
use crate::say::say;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use sketchdb::{Accept, AddOptions, Confirm, DedupOptions, Error, Keep, Measure, Params, Policy, Result};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A persistent near-duplicate database for text.
///
/// Exit codes: 0 done, 1 nothing found, 2 wrong usage, 3 some inputs unreadable, 4 database damaged or incompatible,
/// 5 system failure, 6 database locked.
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
    /// No progress, no summary, no warnings on stderr
    #[arg(long, global = true)]
    pub quiet: bool,
    /// One JSON object a line on stdout
    #[arg(long, global = true)]
    pub json: bool,
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
    /// Store documents, one verdict each; makes the database when there is none
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
    Stats(OfDatabase),
    /// Check a whole file
    Verify(Verify),
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
}

impl Verb {
    fn lacks_input(&self) -> bool {
        match self {
            Verb::Add(verb) => verb.inputs.inputs.is_empty(),
            Verb::Sketch(verb) => verb.inputs.inputs.is_empty(),
            Verb::Dedup(verb) => verb.inputs.inputs.is_empty(),
            Verb::Query(verb) => verb.inputs.inputs.is_empty() && verb.sketches.is_none(),
            _ => false,
        }
    }
}

#[derive(Debug, Args)]
pub struct Create {
    /// The database file
    pub db: PathBuf,
    #[command(flatten)]
    pub creation: Creation,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// The first file
    pub a: String,
    /// The second file
    pub b: String,
    #[command(flatten)]
    pub creation: Creation,
}

#[derive(Debug, Args)]
pub struct SketchArgs {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Take the parameters of this database
    #[arg(long, value_name = "DB")]
    pub like: Option<PathBuf>,
    #[command(flatten)]
    pub creation: Creation,
}

#[derive(Debug, Args)]
pub struct OfDatabase {
    /// The database file
    pub db: PathBuf,
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
    #[command(flatten)]
    pub creation: Creation,
    /// When the documents were seen: RFC 3339 or Unix seconds; now by default
    #[arg(long, value_name = "T", value_parser = time)]
    seen_at: Option<u64>,
    /// Store new and updated documents only; of the others, note the one they duplicate as seen
    #[arg(long)]
    only_new: bool,
    /// Give the verdict contained to documents of which this share, in (0, 1], is in another
    #[arg(long, value_name = "T")]
    contained: Option<f64>,
}

impl Add {
    /// How documents are stored.
    pub fn options(&self) -> AddOptions {
        let policy = if self.only_new { Policy::OnlyNew } else { Policy::Everything };
        AddOptions { policy, contained: self.contained }
    }

    /// When the documents were seen, in seconds since 1970.
    pub fn seen_at(&self) -> Option<u64> {
        self.seen_at.or_else(clock)
    }
}

/// The clock's time, in seconds since 1970.
fn clock() -> Option<u64> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Resemblance,
    Containment,
    Contained,
    Agreement,
    Edit,
    Hamming,
    Any,
}

/// A confirming measure; its bound follows from the threshold when none is given.
#[derive(Clone, Copy, Debug)]
enum ConfirmArg {
    Simhash(Option<u32>),
    Edit(Option<f64>),
}

impl std::str::FromStr for ConfirmArg {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || "simhash[:D] with D in 0..=64, or edit[:R] with R in (0, 1]".to_string();
        let (name, bound) = text.split_once(':').map_or((text, None), |(name, bound)| (name, Some(bound)));
        match name {
            "simhash" => {
                let distance =
                    bound.map(|d| d.parse().ok().filter(|&d| d <= 64).ok_or_else(wrong)).transpose()?;
                Ok(ConfirmArg::Simhash(distance))
            }
            "edit" => {
                let within = |&r: &f64| r > 0.0 && r <= 1.0;
                Ok(ConfirmArg::Edit(
                    bound.map(|r| r.parse().ok().filter(within).ok_or_else(wrong)).transpose()?,
                ))
            }
            _ => Err(wrong()),
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AcceptArg {
    Low,
    Estimate,
    High,
}

/// Which measure decides, and from where on.
#[derive(Debug, Args)]
pub struct Measuring {
    /// The measure that decides
    #[arg(long, value_enum, default_value = "resemblance")]
    by: By,
    /// From which share on, in (0, 1]; with --by hamming up to which distance, with --by edit up to which share of the longer
    /// text; the database's own by default
    #[arg(long, value_name = "T")]
    threshold: Option<f64>,
    /// Which end of the 95 % interval must reach the threshold
    #[arg(long, value_enum, default_value = "estimate")]
    accept: AcceptArg,
    /// Keep a match only if this measure agrees: simhash[:D] or edit[:R]; repeatable
    #[arg(long, value_name = "MEASURE")]
    confirm: Vec<ConfirmArg>,
}

impl Measuring {
    /// The measure and its threshold.
    pub fn measure(&self, params: &Params) -> Result<Measure> {
        let threshold = self.threshold.unwrap_or(params.threshold);
        match (self.by, self.threshold) {
            (By::Resemblance, _) => Ok(Measure::Resemblance(threshold)),
            (By::Containment, _) => Ok(Measure::Containment(threshold)),
            (By::Contained, _) => Ok(Measure::Contained(threshold)),
            (By::Agreement, _) => Ok(Measure::Agreement(threshold)),
            (By::Any, _) => Ok(Measure::Any(threshold)),
            (By::Edit, share) => Ok(Measure::Edit(share.unwrap_or(1.0 - params.threshold))),
            (By::Hamming, None) => Ok(Measure::Hamming(params.hamming)),
            (By::Hamming, Some(distance)) if distance.fract() == 0.0 && (0.0..=64.0).contains(&distance) => {
                Ok(Measure::Hamming(distance as u32))
            }
            (By::Hamming, Some(distance)) => Err(Error::Invalid {
                what: format!("--threshold {distance} with --by hamming"),
                remedy: "give a whole number of bits, 0 to 64".into(),
            }),
        }
    }

    /// The confirming measures, with their bounds.
    pub fn confirm(&self, params: &Params) -> Vec<Confirm> {
        // A distance says nothing of the resemblance, a share that differs leaves the others.
        let threshold = match self.by {
            By::Hamming => params.threshold,
            By::Edit => self.threshold.map_or(params.threshold, |share| 1.0 - share),
            _ => self.threshold.unwrap_or(params.threshold),
        };
        let width = params.sketch.shingle.width();
        let bounded = |confirm: &ConfirmArg| match *confirm {
            ConfirmArg::Simhash(distance) => {
                Confirm::Simhash(distance.unwrap_or_else(|| Confirm::default_distance(threshold, width)))
            }
            ConfirmArg::Edit(share) => {
                Confirm::Edit(share.unwrap_or_else(|| Confirm::default_share(threshold)))
            }
        };
        self.confirm.iter().map(bounded).collect()
    }

    pub fn accept(&self) -> Accept {
        match self.accept {
            AcceptArg::Low => Accept::Low,
            AcceptArg::Estimate => Accept::Estimate,
            AcceptArg::High => Accept::High,
        }
    }
}

#[derive(Debug, Args)]
pub struct PairsArgs {
    /// The database file
    pub db: PathBuf,
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
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
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
pub struct Rebuild {
    /// The database file
    pub db: PathBuf,
    #[command(flatten)]
    creation: Creation,
    /// Index containment, where the file was made without
    #[arg(long, conflicts_with = "no_containment")]
    containment: bool,
    /// Save every whole record of a damaged file
    #[arg(long)]
    pub salvage: bool,
}

impl Rebuild {
    /// The parameters of the file with those given in their place.
    pub fn applied_to(&self, params: Params) -> Result<Params> {
        let params = self.creation.applied_to(params, false)?;
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
    /// Write the documents that are kept to this file instead of stdout
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
    /// Also remove documents of which this share, in (0, 1], is in one that is kept
    #[arg(long, value_name = "T")]
    contained: Option<f64>,
    /// Keep one document of each connected component, whether or not the others match it
    #[arg(long)]
    transitive: bool,
    /// With --keep oldest: the field of a JSON line that says when it was seen; of a file it is when it was changed
    #[arg(long, value_name = "NAME", default_value = "seen_at")]
    time_field: String,
    #[command(flatten)]
    pub creation: Creation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KeepArg {
    First,
    Longest,
    Oldest,
    ShortestKey,
}

impl DedupArgs {
    /// How documents are compared.
    pub fn options(&self, memory: usize) -> DedupOptions {
        let keep = match self.keep {
            KeepArg::First => Keep::First,
            KeepArg::Longest => Keep::Longest,
            KeepArg::Oldest => Keep::Oldest,
            KeepArg::ShortestKey => Keep::ShortestKey,
        };
        DedupOptions { keep, contained: self.contained, transitive: self.transitive, memory }
    }

    /// The inputs, each document with its line and, when it matters, its time.
    pub fn inputs_with_lines(&self) -> Inputs {
        let time_field = (self.keep == KeepArg::Oldest).then(|| self.time_field.clone());
        Inputs { keep_lines: true, time_field, ..self.inputs.clone() }
    }
}

/// What to read, and how.
#[derive(Clone, Debug, Args)]
pub struct Inputs {
    /// Files (one document each), directories, .jsonl files, any of them .gz or .zst; - for stdin
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// What stdin holds
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// The field of a JSON line that holds the key
    #[arg(long, value_name = "NAME", default_value = "id")]
    pub id_field: String,
    /// The field of a JSON line that holds the text
    #[arg(long, value_name = "NAME", default_value = "text")]
    pub text_field: String,
    /// Whether a document's JSON line is handed on with it.
    #[arg(skip)]
    pub keep_lines: bool,
    /// The field that says when a document was seen, where that matters.
    #[arg(skip)]
    pub time_field: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One document
    Text,
    /// A JSON object a line
    Jsonl,
    /// An INPUT a line
    Paths,
}

/// Sizes: 512M, 2G, 65536.
fn size(text: &str) -> std::result::Result<usize, String> {
    let wrong = || "a size such as 65536, 512M or 2G".to_string();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(wrong()),
    };
    let number: usize = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    if bytes < 1 << 20 { Err("at least 1M".into()) } else { Ok(bytes) }
}

/// Times: RFC 3339 or Unix seconds.
pub fn time(text: &str) -> std::result::Result<u64, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(seconds);
    }
    let wrong = || "a time such as 2026-01-31T12:00:00Z or 1769860800".to_string();
    let (local, east) = split_offset(text).ok_or_else(wrong)?;
    let time = humantime::parse_rfc3339_weak(local).map_err(|_| wrong())?;
    let since = time.duration_since(UNIX_EPOCH).map_err(|_| wrong())?.as_secs();
    since.checked_add_signed(-east).ok_or_else(|| "a time after 1970".into())
}

/// A time without its numeric offset, and the offset in seconds east of UTC: the parser knows Z only.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    let Some((local, offset)) = text.len().checked_sub(6).and_then(|at| text.split_at_checked(at)) else {
        return Some((text, 0));
    };
    let sign = match (offset.as_bytes()[0], offset.as_bytes()[3], local.contains(':')) {
        (b'+', b':', true) if !local.ends_with(['Z', 'z']) => 1,
        (b'-', b':', true) if !local.ends_with(['Z', 'z']) => -1,
        _ => return Some((text, 0)),
    };
    let number = |digits: &str| {
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok())?
    };
    let within = |digits: &str, end: i64| number(digits).filter(|&number| number < end);
    Some((local, sign * (within(&offset[1..3], 24)? * 3600 + within(&offset[4..], 60)? * 60)))
}

/// Verbs and options that the interface has and this version does not.
const LATER: &[&str] = &["--html", "warc"];

/// The command line, or the exit code after a word on it.
pub fn parse() -> std::result::Result<Cli, ExitCode> {
    let parsed = Cli::try_parse().and_then(|cli| match cli.verb.lacks_input() {
        true => Err(Cli::command().error(ErrorKind::MissingRequiredArgument, "an INPUT is needed")),
        false => Ok(cli),
    });
    parsed.map_err(|error| {
        let words = error.context().flat_map(|(_, value)| match value {
            clap::error::ContextValue::String(word) => vec![word.clone()],
            _ => Vec::new(),
        });
        let later = words.into_iter().find(|word| {
            let name = word.split_whitespace().next().unwrap_or(word);
            LATER.contains(&name)
        });
        match later {
            Some(word) if error.use_stderr() => say(&format!("sketchdb: {word}: not in this version yet")),
            _ => drop(error.print()),
        }
        ExitCode::from(if error.use_stderr() { 2 } else { 0 })
    })
}
