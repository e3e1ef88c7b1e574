//! Proves that outputs and databases are made in a folder that may be written to and not read.

use super::run::{Ran, Shell};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

/// A user that owns nothing.
const NOBODY: u32 = 65_534;

#[test]
fn a_folder_need_not_be_readable() {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &[("a", "one two three four"), ("b", "one two three four")]);
    shell.write("inbox/old", "an older output");
    let allow =
        |name, mode| std::fs::set_permissions(shell.path(name), Permissions::from_mode(mode)).unwrap();
    allow("", 0o755);
    allow("inbox/old", 0o666);
    allow("inbox", 0o333);
    // Whoever reads everything lets somebody else do it.
    let everything = std::fs::File::open(shell.path("inbox")).is_ok();
    for args in [
        &["dedup", "in.jsonl", "--output", "inbox/new", "--removed", "inbox/old"][..],
        &["create", "inbox/db"],
        &["add", "inbox/db", "in.jsonl"],
        &["compact", "inbox/db"],
    ] {
        let mut command = shell.command(args);
        if everything {
            command.uid(NOBODY).gid(NOBODY);
        }
        match command.output() {
            Ok(output) => drop(Ran::of(output).exits(0)),
            Err(error) => {
                return eprintln!("a folder that may not be read: not tested: as another user: {error}");
            }
        }
    }
    allow("inbox", 0o755);
    for (name, lines) in [("inbox/new", 1), ("inbox/old", 1)] {
        assert_eq!(std::fs::read_to_string(shell.path(name)).unwrap().lines().count(), lines, "{name}");
    }
    shell.run(&["get", "inbox/db", "b"]).exits(0);
}
