//! Pages and charsets: what the text of a file is.

use crate::archive::{gz, http, response};
use crate::run::Shell;

const PROSE: &str = "The harbour lay still that morning, and the boats, which had come in late, were not yet unloaded. \
    Nobody had told the men that the market was closed, that there was no ice, and that the road was under water.";

fn page(main: &str) -> String {
    let links = "<li><a href=x>Another page of this place</a>".repeat(40);
    format!(
        "<!DOCTYPE html><title>T</title><body><script>var p = '<p>';</script><nav><ul>{links}</ul></nav>\
         <div id=main><h1>Boats</h1>{main}</div><footer>All rights &amp; reserved</footer>"
    )
}

/// Asserts that a file has the text of another when both are added.
fn assert_same(shell: &Shell, options: &[&str], file: &str, text: &str) {
    let ran = shell.run(&[&["--json", "add", "db", text, file], options].concat()).exits(0);
    assert_eq!(ran.column("verdict"), ["new", "exact"], "{file}: {ran:?}");
    std::fs::remove_file(shell.path("db")).unwrap();
}

#[test]
fn of_a_page_the_main_content_counts_or_all_text_or_all() {
    let shell = Shell::new();
    let source = page(&format!("<p>{PROSE}<p>{PROSE}"));
    let nav = "Another page of this place\n".repeat(40);
    shell.write("page.html", &source);
    shell.write("page.HTM.gz", gz(&source));
    shell.write("source.txt", &source);
    shell.write("main.txt", format!("Boats\n{PROSE}\n{PROSE}"));
    shell.write("text.txt", format!("{nav}Boats\n{PROSE}\n{PROSE}\nAll rights & reserved"));
    shell.write("a.warc", response("http://a.example/", http(&["Content-Type: text/html"], &source)));
    for (html, text) in [("main", "main.txt"), ("text", "text.txt"), ("raw", "source.txt")] {
        for file in ["page.html", "page.HTM.gz", "a.warc"] {
            assert_same(&shell, &["--html", html], file, text);
        }
        let compared = shell.json(&["compare", "page.html", text, "--html", html]);
        assert_eq!(compared[0]["exact"], true, "{html}");
    }
    assert_same(&shell, &[], "page.html", "main.txt");
    // Raw bytes are what they are.
    assert_same(&shell, &["--shingle", "bytes:8"], "page.html", "source.txt");
}

#[test]
fn where_there_is_little_main_content_all_text_counts() {
    let shell = Shell::new();
    let long = "<p>word &amp; ".repeat(1 << 17);
    let deep = "<div>".repeat(1000) + "<p>" + PROSE;
    let wide = "<a ".to_owned() + &"x ".repeat(1 << 18) + ">text";
    for (name, source, text) in [
        ("short", "<nav><a href=x>Home</a></nav><p>Short.<footer>End".into(), "Home\nShort.\nEnd".into()),
        ("long", long, "word &\n".repeat(1 << 17).trim_end().to_owned()),
        ("deep", deep, PROSE.to_owned()),
        ("wide", wide, "text".to_owned()),
        ("empty", String::new(), String::new()),
    ] {
        shell.write(&format!("{name}.html"), source);
        shell.write(&format!("{name}.txt"), text);
        assert_same(&shell, &[], &format!("{name}.html"), &format!("{name}.txt"));
    }
}

#[test]
fn the_extraction_is_part_of_a_database() {
    let shell = Shell::new();
    shell.write("page.html", page(&format!("<p>{PROSE}<p>{PROSE}")));
    shell.run(&["add", "db", "page.html", "--html", "text"]).exits(0);
    shell
        .run(&["add", "db", "page.html", "--html", "main"])
        .exits(4)
        .gives_nothing()
        .says("db was made with --html text, not main");
    shell.run(&["query", "db", "page.html", "--self"]).exits(0);
    let [like, own] = [["--like", "db"], ["--html", "main"]].map(|options| {
        let sketch = shell.run(&[&["sketch", "page.html"][..], &options].concat()).exits(0);
        shell.write("sketches", &sketch.out);
        shell.run(&["--json", "query", "db", "--sketches", "sketches", "--self"])
    });
    assert_eq!(like.exits(0).column("match"), ["page.html"]);
    own.exits(3).says("made with html main, the database has text");
    shell
        .run(&["dedup", "page.html", "--against", "db", "--html", "raw"])
        .exits(4)
        .says("--html text, not raw");
    shell.run(&["rebuild", "db", "--html", "raw"]).exits(2).says("html");
    shell
        .run(&["sketch", "page.html", "--like", "db", "--html", "raw"])
        .exits(4)
        .says("--html text, not raw");
}

