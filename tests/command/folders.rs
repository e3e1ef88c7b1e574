//! Proves that outputs and databases are made in a folder that may be written to and not read.

use super::run::Shell;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

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
    for args in [
        &["dedup", "in.jsonl", "--output", "inbox/new", "--removed", "inbox/old"][..],
        &["create", "inbox/db"],
        &["add", "inbox/db", "in.jsonl"],
        &["compact", "inbox/db"],
    ] {
        let Some(ran) = shell.run_bound("inbox", args) else { return };
        ran.exits(0);
    }
    allow("inbox", 0o755);
    for (name, lines) in [("inbox/new", 1), ("inbox/old", 1)] {
        assert_eq!(std::fs::read_to_string(shell.path(name)).unwrap().lines().count(), lines, "{name}");
    }
    shell.run(&["get", "inbox/db", "b"]).exits(0);
}
