//! The handle: opening and closing a database, and what its verbs share.

use super::activity::Counts;
use super::add::{AddOptions, Added, Document, Policy, check_key, check_time};
use super::clusters::Formed;
use super::copy::post_content;
use super::evidence::Acceptance;
use super::params::Params;
use super::shares::Shares;
use super::writer::{Begun, Commits, FLUSH_CONTENTS, GROUP, PATIENCE, Pace, Writer};
use crate::error::{Error, Result};
use crate::id::DatabaseId;
use crate::index::indexing::Indexing;
use crate::index::memtable::{Memtable, packed};
use crate::sketch::Sketcher;
use crate::sketch::params::SketchParamsId;
use crate::sketch::portable::hex;
use crate::store::cache::Cache;
use crate::store::cancel::Cancel;
use crate::store::disk::Disk;
use crate::store::file::{Birth, KNOWN_ANSWER, StoreFile};
use crate::store::merging::Merging;
use crate::store::remnants::Remnants;
use crate::store::run::FilterBudget;
use crate::store::view::View;
use crate::store::waiting::Patience;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// What belongs to the process that opens a database, not to the file.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of memory; 256 MiB by default. [`Shares`] says what they are for.
    pub memory: usize,
    /// Never write: many processes may read one file at once. A file that its writer did not close is read as it was last
    /// committed: each opening recovers it in memory, until [`Database::recover`] or a writer does so for good.
    pub read_only: bool,
    /// How long to wait for others to let go of the file; not at all by default.
    pub wait: Duration,
    /// Cancels long work of this handle: whatever takes many commits, or writes a file anew.
    pub cancel: Cancel,
    /// How [`Database::seen_or_add`] adds; everything and durable by default.
    pub adding: AddOptions,
    /// Contents in memory before they become a run, at most 32,768, which is the default. Tests choose fewer, to meet
    /// runs and merges in small files.
    #[doc(hidden)]
    pub flush_contents: u64,
}

impl Options {
    pub(super) fn patience(&self) -> Patience {
        Patience { wait: self.wait, cancel: self.cancel.clone() }
    }
}

impl Default for Options {
    fn default() -> Self {
        let adding = AddOptions::default();
        Options {
            memory: 256 << 20,
            read_only: false,
            wait: Duration::ZERO,
            cancel: Cancel::new(),
            adding,
            flush_contents: FLUSH_CONTENTS,
        }
    }
}

/// A near-duplicate database: one file, any number of threads.
///
/// ```
/// use sketchdb::{Database, Options, Params, Query, Verdict};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("pages.sketchdb");
/// Database::create(&path, &Params::default())?;
/// let db = Database::open(&path, Options::default())?;
///
/// let text = "the quick brown fox jumps over the lazy dog and runs into the deep dark wood beyond the hill";
/// assert_eq!(db.add("http://example.org/a", text)?.verdict, Verdict::New);
/// assert_eq!(db.add("http://example.org/b", text)?.verdict, Verdict::Exact);
///
/// let other = text.to_uppercase() + "!";
/// let answer = db.query(&db.sketch(&other)?, &Query::default())?;
/// assert_eq!(answer.matches[0].key, "http://example.org/a");
/// assert_eq!(answer.matches[0].resemblance, Some(1.0));
/// assert!(!answer.matches[0].exact);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Database {
    params: Params,
    sketch_params: SketchParamsId,
    indexing: Indexing,
    read_only: bool,
    memory: usize,
    cancel: Cancel,
    adding: AddOptions,
    counts: Counts,
    pace: Pace,
    view: RwLock<Arc<View>>,
    commits: Commits,
    filters: Arc<FilterBudget>,
    sketchers: Mutex<Vec<Sketcher>>,
    formed: Mutex<Formed>,
    /// Whether closing leaves the file as it is.
    abandoned: AtomicBool,
    prototype: Sketcher,
    disk: Arc<dyn Disk>,
    // Last: the file closes after everything that reads it is gone.
    file: StoreFile,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("params", &self.params).finish_non_exhaustive()
    }
}

