//! The crawler as a process, and what it leaves.

use crate::server::Server;
use reqwest::Url;
use sketchdb::web::text_of;
use sketchdb::{AddOptions, Database, Options, Params, Policy, Sighting};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

/// A process that is begun while a database is open here has its lock for a moment, too: one or the other at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn begin(command: &mut Command) -> Child {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    command.spawn().unwrap()
}

/// A folder for a database, its frontier and the lines that the crawler wrote.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    pub fn db(&self) -> PathBuf {
        self.0.path().join("pages.sketchdb")
    }

    fn lines(&self) -> PathBuf {
        self.0.path().join("lines")
    }

    fn command(&self, server: &Server, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sketchdb-crawler"));
        command.arg(self.db()).arg(server.url("/")).args(["--contained", "0.9"]).args(options);
        if !options.contains(&"--pages") {
            // A crawl that goes wrong comes to an end.
            command.args(["--pages", "1000"]);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Begins or goes on with a crawl, whose lines come to those of its earlier processes.
    pub fn spawn(&self, server: &Server, options: &[&str]) -> Child {
        let lines = OpenOptions::new().create(true).append(true).open(self.lines()).unwrap();
        begin(self.command(server, options).stdout(lines))
    }

    fn output(&self, server: &Server, options: &[&str]) -> Output {
        let mut command = self.command(server, options);
        begin(command.stdout(Stdio::piped()).stderr(Stdio::piped())).wait_with_output().unwrap()
    }

    /// Crawls to the end; the object that is printed then.
    pub fn crawl(&self, server: &Server, options: &[&str]) -> serde_json::Value {
        let output = self.output(server, &[options, &["--json"]].concat());
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert_eq!(told, "");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// What is said at the end of a crawl that is over, for people.
    pub fn told(&self, server: &Server) -> String {
        String::from_utf8(self.output(server, &[]).stderr).unwrap()
    }

    /// The pages that were acknowledged so far: what became of each, and its URL.
    pub fn acknowledged(&self) -> Vec<(String, String)> {
        let lines = std::io::read_to_string(File::open(self.lines()).unwrap()).unwrap();
        lines
            .lines()
            .map(|line| {
                let mut fields = line.split('\t').map(str::to_owned);
                (fields.next().unwrap(), fields.next().unwrap())
            })
            .collect()
    }

    /// What this says of the database.
    pub fn with<T>(&self, look: impl FnOnce(&Database) -> T) -> T {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let db = open(&self.db());
        let found = look(&db);
        db.close().unwrap();
        found
    }

    /// Which of these targets are stored; the database is whole.
    pub fn stored(&self, server: &Server, targets: &[String]) -> BTreeSet<String> {
        self.with(|db| {
            assert_eq!(db.verify(true).unwrap().damage, []);
            let is_stored = |target: &&String| db.get(&server.url(target)).unwrap().is_some();
            targets.iter().filter(is_stored).cloned().collect()
        })
    }
}

/// As the crawler opens it.
pub fn open(path: &std::path::Path) -> Database {
    if !path.exists() {
        Database::create(path, &Params::default()).unwrap();
    }
    let adding = AddOptions { policy: Policy::OnlyNew, contained: Some(0.9), ..AddOptions::default() };
    Database::open(path, Options { adding, ..Options::default() }).unwrap()
}

/// What the crawler does with a page.
pub fn see(db: &Database, url: &str, page: &[u8], seen_at: Option<u64>) -> Sighting {
    let extraction = db.params().sketch.extraction().unwrap();
    let text = text_of(page, "text/html; charset=utf-8", extraction).unwrap();
    db.seen_or_add(url, text, seen_at).unwrap()
}

/// Path and query of a URL: what a server is asked for.
pub fn target(url: &str) -> String {
    url[Url::parse(url).unwrap().origin().ascii_serialization().len()..].to_owned()
}
