//! The small parsers of arguments: sizes, times, durations, shingles, measures; what they take is written and taken again.
#![no_main]
#![allow(dead_code, unused_imports)]

#[path = "../../../src/cli/args/mod.rs"]
mod args;
#[path = "../../../src/cli/creation.rs"]
mod creation;
#[path = "../../../src/cli/interrupt.rs"]
mod interrupt;
#[path = "../../../src/cli/say.rs"]
mod say;

use args::{Cli, Verb};
use clap::Parser;
use libfuzzer_sys::fuzz_target;
use sketchdb::{EditParams, Kept, Params, Shingling};
use sketchdb_fuzz::within;
use std::fmt::Display;
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

fn comes_back<T: FromStr + Display>(text: &str) {
    if let Ok(value) = T::from_str(text) {
        let written = value.to_string();
        let again = T::from_str(&written).unwrap_or_else(|_| panic!("{written:?} is not taken again"));
        assert_eq!(again.to_string(), written);
    }
}

/// The definition of a size.
fn size(text: &str) -> Option<usize> {
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '+').unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit);
    let power = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        _ => return None,
    };
    let bytes = u128::from(digits.parse::<u64>().ok()?) * 1024u128.pow(power);
    usize::try_from(bytes).ok().filter(|&bytes| bytes >= 1 << 20)
}

fn cli(words: &[&str]) -> Option<Cli> {
    Cli::try_parse_from(["sketchdb"].iter().chain(words)).ok()
}

fn time(text: &str) {
    let Ok(seconds) = args::time(text) else { return };
    // The last year that is written with four digits.
    if seconds <= 253_402_300_799 {
        let written =
            humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string();
        assert_eq!(args::time(&written), Ok(seconds), "{text:?} is {written:?}");
        let later = format!("{}+00:30", written.trim_end_matches('Z'));
        assert_eq!(args::time(&later).ok(), seconds.checked_sub(1800), "{later:?}");
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&kind, rest)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    within(32 << 20, || match kind % 10 {
        0 => {
            let given = format!("--memory={text}");
            assert_eq!(cli(&[&given, "create", "db"]).map(|cli| cli.common.memory), size(text), "{text:?}");
        }
        1 => time(text),
        2 => comes_back::<Shingling>(text),
        3 => comes_back::<EditParams>(text),
        4 => comes_back::<Kept>(text),
        5 => {
            let confirm = format!("--confirm={text}");
            if let Some(Verb::Query(query)) = cli(&["query", "db", "-", &confirm]).map(|cli| cli.verb) {
                assert_eq!(query.measuring.confirm(query.by, &Params::default()).len(), 1);
            }
        }
        6 => {
            let given = format!("--unseen-for={text}");
            if let Some(Verb::Expire(expire)) =
                cli(&["expire", "db", &given, "--now=1000000"]).map(|cli| cli.verb)
            {
                assert!(expire.before() <= 1_000_000);
            }
        }
        7 => {
            let threshold = format!("--threshold={text}");
            for by in ["hamming", "agreement", "resemblance"] {
                if let Some(Verb::Pairs(pairs)) =
                    cli(&["pairs", "db", "--by", by, &threshold]).map(|cli| cli.verb)
                {
                    let _ = pairs.measuring.measure(pairs.by, &Params::default());
                    let _ = pairs.measuring.confirm(pairs.by, &Params::default());
                }
            }
        }
        _ => {
            let words: Vec<&str> = text.split(' ').collect();
            if let Some(Verb::Create(create)) =
                cli(&[&["create", "db"][..], &words].concat()).map(|cli| cli.verb)
            {
                let params = create.creation.applied_to(Params::default(), true);
                let _ = params.map(|params| params.check());
            }
        }
    });
});
