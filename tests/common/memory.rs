//! A disk in memory, of which a killed process leaves an image.

use sketchdb::Disk;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

#[derive(Debug, Default)]
pub struct MemoryDisk(Mutex<Vec<u8>>);

impl MemoryDisk {
    /// A disk of its own with what this one holds: what another process would find if this one ended now.
    pub fn image(&self) -> Arc<MemoryDisk> {
        Arc::new(MemoryDisk(Mutex::new(self.bytes().clone())))
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap()
    }
}

/// The place of `len` bytes at `offset`, within `bytes`.
fn range(bytes: &[u8], offset: u64, len: usize) -> io::Result<std::ops::Range<usize>> {
    let start = offset as usize;
    let end = start.checked_add(len).filter(|&end| end <= bytes.len());
    end.map(|end| start..end).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

impl Disk for MemoryDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes();
        out.copy_from_slice(&bytes[range(&bytes, offset, out.len())?]);
        Ok(())
    }

    fn write_at(&self, offset: u64, new: &[u8]) -> io::Result<()> {
        let mut bytes = self.bytes();
        let range = range(&bytes, offset, new.len())?;
        bytes[range].copy_from_slice(new);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.bytes().resize(len as usize, 0);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
