//! SIGINT and SIGTERM: verbs that store end in order, say how far they came, and go on when they are run again.

use crate::run::{Ran, Shell};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a command may take before it hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// Documents of a database that keeps verbs busy for several commits.
const MANY: usize = 20_000;

fn lines(count: usize) -> String {
    let text = |number: usize| (0..12).map(|word| format!("w{number}x{word} ")).collect::<String>();
    (0..count)
        .map(|number| json!({"id": format!("k{number}"), "text": text(number)}).to_string() + "\n")
        .collect()
}

pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().unwrap();
    assert!(sent.success() || name != "KILL");
}

/// Waits for a command that must not hang, and reads what it has left to say.
fn ended(mut child: Child) -> Ran {
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            let _ = child.kill();
            panic!("the command hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ran::of(child.wait_with_output().unwrap())
}

/// The number before these words.
fn told(ran: &Ran, words: &str) -> u64 {
    let said = ran.err.lines().find_map(|line| line.strip_prefix("sketchdb: interrupted: "));
    let said = said.unwrap_or_else(|| panic!("nothing is said: {ran:?}"));
    let number = said.strip_suffix(&format!(" {words}; run the same command again to continue"));
    number.unwrap_or_else(|| panic!("{words:?} is not said: {said}")).replace(',', "").parse().unwrap()
}

/// Asserts that a database is closed and whole: how many documents it has.
fn documents(shell: &Shell, name: &str) -> u64 {
    assert!(!is_unclosed(&shell.bytes(name)), "{name} is not closed");
    shell.run(&["verify", name]).exits(0);
    shell.json(&["stats", name])[0]["documents"].as_u64().unwrap()
}

/// Whether the header of the store says that the file is to be recovered.
pub fn is_unclosed(bytes: &[u8]) -> bool {
    bytes[8192 + 9] & 2 != 0
}

fn no_temporary_file(shell: &Shell) {
    assert!(shell.files().iter().all(|name| !name.starts_with(".sketchdb-")), "{:?}", shell.files());
}

/// Bytes of a database with many documents, all last seen in 1970, and its export.
fn many() -> &'static (Vec<u8>, String) {
    static MADE: OnceLock<(Vec<u8>, String)> = OnceLock::new();
    MADE.get_or_init(|| {
        let shell = Shell::new();
        shell.write("in.jsonl", lines(MANY));
        shell.run(&["--quiet", "add", "db", "in.jsonl", "--seen-at", "1000"]).exits(0);
        (shell.bytes("db"), shell.run(&["--quiet", "export", "db"]).exits(0).out)
    })
}

/// Runs a verb and interrupts it, ever later, until it is neither too early nor too late; `prepare` comes before each run.
fn interrupted(shell: &Shell, name: &str, args: &[&str], mut prepare: impl FnMut()) -> Ran {
    let mut delay = Duration::from_millis(4);
    loop {
        prepare();
        let mut command = shell.command(args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(delay);
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            // The process had not begun, or had ended.
            None => delay = delay * 3 / 2,
            Some(0) => delay = delay * 2 / 3,
            _ => return Ran::of(output),
        }
    }
}

