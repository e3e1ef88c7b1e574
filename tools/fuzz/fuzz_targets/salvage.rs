//! Salvaging hostile bytes: whatever can be saved is a database that is whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sketchdb::fuzzing::{rewrite, seal_frames};
use sketchdb::{Database, Error};
use sketchdb_fuzz::base::{MOST, bytes, options};
use sketchdb_fuzz::{Input, MemoryDisk, abort_on_own_panics, within};
use std::sync::OnceLock;

const PAGE: usize = 4096;
const HEADER: usize = 36;

struct Whole {
    bytes: Vec<u8>,
    /// Every frame in it, the parameters first.
    frames: Vec<Vec<u8>>,
}

fn whole() -> &'static Whole {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let (bytes, mut frames) = (bytes(), Vec::new());
        let disk = MemoryDisk::of(bytes.clone(), MOST);
        rewrite(disk, &mut |table, row| {
            if ["params", "meta", "contents", "documents"].contains(&table) && row.starts_with(b"skFr") {
                frames.push(row.clone());
            }
            true
        })
        .unwrap();
        Whole { bytes, frames }
    })
}

fuzz_target!(init: { abort_on_own_panics(); whole(); }, |input: &[u8]| {
    let mut input = Input(input);
    let damaged = match input.byte() % 4 {
        0 => pages(&mut input),
        _ => frames(&mut input),
    };
    within((32 << 20) + 64 * damaged.len(), || salvage(damaged));
});

fn salvage(damaged: Vec<u8>) {
    let (damaged, saved) = (MemoryDisk::of(damaged, MOST), MemoryDisk::of(Vec::new(), MOST));
    let before = damaged.bytes();
    match Database::salvage_onto(damaged.clone(), saved.clone(), 1 << 20, &mut |_, _, _| {}) {
        Ok(salvaged) => {
            let db = Database::open_on(saved, options(false)).expect("a salvaged database");
            let verified = db.verify(true).expect("a salvaged database");
            assert_eq!((verified.damage, verified.documents), (Vec::new(), salvaged.documents));
        }
        Err(Error::Corrupt { .. } | Error::Incompatible { .. } | Error::Version { .. } | Error::Lost(_)) => {}
        Err(error) => panic!("not an error of damage: {error:?}"),
    }
    assert!(damaged.bytes() == before, "the damaged file was written to");
}

/// The file with some of its pages overwritten by what the input has.
fn pages(input: &mut Input) -> Vec<u8> {
    let mut bytes = whole().bytes.clone();
    while !input.is_empty() {
        let at = input.below(bytes.len() / PAGE) * PAGE + input.below(PAGE);
        let count = usize::from(input.byte());
        let put = input.bytes(count % 64);
        let end = (at + put.len()).min(bytes.len());
        bytes[at..end].copy_from_slice(&put[..end - at]);
        if count >= 128 {
            bytes[at / PAGE * PAGE..(at / PAGE + 1) * PAGE].fill(0);
        }
    }
    bytes
}

/// A file without tables, of frames whose checksums hold: those of the database, changed, and whatever the input has.
fn frames(input: &mut Input) -> Vec<u8> {
    let Whole { bytes, frames } = whole();
    let mut content = frames[0].clone();
    while !input.is_empty() {
        let (kind, which) = (input.byte(), input.below(frames.len()));
        let mut frame = frames[which].clone();
        for _ in 0..kind % 8 {
            let at = match input.byte() {
                // Epoch, first number, and count are where it hurts.
                byte @ 0..32 => [28, 16, 23, 6, 7, 17, 31, 5][usize::from(byte) % 8],
                _ => HEADER + input.below(frame.len() - HEADER),
            };
            frame[at] = frame[at].wrapping_add(input.byte().max(1));
        }
        match kind >> 6 {
            0 => {
                let rest = frame.len().saturating_sub(input.below(300)).max(HEADER);
                frame.truncate(rest);
                let length = (rest - HEADER) as u32;
                frame[24..28].copy_from_slice(&length.to_le_bytes());
            }
            1 => {
                let count = usize::from(input.byte());
                content.extend(input.bytes(count));
            }
            _ => {}
        }
        content.extend(frame);
    }
    seal_frames(&mut content);
    content.resize(content.len().next_multiple_of(PAGE), 0);
    // Superblock and one crc page: what the seals say does not matter here.
    [&bytes[..PAGE], &vec![0; PAGE], &content].concat()
}