impl Database {
    /// Makes a new, empty database file. Fails with [`Error::Exists`] when something is at the path.
    pub fn create(path: impl AsRef<Path>, params: &Params) -> Result<()> {
        with_birth(params, |birth| StoreFile::create_at(path.as_ref(), birth))
    }

    /// Opens a database. A writer that died is recovered from.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let (path, patience) = (path.as_ref(), options.patience());
        let disk = match options.read_only {
            true => patience.open_read_only(path)?,
            false => patience.open_writable(path)?,
        };
        Self::load(Arc::new(disk), options)
    }

    /// Makes a new database on a medium of the caller's, which must be empty.
    pub fn create_on(disk: Arc<dyn Disk>, params: &Params) -> Result<()> {
        with_birth(params, |birth| StoreFile::create_on(Box::new(disk), birth, 1 << 20).map(|_| ()))
    }

    /// Opens a database on a medium of the caller's.
    pub fn open_on(disk: Arc<dyn Disk>, options: Options) -> Result<Self> {
        Self::load(disk, options)
    }

    pub(super) fn load(disk: Arc<dyn Disk>, options: Options) -> Result<Self> {
        let shares =
            if options.read_only { Shares::of_reader(options.memory) } else { Shares::of(options.memory) };
        let pages = shares.pages as usize;
        let (file, disk) = match options.read_only {
            true => StoreFile::open_read_only(disk, pages)?,
            false => (StoreFile::open_writable(Box::new(disk.clone()), pages)?, disk),
        };
        let params = file.params().and_then(|json| Params::from_json(&json));
        let params = params.map_err(|error| error.within("meta row params"))?;
        check_known_answer(&params, &file.meta(KNOWN_ANSWER)?)?;
        options.adding.check(&params)?;
        let indexing = params.indexing()?;
        let filters = FilterBudget::new(shares.filters as usize);
        let records = shares.records(params.keep_sketches) as usize;
        let cache = Cache::new(shares.rows as usize - records, records);
        let (mut view, unfinished) = View::load(&file, indexing.prefixes(), &filters, cache)?;
        view.memtable = replay(&view, &indexing)?;
        // What a writer before wrote and never committed may lie in the file: what is written from now on is newer.
        view.counters.epoch = view.counters.epoch.wrapping_add(u32::from(!options.read_only));
        let merging = unfinished
            .map(|unfinished| Merging::resume(unfinished, &view.runs, indexing.prefixes()))
            .transpose()?;
        let remnants =
            if options.read_only { Remnants::default() } else { Remnants::load(&file.snapshot()?)? };
        let recovered = file.was_recovered();
        let db = Database {
            prototype: Sketcher::new(&params.sketch)?,
            sketch_params: params.sketch.id(),
            params,
            indexing,
            read_only: options.read_only,
            memory: options.memory,
            cancel: options.cancel,
            adding: options.adding,
            counts: Counts::default(),
            pace: Pace::new(options.flush_contents),
            view: RwLock::new(Arc::new(view)),
            commits: Commits::new(GROUP, PATIENCE, Writer::new(merging, remnants)),
            filters,
            sketchers: Mutex::default(),
            formed: Mutex::default(),
            abandoned: AtomicBool::new(false),
            disk,
            file,
        };
        if recovered && !db.read_only {
            // Were this writer to die before its first commit, the next one would not know of it.
            db.begin_epoch()?;
        }
        Ok(db)
    }

    /// The parameters that the file was made with.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Living documents.
    pub fn documents(&self) -> u64 {
        self.view().counters.documents
    }

    /// The digest of the parameters that its sketches are made with.
    pub(crate) fn sketch_params(&self) -> SketchParamsId {
        self.sketch_params
    }

    /// A sketcher for this database: one a thread, kept from text to text.
    pub fn sketcher(&self) -> Sketcher {
        self.prototype.clone()
    }

    /// The sketch of a text, by a sketcher that the database keeps.
    pub fn sketch(&self, text: impl AsRef<[u8]>) -> Result<crate::sketch::Sketch> {
        let pool = || self.sketchers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sketcher = pool().pop().unwrap_or_else(|| self.sketcher());
        let sketch = sketcher.sketch(text.as_ref());
        pool().push(sketcher);
        Ok(sketch)
    }

    /// Adds a document: its verdict, once it is durable. Threads that add at the same time share a commit.
    pub fn add(&self, key: impl Into<String>, text: impl AsRef<[u8]>) -> Result<Added> {
        let document = Document { key: key.into(), sketch: self.sketch(text)?, seen_at: None };
        let added = self.add_batch(vec![document], Policy::Everything)?;
        added.into_iter().next().ok_or_else(|| Error::Failed("no verdict was given".into()))
    }

    /// Adds documents as if one after the other: a verdict each, in order, once all are durable. Up to 8,192 documents
    /// become durable together or not at all; more take several commits.
    pub fn add_batch(&self, documents: Vec<Document>, options: impl Into<AddOptions>) -> Result<Vec<Added>> {
        self.add_later(documents, options)?.wait()
    }

    /// Begins to add documents, after all that was begun before: [`Adding::wait`] gives their verdicts. A thread that begins
    /// many before it waits for the first makes them durable in one commit, together with what others began.
    ///
    /// ```
    /// # use sketchdb::{Database, Document, Options, Params, Policy};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("pages.sketchdb");
    /// # Database::create(&path, &Params::default())?;
    /// # let db = Database::open(&path, Options::default())?;
    /// let document = |key: &str, text: &str| -> sketchdb::Result<Document> {
    ///     Ok(Document { key: key.into(), sketch: db.sketch(text)?, seen_at: None })
    /// };
    /// let first = db.add_later(vec![document("a", "one text")?], Policy::Everything)?;
    /// let second = db.add_later(vec![document("b", "one text")?], Policy::Everything)?;
    /// assert_eq!(second.wait()?[0].of.as_deref(), Some("a"));
    /// assert_eq!(first.wait()?[0].of, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_later(&self, documents: Vec<Document>, options: impl Into<AddOptions>) -> Result<Adding<'_>> {
        let options = options.into();
        options.check(&self.params)?;
        self.view().counters.check_room()?;
        documents.iter().try_for_each(|document| {
            self.sketch_params.check(document.sketch.params)?;
            check_time(document.seen_at)?;
            check_key(&document.key)
        })?;
        self.add_checked(documents, options, Acceptance::default())
    }

    /// Begins to add documents whose options and keys were checked.
    pub(super) fn add_checked(
        &self,
        documents: Vec<Document>,
        options: AddOptions,
        acceptance: Acceptance,
    ) -> Result<Adding<'_>> {
        let samples = options.contained.is_some();
        let begin = |job: Vec<Document>| {
            self.begin(job.len(), samples, options.durability, move |batch| {
                batch.add_all(job, options, acceptance)
            })
        };
        let begun = jobs(documents).into_iter().map(begin).collect::<Result<_>>()?;
        Ok(Adding { db: self, begun })
    }

    /// Closes the database and says whether that went well; dropping it closes it in silence. Nobody may use it any more,
    /// which is known before the program runs:
    ///
    /// ```compile_fail,E0505
    /// # fn close(db: sketchdb::Database) -> sketchdb::Result<()> {
    /// let shared = &db;
    /// std::thread::scope(|scope| {
    ///     scope.spawn(move || shared.add("key", "text"));
    ///     db.close()
    /// })
    /// # }
    /// ```
    pub fn close(self) -> Result<()> {
        match self.read_only {
            true => Ok(()),
            false => self.settle(),
        }
    }

    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn show(&self, view: View) {
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(view);
    }

    /// Has closing leave the file as it is: nothing in memory is flushed.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(super) fn formed(&self) -> MutexGuard<'_, Formed> {
        self.formed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn commits(&self) -> &Commits {
        &self.commits
    }

    pub(crate) fn indexing(&self) -> &Indexing {
        &self.indexing
    }

    pub(crate) fn file(&self) -> &StoreFile {
        &self.file
    }

    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }

    pub(crate) fn filters(&self) -> &Arc<FilterBudget> {
        &self.filters
    }

    /// What the memory is for when something is written.
    pub(crate) fn shares(&self) -> Shares {
        Shares::of(self.memory)
    }

    pub(crate) fn adding(&self) -> AddOptions {
        self.adding
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Bytes that caches may take.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    pub(crate) fn shared_disk(&self) -> Arc<dyn Disk> {
        self.disk.clone()
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }
}

