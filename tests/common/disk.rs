//! Disks in memory: one that is whole, one that remembers every operation so that it can crash, one that fails.

use super::rng::Rng;
use sketchdb::Disk;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub const SECTOR: usize = 512;

/// Bytes in memory.
#[derive(Debug, Default)]
pub struct MemoryDisk(Mutex<Vec<u8>>);

impl MemoryDisk {
    pub fn of(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(MemoryDisk(Mutex::new(bytes)))
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }

    /// A disk of its own with what this one holds: what another process would find if this one ended now.
    pub fn image(&self) -> Arc<MemoryDisk> {
        MemoryDisk::of(self.bytes())
    }
}

impl Disk for MemoryDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (bytes, start) = (self.0.lock().unwrap(), offset as usize);
        let part = bytes.get(start..start + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(part);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (mut all, start) = (self.0.lock().unwrap(), offset as usize);
        let part = all.get_mut(start..start + bytes.len()).expect("writes lie within the length");
        part.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// What was done to a disk.
#[derive(Clone, Debug)]
pub enum Operation {
    Write { offset: u64, bytes: Vec<u8> },
    SetLen(u64),
    Sync,
}

/// A disk that remembers what was done to it.
#[derive(Debug)]
pub struct CrashDisk {
    now: MemoryDisk,
    before: Vec<u8>,
    done: Mutex<Vec<Operation>>,
}

impl CrashDisk {
    pub fn over(bytes: Vec<u8>) -> Arc<Self> {
        let now = MemoryDisk(Mutex::new(bytes.clone()));
        Arc::new(CrashDisk { now, before: bytes, done: Mutex::default() })
    }

    /// How many operations were done so far.
    pub fn clock(&self) -> usize {
        self.done.lock().unwrap().len()
    }

    pub fn history(&self) -> History {
        History { before: self.before.clone(), done: self.done.lock().unwrap().clone() }
    }

    fn note(&self, operation: Operation) -> io::Result<()> {
        self.done.lock().unwrap().push(operation);
        Ok(())
    }
}

impl Disk for CrashDisk {
    fn len(&self) -> io::Result<u64> {
        self.now.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.now.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.now.write_at(offset, bytes)?;
        self.note(Operation::Write { offset, bytes: bytes.to_vec() })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.now.set_len(len)?;
        self.note(Operation::SetLen(len))
    }

    fn sync(&self) -> io::Result<()> {
        self.note(Operation::Sync)
    }
}

/// A disk's first bytes, and all that was done to it since.
#[derive(Debug)]
pub struct History {
    before: Vec<u8>,
    done: Vec<Operation>,
}

/// What of the operations since the last sync survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survives {
    Nothing,
    Everything,
    OnlyTheLast,
    /// Any subset, in any order, torn at sectors.
    Some,
}

/// The time between two syncs: what was durable at its beginning, what was done in it.
#[derive(Clone, Copy, Debug)]
pub struct Epoch<'a> {
    pub durable: &'a [u8],
    pub pending: &'a [Operation],
    /// Operations done before.
    pub start: usize,
}

impl History {
    /// Calls `each` with every epoch, the last one open, from the first to the last.
    pub fn epochs(&self, mut each: impl FnMut(usize, Epoch)) {
        let (mut durable, mut start) = (self.before.clone(), 0);
        for (number, pending) in self.done.split_inclusive(|done| matches!(done, Operation::Sync)).enumerate()
        {
            each(number, Epoch { durable: &durable, pending, start });
            pending.iter().for_each(|operation| apply(&mut durable, operation));
            start += pending.len();
        }
    }

    /// How many operations there were.
    pub fn len(&self) -> usize {
        self.done.len()
    }

    pub fn syncs(&self) -> usize {
        self.done.iter().filter(|done| matches!(done, Operation::Sync)).count()
    }
}

