//! What goes to stderr: a progress bar on a terminal, warnings, problems, the closing summary.

use crate::args::{Common, Inputs};
use crate::compressed::Packing;
use crate::input::Problem;
use crate::pipeline::Meter;
use crate::say::{say, visible};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Problems and warnings are named one by one up to this many; then they are counted.
const NAMED: u64 = 1000;

/// The state of a command on stderr.
pub struct Progress {
    quiet: bool,
    bar: Option<ProgressBar>,
    began: Instant,
    pub documents: u64,
    problems: u64,
    replaced: u64,
}

impl Progress {
    /// With a bar when stderr is a terminal.
    pub fn new(common: &Common, inputs: Option<&Inputs>) -> Self {
        let bar = (!common.quiet && std::io::stderr().is_terminal()).then(|| {
            let total = inputs.and_then(|inputs| total_bytes(&inputs.inputs));
            let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            let template = match total {
                Some(_) => {
                    "{msg} documents  {bytes} of {total_bytes}  {binary_bytes_per_sec}  {eta} left {wide_bar}"
                }
                None => "{msg} documents  {bytes}  {binary_bytes_per_sec} {spinner}",
            };
            bar.with_style(
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
            )
        });
        Progress { quiet: common.quiet, bar, began: Instant::now(), documents: 0, problems: 0, replaced: 0 }
    }

    /// One document more.
    pub fn step(&mut self, meter: &Meter) {
        self.documents += 1;
        if self.documents.is_multiple_of(64) {
            self.redraw(meter);
        }
    }

    pub fn redraw(&self, meter: &Meter) {
        if let Some(bar) = &self.bar {
            bar.set_position(meter.bytes.load(Ordering::Relaxed));
            bar.set_message(self.documents.to_string());
        }
    }

    /// Names an input that could not be read. Problems are told even when quiet.
    pub fn problem(&mut self, problem: &Problem) {
        self.problems += 1;
        if self.problems <= NAMED {
            self.tell(&problem.to_string());
        } else if self.problems == NAMED + 1 {
            self.tell("more inputs could not be read; they are counted below");
        }
    }

    /// Whether any input could not be read.
    pub fn any_problem(&self) -> bool {
        self.problems > 0
    }

    /// Notes that bytes of a document were replaced.
    pub fn replaced(&mut self, key: &str, count: u64) {
        if count > 0 {
            self.replaced += 1;
            if self.replaced <= 10 {
                self.warn(&format!("{}: {count} ill-formed sequences replaced", visible(key)));
            }
        }
    }

    /// A warning, unless quiet.
    pub fn warn(&self, message: &str) {
        if !self.quiet {
            self.tell(message);
        }
    }

    fn tell(&self, message: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(&format!("sketchdb: {message}"))),
            None => say(&format!("sketchdb: {message}")),
        }
    }

    /// The closing summary: documents, what became of them, time, rate.
    pub fn finish(&self, meter: &Meter, parts: &[(u64, &str)]) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if self.quiet {
            return;
        }
        if self.replaced > 10 {
            say(&format!("sketchdb: {} documents had ill-formed sequences replaced", self.replaced));
        }
        if let Some(said) = meter.tally.said() {
            say(&format!("sketchdb: {said}"));
        }
        let took = self.began.elapsed().max(Duration::from_millis(1));
        let bytes = meter.bytes.load(Ordering::Relaxed) as f64 / 1e6;
        let per_second = self.documents as f64 / took.as_secs_f64();
        let parts: String = parts.iter().map(|(count, name)| format!(", {count} {name}")).collect();
        say(&format!(
            "{} documents{parts}, {} unreadable; {bytes:.1} MB in {:.2} s, {per_second:.0} documents/s",
            self.documents,
            self.problems,
            took.as_secs_f64(),
        ));
    }
}

/// The steps of a long piece of work, shown on a terminal.
pub struct Stages {
    bar: Option<ProgressBar>,
    shown: &'static str,
}

impl Stages {
    pub fn new(common: &Common) -> Self {
        let bar = (!common.quiet && std::io::stderr().is_terminal()).then(ProgressBar::new_spinner);
        Stages { bar, shown: "" }
    }

    /// So much of a step is done; `all` is 0 when that is not known.
    pub fn show(&mut self, step: &'static str, done: u64, all: u64) {
        let Some(bar) = &self.bar else { return };
        if step != self.shown {
            self.shown = step;
            bar.reset_eta();
        }
        let template = if all > 0 {
            "{msg}  {pos} of {len}  {per_sec}  {eta} left {wide_bar}"
        } else {
            "{msg}  {pos} {spinner}"
        };
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.set_length(all);
        bar.set_message(step);
        bar.set_position(done);
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Bytes of the inputs that are plain files; `None` when that is not all of them.
fn total_bytes(inputs: &[String]) -> Option<u64> {
    inputs
        .iter()
        .map(|input| {
            let path = Path::new(input);
            let plain = Packing::of(path).is_none();
            std::fs::metadata(path).ok().filter(|file| plain && file.is_file()).map(|file| file.len())
        })
        .sum()
}