/// Documents on their way into a database. What becomes of them is known only to whoever waits; the others may be added or not.
#[must_use = "nothing is durable before it was waited for"]
pub struct Adding<'d> {
    db: &'d Database,
    begun: Vec<Begun<Vec<Added>>>,
}

impl Adding<'_> {
    /// A verdict for each document, in order, once all are durable, unless they were to be buffered.
    pub fn wait(self) -> Result<Vec<Added>> {
        let began = Instant::now();
        let mut all = Vec::new();
        for begun in self.begun {
            all.extend(self.db.end(begun)?);
        }
        self.db.counts().answered(all.iter(), began.elapsed());
        Ok(all)
    }
}

/// Cuts work into pieces that fit one commit each.
pub(crate) fn jobs<T>(work: Vec<T>) -> Vec<Vec<T>> {
    let mut rest = work.into_iter();
    std::iter::from_fn(|| {
        let job: Vec<T> = rest.by_ref().take(GROUP).collect();
        (!job.is_empty()).then_some(job)
    })
    .collect()
}

/// Hands `create` what a new file is born with, a number of its own among it.
fn with_birth<T>(params: &Params, create: impl FnOnce(Birth) -> Result<T>) -> Result<T> {
    with_birth_of(params, new_id()?, create)
}

/// Draws the number of a new database.
pub(super) fn new_id() -> Result<DatabaseId> {
    let drawn = getrandom::u64().map_err(std::io::Error::other);
    drawn.map(DatabaseId).map_err(|error| Error::io("draw a database id", error))
}

