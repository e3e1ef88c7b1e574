//! Text → sketch, one core: MB/s of the whole pass and documents/s of short texts, against naive tokenising in the same run;
//! then each stage on its own. At every level that the machine has, or at that of `SKETCHDB_KERNEL` alone.

mod common;

use common::{machine, median, versions};
use sketchdb::{SketchParams, Sketcher, stages};
use std::hint::black_box;
use std::time::Duration;

fn main() {
    if std::env::var_os("SKETCHDB_KERNEL").is_none() {
        machine();
        return at_every_level();
    }
    println!("kernel: {}", Sketcher::kernel());
    let times =
        std::env::var("SKETCHDB_BENCH_TIMES").map_or(5, |times| times.parse().expect("a number of runs"));
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for (name, count, bytes) in [("long", 3000, 6500), ("short", 20_000, 865)] {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            measure(name, count, bytes, times);
        }
    }
}

/// Runs itself at every level, the highest first.
fn at_every_level() {
    let program = std::env::current_exe().expect("the path of this program");
    let highest = Sketcher::KERNELS.iter().position(|name| *name == Sketcher::kernel()).unwrap_or(0);
    for kernel in Sketcher::KERNELS[..=highest].iter().rev() {
        let mut run = std::process::Command::new(&program);
        let ended = run.args(std::env::args().skip(1)).env("SKETCHDB_KERNEL", kernel).status();
        assert!(ended.expect("this program, run again").success(), "{kernel}");
    }
}

fn measure(name: &str, count: usize, bytes: usize, times: usize) {
    let (origin, documents) = versions(count, bytes);
    let size: usize = documents.iter().map(String::len).sum();
    let mut sketcher = Sketcher::new(&SketchParams::default()).expect("default parameters");
    let naive = median(times, || {
        for text in &documents {
            let lower = text.to_lowercase();
            black_box(lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count());
        }
    });
    let whole = median(times, || {
        for text in &documents {
            black_box(sketcher.sketch(text.as_bytes()));
        }
    });
    let rate = |time: Duration| size as f64 / 1e6 / time.as_secs_f64();
    println!(
        "sketch {name}: {count} documents of {} B ({origin}): naive tokenising {:.0} MB/s, whole pass {:.0} MB/s = {:.2} x, {:.0} documents/s",
        size / count,
        rate(naive),
        rate(whole),
        rate(whole) / rate(naive),
        count as f64 / whole.as_secs_f64(),
    );
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
    let line = |stage: &str, time: Duration| {
        let share = 100.0 * time.as_secs_f64() / whole.as_secs_f64();
        println!("  {stage:24} {:6.2} us {share:5.1} %", each(time));
    };
    let mut told = Duration::ZERO;
    for (stage, mut run) in stages(&documents) {
        let took = median(times, &mut run);
        told += took;
        line(stage, took);
    }
    line("calls, moves, results", whole.saturating_sub(told));
    line("whole", whole);
}
