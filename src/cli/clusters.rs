//! `sketchdb clusters`: which documents belong together.

use crate::args::{ClustersArgs, Common};
use crate::exit::{Ended, Outcome, Stop};
use crate::open;
use crate::output::{Output, rounded, short};
use crate::say::{say, visible};
use sketchdb::{Cluster, ClusterOptions, Error};
use std::io;
use std::ops::ControlFlow;

/// Members of a cluster that are shown to people.
const SHOWN: usize = 10;

pub fn run(verb: &ClustersArgs, common: &Common) -> Ended {
    let db = open::reading_clusters(&verb.db, common)?;
    let mut output = Output::new();
    if let Some(key) = &verb.of {
        let Some(cluster) = db.cluster_of(key)? else {
            if !common.quiet {
                say(&format!("sketchdb: no document {key:?}"));
            }
            return Ok(Outcome::Nothing);
        };
        tell(&mut output, common.json, &cluster, |each| db.cluster_members(&cluster, each))?;
        output.flush()?;
        warn(common, cluster.bounded);
        return Ok(Outcome::Done);
    }
    let clusters = db.clusters(ClusterOptions { min_size: verb.min_size })?;
    let mut bounded = false;
    let stopped = clusters.each(|cluster| {
        bounded |= cluster.bounded;
        match tell(&mut output, common.json, &cluster, |each| clusters.members(&cluster, each)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(stop) => ControlFlow::Break(stop),
        }
    })?;
    if let Some(stop) = stopped {
        return Err(stop);
    }
    output.flush()?;
    warn(common, bounded);
    Ok(if clusters.is_empty() { Outcome::Nothing } else { Outcome::Done })
}

/// Says that clusters may lack members.
fn warn(common: &Common, bounded: bool) {
    if bounded && !common.quiet {
        say(
            "sketchdb: clusters may be bounded: some documents share a term with more than 256 others, of which 16 were compared (stats counts them)",
        );
    }
}

type Each<'e> = &'e mut dyn FnMut(String) -> ControlFlow<io::Error>;

/// Writes a cluster while its members are read: there may be very many.
fn tell(
    output: &mut Output,
    json: bool,
    cluster: &Cluster,
    members: impl FnOnce(Each) -> Result<Option<io::Error>, Error>,
) -> Result<(), Stop> {
    if !json {
        let Cluster { id, size, cohesion, .. } = cluster;
        output.line(&format!("cluster {id}: {size} documents, cohesion {}", short(*cohesion)))?;
    } else {
        output
            .text(&format!("{{\"cluster\":{},\"size\":{},\"representative\":", cluster.id, cluster.size))?;
        output.value(&cluster.representative)?;
        output.text(",\"members\":[")?;
    }
    let mut told = 0;
    let mut each = |key: String| {
        told += 1;
        let written = match json {
            true => output.text(if told > 1 { "," } else { "" }).and_then(|()| output.value(&key)),
            false if told <= SHOWN => output.line(&format!("  {}", visible(&key))),
            false => return ControlFlow::Continue(()),
        };
        written.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    };
    if let Some(error) = members(&mut each)? {
        return Err(Stop::Output(error));
    }
    if json {
        output.text("],\"cohesion\":")?;
        output.value(&rounded(cluster.cohesion))?;
        output.text(&format!(",\"bounded\":{}}}\n", cluster.bounded))?;
    } else if told > SHOWN {
        output.line(&format!("  ... and {} more", told - SHOWN))?;
    }
    Ok(())
}
