//! What a verb reads documents from.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What to read, and how.
#[derive(Clone, Debug, Args)]
pub struct Inputs {
    /// Files (one document each), directories, .jsonl files, .warc and .wet archives, any of them .gz or .zst; - for stdin
    #[arg(value_name = "INPUT", required = true)]
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
    /// Files that will be replaced: none of those that are there may be a document of a folder or of a list.
    #[arg(skip)]
    pub outputs: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One document
    Text,
    /// A JSON object a line
    Jsonl,
    /// A WARC or WET, packed or not
    Warc,
    /// An INPUT a line
    Paths,
}
