//! `sketchdb compare`: every measure between two files, and where they differ.

use crate::args::{Common, Compare};
use crate::exit::{Ended, Outcome};
use crate::input;
use crate::output::{Output, high, low, rounded, short};
use crate::progress::Progress;
use crate::say::visible;
use serde::Serialize;
use sketchdb::{Compared, Interval, Params, Sketch, Sketcher, compare};

/// In how many parts of the first text the place of the differences is told.
const STRIPS: usize = 20;

#[derive(Serialize)]
struct Line<'a> {
    a: &'a str,
    b: &'a str,
    exact: bool,
    resemblance: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    values: u64,
    containment: Option<f64>,
    containment_low: Option<f64>,
    containment_high: Option<f64>,
    containment_values: u64,
    contained: Option<f64>,
    contained_low: Option<f64>,
    contained_high: Option<f64>,
    contained_values: u64,
    hamming: Option<u32>,
    agreement: Option<f64>,
    edit: Option<f64>,
    edit_raw: Option<f64>,
    edit_unrelated: Option<f64>,
    edit_raw_unrelated: Option<f64>,
    inclusion: Option<f64>,
    profile: Vec<f64>,
}

pub fn run(verb: &Compare, common: &Common) -> Ended {
    let params = verb.creation.applied_to(Params::default(), true)?;
    params.check()?;
    let params = params.sketch;
    let mut sketcher = Sketcher::new(&params)?;
    let mut progress = Progress::new(common, None);
    let sketches: Vec<Option<Sketch>> =
        [&verb.a, &verb.b].into_iter().map(|path| read(path, &mut sketcher, &mut progress)).collect();
    let [Some(a), Some(b)] = &sketches[..] else { return Ok(Outcome::Inputs) };
    let compared = compare(&params, a, b, STRIPS)?;
    let mut output = Output::new();
    match common.json {
        true => output.json(&line(verb, &compared))?,
        false => tell(verb, &compared, &mut output)?,
    }
    output.flush()?;
    Ok(Outcome::Done)
}

fn read(path: &str, sketcher: &mut Sketcher, progress: &mut Progress) -> Option<Sketch> {
    let read = input::read_file(path, sketcher.extraction(), &mut |chunk| sketcher.update(chunk));
    let mut sketch = sketcher.finish();
    match read {
        Ok(replaced) => {
            sketch.replaced += replaced;
            progress.replaced(path, sketch.replaced);
            Some(sketch)
        }
        Err(problem) => {
            progress.problem(&problem);
            None
        }
    }
}

fn line<'a>(verb: &'a Compare, compared: &Compared) -> Line<'a> {
    Line {
        a: &verb.a,
        b: &verb.b,
        exact: compared.exact,
        resemblance: rounded(compared.resemblance),
        low: low(compared.interval),
        high: high(compared.interval),
        values: compared.values,
        containment: rounded(compared.containment),
        containment_low: low(compared.containment_interval),
        containment_high: high(compared.containment_interval),
        containment_values: compared.containment_values,
        contained: rounded(compared.contained),
        contained_low: low(compared.contained_interval),
        contained_high: high(compared.contained_interval),
        contained_values: compared.contained_values,
        hamming: compared.hamming,
        agreement: rounded(compared.agreement),
        edit: rounded(compared.edit.map(|edit| edit.corrected)),
        edit_raw: rounded(compared.edit.map(|edit| edit.raw)),
        edit_unrelated: rounded(compared.context.map(|context| context.unrelated)),
        edit_raw_unrelated: rounded(compared.context.map(|context| context.unrelated_raw)),
        inclusion: rounded(compared.context.and_then(|context| context.inclusion)),
        profile: compared.profile.iter().filter_map(|&share| rounded(Some(share))).collect(),
    }
}

fn tell(verb: &Compare, compared: &Compared, output: &mut Output) -> std::io::Result<()> {
    let share = |estimate: Option<f64>, interval: Option<Interval>| {
        let interval = interval.map_or(String::new(), |i| format!("  [{:.3}, {:.3}]", i.low, i.high));
        format!("{}{interval}", short(estimate))
    };
    output.line(&format!("A  {}", visible(&verb.a)))?;
    output.line(&format!("B  {}", visible(&verb.b)))?;
    if compared.exact {
        output.line("the same text")?;
    }
    let mut row = |name: &str, value: String| output.line(&format!("{name:<16}  {value}"));
    row("resemblance", share(compared.resemblance, compared.interval))?;
    row("A is in B", share(compared.containment, compared.containment_interval))?;
    row("B is in A", share(compared.contained, compared.contained_interval))?;
    row("agreement", short(compared.agreement))?;
    row("hamming", compared.hamming.map_or("-".into(), |bits| format!("{bits} of 64")))?;
    if let (Some(edit), Some(context)) = (compared.edit, compared.context) {
        row(
            "edit distance",
            format!("{:.0} characters (unrelated: {:.0})", edit.corrected, context.unrelated),
        )?;
        row("  raw", format!("{:.0} characters (unrelated: {:.0})", edit.raw, context.unrelated_raw))?;
        row("inclusion", short(context.inclusion))?;
    }
    if compared.profile.iter().any(|&share| share > 0.0) {
        row("differences in A", format!("|{}|", strip(&compared.profile)))?;
    }
    Ok(())
}

/// Bars as high as the shares, the greatest full.
fn strip(profile: &[f64]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = profile.iter().copied().fold(0.0, f64::max);
    profile.iter().map(|share| BARS[(share / most * 8.0).ceil() as usize % 9]).collect()
}
