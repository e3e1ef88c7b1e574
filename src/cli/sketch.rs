//! `sketchdb sketch`: the sketches themselves, one JSON line a document.

use crate::args::{Common, SketchArgs};
use crate::exit::{Ended, Outcome, Stop};
use crate::open;
use crate::output::Output;
use crate::pipeline::{self, Event, Meter, Sketched};
use crate::progress::Progress;
use sketchdb::{Params, PortableSketch, SketchParams, Sketcher};

pub fn run(verb: &SketchArgs, common: &Common) -> Ended {
    let params = params(verb, common)?;
    let meter = std::sync::Arc::new(Meter::default());
    let mut output = Output::new();
    let mut progress = Progress::new(common, Some(&verb.inputs));
    let portable = |sketched: Sketched| {
        let replaced = sketched.sketch.replaced;
        PortableSketch::new(sketched.key, &params, &sketched.sketch).map(|line| (line, replaced))
    };
    pipeline::run(
        &verb.inputs,
        verb.like.as_deref().as_slice(),
        common,
        &meter,
        &Sketcher::new(&params)?,
        portable,
        |event| {
            match event {
                Event::Done(sketched) => {
                    let (line, replaced) = sketched?;
                    progress.step(&meter);
                    progress.replaced(&line.key, replaced);
                    output.json(&line)?;
                }
                Event::Revisit(_) => {}
                Event::Problem(problem) => progress.problem(&problem),
                Event::Idle => output.flush()?,
            }
            Ok::<(), Stop>(())
        },
    )?;
    output.flush()?;
    progress.finish(&meter, &[]);
    Ok(if progress.any_problem() { Outcome::Inputs } else { Outcome::Done })
}

/// The parameters of a database, or those given.
fn params(verb: &SketchArgs, common: &Common) -> Result<SketchParams, Stop> {
    let params = match &verb.like {
        Some(path) => {
            let db = open::reading(path, common)?;
            open::check_same(path, db.params(), &verb.creation.applied_to(db.params().clone(), false)?)?;
            db.params().clone()
        }
        None => verb.creation.applied_to(Params::default(), true)?,
    };
    params.check()?;
    Ok(params.sketch)
}
