//! The files that `dedup` writes: refused where something would be lost that was not read.

use crate::args::{DedupArgs, Format, Inputs};
use crate::compressed;
use crate::input::overwritten;
use sketchdb::{Error, is_database};
use std::path::{Path, PathBuf};

/// Refuses outputs that would take the place of each other, of a database, or of documents that are no lines.
pub fn check(verb: &DedupArgs) -> Result<(), Error> {
    let named = [("--output", &verb.output), ("--removed", &verb.removed)];
    let outputs = named.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?)));
    for (option, path) in outputs {
        check_one(option, path, &verb.inputs)?;
    }
    let files = [&verb.output, &verb.removed, &verb.against];
    let places: Vec<PathBuf> = files.into_iter().flatten().filter_map(|path| place(path)).collect();
    if let Some(at) = (1..places.len()).find(|&at| places[..at].contains(&places[at])) {
        return Err(Error::Invalid {
            what: places[at].display().to_string(),
            remedy: "--output, --removed and --against must be files of their own".into(),
        });
    }
    for path in [&verb.output, &verb.removed].into_iter().flatten() {
        check_database(path)?;
    }
    Ok(())
}

fn check_one(option: &str, path: &Path, inputs: &Inputs) -> Result<(), Error> {
    let refused =
        |remedy: String| Err(Error::Invalid { what: format!("{option} {}", path.display()), remedy });
    if let Some(suffix) = compressed::unwritten(path) {
        return refused(format!(
            "files of .{suffix} cannot be written: use .gz, .zst or .jsonl, or pack stdout with a program of your own"
        ));
    }
    match input_at(inputs, path) {
        Some(_) if option == "--removed" => {
            return refused("it is an input, whose other documents would be lost: name another file".into());
        }
        Some(input) if !has_lines(inputs, input) => {
            return refused("it is an input and no file of JSON lines: name another file".into());
        }
        _ => {}
    }
    match input_above(inputs, path) {
        Some(input) => Err(overwritten(path, path, input)),
        None => Ok(()),
    }
}

/// The input that is at a path.
pub fn input_at<'v>(inputs: &'v Inputs, path: &Path) -> Option<&'v str> {
    let at = place(path)?;
    let mut inputs = inputs.inputs.iter().map(String::as_str);
    inputs.find(|input| {
        place(Path::new(if *input == "-" { "/dev/stdin" } else { input })).as_ref() == Some(&at)
    })
}

/// Whether an input is a file of JSON lines, packed or not.
fn has_lines(inputs: &Inputs, input: &str) -> bool {
    match input {
        "-" => inputs.format == Format::Jsonl,
        _ => matches!(compressed::suffix(&compressed::inner(input.as_ref())).as_str(), "jsonl" | "ndjson"),
    }
}

/// The input folder that a file lies in which is there already. Files that come to be a document in another way, through a
/// link or a list of paths, are found when they are.
fn input_above<'v>(inputs: &'v Inputs, path: &Path) -> Option<&'v str> {
    let at = path.canonicalize().ok().filter(|at| at.is_file())?;
    let mut inputs = inputs.inputs.iter().map(String::as_str).filter(|input| *input != "-");
    inputs.find(|input| {
        let folder = Path::new(input).canonicalize().ok().filter(|folder| folder.is_dir());
        folder.is_some_and(|folder| at.starts_with(folder))
    })
}

/// Refuses to replace a database.
fn check_database(path: &Path) -> Result<(), Error> {
    if !path.is_file() {
        return Ok(());
    }
    let doing = || format!("read {}", path.display());
    match is_database(path).map_err(|source| Error::Io { doing: doing(), source })? {
        false => Ok(()),
        true => Err(Error::Invalid {
            what: path.display().to_string(),
            remedy: "it is a database, and would be lost: name another file, or remove it first".into(),
        }),
    }
}

/// Where a file is or will be; `None` of what is no plain file, as a pipe, which several may share.
fn place(path: &Path) -> Option<PathBuf> {
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return None;
    }
    if let Ok(there) = path.canonicalize() {
        return Some(there);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}
