//! The inputs in order, cut into pieces.

use super::long::Long;
use super::outside::is_blank;
use super::{Piece, Place, Problem, Tally, bounded};
use crate::args::{Format, Inputs};
use crate::compressed;
use crossbeam_channel::Receiver;
use sketchdb::{AtomicFile, Error};
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::WalkDir;

/// Bytes of a line that names an input.
const MOST_PATH: usize = 1 << 16;

/// What tells one file from all others, whatever its name.
#[cfg(unix)]
fn identity(file: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (file.dev(), file.ino())
}

/// An output that is there already, as a document of an input that is not replaced as a whole.
pub fn overwritten(output: &Path, found: &Path, input: &str) -> Error {
    Error::Invalid {
        what: output.display().to_string(),
        remedy: format!(
            "it is there already, as {} in the input {input}, and its documents would be lost: move it away, or name another file",
            found.display()
        ),
    }
}

/// Those of the files that are there; what is no plain file, as a pipe, is nobody's own.
fn identities(paths: &[PathBuf]) -> Vec<((u64, u64), PathBuf)> {
    let there = |path: &PathBuf| {
        let file = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        Some((identity(&file), path.clone()))
    };
    paths.iter().filter_map(there).collect()
}

/// Walks inputs and gives their pieces to a sink, which returns false when no more are wanted. With true they are passed
/// on at once, and all before them.
pub struct Walk<'a> {
    format: Format,
    /// Bytes of a line that are held in memory; a longer one is read as it comes.
    pub(super) held: usize,
    /// Device and inode of each database of the command itself: none is a document.
    own: Vec<(u64, u64)>,
    /// Those of its databases that are not there yet.
    unmade: Vec<PathBuf>,
    /// Device and inode of each file that will be replaced.
    outputs: Vec<((u64, u64), PathBuf)>,
    pub(super) sink: &'a mut dyn FnMut(Option<Piece>, bool) -> bool,
    /// Bytes of input read by the walk itself.
    pub(super) read: &'a dyn Fn(u64),
    pub(super) tally: &'a Tally,
    /// Hangs up when nobody wants anything any more.
    pub(super) stopped: Receiver<()>,
}

impl<'a> Walk<'a> {
    pub fn new(
        inputs: &Inputs,
        own: &[PathBuf],
        held: usize,
        read: &'a dyn Fn(u64),
        tally: &'a Tally,
        stopped: Receiver<()>,
        sink: &'a mut dyn FnMut(Option<Piece>, bool) -> bool,
    ) -> Self {
        let (own, unmade) = (Vec::new(), own.to_vec());
        let outputs = identities(&inputs.outputs);
        Walk { format: inputs.format, held, own, unmade, outputs, sink, read, tally, stopped }
    }

    /// Whether a file is one of the command itself, which may have been made since the walk began.
    fn is_own(&mut self, file: &Metadata) -> bool {
        let own = &mut self.own;
        self.unmade.retain(|path| match std::fs::metadata(path) {
            Ok(made) => {
                own.push(identity(&made));
                false
            }
            Err(_) => true,
        });
        own.contains(&identity(file))
    }

    /// All pieces of one input; whether more are wanted.
    pub fn input(&mut self, input: &str) -> bool {
        if input == "-" {
            return self.stdin();
        }
        let path = Path::new(input);
        match std::fs::metadata(path) {
            Err(error) => self.problem(input, error),
            Ok(metadata) if metadata.is_dir() => self.directory(input),
            Ok(metadata) if metadata.is_file() => self.file(path, input.to_owned(), metadata.len()),
            Ok(_) => self.problem(input, "neither a file nor a directory"),
        }
    }

    pub(super) fn problem(&mut self, place: impl ToString, what: impl ToString) -> bool {
        (self.sink)(Some(Piece::Problem(Problem::new(place, what))), true)
    }

    fn stdin(&mut self) -> bool {
        match self.format {
            Format::Text => self.text(),
            Format::Jsonl => (self.sink)(None, true) && self.lines("-", std::io::stdin()),
            Format::Warc => (self.sink)(None, true) && self.archive("-", std::io::stdin()),
            Format::Paths => self.paths(),
        }
    }

    /// The document that stdin is.
    fn text(&mut self) -> bool {
        let (text, rest) = Long::new(Vec::new(), self.stopped.clone());
        let wanted = (self.sink)(Some(Piece::Stdin(text)), true);
        if wanted {
            // What failed is known where it is read.
            let _ = rest.pass_all(&mut BufReader::with_capacity(1 << 18, std::io::stdin()), self.read);
        }
        wanted
    }

    /// The inputs that stdin names, one a line.
    fn paths(&mut self) -> bool {
        let file: Arc<str> = "-".into();
        for (line, bytes) in (1..).zip(bounded::bounded_lines(BufReader::new(std::io::stdin()), MOST_PATH)) {
            let place = Place { file: file.clone(), at: line };
            let bytes = match bytes {
                Ok(line) => line.whole(MOST_PATH),
                Err(error) => return self.problem(place, error),
            };
            let wanted = match bytes.as_deref().map(std::str::from_utf8) {
                Ok(Ok("")) => true,
                Ok(Ok("-")) => self.problem(place, "stdin cannot name itself"),
                Ok(Ok(path)) => self.listed(path),
                Ok(Err(_)) => self.problem(place, "a name that is not UTF-8 cannot be a key"),
                Err(what) => self.problem(place, what),
            };
            if !wanted {
                return false;
            }
        }
        true
    }

