//! What goes to stdout: data only, as JSON lines or as text for people.

use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};

/// Buffered stdout.
pub struct Output {
    out: BufWriter<StdoutLock<'static>>,
}

impl Output {
    pub fn new() -> Self {
        Output { out: BufWriter::with_capacity(1 << 16, io::stdout().lock()) }
    }

    /// One JSON object on a line.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// One line for people.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{}", line.trim_end())
    }

    /// Makes everything so far visible to whoever reads.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A share with six decimals: plain, and more than any estimate is worth.
pub fn rounded(share: Option<f64>) -> Option<f64> {
    share.map(|share| (share * 1e6).round() / 1e6)
}

/// A share for people: three decimals, or a dash.
pub fn short(share: Option<f64>) -> String {
    share.map_or("-".into(), |share| format!("{share:.3}"))
}

/// Control characters of a key made visible, so that a key cannot forge lines or move the cursor.
pub fn visible(key: &str) -> String {
    key.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}

/// Bytes for people.
pub fn bytes(count: u64) -> String {
    match count {
        0..10_000 => format!("{count} B"),
        10_000..10_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        10_000_000..10_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.1} GB", count as f64 / 1e9),
    }
}
