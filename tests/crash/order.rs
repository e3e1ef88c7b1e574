//! Proves, by the system calls of the command, that a file is on the disk before it takes its place, and its folder after.

use super::common::place::Place;
use super::common::skipped::skipped;
use super::processes::fill;
use std::path::Path;
use std::process::{Command, Stdio};

const CALLS: &str =
    "write,writev,pwrite64,ftruncate,fallocate,fsync,fdatasync,rename,renameat,renameat2,link,linkat";

/// What the command did to files, in order.
#[derive(Debug, PartialEq)]
enum Call {
    Write(String),
    Sync(String),
    TakePlace { from: String, to: String },
}

/// Whether `strace` is there and may look.
fn may_trace() -> bool {
    let traced = Command::new("strace").args(["-f", "-qq", "-e", "trace=none", "true"]).output();
    traced.is_ok_and(|traced| traced.status.success())
}

fn calls(args: &[&str], trace: &Path) -> Vec<Call> {
    let traced = Command::new("strace")
        .args(["-f", "-y", "-qq", "-s", "0", "-e", &format!("trace={CALLS}"), "-o"])
        .arg(trace)
        .arg(env!("CARGO_BIN_EXE_sketchdb"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(traced.status.success(), "{args:?}: {}", String::from_utf8_lossy(&traced.stderr));
    std::fs::read_to_string(trace).unwrap().lines().filter_map(call).collect()
}

/// A line such as `71 fsync(3</folder/file>) = 0` or `71 rename("/folder/a", "/folder/b") = 0`.
fn call(line: &str) -> Option<Call> {
    let (name, rest) = line.split_once(' ')?.1.trim_start().split_once('(')?;
    let opened = || Some(rest.split_once('<')?.1.split_once('>')?.0.to_owned());
    match name {
        "fsync" | "fdatasync" => Some(Call::Sync(opened()?)),
        name if name.starts_with("rename") || name.starts_with("link") => {
            let mut names = rest.split('"').skip(1).step_by(2).map(str::to_owned);
            Some(Call::TakePlace { from: names.next()?, to: names.next()? })
        }
        _ => Some(Call::Write(opened()?)),
    }
}

/// Checks each file that took a place: how many did.
fn check(verb: &str, calls: &[Call]) -> usize {
    let mut took_place = 0;
    for (at, call) in calls.iter().enumerate() {
        let Call::TakePlace { from, to } = call else { continue };
        let last = calls[..at].iter().rev().find(|call| match call {
            Call::Write(path) | Call::Sync(path) => path == from,
            Call::TakePlace { .. } => false,
        });
        assert_eq!(last, Some(&Call::Sync(from.clone())), "{verb}: {to} was written to and not synced");
        let folder = Path::new(to).parent().unwrap().to_str().unwrap().to_owned();
        let synced = Call::Sync(folder);
        let next =
            calls[at + 1..].iter().find(|call| **call == synced || matches!(call, Call::TakePlace { .. }));
        assert_eq!(next, Some(&synced), "{verb}: the folder was not synced after {to} took its place");
        took_place += 1;
    }
    took_place
}

#[test]
fn a_file_is_synced_before_it_takes_its_place_and_its_folder_after() {
    if !may_trace() {
        return skipped("strace is not there or may not trace");
    }
    let place = Place::empty();
    let names = ["trace", "new", "db", "export", "copy", "in.jsonl", "kept", "removed"];
    let [trace, new, db, export, copy, input, kept, removed] =
        names.map(|name| place.file(name).to_str().unwrap().to_owned());
    fill(&place.file("db"), "a");
    let lines = Command::new(env!("CARGO_BIN_EXE_sketchdb")).args(["export", &db]).output().unwrap().stdout;
    std::fs::write(&export, lines).unwrap();
    std::fs::write(&input, "{\"id\":\"a\",\"text\":\"a text\"}\n{\"id\":\"b\",\"text\":\"a text\"}\n")
        .unwrap();
    let verbs: [(&[&str], usize); 5] = [
        (&["create", &new], 1),
        (&["compact", &db], 1),
        (&["rebuild", &db], 1),
        (&["import", &copy, &export], 1),
        (&["dedup", &input, "--output", &kept, "--removed", &removed], 2),
    ];
    for (args, files) in verbs {
        let calls = calls(args, Path::new(&trace));
        assert_eq!(check(args[0], &calls), files, "{}: {calls:?}", args[0]);
        if args[0] == "dedup" {
            check_dedup(&calls);
        }
    }
}

/// What is kept may take the place of the input: both outputs are on the disk before either takes its place.
fn check_dedup(calls: &[Call]) {
    let first = calls.iter().position(|call| matches!(call, Call::TakePlace { .. })).unwrap();
    let kept = calls.iter().rev().find_map(|call| match call {
        Call::TakePlace { from, to } if to.ends_with("/kept") => Some(from),
        _ => None,
    });
    let kept = Call::Sync(kept.expect("it comes last").clone());
    assert!(
        calls[..first].contains(&kept),
        "what is kept was not on the disk when what was removed took its place"
    );
}
