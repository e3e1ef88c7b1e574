//! Sorting more records than memory holds: sorted pieces in nameless temporary files, merged when read back.
//!
//! Equal records come out once. The files lie in the folder for temporary files (`TMPDIR`) and vanish with the sorter.

use super::temporary::{self, failed};
use crate::error::Result;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

/// Bytes that are read from, or written to, a piece at a time.
const BUFFER: usize = 1 << 16;

/// Takes records of N numbers in any order.
#[derive(Debug)]
pub(crate) struct Sorter<const N: usize> {
    most: usize,
    waiting: Vec<[u64; N]>,
    pieces: Vec<File>,
}

impl<const N: usize> Sorter<N> {
    /// With so many bytes of memory.
    pub fn new(memory: usize) -> Self {
        let most = (memory / (8 * N)).max(1024);
        Sorter { most, waiting: Vec::new(), pieces: Vec::new() }
    }

    pub fn push(&mut self, record: [u64; N]) -> Result<()> {
        if self.waiting.len() == self.most {
            self.tidy();
            // Much was repeated: there is room again.
            if self.waiting.len() > self.most / 2 {
                self.spill()?;
            }
        }
        self.waiting.push(record);
        Ok(())
    }

    fn tidy(&mut self) {
        self.waiting.sort_unstable();
        self.waiting.dedup();
    }

    /// Writes what waits, sorted, to a piece of its own.
    fn spill(&mut self) -> Result<()> {
        let mut file = temporary::file()?;
        let mut writer = BufWriter::with_capacity(BUFFER, &mut file);
        for record in &self.waiting {
            for number in record {
                writer.write_all(&number.to_le_bytes()).map_err(failed)?;
            }
        }
        writer.flush().map_err(failed)?;
        drop(writer);
        file.rewind().map_err(failed)?;
        self.pieces.push(file);
        self.waiting.clear();
        Ok(())
    }

    /// The records, ascending, each once.
    pub fn finish(mut self) -> Result<Sorted<N>> {
        self.tidy();
        if !self.pieces.is_empty() {
            self.spill()?;
            self.waiting = Vec::new();
        }
        let pieces = self.pieces.into_iter().map(|file| BufReader::with_capacity(BUFFER, file)).collect();
        let mut sorted =
            Sorted { pieces, heads: BinaryHeap::new(), memory: self.waiting.into_iter(), last: None };
        (0..sorted.pieces.len()).try_for_each(|piece| sorted.advance(piece))?;
        Ok(sorted)
    }
}

/// Sorted records.
#[derive(Debug)]
pub(crate) struct Sorted<const N: usize> {
    pieces: Vec<BufReader<File>>,
    heads: BinaryHeap<Reverse<([u64; N], usize)>>,
    /// All records, when they fit into memory.
    memory: std::vec::IntoIter<[u64; N]>,
    last: Option<[u64; N]>,
}

impl<const N: usize> Sorted<N> {
    /// Reads the next record of a piece.
    fn advance(&mut self, piece: usize) -> Result<()> {
        let mut record = [0; N];
        for (at, number) in record.iter_mut().enumerate() {
            let mut bytes = [0; 8];
            match self.pieces[piece].read_exact(&mut bytes) {
                Ok(()) => *number = u64::from_le_bytes(bytes),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && at == 0 => return Ok(()),
                Err(error) => return Err(failed(error)),
            }
        }
        self.heads.push(Reverse((record, piece)));
        Ok(())
    }

    fn pull(&mut self) -> Result<Option<[u64; N]>> {
        while let Some(Reverse((record, piece))) = self.heads.pop() {
            self.advance(piece)?;
            if self.last.replace(record) != Some(record) {
                return Ok(Some(record));
            }
        }
        Ok(self.memory.next())
    }
}

impl<const N: usize> Iterator for Sorted<N> {
    type Item = Result<[u64; N]>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pull().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn records_come_out_sorted_and_once_whatever_fits() {
        for (count, memory) in [(0u64, 0), (10, 1 << 20), (5000, 0), (50_000, 0), (50_000, 1 << 20)] {
            let mut sorter = Sorter::<2>::new(memory);
            let record = |i: u64| [mix(i) % 900, mix(i ^ 77) % 7];
            (0..count).try_for_each(|i| sorter.push(record(i))).unwrap();
            let mut expected: Vec<[u64; 2]> = (0..count).map(record).collect();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!(sorter.finish().unwrap().map(Result::unwrap).collect::<Vec<_>>(), expected);
            let mut distinct = Sorter::<1>::new(memory);
            (0..count).try_for_each(|i| distinct.push([mix(i)])).unwrap();
            assert_eq!(
                distinct.pieces.len(),
                if memory == 0 { (count as usize).saturating_sub(1) / 1024 } else { 0 }
            );
            assert_eq!(distinct.finish().unwrap().count() as u64, count);
        }
    }
}
