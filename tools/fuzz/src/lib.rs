//! What the fuzz targets share: measured memory, disks in memory, inputs taken apart, and which panics count.

pub mod base;

use peak_alloc::PeakAlloc;
use sketchdb::Disk;
use std::io;
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::{Arc, Mutex, Once, PoisonError};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Runs something that may take `most` bytes of memory at a time and no more.
pub fn within<T>(most: usize, run: impl FnOnce() -> T) -> T {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = run();
    let taken = MEMORY.peak_usage().saturating_sub(before);
    assert!(taken <= most, "{taken} bytes of memory were taken, {most} may be");
    result
}

/// Memory that a decoder may take at once, and for each byte that it reads: a bitmap's run of six bytes is 8 KiB in memory.
const DECODING: (usize, usize) = (4 << 20, 2048);

/// Gives an input to a decoder: its first byte chooses which, the rest is what is read.
pub fn decode(decoders: &[fn(&[u8])], input: &[u8]) {
    if let Some((&first, bytes)) = input.split_first() {
        let check = decoders[usize::from(first) % decoders.len()];
        within(DECODING.0 + DECODING.1 * bytes.len(), || check(bytes));
    }
}

/// Lets panics within redb unwind, which believes the pages that it reads; any other ends the process.
pub fn abort_on_own_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = take_hook();
        set_hook(Box::new(move |info: &PanicHookInfo| {
            if !info.location().is_some_and(|place| place.file().contains("/redb-")) {
                print(info);
                std::process::abort();
            }
        }));
    });
}

/// Bytes taken from the front of an input; zeros when it is at its end.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.number(1) as u8
    }

    /// A number of so many bytes, little-endian.
    pub fn number(&mut self, bytes: usize) -> u64 {
        self.bytes(bytes).iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
    }

    /// A number below `end`, of two bytes.
    pub fn below(&mut self, end: usize) -> usize {
        self.number(2) as usize % end.max(1)
    }

    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (first, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        first
    }
}

/// Cuts bytes into chunks of 1 to 16 bytes, or of many, as a number says.
pub fn chunks(bytes: &[u8], mut how: u64) -> Vec<&[u8]> {
    let (mut chunks, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        how = how.rotate_right(4);
        let wanted = if how & 15 == 15 { 200 } else { 1 + how as usize % 16 };
        let (chunk, behind) = rest.split_at(wanted.min(rest.len()));
        chunks.push(chunk);
        rest = behind;
    }
    chunks
}

/// Bytes that come in chunks.
pub struct Chunks<'a>(pub Vec<&'a [u8]>);

impl io::Read for Chunks<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.0.first().is_some_and(|chunk| chunk.is_empty()) {
            self.0.remove(0);
        }
        self.0.first_mut().map_or(Ok(0), |chunk| chunk.read(into))
    }
}

/// Bytes in memory, of which there are never more than so many.
#[derive(Debug)]
pub struct MemoryDisk {
    bytes: Mutex<Vec<u8>>,
    most: usize,
}

impl MemoryDisk {
    pub fn of(bytes: Vec<u8>, most: usize) -> Arc<Self> {
        Arc::new(MemoryDisk { bytes: Mutex::new(bytes), most })
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.all().clone()
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Disk for MemoryDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.all().len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.all();
        let end = (offset as usize).checked_add(out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes.get(offset as usize..end).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (mut all, start) = (self.all(), offset as usize);
        let part = all.get_mut(start..start + bytes.len()).expect("writes lie within the length");
        part.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        match usize::try_from(len).is_ok_and(|len| len <= self.most) {
            true => Ok(self.all().resize(len as usize, 0)),
            false => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
