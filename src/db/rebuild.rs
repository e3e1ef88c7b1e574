//! `rebuild`: every index and the clusters again from the sketches, with other parameters.

use super::compact::Compacted;
use super::copy::{Progress, Source};
use super::database::{Database, Options};
use super::params::Params;
use crate::error::{Error, Result};
use crate::index::TableDesign;
use crate::store::disk::Disk;
use std::path::Path;
use std::sync::Arc;

impl Params {
    /// These parameters with the permuted tables that suit so many contents.
    pub fn with_tables_for(self, contents: u64) -> Result<Params> {
        let hamming_tables = TableDesign::suited(self.hamming, contents)?.tables();
        Ok(Params { hamming_tables, ..self })
    }

    /// Refuses parameters that cannot be given to sketches made with these: the text is not there to sketch it again.
    pub fn check_rebuild(&self, wanted: &Params) -> Result<()> {
        let sketches = Params { sketch: wanted.sketch.clone(), ..self.clone() };
        self.check_same(&sketches).map_err(|error| match error {
            Error::Incompatible { name, expected, found } => Error::invalid(
                format!("{name} {expected}"),
                format!("the sketches were made with {found} and cannot be made again without the texts: add them to a new database"),
            ),
            other => other,
        })?;
        let (own, kept) = (self.keep_sketches, wanted.keep_sketches);
        let lacks = (kept.sample && !own.sample)
            || (kept.signature && !own.signature)
            || (kept.simhash && !own.simhash)
            || (kept.edit && !own.edit);
        match lacks {
            true => Err(Error::invalid(
                format!("keep-sketches {kept}"),
                format!("the file has only {own}, and others cannot be made without the texts"),
            )),
            false => wanted.check(),
        }
    }
}

impl Database {
    /// Writes a database anew beside itself: records as they are, index and clusters from the sketches, with the parameters
    /// that `change` gives for its own and the number of its contents; then puts it in its place. Whenever this is
    /// interrupted, the file at the path is the old one or the new one, whole.
    pub fn rebuild(
        path: impl AsRef<Path>,
        options: Options,
        change: impl FnOnce(Params, u64) -> Result<Params>,
        progress: Progress,
    ) -> Result<Compacted> {
        let path = path.as_ref();
        // Two files are open.
        let memory = options.memory / 2;
        let db = Database::open(path, Options { read_only: false, memory, ..options })?;
        let params = change(db.params().clone(), db.view().counters.contents)?;
        let mut bounded = 0;
        let rebuilt = db.replace(path, |disk| {
            bounded = db.rebuild_counting(&disk, &params, memory, progress)?;
            Ok(())
        })?;
        Ok(Compacted { bounded, ..rebuilt })
    }

    /// Writes what lives in this database to an empty medium, index and clusters from the sketches.
    pub fn rebuild_onto(
        &self,
        disk: Arc<dyn Disk>,
        params: &Params,
        memory: usize,
        progress: Progress,
    ) -> Result<()> {
        self.rebuild_counting(&disk, params, memory, progress).map(|_| ())
    }

    /// The same; how many searches were bounded.
    fn rebuild_counting(
        &self,
        disk: &Arc<dyn Disk>,
        params: &Params,
        memory: usize,
        progress: Progress,
    ) -> Result<u64> {
        self.params().check_rebuild(params)?;
        self.copy_onto(disk, params, Source::Sketches, memory, progress)
    }
}