#[test]
fn texts_in_any_charset_are_the_same_text() {
    let shell = Shell::new();
    let utf16 = |text: &str, big: bool| -> Vec<u8> {
        let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        ("\u{FEFF}".to_owned() + text).encode_utf16().flat_map(unit).collect()
    };
    let japanese = "日本語の文章です。これは文字コードを調べるための文です。";
    let shift_jis: &[u8] = b"\x93\xFA\x96\x7B\x8C\xEA\x82\xCC\x95\xB6\x8F\xCD\x82\xC5\x82\xB7\x81\x42\x82\xB1\x82\xEA\x82\xCD\x95\xB6\x8E\x9A\
        \x83\x52\x81\x5B\x83\x68\x82\xF0\x92\xB2\x82\xD7\x82\xE9\x82\xBD\x82\xDF\x82\xCC\x95\xB6\x82\xC5\x82\xB7\x81\x42";
    let french = "déjà vu, naïveté, façade";
    let latin: &[u8] = b"d\xE9j\xE0 vu, na\xEFvet\xE9, fa\xE7ade";
    let russian = "съешь ещё этих мягких французских булок";
    let cyrillic: &[u8] = b"\xF1\xFA\xE5\xF8\xFC \xE5\xF9\xB8 \xFD\xF2\xE8\xF5 \xEC\xFF\xE3\xEA\xE8\xF5 \xF4\xF0\xE0\xED\xF6\xF3\xE7\xF1\xEA\xE8\xF5 \xE1\xF3\xEB\xEE\xEA";
    let of = |content_type: &str, body: &[u8]| {
        response("http://a.example/", http(&[&format!("Content-Type: {content_type}")], body))
    };
    for (name, bytes, text) in [
        ("mark.txt", ["\u{FEFF}".as_bytes(), french.as_bytes()].concat(), french),
        ("little.txt", utf16(french, false), french),
        ("big.txt", utf16(japanese, true), japanese),
        ("big.html", utf16(&format!("<p>{russian}"), true), russian),
        ("told.txt", shift_jis.to_vec(), japanese),
        ("told.txt", latin.to_vec(), french),
        ("told.txt", cyrillic.to_vec(), russian),
        ("meta.html", [b"<meta charset=windows-1251><p>", cyrillic].concat(), russian),
        (
            "equiv.html",
            [b"<meta http-equiv=Content-Type content='text/html; charset=windows-1252'><p>", latin].concat(),
            french,
        ),
        ("header.warc", of("text/plain; charset=Shift_JIS", shift_jis), japanese),
        (
            "header.warc",
            of("text/html; charset=\"shift_jis\"", &[b"<meta charset=utf-8>", shift_jis].concat()),
            japanese,
        ),
        ("header.warc", of("text/plain; charset=iso-8859-1", latin), french),
        ("unknown.warc", of("text/plain; charset=no-such", cyrillic), russian),
    ] {
        shell.write(name, bytes);
        shell.write("utf8", text);
        assert_same(&shell, &[], name, "utf8");
    }
}

#[test]
fn utf8_stays_what_it_is_and_legacy_bytes_are_no_errors() {
    let shell = Shell::new();
    shell.write("utf8.txt", b"\xC3\xA9t\xC3\xA9 \xFF \xC3\xA0");
    shell.write("latin.txt", b"d\xE9j\xE0 vu, na\xEFvet\xE9, fa\xE7ade");
    shell.write("zero.txt", b"d\xE9j\xE0 vu\0");
    shell.write("declared.html", b"<meta charset=utf-8><p>d\xE9j\xE0 vu");
    // The beginning decides for all of a file.
    shell.write("late.txt", [&vec![b'x'; 1 << 16][..], b" d\xE9j\xE0"].concat());
    let files = ["utf8.txt", "latin.txt", "zero.txt", "declared.html", "late.txt"];
    let ran = shell.run(&[&["add", "db"], &files[..]].concat()).exits(0);
    let ran =
        ran.says("utf8.txt: 1 ill-formed").says("zero.txt: 2 ill-formed").says("declared.html: 2 ill-formed");
    ran.says("late.txt: 2 ill-formed").keeps_silent_of("latin.txt");
}
