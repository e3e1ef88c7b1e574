//! `man` and `completions` say what the command's own help says.

use crate::run::Shell;

/// The verbs that `--help` lists.
fn verbs(shell: &Shell) -> Vec<String> {
    let help = shell.run(&["--help"]).exits(0).out;
    let list = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let first = |line: &str| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')).map(str::to_owned);
    let names = list.lines().filter_map(first);
    names.map(|line| line.split(' ').next().unwrap().to_owned()).filter(|verb| verb != "help").collect()
}

/// A page without its markup.
fn plain(page: &str) -> String {
    page.replace("\\-", "-").replace("\\fB", "").replace("\\fI", "").replace("\\fR", "")
}

#[test]
fn every_verb_has_a_page_that_names_its_options() {
    let shell = Shell::new();
    let verbs = verbs(&shell);
    assert!(verbs.len() >= 20, "{verbs:?}");
    let page = shell.run(&["man"]).exits(0).out;
    assert!(page.contains(".TH sketchdb 1"), "{page}");
    for verb in &verbs {
        assert!(plain(&page).contains(&format!("sketchdb-{verb}(1)")), "{verb} is not in {page}");
        let own = plain(&shell.run(&["man", verb]).exits(0).out);
        assert!(own.contains(&format!(".TH sketchdb-{verb} 1")), "{own}");
        let help = shell.run(&[verb, "--help"]).exits(0).out;
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap();
        assert!(own.contains(&format!(".SH SYNOPSIS\n{usage}\n")), "{verb}: {usage} is not in {own}");
        let options = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2);
        for option in options {
            let name = option.trim_end_matches(|c: char| !c.is_alphanumeric());
            assert!(own.contains(name), "{verb}: {name} is not in {own}");
        }
    }
    shell.run(&["man", "bogus"]).exits(2).says("no verb bogus").gives_nothing();
}

#[test]
fn every_shell_is_given_every_verb() {
    let shell = Shell::new();
    let verbs = verbs(&shell);
    for name in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = shell.run(&["completions", name]).exits(0).out;
        assert!(verbs.iter().all(|verb| script.contains(&verb[..])), "{name}: {script}");
        assert!(script.contains("ignore-common"), "{name}");
    }
    shell.run(&["completions", "sh2"]).exits(2).gives_nothing();
}
