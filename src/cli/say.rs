//! Words on stderr. Where nobody can hear them, the work goes on.

use std::io::Write;

/// Says a line on stderr.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
