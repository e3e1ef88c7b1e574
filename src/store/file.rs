//! One database file: made beside its place and renamed into it, opened for writing or for reading only.

use super::beside;
use super::disk::Disk;
use super::frame::{Frame, Kind, Label, frames};
use super::overlay::Overlay;
use super::pages::{MAGIC, MOST_COPY, SealedFile, Superblock};
use super::record::Counters;
use super::tables::{self, Doing};
use crate::error::{Error, Result};
use crate::id::DatabaseId;
use redb::{Database, Durability, ReadTransaction, ReadableDatabase, StorageBackend, WriteTransaction};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The parts of a file that are written once, when it is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth<'a> {
    pub id: DatabaseId,
    /// The parameters, in whatever form the layer above reads.
    pub params: &'a [u8],
    /// What this build's sketches of a known text are.
    pub known_answer: &'a [u8],
}

const PARAMS: &str = "params";
pub(crate) const KNOWN_ANSWER: &str = "known_answer";
pub(crate) const COUNTERS: &str = "counters";

/// An open database file.
pub(crate) struct StoreFile {
    redb: Database,
    sealed: Arc<SealedFile>,
    id: DatabaseId,
    recovered: bool,
}

/// Whether a file begins as a database does, of whatever version, whole or damaged.
pub fn is_database(path: impl AsRef<Path>) -> io::Result<bool> {
    let mut beginning = Vec::new();
    File::open(path)?.take(MAGIC.len() as u64).read_to_end(&mut beginning)?;
    Ok(Superblock::begins(&beginning))
}

impl StoreFile {
    /// Makes a new database on an empty disk.
    pub fn create_on(disk: Box<dyn Disk>, birth: Birth, cache: usize) -> Result<Self> {
        let label = Label { kind: Kind::Params, database: birth.id, epoch: 0 };
        let params = frames(label, [(0, birth.params)].into_iter()).remove(0).1;
        if params.len() > MOST_COPY {
            return Err(Error::invalid("parameters", format!("they take more than {MOST_COPY} bytes")));
        }
        let sealed = Arc::new(SealedFile::create(disk, birth.id, &params)?);
        let (redb, _) = open_redb(sealed.clone(), cache)?;
        let file = StoreFile { redb, sealed, id: birth.id, recovered: false };
        let transaction = file.begin(true)?;
        {
            let doing = "create the tables";
            let mut meta = transaction.open_table(tables::META).doing(doing)?;
            meta.insert(PARAMS, &params[..]).doing(doing)?;
            meta.insert(KNOWN_ANSWER, birth.known_answer).doing(doing)?;
            meta.insert(COUNTERS, &Counters::default().encode()[..]).doing(doing)?;
            transaction.open_table(tables::CONTENTS).doing(doing)?;
            transaction.open_table(tables::DOCUMENTS).doing(doing)?;
            transaction.open_table(tables::AMENDMENTS).doing(doing)?;
            transaction.open_table(tables::HOLDERS).doing(doing)?;
            transaction.open_table(tables::MARKS).doing(doing)?;
            transaction.open_table(tables::PARENTS).doing(doing)?;
            transaction.open_table(tables::MEMBERS).doing(doing)?;
            transaction.open_table(tables::REPRESENTATIVES).doing(doing)?;
            transaction.open_table(tables::RUNS).doing(doing)?;
        }
        transaction.commit().doing("create the tables")?;
        Ok(file)
    }

    /// Makes a new database file. It appears under its name only when it is complete: a crash leaves no half file there.
    pub fn create_at(path: &Path, birth: Birth) -> Result<()> {
        beside::create(path, |disk| Self::create_on(Box::new(disk), birth, 1 << 20).map(|_| ()))
    }

    /// Opens a database for writing, recovering it when its last writer did not close it.
    pub fn open_writable(disk: Box<dyn Disk>, cache: usize) -> Result<Self> {
        let (sealed, superblock) = SealedFile::open(disk)?;
        let sealed = Arc::new(sealed);
        let (mut redb, walked) = open_redb(sealed.clone(), cache)?;
        let recovered = walked || sealed.is_unclean();
        if recovered {
            // What the last writer was writing may be torn. Nothing reaches it: redb has read all that its last commit
            // reaches, and does so here where it need not to open the file.
            if !walked {
                redb.check_integrity().doing("recover the database")?;
            }
            sealed.blank_broken().map_err(|error| Error::io("recover the database", error))?;
        }
        Ok(StoreFile { redb, sealed, id: superblock.id, recovered })
    }

    /// Opens what may be damaged, without ever writing to its disk, recovering it in memory.
    pub fn open_damaged(disk: Box<dyn Disk>, cache: usize) -> Result<Self> {
        let overlay = Overlay::over(disk).map_err(|error| Error::io("read the database file", error))?;
        let (sealed, superblock) = SealedFile::open(Box::new(overlay))?;
        let sealed = Arc::new(sealed);
        let (redb, recovered) = open_redb(sealed.clone(), cache)?;
        Ok(StoreFile { redb, sealed, id: superblock.id, recovered })
    }

