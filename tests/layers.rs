//! Proves that the tree is the diagram: layers look down only, and what belongs to one place stays there.

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first; files and folders of `src`.
const LAYERS: [&str; 11] =
    ["error", "id", "bits", "text", "web", "sketch", "index", "store", "db", "fuzzing", "cli"];
/// The module that unit tests of every layer share with those of `tests`.
const SHARED_BY_TESTS: &str = "skipped";
/// What may be named in one place only.
const HOMES: [(&str, &str); 9] = [
    ("dom_smoothie", "src/web/main_content.rs"),
    ("html5ever", "src/web/"),
    ("encoding_rs", "src/web/"),
    ("chardetng", "src/web/charset.rs"),
    ("httparse", "src/cli/input/warc/http.rs"),
    ("bincode", "src/store/record.rs"),
    ("redb", "src/store/"),
    ("roaring", "src/store/"),
    ("crc32fast", "src/store/"),
];
/// All that may lie at the top, hidden files apart.
const TOP: [&str; 9] =
    ["Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "benches", "schema", "src", "tests", "tools"];
const MOST_LINES: usize = 500;

/// A source file: its path below the repository, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// The text without comments, and without strings, whose contents are no code.
    fn code(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut rest = self.text.as_str();
        while let Some(c) = rest.chars().next() {
            let skipped = match c {
                '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                'r' if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |end| end + 2),
                '"' => string_end(rest),
                '\'' => char_end(rest),
                _ => 0,
            };
            if skipped == 0 {
                out.push(c);
            }
            rest = &rest[skipped.max(c.len_utf8())..];
        }
        out
    }

    /// The code that is compiled into the library: test modules come last in a file.
    fn shipped(&self) -> String {
        let code = self.code();
        let end = code.find("#[cfg(test)]\n").unwrap_or(code.len());
        code[..end].to_owned()
    }

    /// The layer of a file of `src`; `lib.rs` has none, it names them all.
    fn layer(&self) -> Option<usize> {
        let place = self.path.strip_prefix("src/")?;
        let name = place.split('/').next()?.trim_end_matches(".rs");
        LAYERS.iter().position(|layer| *layer == name)
    }
}

/// Bytes of the string literal that `text` begins with.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Bytes of the character literal that `text` begins with, 0 when it is a lifetime.
fn char_end(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next(), chars.next()) {
        (Some((_, '\\')), _, _) => text[3..].find('\'').map_or(0, |end| end + 4),
        (Some(_), Some((end, '\'')), _) => end + 1,
        _ => 0,
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn sources(folders: &[&str]) -> Vec<Source> {
    let paths = folders.iter().flat_map(|folder| files(&root().join(folder)));
    let rust = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let read = |path: PathBuf| Source {
        path: path.strip_prefix(root()).expect("a path below the root").to_string_lossy().into_owned(),
        text: fs::read_to_string(&path).expect("a source file"),
    };
    rust.map(read).collect()
}

/// The words of code: identifiers and keywords.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The first names of the paths that begin with `crate::`, those in braces too.
fn crate_paths(code: &str) -> Vec<&str> {
    let starts = code.match_indices("crate::").map(|(at, prefix)| &code[at + prefix.len()..]);
    starts.flat_map(|path| first_names(path)).collect()
}

fn first_names(path: &str) -> Vec<&str> {
    let Some(list) = path.strip_prefix('{') else { return words(path).take(1).collect() };
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                parts.extend(words(&list[start..at]).next());
                start = at + 1;
            }
            _ => {}
        }
        if c == '}' && depth == 0 && start == at + 1 {
            break;
        }
    }
    parts
}

#[test]
fn layers_look_down_only() {
    let mut seen = 0;
    for source in sources(&["src"]).iter().filter(|source| !source.path.starts_with("src/cli/")) {
        let Some(own) = source.layer() else {
            assert_eq!(source.path, "src/lib.rs", "a file of no layer");
            continue;
        };
        for name in crate_paths(&source.code()) {
            if name == SHARED_BY_TESTS {
                continue;
            }
            let named = LAYERS.iter().position(|layer| *layer == name);
            let named = named.unwrap_or_else(|| panic!("{}: crate::{name} is no layer", source.path));
            assert!(named <= own, "{} looks up to {name}", source.path);
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} paths were found");
}

#[test]
fn the_command_uses_the_library_from_outside() {
    let own: Vec<String> = fs::read_dir(root().join("src/cli"))
        .expect("the folder of the command")
        .map(|entry| {
            entry.expect("an entry").file_name().to_string_lossy().trim_end_matches(".rs").to_owned()
        })
        .collect();
    for source in sources(&["src/cli"]) {
        for name in crate_paths(&source.code()) {
            assert!(own.iter().any(|module| module == name), "{}: crate::{name}", source.path);
        }
    }
}

#[test]
fn what_may_be_exchanged_is_named_in_one_place() {
    for source in sources(&["src"]) {
        let code = source.code();
        for (name, home) in HOMES {
            assert!(
                source.path.starts_with(home) || words(&code).all(|word| word != name),
                "{} names {name}, which belongs to {home}",
                source.path
            );
        }
    }
}

#[test]
fn nothing_is_unsafe_outside_the_kernels() {
    for source in sources(&["src", "tests", "benches", "tools/crawler/src", "tools/crawler/tests"]) {
        let kernel =
            ["src/text/kernel", "src/sketch/kernel"].iter().any(|folder| source.path.starts_with(folder));
        assert!(kernel || words(&source.code()).all(|word| word != "unsafe"), "{} is unsafe", source.path);
    }
}

#[test]
fn the_library_and_the_command_never_unwrap() {
    for source in sources(&["src"]) {
        let at = source.shipped().find(".unwrap()");
        assert_eq!(at, None, "{} unwraps", source.path);
    }
}

#[test]
fn every_file_says_what_it_is_and_is_short() {
    let sources = sources(&["src", "tests", "benches", "tools/crawler/src", "tools/crawler/tests"]);
    assert!(sources.len() > 60, "only {} files were found", sources.len());
    for source in sources {
        assert!(source.text.starts_with("//! "), "{} does not begin with what it is", source.path);
        let lines = source.text.lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", source.path);
    }
}

#[test]
fn the_top_holds_nothing_else() {
    for entry in fs::read_dir(root()).expect("the repository") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        // What git ignores: builds and databases.
        let made = name == "target" || name.ends_with(".sketchdb");
        assert!(
            name.starts_with('.') || made || TOP.contains(&name.as_str()),
            "{name} has no place at the top"
        );
    }
}

#[test]
fn code_is_told_from_comments_strings_and_lifetimes() {
    let text = "let a: &'a str = \"// no \\\" comment\"; // redb\nr#\" \"quoted\" \"#;let c = '\"'; let d = '\\''; use x;";
    let source = Source { path: String::new(), text: text.to_owned() };
    assert_eq!(source.code(), "let a: &'a str = ; \n;let c = ; let d = ; use x;");
    assert_eq!(first_names("{a::b, c::{d, e}, f}; g"), ["a", "c", "f"]);
    assert_eq!(first_names("index::run::X"), ["index"]);
}
