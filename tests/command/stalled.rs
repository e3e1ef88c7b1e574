//! Input that stops coming: what came before it is told, and nobody waits for it when the command is over.

use crate::run::Shell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long a command may take before it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

fn start(shell: &Shell, args: &[&str]) -> Child {
    let mut command = shell.command(&[&["--json", "--memory", "4M"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Runs what may hang, and ends the command when it does; what came out of it.
fn patiently<T: Send + 'static>(child: &mut Child, run: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, ended) = mpsc::channel();
    std::thread::spawn(move || done.send(run()));
    ended.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let _ = child.kill();
        panic!("the command hangs")
    })
}

#[test]
fn the_beginning_of_a_long_line_holds_up_no_verdict() {
    let shell = Shell::new();
    let mut child = start(&shell, &["add", "db", "-", "--format", "jsonl"]);
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let begun = format!("{{\"id\":\"a\",\"text\":\"one\"}}\n{{\"text\":\"{}", "word ".repeat(200_000));
    stdin.write_all(begun.as_bytes()).unwrap();
    let line = patiently(&mut child, || BufReader::new(stdout).lines().next().unwrap().unwrap());
    assert!(line.contains("\"key\":\"a\""), "{line}");
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_command_that_is_over_waits_for_no_input() {
    let shell = Shell::new();
    shell.write("a.txt", "one two three");
    let line = format!("{{\"text\":\"{}", "word ".repeat(200_000));
    let words = "word ".repeat(200_000);
    for (format, begun) in
        [("jsonl", ""), ("jsonl", "{\"text\":\""), ("jsonl", &line), ("text", ""), ("text", &words)]
    {
        // A verb that reads is over when nobody listens.
        let mut child = start(&shell, &["sketch", "a.txt", "-", "--format", format]);
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        // Nobody reads it when the command is quick to end.
        let _ = stdin.write_all(begun.as_bytes());
        let until = std::time::Instant::now() + PATIENCE;
        let code = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if std::time::Instant::now() < until => std::thread::sleep(Duration::from_millis(20)),
                None => {
                    let _ = child.kill();
                    panic!("the command hangs: {format}, {} bytes", begun.len());
                }
            }
        };
        assert_eq!(code, Some(0), "{format}, {} bytes", begun.len());
        drop(stdin);
    }
}