    /// Opens a database without ever writing to its disk, and gives what its pages are to be read from. One that its last
    /// writer did not close is recovered in memory, as much of it as the last, unfinished commit wrote.
    pub fn open_read_only(disk: Arc<dyn Disk>, cache: usize) -> Result<(Self, Arc<dyn Disk>)> {
        let overlay = Overlay::over(Box::new(disk.clone()));
        let overlay = Arc::new(overlay.map_err(|error| Error::io("read the database file", error))?);
        let file = Self::open_writable(Box::new(overlay.clone()), cache)?;
        if !file.recovered {
            return Ok((file, disk));
        }
        file.write_seals()?;
        Ok((file, overlay))
    }

    /// Whether the last writer did not close the file on a disk.
    pub fn is_unclosed(disk: Box<dyn Disk>) -> Result<bool> {
        SealedFile::open(disk).map(|(sealed, _)| sealed.is_unclean())
    }

    pub fn id(&self) -> DatabaseId {
        self.id
    }

    /// Whether the last writer had not closed the file, though redb may have had nothing to repair.
    pub fn was_recovered(&self) -> bool {
        self.recovered
    }

    /// Moves pages together and cuts what is free off the end. redb commits this in one phase, which a crash may tear: only
    /// for a file that is not in its place yet.
    pub fn tighten(disk: Box<dyn Disk>, cache: usize) -> Result<()> {
        let mut file = Self::open_writable(disk, cache)?;
        file.redb
            .compact()
            .map_err(|error| match error {
                redb::CompactionError::Storage(error) => error.into(),
                other => redb::Error::Corrupted(other.to_string()),
            })
            .doing("tighten the file")
            .map(|_| ())
    }

    /// The parameters.
    pub fn params(&self) -> Result<Vec<u8>> {
        let row = self.meta(PARAMS)?;
        let frame = Frame::parse(Kind::Params, self.id, &row)?;
        frame.check()?;
        let params = frame.record(0)?.ok_or_else(|| Error::corrupt("parameters", "their frame is empty"))?;
        Ok(params.to_vec())
    }

    /// A transaction: one that is durable is committed in two phases, so that a torn commit is never taken for a whole one; one
    /// that is not reaches the medium with the next that is.
    pub fn begin(&self, durable: bool) -> Result<WriteTransaction> {
        let mut transaction = self.redb.begin_write().doing("begin a commit")?;
        transaction.set_two_phase_commit(true);
        if !durable {
            transaction.set_durability(Durability::None).doing("begin a commit")?;
        }
        Ok(transaction)
    }

    /// Writes the seals of all pages that were written, which otherwise wait for the next sync.
    pub fn write_seals(&self) -> Result<()> {
        self.sealed.sync_data().map_err(|error| Error::io("write the seals", error))
    }

    /// A snapshot.
    pub fn snapshot(&self) -> Result<ReadTransaction> {
        self.redb.begin_read().doing("begin to read")
    }

    /// A row of the meta table.
    pub fn meta(&self, name: &str) -> Result<Vec<u8>> {
        let meta = self.snapshot()?.open_table(tables::META).doing("read the parameters")?;
        let row = redb::ReadableTable::get(&meta, name).doing("read the parameters")?;
        row.map(|row| row.value().to_vec())
            .ok_or_else(|| Error::corrupt(format!("meta row {name}"), "it is missing"))
    }
}

/// Sealed pages, which redb shares with whoever opened them.
#[derive(Debug)]
struct Backend(Arc<SealedFile>);

impl StorageBackend for Backend {
    fn len(&self) -> std::io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> std::io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> std::io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> std::io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write(offset, bytes)
    }

    fn close(&self) -> std::io::Result<()> {
        self.0.close()
    }
}

/// Opens redb's database, and tells whether it had to be recovered.
fn open_redb(sealed: Arc<SealedFile>, cache: usize) -> Result<(Database, bool)> {
    let recovered = Arc::new(AtomicBool::new(false));
    let mut builder = Database::builder();
    builder.set_cache_size(cache);
    let noted = recovered.clone();
    builder.set_repair_callback(move |_| noted.store(true, Ordering::Relaxed));
    let opened =
        builder.create_with_backend(Backend(sealed.clone())).map_err(redb::Error::from).map_err(|error| {
            match error {
                redb::Error::Corrupted(what) if what.contains("truncated") => {
                    Error::corrupt(sealed.end(), what)
                }
                other => match Err::<(), _>(other).doing("open the database") {
                    Err(error) => error,
                    Ok(()) => Error::Failed("to open".into()),
                },
            }
        });
    Ok((opened?, recovered.load(Ordering::Relaxed)))
}
