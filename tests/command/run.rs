//! Runs the command in a temporary folder.

use crate::common::skipped::skipped;
use serde_json::Value;
use std::io::{ErrorKind, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

/// A folder that the command runs in.
pub struct Shell {
    folder: tempfile::TempDir,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Shell {
    pub fn new() -> Self {
        Shell { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, and the folders that it is in.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Writes a file of JSON lines out of keys and texts.
    pub fn write_lines(&self, name: &str, documents: &[(&str, &str)]) {
        let lines =
            documents.iter().map(|(id, text)| serde_json::json!({"id": id, "text": text}).to_string() + "\n");
        self.write(name, lines.collect::<String>());
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sketchdb"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs as a user whom permissions bind: one who may open a closed file lets another user run a copy of the command.
    pub fn run_bound(&self, closed: &str, args: &[&str]) -> Option<Ran> {
        let mut command = self.command(args);
        if std::fs::File::open(self.path(closed)).is_ok() {
            let copy = self.path("the-command");
            std::fs::copy(env!("CARGO_BIN_EXE_sketchdb"), &copy).unwrap();
            command = Command::new(copy);
            command.args(args).current_dir(self.folder.path()).stdin(Stdio::null()).uid(NOBODY).gid(NOBODY);
        }
        let mut output = command.output();
        // Another thread's child may have the copy open for writing until it runs its own command.
        while output.as_ref().is_err_and(|error| error.kind() == ErrorKind::ExecutableFileBusy) {
            std::thread::sleep(Duration::from_millis(5));
            output = command.output();
        }
        match output {
            Ok(output) => Some(Ran::of(output)),
            Err(error) => {
                skipped(&format!("this user reads everything and may not become another: {error}"));
                None
            }
        }
    }

    /// Runs with a stdin.
    pub fn feed(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut pipe, stdin) = (child.stdin.take().unwrap(), stdin.as_ref());
        std::thread::scope(|scope| {
            // A command that fails early reads nothing.
            scope.spawn(move || drop(pipe.write_all(stdin)));
            Ran::of(child.wait_with_output().unwrap())
        })
    }

    /// Runs what must go well; its JSON lines.
    pub fn json(&self, args: &[&str]) -> Vec<Value> {
        self.run(&[&["--json"], args].concat()).exits(0).json()
    }

    /// A database with these documents.
    pub fn database(&self, name: &str, documents: &[(&str, &str)]) {
        self.write_lines("database.jsonl", documents);
        self.run(&["add", name, "database.jsonl"]).exits(0);
        std::fs::remove_file(self.path("database.jsonl")).unwrap();
    }
}

impl Ran {
    pub fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).unwrap_or_else(|error| panic!("{}", error.utf8_error()))
        };
        let code = output.status.code().expect("no signal ended it");
        let ran = Ran { code, out: text(output.stdout), err: text(output.stderr) };
        assert!(!ran.err.contains("panicked") && ran.code != 101, "{ran:?}");
        ran
    }

    /// Asserts the exit code.
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }

    /// Asserts that stderr has this in it.
    pub fn says(self, words: &str) -> Self {
        assert!(self.err.contains(words), "{words:?} is not said: {self:?}");
        self
    }

    /// Asserts that stderr has not this in it.
    pub fn keeps_silent_of(self, words: &str) -> Self {
        assert!(!self.err.contains(words), "{words:?} is said: {self:?}");
        self
    }

    /// Asserts that stdout is empty.
    pub fn gives_nothing(self) -> Self {
        assert_eq!(self.out, "", "{self:?}");
        self
    }

    /// Stdout as JSON lines.
    pub fn json(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect()
    }

    /// One field of each JSON line, strings bare.
    pub fn column(&self, field: &str) -> Vec<String> {
        self.json().iter().map(|line| plain(&line[field])).collect()
    }
}

/// A JSON value for comparison: strings without quotes.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
