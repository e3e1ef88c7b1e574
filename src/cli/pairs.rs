//! `sketchdb pairs`: every two stored documents that are alike.

use crate::args::{Common, PairsArgs};
use crate::exit::{Ended, Outcome, Stop};
use crate::open;
use crate::output::{Output, high, low, rounded, short};
use crate::progress::Stages;
use crate::say::{say, visible};
use serde::Serialize;
use sketchdb::{Pair, PairEvent, PairOptions};
use std::io;
use std::ops::ControlFlow;

#[derive(Serialize)]
struct Line<'a> {
    a: &'a str,
    b: &'a str,
    resemblance: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    hamming: Option<u32>,
    exact: bool,
    bounded: bool,
}

pub fn run(verb: &PairsArgs, common: &Common) -> Ended {
    let db = open::reading(&verb.db, common)?;
    let options = PairOptions {
        by: Some(verb.measuring.measure(verb.by, db.params())?),
        accept: verb.measuring.accept(),
        confirm: verb.measuring.confirm(verb.by, db.params()),
        copies: verb.copies,
        ignore: verb.measuring.ignored(&db)?,
        memory: common.memory / 4,
        threads: common.threads(),
    };
    let (mut output, mut stages, mut pairs) = (Output::new(), Stages::new(common), 0u64);
    let (summary, stopped) = db.pairs(&options, |event| {
        let told = match event {
            PairEvent::Pair(pair) => {
                if pairs == 0 && !common.json && !common.quiet {
                    say("resemblance  interval        hamming  documents");
                }
                pairs += 1;
                tell(&mut output, common.json, &pair)
            }
            PairEvent::Walked(done, all) => {
                stages.show("walk the index", done, all);
                Ok(())
            }
            PairEvent::Verified(done) => {
                stages.show("verify pairs", done, 0);
                Ok(())
            }
            _ => Ok(()),
        };
        told.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    })?;
    stages.finish();
    if let Some(error) = stopped {
        return Err(Stop::Output(error));
    }
    output.flush()?;
    if !common.quiet {
        if let Some(recall) = summary.expected_recall {
            say(&format!(
                "sketchdb: the index was not made for this threshold: about {:.1} % of the pairs at it are found",
                100.0 * recall
            ));
        }
        if summary.bounded > 0 {
            say(&format!(
                "sketchdb: bounded: {} terms are shared by more than 256 texts, which were compared with 16 of them",
                summary.bounded
            ));
        }
        say(&format!("{pairs} pairs of {} candidates", summary.candidates));
    }
    Ok(if pairs == 0 { Outcome::Nothing } else { Outcome::Done })
}

fn tell(output: &mut Output, json: bool, pair: &Pair) -> io::Result<()> {
    if json {
        return output.json(&Line {
            a: &pair.a,
            b: &pair.b,
            resemblance: rounded(pair.resemblance),
            low: low(pair.interval),
            high: high(pair.interval),
            hamming: pair.hamming,
            exact: pair.exact,
            bounded: pair.bounded,
        });
    }
    let interval = pair.interval.map_or(String::new(), |i| format!("[{:.3}, {:.3}]", i.low, i.high));
    let hamming = pair.hamming.map_or("-".into(), |bits| bits.to_string());
    let measure = if pair.exact { "same text".into() } else { short(pair.resemblance) };
    let (a, b) = (visible(&pair.a), visible(&pair.b));
    output.line(&format!("{measure:<11}  {interval:<14}  {hamming:>7}  {a}  {b}"))
}
