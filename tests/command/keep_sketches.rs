//! `--keep-sketches`: lean files, what they answer, and narrower and wider ones.

use crate::run::Shell;
use crate::stock::{Document, stock};

fn shell(keep: &str) -> (Shell, Vec<Document>) {
    let (shell, documents) = (Shell::new(), stock(80, 40));
    shell.stocked("db", &documents, &["--keep-sketches", keep]);
    shell.write("q.txt", &documents[0].1);
    (shell, documents)
}

#[test]
fn each_list_answers_by_what_it_keeps() {
    for (keep, answered, refused) in [
        ("simhash", &["hamming"][..], &["resemblance", "agreement", "edit", "containment"][..]),
        ("signature", &["agreement"], &["resemblance", "hamming", "edit", "contained"]),
        ("sample,signature", &["resemblance", "agreement", "containment"], &["hamming", "edit"]),
        ("signature,edit", &["agreement", "edit"], &["resemblance", "hamming"]),
    ] {
        let (shell, _) = shell(keep);
        for by in answered {
            let found = shell.run(&["--json", "query", "db", "q.txt", "--by", by]).exits(0).column("match");
            assert!(found.contains(&"f0.0".into()), "{keep} by {by}: {found:?}");
        }
        for by in refused {
            shell.run(&["query", "db", "q.txt", "--by", by]).exits(2).gives_nothing();
        }
        shell.run(&["verify", "db", "--deep"]).exits(0);
    }
}

#[test]
fn the_same_text_is_known_whatever_is_kept() {
    for keep in ["sample", "signature", "simhash", "edit", "simhash,edit"] {
        let (shell, _) = shell(keep);
        let line = shell.json(&["add", "db", "q.txt"]).remove(0);
        assert_eq!((&line["verdict"], &line["of"]), (&"exact".into(), &"f0.0".into()), "{keep}");
    }
}

#[test]
fn lean_files_are_smaller() {
    let size = |keep| {
        let (shell, _) = shell(keep);
        shell.run(&["compact", "db"]).exits(0);
        shell.bytes("db").len()
    };
    let [simhash, signature, all] = ["simhash", "signature", "sample,signature,simhash,edit"].map(size);
    assert!(simhash < signature && signature < all, "{simhash}, {signature}, {all}");
}

#[test]
fn narrower_is_done_and_wider_is_2() {
    let (shell, _) = shell("sample,signature,simhash");
    shell.run(&["rebuild", "db", "--keep-sketches", "simhash,signature"]).exits(0);
    assert_eq!(shell.run(&["--json", "stats", "db"]).column("keep_sketches"), ["signature,simhash"]);
    shell.run(&["query", "db", "q.txt", "--by", "resemblance"]).exits(2).gives_nothing();
    shell.run(&["query", "db", "q.txt", "--by", "agreement"]).exits(0);
    shell.run(&["verify", "db", "--deep"]).exits(0);
    let before = shell.run(&["export", "db"]).exits(0).out;
    for wider in ["sample,signature,simhash", "edit", "sample"] {
        let ran = shell.run(&["rebuild", "db", "--keep-sketches", wider]).exits(2).gives_nothing();
        ran.says("keep-sketches").says("without the texts");
    }
    assert!(shell.run(&["export", "db"]).exits(0).out == before);
}

#[test]
fn another_list_is_4_on_a_database_that_is_there() {
    let (shell, _) = shell("signature");
    shell.run(&["add", "db", "q.txt", "--keep-sketches", "simhash"]).exits(4).gives_nothing().says("keep");
    shell.run(&["add", "db", "q.txt", "--keep-sketches", "signature"]).exits(0);
    for wrong in ["", "colour", "sample,"] {
        shell.run(&["create", "new", "--keep-sketches", wrong]).exits(2).gives_nothing();
    }
    assert!(!shell.path("new").exists());
}

#[test]
fn clusters_and_pairs_go_by_the_best_that_is_kept() {
    for (keep, by) in [("simhash", "hamming"), ("signature", "agreement")] {
        let (shell, _) = shell(keep);
        shell.run(&["clusters", "db"]).exits(0);
        shell.run(&["pairs", "db", "--by", by]).exits(0);
        shell.run(&["pairs", "db", "--by", "resemblance"]).exits(2).gives_nothing();
    }
}
