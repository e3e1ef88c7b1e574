//! Several processes and one database: one writes, or any number read; whoever comes to a locked file is told what to do.

use crate::run::{Ran, Shell};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A command that has the database open for as long as its stdin is.
struct Holder {
    child: Child,
    stdin: ChildStdin,
    out: BufReader<ChildStdout>,
}

impl Holder {
    fn new(shell: &Shell, args: &[&str]) -> Self {
        let mut command = shell.command(&[&["--json"], args, &["-", "--format", "jsonl"]].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (stdin, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Holder { child, stdin, out: BufReader::new(out) }
    }

    /// The answer to a document: once it has come, the database is open.
    fn answer(&mut self, id: &str, text: &str) -> Value {
        writeln!(self.stdin, "{}", json!({"id": id, "text": text})).unwrap();
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect("an answer")
    }

    fn ends(mut self) -> Option<i32> {
        drop((self.stdin, self.out));
        self.child.wait().unwrap().code()
    }

    fn dies(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

const TEXT: &str = "one two three four five six seven eight nine ten";
const READING: [&[&str]; 9] = [
    &["query", "db", "a.txt"],
    &["get", "db", "a"],
    &["stats", "db"],
    &["pairs", "db"],
    &["clusters", "db"],
    &["dedup", "a.txt", "--against", "db"],
    &["verify", "db"],
    &["export", "db"],
    &["query", "db", "missing.txt"],
];
const WRITING: [&[&str]; 6] = [
    &["add", "db", "a.txt"],
    &["remove", "db", "a"],
    &["expire", "db", "--unseen-for", "1d"],
    &["compact", "db"],
    &["rebuild", "db"],
    &["merge", "db", "other"],
];

fn shell() -> Shell {
    let shell = Shell::new();
    for name in ["db", "other"] {
        shell.database(name, &[("a", TEXT), ("b", &TEXT.to_uppercase())]);
    }
    shell.write("a.txt", TEXT);
    shell
}

/// Asserts that a run is told that the file is in use, and what to do; exit 6.
fn is_told(ran: Ran) {
    let told = "db is in use by another process: wait for it to end (one writer, or any number of readers)";
    ran.exits(6).gives_nothing().says(told);
}

#[test]
fn while_one_process_writes_no_other_reads_or_writes() {
    let shell = shell();
    let mut writer = Holder::new(&shell, &["add", "db"]);
    assert_eq!(writer.answer("c", TEXT)["verdict"], "exact");
    for args in READING.iter().chain(&WRITING) {
        is_told(shell.run(args));
    }
    shell.run(&["create", "db"]).exits(2).says("exists already");
    shell.run(&["merge", "other", "db"]).exits(6).says("in use");
    // The writer does not notice.
    assert_eq!(writer.answer("d", TEXT)["verdict"], "exact");
    assert_eq!(writer.ends(), Some(0));
    let keys = shell.json(&["export", "db"]).iter().filter(|line| line.get("document").is_some()).count();
    assert_eq!(keys, 4);
}

#[test]
fn processes_read_side_by_side_and_keep_writers_out() {
    let shell = shell();
    let mut readers = [0, 1, 2].map(|_| Holder::new(&shell, &["query", "db", "--self"]));
    for reader in &mut readers {
        assert_eq!(reader.answer("x", TEXT)["match"], "a");
    }
    for args in &READING[..8] {
        let ran = shell.run(args);
        assert!([0, 1].contains(&ran.code), "{args:?}: {ran:?}");
        ran.keeps_silent_of("in use");
    }
    for args in WRITING {
        is_told(shell.run(args));
    }
    for reader in &mut readers {
        assert_eq!(reader.answer("y", &TEXT.to_uppercase())["match"], "b");
    }
    let [first, second, third] = readers;
    assert_eq!((first.ends(), second.ends()), (Some(0), Some(0)));
    is_told(shell.run(&["add", "db", "a.txt"]));
    third.dies();
    // A reader leaves nothing behind, however it ends.
    shell.run(&["add", "db", "a.txt"]).exits(0);
    shell.run(&["get", "db", "a.txt"]).exits(0);
}

#[test]
fn the_lock_goes_with_the_process_that_holds_it() {
    let shell = shell();
    let mut writer = Holder::new(&shell, &["add", "db"]);
    assert_eq!(writer.answer("c", TEXT)["verdict"], "exact");
    writer.dies();
    shell.run(&["get", "db", "c"]).exits(0);
    let mut next = Holder::new(&shell, &["add", "db"]);
    assert_eq!(next.answer("d", TEXT)["of"], "a");
    is_told(shell.run(&["get", "db", "c"]));
    assert_eq!(next.ends(), Some(0));
    for key in ["a", "b", "c", "d"] {
        shell.run(&["get", "db", key]).exits(0);
    }
    shell.run(&["verify", "db"]).exits(0);
}

#[test]
fn of_processes_that_add_one_new_text_one_makes_the_database_and_is_told_new() {
    let shell = Shell::new();
    for round in 0..4 {
        let db = format!("db{round}");
        let add = |number: usize| {
            let file = format!("{round}-{number}.txt");
            shell.write(&file, TEXT);
            loop {
                let ran = shell.run(&["--json", "add", &db, &file]);
                if ran.code != 6 {
                    return ran.exits(0).column("verdict").concat();
                }
                ran.gives_nothing();
            }
        };
        let mut verdicts: Vec<String> = std::thread::scope(|scope| {
            let adding: Vec<_> = (0..6)
                .map(|number| {
                    scope.spawn({
                        let add = &add;
                        move || add(number)
                    })
                })
                .collect();
            adding.into_iter().map(|adding| adding.join().unwrap()).collect()
        });
        verdicts.sort();
        assert_eq!(verdicts, ["exact", "exact", "exact", "exact", "exact", "new"]);
        assert_eq!(shell.json(&["stats", &db])[0]["documents"], 6);
    }
}
