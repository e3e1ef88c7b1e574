//! `sketchdb export`: everything that lives in a database, as JSON lines.

use crate::args::{Common, OfDatabase};
use crate::exit::{Ended, Outcome, Stop};
use crate::open;
use crate::output::Output;
use crate::progress::Stages;

pub fn run(verb: &OfDatabase, common: &Common) -> Ended {
    let db = open::reading_clusters(&verb.db, common)?;
    let (mut output, mut stages) = (Output::new(), Stages::new(common));
    db.export(&mut |what, done, all| stages.show(what, done, all), |line| {
        output.text(line)?;
        output.text("\n").map_err(Stop::from)
    })?;
    output.flush()?;
    stages.finish();
    Ok(Outcome::Done)
}
