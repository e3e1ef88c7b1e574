//! Records of archives which say that a page was the same as before.

use crate::archive::{http, record, revisit};
use crate::run::{Ran, Shell};

/// Adds an archive to a new database.
fn add(name: &str, archive: impl AsRef<[u8]>) -> (Shell, Ran) {
    let shell = Shell::new();
    shell.write(name, archive);
    let ran = shell.run(&["--json", "add", "db", name]);
    (shell, ran)
}

#[test]
fn revisits_are_seen_again() {
    let (before, after) = ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z");
    let page = record(
        "response",
        &[
            "WARC-Target-URI: http://a.example/",
            &format!("WARC-Date: {before}"),
            "Content-Type: application/http",
        ],
        http(&["Content-Type: text/plain"], "one two three"),
    );
    let archive = [
        revisit("http://a.example/", after, None),
        page.clone(),
        revisit("http://a.example/", after, None),
        revisit("http://b.example/", "2026-03-01T00:00:00Z", Some("http://a.example/")),
        revisit("http://c.example/", after, Some("http://d.example/")),
        page.clone(),
    ];
    let (shell, ran) = add("a.warc", archive.concat());
    let ran = ran.exits(0).says("2 revisits of pages that are not stored");
    let a = "http://a.example/";
    assert_eq!(ran.column("key"), [a, a, "http://b.example/", a]);
    assert_eq!(ran.column("verdict"), ["new", "unchanged", "exact", "unchanged"]);
    assert_eq!(ran.column("of"), ["null", "null", a, "null"]);
    let seen = |shell: &Shell, key: &str| {
        let stored = shell.json(&["get", "db", key]).remove(0);
        ["first_seen", "last_seen"].map(|time| stored[time].as_str().unwrap().to_owned())
    };
    assert_eq!(seen(&shell, a), [before, after]);
    assert_eq!(seen(&shell, "http://b.example/"), ["2026-03-01T00:00:00Z"; 2]);
    shell.run(&["get", "db", "http://c.example/"]).exits(1);
    shell.run(&["verify", "db", "--deep"]).exits(0);
    let (own, ran) = add("a.warc", [page.clone(), revisit(a, after, None)].concat());
    assert_eq!(ran.exits(0).column("verdict"), ["new", "unchanged"]);
    assert_eq!(seen(&own, a), [before, after]);
    // A copy that is not stored stands for the page that it is a copy of.
    let of = revisit("http://b.example/", "2026-03-01T00:00:00Z", Some(a));
    own.write("b.warc", of);
    let ran = own.run(&["--json", "add", "db", "b.warc", "--only-new"]).exits(0);
    assert_eq!((ran.column("verdict"), ran.column("id")), (vec!["exact".into()], vec!["null".into()]));
    assert_eq!(seen(&own, a), [before, "2026-03-01T00:00:00Z"]);
    own.run(&["get", "db", "http://b.example/"]).exits(1);
    // Who says when, says it of all.
    shell.run(&["add", "db", "a.warc", "--seen-at", "2027-01-01T00:00:00Z"]).exits(0);
    assert_eq!(shell.json(&["get", "db", a])[0]["last_seen"], "2027-01-01T00:00:00Z");
    let query = shell.run(&["--json", "query", "db", "a.warc", "--self"]).exits(0);
    assert_eq!(query.column("match"), [a, a]);
}

/// A page on a day of January 2026.
fn page(uri: &str, day: u32, text: &str) -> Vec<u8> {
    let lines = [
        &format!("WARC-Target-URI: {uri}"),
        &format!("WARC-Date: 2026-01-{day:02}T00:00:00Z"),
        "Content-Type: application/http",
    ];
    record("response", &lines, http(&["Content-Type: text/plain"], text))
}