/// Hands `create` what a file of a known database is born with.
pub(super) fn with_birth_of<T>(
    params: &Params,
    id: DatabaseId,
    create: impl FnOnce(Birth) -> Result<T>,
) -> Result<T> {
    params.check()?;
    let json = serde_json::to_vec(&params.to_json()).map_err(|e| Error::invalid("parameters", e))?;
    create(Birth { id, params: &json, known_answer: &params.known_answer()? })
}

/// Refuses sketches of a build that hashes otherwise.
pub(super) fn check_known_answer(params: &Params, found: &[u8]) -> Result<()> {
    let expected = params.known_answer()?;
    match expected == found {
        true => Ok(()),
        false => Err(Error::Incompatible {
            name: "sketches of the known text (this build hashes differently)".into(),
            expected: hex(&expected),
            found: hex(found),
        }),
    }
}

/// Builds the memtable again from the records that no run indexes.
fn replay(view: &View, indexing: &Indexing) -> Result<Memtable> {
    let counters = &view.counters;
    let mut entries = Vec::new();
    view.contents_from(counters.unflushed_content, |id, record| {
        let number = (id - counters.unflushed_content) as u16;
        post_content(indexing, &record, |address| {
            entries.push(packed(address, number));
            Ok(())
        })
    })?;
    view.documents_from(counters.unflushed_document, |id, record| {
        entries.push(packed(Indexing::key(record.key), (id - counters.unflushed_document) as u16));
        Ok(())
    })?;
    let memtable = Memtable::new(indexing.prefixes());
    Ok(if entries.is_empty() { memtable } else { memtable.with_part(entries) })
}

impl Drop for Database {
    fn drop(&mut self) {
        let settles = !self.read_only && !self.abandoned.load(Ordering::Relaxed);
        if settles && self.commits.usable().is_ok() && !std::thread::panicking() {
            // Nothing is lost when this fails: the next one to open the file does the work.
            let _ = self.settle();
        }
    }
}
