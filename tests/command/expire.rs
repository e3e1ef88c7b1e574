//! `expire`: documents out that were not seen for long.

use crate::run::Shell;
use crate::stock::assert_fields;

const DAY: u64 = 86_400;

/// `old` seen on day 0 and day 10, `older` on day 0 only.
fn shell() -> Shell {
    let shell = Shell::new();
    shell.write_lines("both.jsonl", &[("old", "one two three"), ("older", "four five six")]);
    shell.write_lines("one.jsonl", &[("old", "one two three")]);
    shell.run(&["add", "db", "both.jsonl", "--seen-at", "1970-01-02T00:00:00Z"]).exits(0);
    shell.run(&["add", "db", "one.jsonl", "--seen-at", &(11 * DAY).to_string()]).exits(0);
    shell
}

fn expired(shell: &Shell, unseen_for: &str, now: &str) -> String {
    let ran = shell.run(&["--json", "expire", "db", "--unseen-for", unseen_for, "--now", now]).exits(0);
    ran.column("expired").concat()
}

#[test]
fn who_was_seen_since_stays() {
    let shell = shell();
    let lines = shell.json(&["expire", "db", "--unseen-for", "5d", "--now", &(12 * DAY).to_string()]);
    assert_eq!(lines.len(), 1);
    assert_fields(&lines[0], &["expired", "before"]);
    assert_eq!((&lines[0]["expired"], &lines[0]["before"]), (&1.into(), &"1970-01-08T00:00:00Z".into()));
    shell.run(&["get", "db", "old"]).exits(0);
    shell.run(&["get", "db", "older"]).exits(1);
}

#[test]
fn durations_and_times_are_read_in_each_form() {
    for (unseen_for, now, gone) in [
        ("30d", "1970-02-01T00:00:01Z", "1"),
        ("30d", "1970-02-01T00:00:00Z", "0"),
        ("12h", "129601", "1"),
        ("12h", "129600", "0"),
        ("12h", "1970-01-02T14:00:01+02:00", "1"),
        ("1d 12h", "216001", "1"),
        ("0s", "4102444800", "2"),
        ("90d", "1", "0"),
    ] {
        assert_eq!(expired(&shell(), unseen_for, now), gone, "{unseen_for} before {now}");
    }
}

#[test]
fn the_clock_is_taken_when_no_time_is_given() {
    let shell = shell();
    shell.write_lines("new.jsonl", &[("new", "seven eight nine")]);
    shell.run(&["add", "db", "new.jsonl"]).exits(0);
    let ran = shell.run(&["--json", "expire", "db", "--unseen-for", "365d"]).exits(0);
    assert_eq!(ran.column("expired"), ["2"]);
    shell.run(&["get", "db", "new"]).exits(0);
}

#[test]
fn nothing_to_expire_is_done_all_the_same() {
    let shell = shell();
    assert_eq!(expired(&shell, "30d", "1970-01-03T00:00:00Z"), "0");
    assert_eq!(shell.json(&["stats", "db"])[0]["documents"], 2);
}

#[test]
fn what_is_no_duration_or_time_is_2_and_expires_nothing() {
    let shell = shell();
    for wrong in ["30", "d", "-1d", "1.5x", "", "soon"] {
        let ran = shell.run(&["expire", "db", "--unseen-for", wrong]).exits(2).gives_nothing();
        assert!(wrong.starts_with('-') || ran.err.contains("a duration such as 30d or 12h"), "{ran:?}");
    }
    for wrong in ["yesterday", "-1", "1970-13-01T00:00:00Z"] {
        shell.run(&["expire", "db", "--unseen-for", "1d", "--now", wrong]).exits(2).gives_nothing();
    }
    shell.run(&["expire", "db"]).exits(2).gives_nothing();
    shell.run(&["expire", "missing", "--unseen-for", "1d"]).exits(2).gives_nothing();
    assert_eq!(shell.json(&["stats", "db"])[0]["documents"], 2);
}
