//! Sizes, times and choices, as they are written.

use clap::ValueEnum;
use sketchdb::Keep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Which of several documents that are alike is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeepArg {
    First,
    Longest,
    Oldest,
    ShortestKey,
}

impl From<KeepArg> for Keep {
    fn from(keep: KeepArg) -> Self {
        match keep {
            KeepArg::First => Keep::First,
            KeepArg::Longest => Keep::Longest,
            KeepArg::Oldest => Keep::Oldest,
            KeepArg::ShortestKey => Keep::ShortestKey,
        }
    }
}

/// The clock's time, in seconds since 1970.
pub fn clock() -> Option<u64> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// Sizes: 512M, 2G, 65536.
pub fn size(text: &str) -> std::result::Result<usize, String> {
    let wrong = || "a size such as 65536, 512M or 2G".to_string();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(wrong()),
    };
    let number: usize = digits.parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(1 << shift).ok_or_else(wrong)?;
    if bytes < 1 << 20 { Err("at least 1M".into()) } else { Ok(bytes) }
}

/// Durations: 30d, 12h.
pub fn duration(text: &str) -> std::result::Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "a duration such as 30d or 12h".into())
}

/// Seconds: 10, 0.5.
pub fn seconds(text: &str) -> std::result::Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "a number of seconds such as 10 or 0.5".into())
}

/// The last second of the year 9999.
const LAST_TIME: u64 = 253_402_300_799;

/// Times: RFC 3339 or Unix seconds.
pub fn time(text: &str) -> std::result::Result<u64, String> {
    if let Ok(seconds) = text.parse() {
        return match seconds > LAST_TIME {
            true => Err("a time before the year 10000, in seconds and not in milliseconds".into()),
            false => Ok(seconds),
        };
    }
    let wrong = || "a time such as 2026-01-31T12:00:00Z or 1769860800".to_string();
    let (local, east) = split_offset(text).ok_or_else(wrong)?;
    let time = humantime::parse_rfc3339_weak(local).map_err(|_| wrong())?;
    let since = time.duration_since(UNIX_EPOCH).map_err(|_| wrong())?.as_secs();
    since.checked_add_signed(-east).ok_or_else(|| "a time after 1970".into())
}

/// A time without its numeric offset, and the offset in seconds east of UTC: the parser knows Z only.
fn split_offset(text: &str) -> Option<(&str, i64)> {
    let Some((local, offset)) = text.len().checked_sub(6).and_then(|at| text.split_at_checked(at)) else {
        return Some((text, 0));
    };
    let sign = match (offset.as_bytes()[0], offset.as_bytes()[3], local.contains(':')) {
        (b'+', b':', true) if !local.ends_with(['Z', 'z']) => 1,
        (b'-', b':', true) if !local.ends_with(['Z', 'z']) => -1,
        _ => return Some((text, 0)),
    };
    let number = |digits: &str| {
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<i64>().ok())?
    };
    let within = |digits: &str, end: i64| number(digits).filter(|&number| number < end);
    Some((local, sign * (within(&offset[1..3], 24)? * 3600 + within(&offset[4..], 60)? * 60)))
}
