//! `query --by` each measure, `--confirm` in each form, `add --contained`.

use crate::common::texts::{Draw, edited, text};
use crate::run::Shell;

/// `page`; `near` it; a `part` of it; another.
fn shell(options: &[&str]) -> Shell {
    let shell = Shell::new();
    let mut draw = Draw::new(391);
    let page = text(&mut draw, 400);
    let part = page.split(' ').skip(100).take(150).collect::<Vec<_>>().join(" ");
    let (near, other) = (edited(&mut draw, &page, 3), text(&mut draw, 400));
    shell.write("part.txt", &part);
    shell.write("page.txt", &page);
    shell.write_lines("docs.jsonl", &[("page", &page), ("near", &near), ("part", &part), ("other", &other)]);
    shell.run(&[&["add", "db", "docs.jsonl"], options].concat()).exits(0);
    shell
}

#[test]
fn each_measure_finds_its_own() {
    let shell = shell(&[]);
    for (by, input, keys) in [
        ("resemblance", "page.txt", vec!["near", "page"]),
        ("containment", "part.txt", vec!["near", "page", "part"]),
        ("contained", "page.txt", vec!["near", "page", "part"]),
        ("agreement", "page.txt", vec!["near", "page"]),
        ("edit", "page.txt", vec!["near", "page"]),
        ("any", "part.txt", vec!["near", "page", "part"]),
    ] {
        let mut found = shell.run(&["--json", "query", "db", input, "--by", by]).exits(0).column("match");
        found.sort_unstable();
        assert_eq!(found, keys, "{by}");
        shell.run(&["query", "db", input, "--by", by, "--threshold", "7"]).exits(2).gives_nothing();
    }
    let found = shell.run(&["--json", "query", "db", "page.txt", "--by", "contained"]).exits(0);
    let found_by = found.column("found_by");
    assert!(!found_by.is_empty() && found_by.iter().all(|by| by.contains("sample")), "{found:?}");
    shell.run(&["query", "db", "page.txt", "--by", "colour"]).exits(2);
}

#[test]
fn the_measure_that_decides_comes_first_in_the_table() {
    let shell = shell(&[]);
    for (by, input, heads) in [
        ("resemblance", "page.txt", &["resemblance", "interval", "hamming"][..]),
        ("containment", "part.txt", &["containment", "resemblance", "interval", "hamming"]),
        ("contained", "page.txt", &["contained", "resemblance", "interval", "hamming"]),
        ("agreement", "page.txt", &["agreement", "resemblance", "interval", "hamming"]),
        ("edit", "page.txt", &["edit", "resemblance", "interval", "hamming"]),
        ("hamming", "page.txt", &["hamming", "resemblance", "interval"]),
        ("any", "part.txt", &["containment", "contained", "resemblance", "interval", "hamming"]),
    ] {
        let table = shell.run(&["query", "db", input, "--by", by]).exits(0).out;
        let lines: Vec<&str> = table.lines().skip(1).collect();
        let names: Vec<&str> = lines[0].split_whitespace().collect();
        assert_eq!(names, [heads, &["found", "by", "match"]].concat(), "{by}");
        let found = shell.json(&["query", "db", input, "--by", by]);
        assert_eq!(lines.len(), found.len() + 1, "{table}");
        for (line, found) in lines[1..].iter().zip(&found) {
            let first = line.split_whitespace().next().unwrap();
            let value = |name: &str| found[name].as_f64().unwrap();
            match by {
                "hamming" => assert_eq!(first, found["hamming"].to_string()),
                "edit" => {
                    assert!(first.parse::<f64>().unwrap() <= 0.2, "a share of the longer text: {table}")
                }
                "resemblance" if found["exact"] == true => assert_eq!(first, "same"),
                by => {
                    assert_eq!(first, format!("{:.3}", value(if by == "any" { "containment" } else { by })))
                }
            }
        }
    }
}

#[test]
fn containment_is_refused_without_its_index() {
    let shell = shell(&["--no-containment"]);
    for by in ["containment", "contained"] {
        shell.run(&["query", "db", "part.txt", "--by", by]).exits(2).gives_nothing().says("--no-containment");
    }
    shell.run(&["query", "db", "part.txt", "--by", "any"]).exits(0);
    shell
        .run(&["add", "db", "part.txt", "--contained", "0.7"])
        .exits(2)
        .gives_nothing()
        .says("--no-containment");
}

#[test]
fn confirmation_takes_its_forms_and_no_others() {
    let shell = shell(&[]);
    let confirmed = |confirm: &[&str]| {
        let mut args = vec!["--json", "query", "db", "page.txt"];
        confirm.iter().for_each(|one| args.extend(["--confirm", one]));
        shell.run(&args).exits(0).column("match")
    };
    assert_eq!(confirmed(&[]), ["page", "near"]);
    for fine in ["simhash", "simhash:64", "edit", "edit:1", "edit:0.5"] {
        assert_eq!(confirmed(&[fine]), ["page", "near"], "{fine}");
    }
    assert_eq!(confirmed(&["simhash", "edit"]), ["page", "near"]);
    assert_eq!(confirmed(&["simhash:0"]), ["page"]);
    assert_eq!(confirmed(&["simhash:64", "edit:0.0001"]), ["page"]);
    for wrong in [
        "",
        "simhash:",
        "simhash:65",
        "simhash:-1",
        "simhash:1.5",
        "edit:",
        "edit:0",
        "edit:1.1",
        "edit:NaN",
        "hamming",
    ] {
        shell.run(&["query", "db", "page.txt", "--confirm", wrong]).exits(2).gives_nothing();
    }
}

#[test]
fn default_bounds_follow_from_what_the_threshold_means() {
    let shell = shell(&[]);
    let draw = &mut Draw::new(392);
    let page = std::fs::read_to_string(shell.path("page.txt")).unwrap();
    // A tenth of the text more: within the .3 of the longer text that T = .8 allows, not within .02.
    shell.write("more.txt", format!("{page} {}", text(draw, 40)));
    let ask = |more: &[&str]| {
        let ran = shell.run(&[&["--json", "query", "db", "more.txt"], more].concat());
        ran.column("match").contains(&"page".to_owned())
    };
    for distance in ["1", "20", "64"] {
        let by = ["--by", "hamming", "--threshold", distance];
        let confirmed = [&by[..], &["--confirm", "edit"]].concat();
        assert_eq!(ask(&confirmed), ask(&by), "a distance of {distance} is no share");
    }
    assert!(ask(&["--by", "edit", "--threshold", "0.2", "--confirm", "edit"]));
}

#[test]
fn contained_documents_get_their_verdict() {
    let shell = shell(&[]);
    shell.write_lines("docs.jsonl", &[("page", &std::fs::read_to_string(shell.path("page.txt")).unwrap())]);
    shell.run(&["add", "new", "docs.jsonl"]).exits(0);
    let line = &shell.json(&["add", "new", "part.txt", "--contained", "0.7", "--only-new"])[0];
    assert_eq!(
        (&line["verdict"], &line["of"], &line["id"]),
        (&"contained".into(), &"page".into(), &().into())
    );
    let line = &shell.json(&["add", "new", "part.txt", "--contained", "0.7"])[0];
    assert_eq!((&line["verdict"], &line["of"]), (&"contained".into(), &"page".into()));
    assert!(line["resemblance"].as_f64().unwrap() < 0.8, "{line}");
    for wrong in ["0", "1.1", "x", "NaN"] {
        shell.run(&["add", "new", "part.txt", "--contained", wrong]).exits(2).gives_nothing();
    }
}
