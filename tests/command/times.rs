//! `--seen-at`, and the times that `get` tells.

use crate::run::Shell;
use std::time::{SystemTime, UNIX_EPOCH};

fn times(shell: &Shell, key: &str) -> [String; 2] {
    let line = shell.run(&["--json", "get", "db", key]).exits(0);
    ["first_seen", "last_seen"].map(|field| line.column(field).remove(0))
}

#[test]
fn times_are_rfc3339_or_unix_seconds() {
    let shell = Shell::new();
    for (number, (given, told)) in [
        ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00", "2026-01-31T12:00:00Z"),
        ("2026-01-31 12:00:00", "2026-01-31T12:00:00Z"),
        ("2026-01-31T12:00:00.9Z", "2026-01-31T12:00:00Z"),
        ("1769860800", "2026-01-31T12:00:00Z"),
        ("0", "1970-01-01T00:00:00Z"),
        ("253402300799", "9999-12-31T23:59:59Z"),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("{number}.txt");
        shell.write(&name, &name);
        shell.run(&["add", "db", &name, "--seen-at", given]).exits(0);
        assert_eq!(times(&shell, &name), [told, told], "{given}");
    }
    for wrong in [
        "",
        "now",
        "2026-13-01T00:00:00Z",
        "2026-01-31",
        "1.5",
        "1969-12-31T00:00:00Z",
        "99999999999999999999",
        "253402300800",
        "1769860800000",
    ] {
        shell.run(&["add", "db", "0.txt", "--seen-at", wrong]).exits(2).gives_nothing();
    }
}

#[test]
fn offsets_are_understood() {
    let shell = Shell::new();
    shell.write("a.txt", "one");
    for (number, given) in
        ["2026-01-31T14:30:01+02:30", "2026-01-31T04:00:02-08:00", "2026-01-31T12:00:03.5+00:00"]
            .iter()
            .enumerate()
    {
        shell.run(&["add", "db", "a.txt", "--seen-at", given]).exits(0);
        assert_eq!(times(&shell, "a.txt")[1], format!("2026-01-31T12:00:0{}Z", number + 1));
    }
    for wrong in [
        "2026-01-31T14:30:00+24:00",
        "2026-01-31T14:30:00+02:60",
        "2026-01-31T14:30:00Z+02:00",
        "1970-01-01T00:00:00+01:00",
        "é+02:30",
        "2026-01-31T14:30:00++1:00",
    ] {
        shell.run(&["add", "db", "a.txt", "--seen-at", wrong]).exits(2).gives_nothing();
    }
}

#[test]
fn last_seen_never_goes_back() {
    let shell = Shell::new();
    let add = |text: &str, seen: &str| {
        shell.write("a.txt", text);
        shell.run(&["add", "db", "a.txt", "--seen-at", seen]).exits(0);
        times(&shell, "a.txt").map(|time| time[17..19].to_owned())
    };
    assert_eq!(add("one", "30"), ["30", "30"]);
    assert_eq!(add("one", "10"), ["30", "30"]);
    assert_eq!(add("one", "40"), ["30", "40"]);
    assert_eq!(add("two", "20"), ["30", "40"]);
    assert_eq!(add("two", "50"), ["30", "50"]);
}

#[test]
fn only_new_notes_the_original_as_seen() {
    let shell = Shell::new();
    shell.write("a.txt", "one two three");
    shell.write("b.txt", "one two three");
    shell.run(&["add", "db", "a.txt", "--seen-at", "100"]).exits(0);
    shell.run(&["add", "db", "b.txt", "--only-new", "--seen-at", "150"]).exits(0);
    assert_eq!(times(&shell, "a.txt"), ["1970-01-01T00:01:40Z", "1970-01-01T00:02:30Z"]);
}

#[test]
fn the_clock_is_taken_when_no_time_is_given() {
    let shell = Shell::new();
    shell.write("a.txt", "one");
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let before = now();
    shell.run(&["add", "db", "a.txt"]).exits(0);
    let after = now();
    let stored = sketchdb::Database::open(shell.path("db"), Default::default())
        .unwrap()
        .get("a.txt")
        .unwrap()
        .unwrap();
    assert!((before..=after).contains(&stored.last_seen.unwrap()));
    assert_eq!(stored.first_seen, stored.last_seen);
}
