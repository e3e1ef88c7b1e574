//! `add` makes the database with the first document that it stores.

use crate::run::Shell;

#[test]
fn where_nothing_is_stored_nothing_is_made() {
    let shell = Shell::new();
    shell.write("empty.jsonl", "");
    shell.write("broken.jsonl", "no line of JSON\n");
    std::fs::create_dir(shell.path("folder")).unwrap();
    let before = shell.files();
    for (input, code) in [
        ("missing.txt", 3),
        ("https://example.org/", 3),
        ("broken.jsonl", 3),
        ("empty.jsonl", 0),
        ("folder", 0),
    ] {
        shell.run(&["add", "db", input]).exits(code).gives_nothing();
        assert_eq!(shell.files(), before, "{input}");
    }
    // What is wrong with the options is told all the same.
    shell.run(&["add", "db", "empty.jsonl", "--threshold", "7"]).exits(2);
    shell.run(&["add", "no/such/db", "empty.jsonl"]).exits(2).says("no such folder");
    shell.write("a.txt", "one two three");
    shell.run(&["add", "db", "missing.txt", "a.txt", "--seed", "random"]).exits(3);
    shell.run(&["get", "db", "a.txt"]).exits(0);
}

#[test]
fn a_visit_to_a_page_that_is_not_stored_makes_nothing() {
    let shell = Shell::new();
    let record = "WARC/1.0\r\nWARC-Type: revisit\r\nWARC-Target-URI: http://a.example/\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Length: 0\r\n\r\n\r\n\r\n";
    shell.write("in.warc", record);
    shell.run(&["add", "db", "in.warc"]).exits(0).says("1 revisits of pages that are not stored");
    assert_eq!(shell.files(), ["in.warc"]);
}

#[test]
fn the_database_is_no_document_though_it_was_made_during_the_walk() {
    let shell = Shell::new();
    for number in 0..3000 {
        shell.write(&format!("in/a/{number}.txt"), format!("text of number {number}"));
    }
    shell.write("in/z/last.txt", "the last text");
    shell.run(&["--quiet", "--memory", "1M", "add", "in/z/db", "in"]).exits(0);
    assert_eq!(shell.json(&["stats", "in/z/db"])[0]["documents"], 3001);
}