/// A page seen again on a day, as another one was on a day before.
fn again(uri: &str, day: u32, of: &str, of_day: u32, status: &str) -> Vec<u8> {
    let lines = [
        &format!("WARC-Target-URI: {uri}"),
        &format!("WARC-Date: 2026-01-{day:02}T00:00:00Z"),
        &format!("WARC-Refers-To-Target-URI: {of}"),
        &format!("WARC-Refers-To-Date: 2026-01-{of_day:02}T00:00:00Z"),
        "Content-Type: application/http",
    ];
    record("revisit", &lines.map(|line| line as &str), format!("HTTP/1.1 {status}\r\n\r\n"))
}

#[test]
fn a_revisit_gives_a_page_the_text_of_the_other() {
    let (a, b) = ("http://a.example/", "http://b.example/");
    let archive = [page(a, 1, "one"), page(b, 1, "two"), again(b, 2, a, 1, "200 OK")];
    let (shell, ran) = add("a.warc", archive.concat());
    assert_eq!(ran.exits(0).column("verdict"), ["new", "new", "updated"]);
    shell.write("one.txt", "one");
    assert_eq!(shell.run(&["--json", "query", "db", "one.txt", "--copies"]).column("match"), [a, b]);
}

#[test]
fn a_text_that_was_replaced_since_is_not_given() {
    let (a, b, c) = ("http://a.example/", "http://b.example/", "http://c.example/");
    let archive = [
        page(a, 1, "one"),
        page(a, 2, "two"),
        again(b, 3, a, 1, "200 OK"),
        again(c, 3, a, 2, "200 OK"),
        again(a, 4, a, 2, "304 Not Modified"),
        again(c, 5, a, 2, "304 Not Modified"),
    ];
    let (_, ran) = add("a.warc", archive.concat());
    let ran = ran.exits(0).says("1 revisits of pages that are not stored");
    assert_eq!(ran.column("key"), [a, a, c, a, c]);
    assert_eq!(ran.column("verdict"), ["new", "updated", "exact", "unchanged", "unchanged"]);
}

#[test]
fn a_page_that_was_seen_again_since_is_current() {
    let (a, b) = ("http://a.example/", "http://b.example/");
    for seen_again in [false, true] {
        let mut archive = vec![page(a, 1, "one"), page(a, 2, "two")];
        archive.extend(seen_again.then(|| again(a, 3, a, 2, "200 OK")));
        archive.push(again(b, 4, a, 2, "200 OK"));
        let (shell, ran) = add("a.warc", archive.concat());
        ran.exits(0);
        let stored = shell.run(&["--json", "get", "db", b]);
        assert_eq!(stored.code, 0, "seen again: {seen_again}: {stored:?}");
    }
}

#[test]
fn writing_a_file_anew_does_not_forget_when_a_text_changed() {
    let (a, b) = ("http://a.example/", "http://b.example/");
    let (shell, ran) = add("a.warc", [page(a, 1, "one"), page(a, 2, "two")].concat());
    ran.exits(0);
    shell.write("b.warc", again(b, 4, a, 1, "200 OK"));
    std::fs::copy(shell.path("db"), shell.path("compacted")).unwrap();
    shell.run(&["compact", "compacted"]).exits(0);
    shell.write("lines", shell.run(&["export", "db"]).exits(0).out);
    shell.run(&["import", "imported", "lines"]).exits(0);
    shell.run(&["create", "merged"]).exits(0);
    shell.run(&["merge", "merged", "db"]).exits(0);
    for db in ["db", "compacted", "imported", "merged"] {
        let ran = shell.run(&["--json", "add", db, "b.warc"]).exits(0);
        ran.gives_nothing().says("1 revisits of pages that are not stored");
        shell.run(&["get", db, b]).exits(1);
    }
}

#[test]
fn what_was_no_page_when_it_was_seen_again_is_passed_over() {
    let a = "http://a.example/";
    let archive = [page(a, 1, "one"), again(a, 2, a, 1, "302 Found"), again(a, 3, a, 1, "200 OK")];
    let (_, ran) = add("a.warc", archive.concat());
    let ran = ran.exits(0).says("1 without a page by their status");
    assert_eq!(ran.column("verdict"), ["new", "unchanged"]);
}
