//! Words for people. Where nobody can hear them, the work goes on.

use std::io::Write;

/// Says a line on stderr.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Control characters of a key made visible, so that a key cannot forge lines or move the cursor.
pub fn visible(key: &str) -> String {
    key.chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect()
}