#[test]
fn add_stores_what_it_acknowledged_and_goes_on_when_it_is_run_again() {
    let (input, total) = (lines(12_000), 12_000);
    for (name, code, acknowledged) in [("INT", 130, 1), ("TERM", 143, 700), ("INT", 130, 5_000)] {
        let shell = Shell::new();
        shell.write("in.jsonl", &input);
        let mut command = shell.command(&["--json", "--memory", "8M", "add", "db", "-", "--format", "jsonl"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut stdin, mut out) =
            (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut read = Vec::new();
        std::thread::scope(|scope| {
            // Stdin stays open: nobody waits for it.
            let feeding = scope.spawn(|| drop(stdin.write_all(input.as_bytes())));
            let mut line = String::new();
            while read.len() < acknowledged {
                line.clear();
                assert!(out.read_line(&mut line).unwrap() > 0);
                read.push(line.clone());
            }
            signal(&child, name);
            read.extend(out.lines().map(Result::unwrap));
            let ran = ended(child).exits(code);
            let stored = told(&ran, "documents stored");
            assert_eq!(documents(&shell, "db"), stored);
            assert_eq!(read.len() as u64, stored, "every stored document is acknowledged");
            assert!(stored >= acknowledged as u64);
            feeding.join().unwrap();
        });
        let last = read.len() - 1;
        for at in [0, last / 2, last] {
            shell.run(&["get", "db", &format!("k{at}")]).exits(0);
        }
        shell.run(&["add", "db", "in.jsonl"]).exits(0).says(&format!("{} unchanged", read.len()));
        assert_eq!(documents(&shell, "db"), total);
    }
}

#[test]
fn add_of_files_is_interrupted_at_any_moment() {
    let shell = Shell::new();
    shell.write("in.jsonl", lines(MANY));
    for round in 0..6 {
        let mut delay = Duration::from_millis(10 + 40 * round);
        loop {
            let _ = std::fs::remove_file(shell.path("db"));
            let mut command = shell.command(&["add", "db", "in.jsonl"]);
            let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(delay);
            signal(&child, "INT");
            let output = child.wait_with_output().unwrap();
            match output.status.code() {
                None => delay = delay * 3 / 2,
                Some(0) => delay = delay * 2 / 3,
                Some(_) => {
                    let stored = told(&Ran::of(output).exits(130), "documents stored");
                    assert_eq!(shell.path("db").exists(), stored > 0);
                    if stored > 0 {
                        assert_eq!(documents(&shell, "db"), stored);
                    }
                    break;
                }
            }
        }
        no_temporary_file(&shell);
        shell.run(&["--quiet", "add", "db", "in.jsonl"]).exits(0);
        assert_eq!(documents(&shell, "db"), MANY as u64);
    }
}

#[test]
fn an_add_that_is_interrupted_before_anything_came_makes_nothing() {
    for name in ["INT", "TERM"] {
        let shell = Shell::new();
        shell.write("a.txt", "one two three");
        // The first document is known to have come when the second is asked for.
        let mut command = shell.command(&["add", "db", "missing.txt", "-", "--format", "jsonl"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _stdin = child.stdin.take();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        err.read_line(&mut said).unwrap();
        assert!(said.contains("missing.txt"), "{said}");
        signal(&child, name);
        err.read_to_string(&mut said).unwrap();
        let ran = ended(child).exits(if name == "INT" { 130 } else { 143 });
        assert!(said.contains("interrupted: 0 documents stored"), "{said} {ran:?}");
        assert_eq!(shell.files(), ["a.txt"]);
    }
}

#[test]
fn a_second_signal_ends_at_once_and_loses_nothing_acknowledged() {
    let shell = Shell::new();
    shell.write("in.jsonl", lines(MANY));
    let mut command = shell.command(&["--json", "add", "db", "in.jsonl"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Nobody reads on: the command waits to print, and cannot end in order.
    let mut out = BufReader::with_capacity(1 << 12, child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    for name in ["INT", "TERM"] {
        signal(&child, name);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(ended(child).exits(143).err, "");
    // The last line may be cut.
    let lines: Vec<String> = out.lines().map(Result::unwrap).filter(|line| line.ends_with('}')).collect();
    assert!(lines.len() > 100);
    for line in [&first, &lines[lines.len() / 2], &lines[lines.len() - 1]] {
        let key =
            serde_json::from_str::<serde_json::Value>(line).unwrap()["key"].as_str().unwrap().to_owned();
        shell.run(&["get", "db", &key]).exits(0);
    }
    assert!(documents(&shell, "db") >= lines.len() as u64);
}

#[test]
fn a_file_that_is_written_anew_stays_as_it_is() {
    let shell = Shell::new();
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        for args in [&["compact", "db"][..], &["rebuild", "db"], &["rebuild", "db", "--salvage"]] {
            let ran = interrupted(&shell, name, args, || shell.write("db", &many().0));
            ran.exits(code)
                .gives_nothing()
                .says("sketchdb: interrupted: nothing was changed; run the same command again");
            no_temporary_file(&shell);
            assert_eq!(shell.files(), ["db"], "{args:?}");
            assert_eq!(documents(&shell, "db"), MANY as u64);
            shell.run(args).exits(0);
            assert_eq!(documents(&shell, "db"), MANY as u64);
        }
    }
}

#[test]
fn import_makes_all_of_a_database_or_none() {
    let shell = Shell::new();
    shell.write("export", &many().1);
    let none = || drop(std::fs::remove_file(shell.path("db")));
    let ran = interrupted(&shell, "INT", &["import", "db", "export"], none);
    ran.exits(130).says("interrupted: nothing was changed");
    assert_eq!(shell.files(), ["export"]);
    // While nothing comes from stdin, too.
    let mut command = shell.command(&["import", "db", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&many().1.as_bytes()[..1 << 20]).unwrap();
    signal(&child, "TERM");
    ended(child).exits(143).says("interrupted: nothing was changed");
    assert_eq!(shell.files(), ["export"]);
}

#[test]
fn merge_and_import_keep_what_they_took_over() {
    let shell = Shell::new();
    shell.write("from", &many().0);
    shell.write("export", &many().1);
    for args in [&["merge", "db", "from"][..], &["import", "db", "export"]] {
        let one = || {
            let _ = std::fs::remove_file(shell.path("db"));
            shell.database("db", &[("own", "a text of its own")]);
        };
        let ran = interrupted(&shell, "TERM", args, one).exits(143).gives_nothing();
        let taken =
            if ran.err.contains("nothing was changed") { 0 } else { told(&ran, "documents taken over") };
        assert_eq!(documents(&shell, "db"), 1 + taken, "{args:?}");
        assert_eq!(documents(&shell, "from"), MANY as u64);
        no_temporary_file(&shell);
        shell.run(args).exits(0);
        assert_eq!(documents(&shell, "db"), 1 + MANY as u64, "{args:?}");
    }
}

#[test]
fn remove_and_expire_say_how_many_are_gone() {
    let shell = Shell::new();
    let keys: String = (0..MANY).map(|number| format!("k{number}\n")).collect();
    shell.write("keys", &keys);
    for (args, words) in [
        (&["remove", "db", "--keys-from", "keys"][..], "documents removed"),
        (&["expire", "db", "--unseen-for", "1d"], "documents removed"),
    ] {
        let ran =
            interrupted(&shell, "INT", args, || shell.write("db", &many().0)).exits(130).gives_nothing();
        let gone = told(&ran, words);
        assert_eq!(documents(&shell, "db"), MANY as u64 - gone, "{args:?}");
        let again = shell.run(args);
        assert!([0, 1].contains(&again.code), "{again:?}");
        assert_eq!(documents(&shell, "db"), 0);
    }
    shell.write("db", &many().0);
    let mut command = shell.command(&["remove", "db", "--keys-from", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(keys.as_bytes()).unwrap();
    signal(&child, "INT");
    let gone = told(&ended(child).exits(130), "documents removed");
    assert_eq!(documents(&shell, "db"), MANY as u64 - gone);
}

#[test]
fn dedup_leaves_no_output_that_is_not_whole() {
    let shell = Shell::new();
    shell.write("in.jsonl", lines(MANY));
    let before = shell.bytes("in.jsonl");
    for keep in ["first", "longest"] {
        for output in ["kept.jsonl", "in.jsonl"] {
            let args =
                ["dedup", "in.jsonl", "--keep", keep, "--output", output, "--removed", "removed.jsonl"];
            let fresh = || {
                shell.write("in.jsonl", &before);
                for name in ["kept.jsonl", "removed.jsonl"] {
                    let _ = std::fs::remove_file(shell.path(name));
                }
            };
            let ran = interrupted(&shell, "INT", &args, fresh);
            ran.exits(130).says("interrupted: nothing was changed; run the same command again");
            assert_eq!(shell.files(), ["in.jsonl"], "{args:?}");
            assert_eq!(shell.bytes("in.jsonl"), before);
        }
    }
    let ran = interrupted(&shell, "TERM", &["dedup", "in.jsonl"], || {});
    // It may not have begun to print.
    let said = if ran.out.is_empty() { "interrupted: " } else { "interrupted: what was printed is not all" };
    ran.exits(143).says(said).says("; run the same command again");
}

#[test]
fn reading_verbs_end_at_once() {
    let shell = Shell::new();
    shell.database("db", &[("a", "one two three four five six")]);
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        for args in
            [&["query", "db", "-", "--format", "jsonl", "--self"][..], &["sketch", "-", "--format", "jsonl"]]
        {
            let mut command = shell.command(&[&["--json"], args].concat());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut stdin = child.stdin.take().unwrap();
            writeln!(stdin, "{}", json!({"id": "b", "text": "one two three four five six"})).unwrap();
            let mut out = BufReader::new(child.stdout.take().unwrap());
            out.read_line(&mut String::new()).unwrap();
            signal(&child, name);
            assert_eq!(ended(child).exits(code).err, "", "{args:?}");
        }
    }
}

#[test]
fn who_waits_for_a_lock_is_interrupted() {
    let shell = Shell::new();
    shell.database("db", &[("a", "text")]);
    shell.write("a.txt", "text");
    let _held = sketchdb::Database::open(shell.path("db"), sketchdb::Options::default()).unwrap();
    for args in [&["add", "db", "a.txt"][..], &["compact", "db"], &["get", "db", "a"]] {
        let ran = interrupted(&shell, "TERM", &[&["--wait", "1000"], args].concat(), || {});
        ran.exits(143).gives_nothing();
    }
}

/// Nobody ever opens the other end of the pipe.
#[test]
fn who_waits_for_the_other_end_of_a_pipe_is_interrupted() {
    let shell = Shell::new();
    shell.write("in.jsonl", lines(10));
    shell.run(&["add", "db", "in.jsonl"]).exits(0);
    assert!(Command::new("mkfifo").arg(shell.path("pipe")).status().unwrap().success());
    for args in [
        &["dedup", "in.jsonl", "--output", "pipe"][..],
        &["dedup", "in.jsonl", "--output", "kept.jsonl", "--removed", "pipe"],
        &["remove", "db", "--keys-from", "pipe"],
        &["import", "new", "pipe"],
    ] {
        let child = shell.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        signal(&child, "TERM");
        ended(child).exits(143);
        no_temporary_file(&shell);
        assert!(!shell.path("kept.jsonl").exists() && !shell.path("new").exists(), "{args:?}");
    }
    assert_eq!(documents(&shell, "db"), 10);
}
