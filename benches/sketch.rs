//! Text → sketch, one core: MB/s of the whole pass and documents/s of short texts, against naive tokenising in the same run.

mod common;

use common::{machine, median, versions};
use sketchdb::{SketchParams, Sketcher};
use std::hint::black_box;

fn main() {
    machine();
    println!("kernel: {}", sketchdb::Sketcher::kernel());
    let times =
        std::env::var("SKETCHDB_BENCH_TIMES").map_or(5, |times| times.parse().expect("a number of runs"));
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    for (name, count, bytes) in [("long", 3000, 6500), ("short", 20_000, 865)] {
        if !asked.is_empty() && !asked.iter().any(|asked| asked == name) {
            continue;
        }
        let (origin, documents) = versions(count, bytes);
        let size: usize = documents.iter().map(String::len).sum();
        let mut sketcher = Sketcher::new(&SketchParams::default()).expect("default parameters");
        let naive = median(times, || {
            for text in &documents {
                let lower = text.to_lowercase();
                black_box(
                    lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count(),
                );
            }
        });
        let whole = median(times, || {
            for text in &documents {
                black_box(sketcher.sketch(text.as_bytes()));
            }
        });
        let rate = |time: std::time::Duration| size as f64 / 1e6 / time.as_secs_f64();
        println!(
            "sketch {name}: {count} documents of {} B ({origin}): naive tokenising {:.0} MB/s, whole pass {:.0} MB/s = {:.2} x, {:.0} documents/s",
            size / count,
            rate(naive),
            rate(whole),
            rate(whole) / rate(naive),
            count as f64 / whole.as_secs_f64(),
        );
    }
}
