//! Which key a document gets.

use crate::run::Shell;

fn keys(shell: &Shell, args: &[&str]) -> Vec<String> {
    shell.run(&[&["--json", "add", "db"][..], args].concat()).exits(0).column("key")
}

#[test]
fn a_file_has_its_path_as_given() {
    let shell = Shell::new();
    shell.write("folder/a.txt", "one");
    let absolute = shell.path("folder/a.txt").to_str().unwrap().to_owned();
    let given = ["folder/a.txt", "./folder/a.txt", "folder/../folder/a.txt", &absolute];
    assert_eq!(keys(&shell, &given), given);
}

#[test]
fn any_name_is_one_document() {
    let shell = Shell::new();
    let names = ["a.md", "b.html", "c", "d.json", "e f.txt", "g.tar", "ü.txt"];
    names.iter().for_each(|name| shell.write(name, name));
    assert_eq!(keys(&shell, &names), names);
}

#[test]
fn a_directory_is_read_in_sorted_order() {
    let shell = Shell::new();
    for name in ["b.txt", "a/z.txt", "a/b/c.txt", "a.txt", "B.txt", ".hidden", "10", "9"] {
        shell.write(&format!("folder/{name}"), name);
    }
    let sorted = [
        "folder/.hidden",
        "folder/10",
        "folder/9",
        "folder/B.txt",
        "folder/a/b/c.txt",
        "folder/a/z.txt",
        "folder/a.txt",
        "folder/b.txt",
    ];
    assert_eq!(keys(&shell, &["folder"]), sorted);
    assert_eq!(keys(&shell, &["folder/"]), sorted);
    assert_eq!(keys(&shell, &["folder/a"]), ["folder/a/b/c.txt", "folder/a/z.txt"]);
}

#[test]
fn an_empty_directory_has_no_documents() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path("folder")).unwrap();
    assert_eq!(keys(&shell, &["folder"]), [""; 0]);
}

#[test]
fn lines_have_their_id_or_their_place() {
    let shell = Shell::new();
    let big = u64::MAX;
    let lines = format!(
        "{{\"text\":\"one\"}}\n\n{{\"id\":7,\"text\":\"two\"}}\n{{\"id\":-7,\"text\":\"three\"}}\r\n{{\"id\":{big},\"text\":\"four\"}}\n\
         {{\"id\":null,\"text\":\"five\"}}\n{{\"id\":\"a/b\",\"text\":\"six\"}}\n{{\"more\":{{\"id\":1}},\"text\":\"seven\"}}"
    );
    let expected = ["x/in.jsonl:1", "7", "-7", &big.to_string(), "x/in.jsonl:6", "a/b", "x/in.jsonl:8"];
    shell.write("x/in.jsonl", &lines);
    assert_eq!(keys(&shell, &["x/in.jsonl"]), expected);
    shell.write("y/in.ndjson", &lines);
    assert_eq!(keys(&shell, &["y"])[0], "y/in.ndjson:1");
}

#[test]
fn fields_may_have_other_names() {
    let shell = Shell::new();
    shell.write("in.jsonl", "{\"url\":\"u\",\"body\":\"one\",\"id\":\"no\",\"text\":\"no\"}\n");
    assert_eq!(keys(&shell, &["in.jsonl", "--id-field", "url", "--text-field", "body"]), ["u"]);
    assert_eq!(shell.json(&["get", "db", "u"])[0]["bytes"], 3);
}

#[test]
fn an_integer_and_its_string_are_one_key() {
    let shell = Shell::new();
    shell.write("in.jsonl", "{\"id\":7,\"text\":\"one\"}\n{\"id\":\"7\",\"text\":\"one\"}\n");
    assert_eq!(
        shell.run(&["--json", "add", "db", "in.jsonl"]).exits(0).column("verdict"),
        ["new", "unchanged"]
    );
}

#[test]
fn keys_of_4096_bytes_fit_and_longer_or_empty_ones_are_bad_inputs() {
    let shell = Shell::new();
    let (fits, long) = ("k".repeat(4096), "l".repeat(4097));
    shell.write_lines("in.jsonl", &[(&fits, "one"), (&long, "two"), ("", "three"), ("b", "four")]);
    let ran =
        shell.run(&["--json", "add", "db", "in.jsonl"]).exits(3).says("4097 bytes").says("a key of 0 bytes");
    assert_eq!(ran.column("key"), [&fits, "b"]);
}

#[test]
fn keys_cannot_forge_lines() {
    let shell = Shell::new();
    shell.write_lines("in.jsonl", &[("a\nnew        forged\u{1b}[2J", "one")]);
    let ran = shell.run(&["add", "db", "in.jsonl"]).exits(0);
    assert_eq!(ran.out.lines().count(), 1, "{ran:?}");
    assert!(!ran.out.contains('\u{1b}'));
    let json = shell.run(&["--json", "query", "db", "in.jsonl", "--self"]).exits(0);
    assert_eq!(json.out.lines().count(), 1);
}
