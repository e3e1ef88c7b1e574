//! The seen-before store of a crawler: asks what a page is to those before it, and adds it, in one step.

use super::activity::Activity;
use super::add::{Added, Document, Verdict};
use super::database::Database;
use crate::error::{Error, Result};

/// What a page is to those that were seen before it: the first of these that applies.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sighting {
    /// Nothing like it was seen.
    New,
    /// The same text was seen under this key.
    Unchanged,
    /// Another text was seen under this key.
    Updated,
    /// The same text was seen under another key.
    Exact {
        /// That key.
        of: String,
    },
    /// A near duplicate was seen under another key.
    Near {
        /// The key of the one that is most alike.
        of: String,
        /// The estimated resemblance; `None` in a file that keeps nothing to tell it by.
        resemblance: Option<f64>,
    },
    /// The share of the page that [`AddOptions::contained`](super::AddOptions::contained) asks for was seen as a part of another.
    Contained {
        /// The key of that page.
        within: String,
        /// The share, estimated.
        containment: f64,
    },
}

impl Sighting {
    /// Whether there is something to store: the page is new, or another than it was.
    pub fn is_news(&self) -> bool {
        matches!(self, Sighting::New | Sighting::Updated)
    }
}

impl From<Added> for Sighting {
    fn from(added: Added) -> Self {
        let Added { verdict, of, resemblance, containment, .. } = added;
        match (verdict, of) {
            (Verdict::Unchanged, _) => Sighting::Unchanged,
            (Verdict::Updated, _) => Sighting::Updated,
            (Verdict::Exact, Some(of)) => Sighting::Exact { of },
            (Verdict::Near, Some(of)) => Sighting::Near { of, resemblance },
            (Verdict::Contained, Some(within)) => {
                Sighting::Contained { within, containment: containment.unwrap_or(0.0) }
            }
            _ => Sighting::New,
        }
    }
}

impl Database {
    /// What a page is to all that were seen before; from then on it is one of them. As [`Options::adding`] says, it is stored,
    /// and its verdict durable, or not. Times are seconds since 1970; the library asks no clock.
    ///
    /// Any number of threads may ask at once, and the answers are those of one after the other: of two that ask for the same
    /// page one is told that it is new. Those that wait at the same time share a commit; nobody waits longer than for the
    /// commit that is under way and those that take what was asked before, and .4 ms for company.
    ///
    /// The content is taken as text in UTF-8: [`web::text_of`](crate::web::text_of) gives that of a page, as
    /// [`SketchParams::extraction`](crate::SketchParams::extraction) of the database says.
    ///
    /// It blocks until the commit, some milliseconds when durable: asynchronous code calls it where blocking is allowed. With
    /// tokio, for example (`tools/crawler` does so):
    ///
    /// ```text
    /// let db = Arc::clone(&db);
    /// let sighting = tokio::task::spawn_blocking(move || db.seen_or_add(url, page, seen_at)).await??;
    /// ```
    ///
    /// ```
    /// use sketchdb::{AddOptions, Database, Options, Params, Policy, Sighting};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.sketchdb");
    /// Database::create(&path, &Params::default())?;
    /// let adding = AddOptions { policy: Policy::OnlyNew, contained: Some(0.9), ..AddOptions::default() };
    /// let db = Database::open(&path, Options { adding, ..Options::default() })?;
    ///
    /// let page: String = (0..200).map(|i| format!("word{i} ")).collect();
    /// let at = Some(1_790_000_000);
    /// assert_eq!(db.seen_or_add("http://example.org/", &page, at)?, Sighting::New);
    /// assert_eq!(db.seen_or_add("http://example.org/", &page, at)?, Sighting::Unchanged);
    /// let of = "http://example.org/".to_owned();
    /// assert_eq!(db.seen_or_add("http://example.org/?sid=7", &page, at)?, Sighting::Exact { of });
    /// let part = db.seen_or_add("http://example.org/print", &page[..page.len() / 4], at)?;
    /// assert!(matches!(part, Sighting::Contained { .. }) && !part.is_news());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Options::adding`]: super::Options::adding
    pub fn seen_or_add(
        &self,
        key: impl Into<String>,
        content: impl AsRef<[u8]>,
        seen_at: Option<u64>,
    ) -> Result<Sighting> {
        let document = Document { key: key.into(), sketch: self.sketch(content)?, seen_at };
        let added = self.add_batch(vec![document], self.adding())?;
        let added = added.into_iter().next().ok_or_else(|| Error::Failed("no verdict was given".into()))?;
        Ok(added.into())
    }

    /// Makes everything durable that was added before, buffered or not.
    pub fn flush(&self) -> Result<()> {
        self.commit(0, false, |_| Ok(()))
    }

    /// What this process has done with the database so far.
    pub fn activity(&self) -> Activity {
        Activity { waiting: self.commits().waiting() as u64, ..self.counts().now() }
    }
}
