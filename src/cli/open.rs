//! Databases that there are, opened as a verb needs them. What is wrong with one is said with its path.

use crate::args::Common;
use crate::exit::{Ended, Stop};
use sketchdb::{Database, Error, Options, Params};
use std::path::Path;
use std::time::Duration;

/// What the command line says of memory.
pub fn options(common: &Common) -> Options {
    let cancel = common.interrupt.cancel();
    Options { memory: common.memory, wait: common.wait, cancel, ..Options::default() }
}

/// Others may read at the same time. What a writer that died left behind is recovered first, where that may be written.
pub fn reading(path: &Path, common: &Common) -> Result<Database, Stop> {
    recover(path, common);
    Database::open(path, Options { read_only: true, ..options(common) }).map_err(wrong_with(path))
}

/// To read clusters too. Those that lost a member are formed anew in the file, where that may be written, and not once by
/// each who reads them.
pub fn reading_clusters(path: &Path, common: &Common) -> Result<Database, Stop> {
    recover(path, common);
    // Where it cannot be done now, the reader does it for itself, and says what is wrong.
    let _ = Database::form_unformed_at(path, Options { wait: Duration::ZERO, ..options(common) });
    reading(path, common)
}

/// Alone.
pub fn writing(path: &Path, common: &Common) -> Result<Database, Stop> {
    Database::open(path, options(common)).map_err(wrong_with(path))
}

/// What to do about damage.
pub const REMEDY: &str =
    "`sketchdb verify` names all damage, `sketchdb rebuild --salvage` saves what is whole";

/// Says which database an error is about, where it does not say so itself.
pub fn wrong_with(path: &Path) -> impl Fn(Error) -> Stop {
    let path = path.display().to_string();
    move |error| match &error {
        Error::Incompatible { name, .. } if name == "file" => Stop::Database(format!(
            "{path} is no sketchdb database (by its first bytes): the database is named first, inputs after it"
        )),
        Error::Incompatible { .. } | Error::Version { .. } => Stop::Database(format!("{path}: {error}")),
        Error::Corrupt { .. } => Stop::Database(format!("{path}: {error}; {REMEDY}")),
        _ => Stop::Failed(error),
    }
}

/// Refuses options that a database was not made with, and says what to do instead.
pub fn check_same(path: &Path, own: &Params, wanted: &Params) -> Result<(), Stop> {
    wanted.check()?;
    own.check_same(wanted).map_err(|error| match error {
        Error::Incompatible { name, expected, found } => {
            let made = match bare(&found) {
                "true" | "false" | "null" => format!("without {}", option(&name, &found)),
                _ => format!("with {}, not {}", option(&name, &found), bare(&expected)),
            };
            let path = path.display();
            let remedy = match own.check_rebuild(wanted) {
                Ok(()) => format!("`sketchdb rebuild {path} {}`", option(&name, &expected)),
                Err(_) => "make another database".into(),
            };
            Stop::Database(format!("{path} was made {made}: leave the option out, or {remedy}"))
        }
        other => other.into(),
    })
}

/// A parameter as an option that gives it.
fn option(name: &str, value: &str) -> String {
    let name = if name == "containment" { "no-containment" } else { name };
    match bare(value) {
        "true" | "false" | "null" => format!("--{name}"),
        value => format!("--{name} {value}"),
    }
}

/// A parameter's value as an option takes it.
pub fn bare(value: &str) -> &str {
    value.trim_matches('"')
}

/// Whether a verb stopped because a disk is full.
pub fn met_full_disk(ended: &Ended) -> bool {
    matches!(ended, Err(Stop::Failed(error)) if error.is_disk_full())
}

/// Recovers a database whose writer died, or had to leave it because the disk is full, if that can be done now. Else whoever
/// reads it recovers it in memory, and says what is wrong with it.
pub fn recover(path: &Path, common: &Common) {
    let _ = Database::recover(path, Options { wait: Duration::ZERO, ..options(common) });
}

/// Refuses the path of a new database in a folder that is not there.
pub fn check_folder(path: &Path) -> Result<(), Error> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        None => Ok(()),
        Some(folder) => Err(Error::Invalid {
            what: folder.display().to_string(),
            remedy: "no such folder: make it first".into(),
        }),
    }
}