impl Epoch<'_> {
    /// A moment of this epoch, as a count of operations: before, among, or after what was done in it.
    pub fn moment(&self, rng: &mut Rng) -> usize {
        self.start + rng.below(self.pending.len() + 1)
    }

    /// The moment after everything that was done in it.
    pub fn end(&self) -> usize {
        self.start + self.pending.len()
    }

    /// The disk after a crash at that moment.
    pub fn crash(&self, moment: usize, survives: Survives, rng: &mut Rng) -> Vec<u8> {
        let pending = &self.pending[..moment - self.start];
        let mut image = self.durable.to_vec();
        match survives {
            // A sync that returned leaves nothing to lose.
            _ if matches!(pending.last(), Some(Operation::Sync)) => replay(&mut image, pending),
            Survives::Everything => replay(&mut image, pending),
            Survives::Nothing => {}
            Survives::OnlyTheLast => replay(&mut image, &pending[pending.len().saturating_sub(1)..]),
            Survives::Some => some(&mut image, pending, rng),
        }
        image
    }
}

fn replay(image: &mut Vec<u8>, operations: &[Operation]) {
    operations.iter().for_each(|operation| apply(image, operation));
}

fn apply(image: &mut Vec<u8>, operation: &Operation) {
    match operation {
        Operation::Write { offset, bytes } => put(image, *offset as usize, bytes),
        Operation::SetLen(len) => image.resize(*len as usize, 0),
        Operation::Sync => {}
    }
}

/// Writes what lies within the length: a file system shows nothing behind it.
fn put(image: &mut [u8], offset: usize, bytes: &[u8]) {
    let end = (offset + bytes.len()).min(image.len());
    if offset < end {
        image[offset..end].copy_from_slice(&bytes[..end - offset]);
    }
}

/// Writes reach the disk in any order, whole, in part, or never. Lengths change in order (file systems keep a journal of
/// them), but the last changes may be lost.
fn some(image: &mut Vec<u8>, pending: &[Operation], rng: &mut Rng) {
    let lengths = pending.iter().filter(|operation| matches!(operation, Operation::SetLen(_))).count();
    let mut kept_lengths = rng.below(lengths + 1);
    let share = rng.below(5);
    let writes = |operation: &Operation| !matches!(operation, Operation::SetLen(_));
    for part in pending.split_inclusive(|operation| !writes(operation)) {
        let mut order: Vec<&Operation> = part.iter().filter(|operation| writes(operation)).collect();
        rng.shuffle(&mut order);
        order.into_iter().filter(|_| rng.below(4) < share).collect::<Vec<_>>().into_iter().for_each(
            |operation| {
                tear(image, operation, rng);
            },
        );
        if let Some(Operation::SetLen(len)) = part.last().filter(|_| kept_lengths > 0) {
            image.resize(*len as usize, 0);
            kept_lengths -= 1;
        }
    }
}

fn tear(image: &mut [u8], operation: &Operation, rng: &mut Rng) {
    let Operation::Write { offset, bytes } = operation else { return };
    let whole = !rng.once_in(3);
    for (number, sector) in bytes.chunks(SECTOR).enumerate() {
        if whole || rng.once_in(2) {
            put(image, *offset as usize + number * SECTOR, sector);
        }
    }
}

/// How a disk fails.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// How many operations succeed before.
    pub after: u64,
    /// How many fail then.
    pub times: u64,
    /// The system's error number.
    pub errno: i32,
}

/// A disk that fails; reads count as operations too.
#[derive(Debug)]
pub struct FailingDisk {
    disk: Arc<MemoryDisk>,
    failure: Failure,
    done: AtomicU64,
}

impl FailingDisk {
    pub fn over(disk: Arc<MemoryDisk>, failure: Failure) -> Arc<Self> {
        Arc::new(FailingDisk { disk, failure, done: AtomicU64::new(0) })
    }

    /// How many operations were asked for.
    pub fn clock(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub fn has_failed(&self) -> bool {
        self.clock() > self.failure.after
    }

    fn step(&self) -> io::Result<()> {
        let number = self.done.fetch_add(1, Ordering::Relaxed);
        let Failure { after, times, errno } = self.failure;
        match number >= after && number - after < times {
            true => Err(io::Error::from_raw_os_error(errno)),
            false => Ok(()),
        }
    }
}

impl Disk for FailingDisk {
    fn len(&self) -> io::Result<u64> {
        self.step()?;
        self.disk.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.step()?;
        self.disk.read_at(offset, out)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.step().inspect_err(|_| {
            // What a full disk takes before it says so.
            let _ = self.disk.write_at(offset, &bytes[..bytes.len() / 2 / SECTOR * SECTOR]);
        })?;
        self.disk.write_at(offset, bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.step()?;
        self.disk.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.step()?;
        self.disk.sync()
    }
}
