//! The layer of seals, written again from `schema/format.md`: taken off a file, and put on bytes of redb.
//!
//! With it a test changes rows as somebody would who can write the file: every seal holds afterwards.

use super::PAGE;
use redb::{Database, StorageBackend, WriteTransaction};
use std::io;
use std::sync::{Arc, Mutex};

const GROUP: usize = 1024;
/// Where redb's part of its header page ends, and its sector.
const HEADER: usize = 320;
const SECTOR: usize = 512;

fn crc(number: u64, bytes: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize().max(1).to_le_bytes()
}

/// redb's bytes in a file.
pub fn unsealed(bytes: &[u8]) -> Vec<u8> {
    let pages = bytes.chunks_exact(PAGE).skip(1).enumerate();
    let own = pages.filter(|(number, _)| number % (GROUP + 1) != 0);
    let mut out: Vec<u8> = own.flat_map(|(_, page)| page.to_vec()).collect();
    out[HEADER..PAGE].fill(0);
    out
}

/// A file with this superblock and these bytes of redb.
pub fn sealed(superblock: &[u8], storage: &[u8]) -> Vec<u8> {
    const NUMBER: [u8; 4] = 1000u32.to_le_bytes();
    let mut out = superblock.to_vec();
    let pages: Vec<&[u8]> = storage.chunks_exact(PAGE).collect();
    for (group, pages) in pages.chunks(GROUP).enumerate() {
        let mut seals = vec![0; PAGE];
        for (index, page) in pages.iter().enumerate() {
            seals[4 * index..4 * index + 4].copy_from_slice(&crc((group * GROUP + index) as u64, page));
        }
        let mut pages = pages.concat();
        if group == 0 {
            seals[..4].copy_from_slice(&NUMBER);
            pages[SECTOR - 8..SECTOR - 4].copy_from_slice(&NUMBER);
            let seal = crc(0, &pages[..SECTOR - 4]);
            pages[SECTOR - 4..SECTOR].copy_from_slice(&seal);
        }
        out.extend(seals);
        out.extend(pages);
    }
    out
}

/// redb's storage in memory.
#[derive(Clone, Debug)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl StorageBackend for Memory {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let start = offset as usize;
        out.copy_from_slice(&self.0.lock().unwrap()[start..start + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let start = offset as usize;
        self.0.lock().unwrap()[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The file after `change` to its rows, closed and sealed.
pub fn crafted(bytes: &[u8], change: impl FnOnce(&WriteTransaction)) -> Vec<u8> {
    let memory = Memory(Arc::new(Mutex::new(unsealed(bytes))));
    let db = Database::builder().create_with_backend(memory.clone()).unwrap();
    let transaction = db.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
    drop(db);
    sealed(&bytes[..PAGE], &memory.0.lock().unwrap())
}