    /// An input that stdin names.
    fn listed(&mut self, path: &str) -> bool {
        let refused = std::fs::metadata(path).ok().and_then(|file| self.refused(&file, Path::new(path), "-"));
        match refused {
            Some(error) => self.refuse(error),
            // As below a directory, what is not complete is no document.
            None if Path::new(path).file_name().is_some_and(AtomicFile::reserves) => true,
            None => self.input(path),
        }
    }

    /// Why a file can be no document of an input: it will be replaced, and only by name may that be asked for.
    fn refused(&self, file: &Metadata, path: &Path, input: &str) -> Option<Error> {
        let (_, output) = self.outputs.iter().find(|(output, _)| *output == identity(file))?;
        Some(overwritten(output, path, input))
    }

    /// Ends the walk.
    fn refuse(&mut self, error: Error) -> bool {
        (self.sink)(Some(Piece::Refused(error)), true);
        false
    }

    /// Every file below a directory, in sorted order; keys are INPUT/path below it.
    fn directory(&mut self, input: &str) -> bool {
        for entry in WalkDir::new(input).sort_by_file_name() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let place = error.path().map_or(input.into(), |path| path.display().to_string());
                    if !self.problem(place, error) {
                        return false;
                    }
                    continue;
                }
            };
            if !entry.file_type().is_dir() && AtomicFile::reserves(entry.file_name()) {
                continue;
            }
            let file = std::fs::metadata(entry.path());
            if let Some(error) = file.as_ref().ok().and_then(|file| self.refused(file, entry.path(), input)) {
                return self.refuse(error);
            }
            let wanted = match file {
                Ok(metadata) if self.is_own(&metadata) => true,
                Ok(metadata) if metadata.is_file() => match entry.path().to_str() {
                    Some(key) => self.file(entry.path(), key.to_owned(), metadata.len()),
                    None => self.problem(entry.path().display(), "a name that is not UTF-8 cannot be a key"),
                },
                Ok(metadata) if metadata.is_dir() => true,
                Ok(_) => self.problem(entry.path().display(), "neither a file nor a directory"),
                Err(error) => self.problem(entry.path().display(), error),
            };
            if !wanted {
                return false;
            }
        }
        true
    }

    fn file(&mut self, path: &Path, key: String, len: u64) -> bool {
        match compressed::suffix(&compressed::inner(path)).as_str() {
            "jsonl" | "ndjson" => {
                let opened = File::open(path).and_then(|file| compressed::reader(path, file));
                match opened {
                    Ok(reader) => self.lines(&key, reader),
                    Err(error) => self.problem(key, error),
                }
            }
            // Packed archives are told by their bytes.
            "warc" | "wet" => match File::open(path) {
                Ok(file) => self.archive(&key, file),
                Err(error) => self.problem(key, error),
            },
            _ => (self.sink)(Some(Piece::File { key, path: path.to_owned(), len }), false),
        }
    }

    fn lines(&mut self, file: &str, reader: impl Read) -> bool {
        let file: Arc<str> = file.into();
        let mut reader = BufReader::with_capacity(1 << 18, reader);
        for line in 1.. {
            let place = Place { file: file.clone(), at: line };
            let mut bytes = Vec::new();
            match reader.by_ref().take(self.held as u64).read_until(b'\n', &mut bytes) {
                Ok(0) => break,
                Ok(n) => (self.read)(n as u64),
                Err(error) => return self.problem(place, error),
            }
            let whole = bytes.pop_if(|byte| *byte == b'\n').is_some() || bytes.len() < self.held;
            if line == 1 && bytes.starts_with(b"\xEF\xBB\xBF") {
                bytes.drain(..3);
            }
            if !whole {
                match self.long(bytes, place, &mut reader) {
                    Passed::Line => continue,
                    Passed::Failed => return true,
                    Passed::Unwanted => return false,
                }
            }
            // When nothing is buffered the next line may be long in coming: let go of what is there.
            let wait = reader.buffer().is_empty();
            if !bytes.iter().all(|&byte| is_blank(byte))
                && !(self.sink)(Some(Piece::Line { bytes, place }), wait)
            {
                return false;
            }
        }
        true
    }

    /// A line of which this is the beginning.
    fn long(&mut self, beginning: Vec<u8>, place: Place, reader: &mut impl BufRead) -> Passed {
        let (line, rest) = Long::new(beginning, self.stopped.clone());
        if !(self.sink)(Some(Piece::Long { line, place: place.clone() }), true) {
            return Passed::Unwanted;
        }
        match rest.pass_line(reader, self.read) {
            Ok(true) => Passed::Line,
            Ok(false) => Passed::Failed,
            Err(error) => match self.problem(place, error) {
                true => Passed::Failed,
                false => Passed::Unwanted,
            },
        }
    }
}

/// How a long line was passed on.
enum Passed {
    /// All of it: others may follow.
    Line,
    /// It could not be read to its end, and nothing behind it can be.
    Failed,
    /// Nobody wants any more.
    Unwanted,
}
