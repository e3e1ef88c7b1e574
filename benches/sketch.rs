//! Text → sketch, one core: MB/s of the whole pass and documents/s of short texts, against naive tokenising in the same run;
//! then each stage on its own. At every level that the machine has, or at that of `SKETCHDB_KERNEL` alone.
//!
//! Of some runs over all documents the least time of every hundred of them counts, which is what others' work leaves alone.

mod common;

use common::{machine, versions};
use sketchdb::{SketchParams, Sketcher, stages};
use std::hint::black_box;
use std::time::{Duration, Instant};

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
    let parts: Vec<&[String]> = documents.chunks(100).collect();
    let mut sketcher = Sketcher::new(&SketchParams::default()).expect("default parameters");
    let naive = least(times, parts.len(), |part| {
        for text in parts[part] {
            let lower = text.to_lowercase();
            black_box(lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count());
        }
    });
    let whole = least(times, parts.len(), |part| {
        for text in parts[part] {
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
    let mut told: Vec<(&str, Duration)> = Vec::new();
    // Few at a time, so that what the stages before make of them is near the CPU, as it is in the whole pass.
    for part in documents.chunks(20) {
        for (at, (stage, mut run)) in stages(part).into_iter().enumerate() {
            if at == told.len() {
                told.push((stage, Duration::ZERO));
            }
            told[at].1 += least(times, 1, |_| run());
        }
    }
    told.iter().for_each(|(stage, took)| line(stage, *took));
    line("the rest", whole.saturating_sub(told.iter().map(|stage| stage.1).sum()));
    line("whole", whole);
}

/// The least times of each of so many parts, of `times` runs over all, added.
fn least(times: usize, parts: usize, mut run: impl FnMut(usize)) -> Duration {
    let mut least = vec![Duration::MAX; parts];
    for _ in 0..times {
        for (part, least) in least.iter_mut().enumerate() {
            let began = Instant::now();
            run(part);
            *least = began.elapsed().min(*least);
        }
    }
    least.into_iter().sum()
}
