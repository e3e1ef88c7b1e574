//! Words for people. Where nobody can hear them, the work goes on.

use std::io::Write;

/// Says a line on stderr.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A number with its thousands apart: 14,833.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Control characters of a key made visible, so that a key cannot forge lines or move the cursor.
pub fn visible(key: &str) -> String {
    key.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}
