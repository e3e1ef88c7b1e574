//! Doors for the fuzzers of `tools/fuzz`, and what must hold behind each whatever bytes come in. Only `cargo fuzz` compiles it.
//!
//! A decoder never panics, ends, and takes memory in proportion to its input (the fuzzers measure it). What it yields has a stored
//! form, no longer than what was read, which is read as the same value: readers take more than writers write (longer integers,
//! bits behind the end), so the bytes need not be the same. Where only one form is accepted they are.

use crate::bits::{EliasFano, field};
use crate::db::Params;
use crate::error::Result;
use crate::id::DatabaseId;
use crate::index::block::{self, Block, Entry};
use crate::index::filter;
use crate::index::memtable::Memtable;
use crate::index::run::{Cursor, Directory, Position, RunSource};
use crate::index::term::{Address, Prefixes};
use crate::sketch::align::{Span, Step, align, distance};
use crate::sketch::{EditParams, EditSignature, Overlap, PortableSketch, Sample, Signature};
use crate::store::frame::{self, Frame, Kind, Label, frames};
use crate::store::pages::Superblock;
use crate::store::postings::{self, IdSet};
use crate::store::record::{
    Amendment, ContentRecord, Counters, DocumentRecord, RepresentativeRecord, RunRecord,
};
use crate::text::canonical::Canonical;
use crate::text::decode::Decoder;
use crate::text::rabin::Rabin;
use crate::text::shingle::{Shingler, Shingling};
use crate::text::token::{Tokeniser, Unit};

pub use crate::store::rewrite::{rewrite, seal_frames};

/// A decoder with all that must hold of it.
pub type Check = fn(&[u8]);

/// Decoders of the truth: what frames and rows hold.
pub const RECORDS: &[Check] = &[
    frame,
    content_record,
    document_record,
    amendment,
    representative,
    run_record,
    counters,
    superblock,
    parameters,
];

/// Decoders of the index.
pub const INDEX: &[Check] = &[bitmap, block, run, filter, memtable];

/// Decoders of sketches.
pub const SKETCHES: &[Check] = &[sample, signature, edit_signature, portable];

/// The first `N` bytes, filled up with zeros, and the rest.
fn split<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    let (head, rest) = bytes.split_at(N.min(bytes.len()));
    let mut first = [0; N];
    first[..head.len()].copy_from_slice(head);
    (first, rest)
}

fn number(bytes: &[u8]) -> (u64, &[u8]) {
    let (head, rest) = split(bytes);
    (u64::from_le_bytes(head), rest)
}

/// A frame as it is, and with a checksum that holds: its records, put into frames, come back.
fn frame(bytes: &[u8]) {
    let Some(head) = bytes.first_chunk() else {
        return assert!(Frame::parse(Kind::Contents, DatabaseId(0), bytes).is_err());
    };
    let Some((kind, database, epoch, length)) = Frame::label(head) else { return };
    let mut sealed = bytes.to_vec();
    frame::seal(&mut sealed);
    let Ok(parsed) = Frame::parse(kind, database, &sealed) else { return };
    assert_eq!(length, bytes.len());
    parsed.check().expect("a sealed frame");
    let Ok(records) = parsed.records().collect::<Result<Vec<(u64, &[u8])>>>() else { return };
    if !records.windows(2).all(|pair| pair[0].0 < pair[1].0) {
        return;
    }
    for &(id, record) in &records {
        assert_eq!(parsed.record(id).expect("records that were read"), Some(record));
    }
    let made = frames(Label { kind, database, epoch }, records.iter().copied());
    let mut again = Vec::new();
    for (_, bytes) in &made {
        let frame = Frame::parse(kind, database, bytes).expect("a frame that was made");
        frame.check().expect("a checksum that was made");
        again.extend(frame.records().map(|record| record.expect("a record that was put in")));
    }
    assert_eq!(again, records);
}

/// The id of a record that takes its own into account.
const OWN: u64 = 1 << 20;

fn content_record(bytes: &[u8]) {
    if let Ok(record) = ContentRecord::decode(OWN, bytes) {
        let stored = record.encode(OWN);
        assert!(stored.len() <= bytes.len());
        assert_eq!(ContentRecord::decode(OWN, &stored).expect("a stored form"), record);
        assert!(ContentRecord::decode(OWN, &[&stored[..], &[0]].concat()).is_err(), "bytes follow its end");
    }
}

fn document_record(bytes: &[u8]) {
    if let Ok(record) = DocumentRecord::decode(OWN, bytes) {
        let stored = record.encode(OWN);
        assert!(stored.len() <= bytes.len());
        assert_eq!(DocumentRecord::decode(OWN, &stored).expect("a stored form"), record);
    }
}

macro_rules! record_checks {
    ($($name:ident $record:ident),*) => { $(
        fn $name(bytes: &[u8]) {
            if let Ok(record) = $record::decode(bytes) {
                let stored = record.encode();
                assert!(stored.len() <= bytes.len());
                assert_eq!($record::decode(&stored).expect("a stored form"), record);
                assert!($record::decode(&[&stored[..], &[0]].concat()).is_err(), "bytes follow its end");
            }
        }
    )* };
}
record_checks!(
    amendment Amendment,
    representative RepresentativeRecord,
    run_record RunRecord,
    counters Counters
);

/// A row of a set, behind eight bytes of its number.
fn bitmap(bytes: &[u8]) {
    let (row, bytes) = number(bytes);
    let row = row >> 16;
    let mut set = IdSet::new();
    if postings::decode_into(&mut set, row, bytes).is_err() {
        return;
    }
    assert!(!set.is_empty() && set.iter().all(|id| postings::row_of(id) == row));
    let stored = postings::encode(&set, row).expect("a row that is not empty");
    let mut again = IdSet::new();
    postings::decode_into(&mut again, row, &stored).expect("a stored form");
    assert_eq!(again, set);
}

/// The one form of a superblock.
fn superblock(bytes: &[u8]) {
    let (page, _) = split::<4096>(bytes);
    if let Ok(superblock) = Superblock::decode(&page) {
        assert!(Superblock::copy(&page).is_some_and(|copy| superblock.encode(copy) == page));
    }
}

fn entries(block: &Block, from: Address) -> Vec<Entry> {
    let mut entries = Vec::new();
    block.scan_from(from, |entry| {
        entries.push(entry);
        true
    });
    entries
}

/// A block behind the address from which it is read; as it is, and as long as its header says.
fn block(bytes: &[u8]) {
    let (from, bytes) = number(bytes);
    block_from(from, bytes);
    let (count, width, span) =
        (field(bytes, 0, 16) as usize, field(bytes, 16, 8) as usize, field(bytes, 72, 40));
    let length = 14 + (EliasFano::new(count, span).bits() + count * width).div_ceil(8);
    if length <= 4 * bytes.len().max(256) {
        let mut fitting = bytes.to_vec();
        fitting.resize(length, 0x55);
        block_from(from, &fitting);
    }
}

/// One whose entries ascend is packed again.
fn block_from(from: u64, bytes: &[u8]) {
    let Ok(block) = Block::parse(bytes) else { return };
    let (all, behind) = (entries(&block, Address::from_bits(0)), entries(&block, Address::from_bits(from)));
    assert!(all.len() <= block.len() && behind.len() <= block.len());
    let space = all.first().map(|entry| entry.address.space());
    let like_a_block = all.windows(2).all(|pair| pair[0].address <= pair[1].address)
        && all.iter().all(|entry| Some(entry.address.space()) == space);
    if !like_a_block || all.is_empty() {
        return;
    }
    let (count, packed) = block::pack(&all, 32);
    assert!(packed.len() <= block::BLOCK_BYTES || count == 1);
    let again = Block::parse(&packed).expect("a block that was packed");
    assert_eq!(entries(&again, Address::from_bits(0)), all[..count]);
    let after: Vec<Entry> =
        all[..count].iter().copied().filter(|entry| entry.address >= Address::from_bits(from)).collect();
    assert_eq!(entries(&again, Address::from_bits(from)), after);
}

/// Rows of a run, one after the other, each behind two bytes of its length.
struct Rows<'a>(Vec<&'a [u8]>);

impl<'a> Rows<'a> {
    fn cut(mut bytes: &'a [u8]) -> Self {
        let mut rows = Vec::new();
        while let Some((length, rest)) = bytes.split_first_chunk() {
            let (row, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
            rows.push(row);
            bytes = rest;
        }
        Rows(rows)
    }
}

impl RunSource for Rows<'_> {
    fn block<T>(&self, number: u32, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        read(self.0.get(number as usize + 1).copied().unwrap_or_default())
    }

    fn may_hold(&self, group: u32, probe: filter::Probe) -> Result<bool> {
        Ok(self.0.get(group as usize).is_none_or(|row| filter::passes(row, probe)))
    }
}

/// A directory in pieces of up to 32 addresses, and blocks: searched, and read from beginning to end.
fn run(bytes: &[u8]) {
    let (range, bytes) = split::<12>(bytes);
    let address = |at: usize| Address::from_bits(field(&range, at, 48));
    let rows = Rows::cut(bytes);
    let mut directory = Directory::default();
    for group in rows.0.first().copied().unwrap_or_default().chunks(192) {
        if directory.push_group(group).is_err() {
            return;
        }
    }
    let mut most =
        rows.0.iter().filter_map(|row| Block::parse(row).ok()).map(|block| block.len()).sum::<usize>();
    let prefixes = Prefixes { simhash: 16 };
    let probe = filter::Probe::new(prefixes.filter_key(address(0)));
    let _ = directory.clone().with_jump().scan(&(address(0)..=address(48)), probe, &rows, &mut |entry| {
        assert!(entry.address >= address(0) && entry.address <= address(48));
        most = most.checked_sub(1).expect("no more entries than the blocks have");
        true
    });
    let mut cursor = Cursor::new(Position::default(), directory.blocks() as u32);
    while let Ok(Some(_)) = cursor.peek(&rows) {
        cursor.advance();
    }
}

/// A filter behind a key; and a filter of keys knows them.
fn filter(bytes: &[u8]) {
    let (key, bytes) = number(bytes);
    filter::may_hold(bytes, key);
    let keys: Vec<u64> = bytes.chunks(8).map(|chunk| number(chunk).0).collect();
    let built = filter::build(&keys);
    assert!(keys.iter().all(|&key| filter::may_hold(&built, key)));
}

/// Parts of up to 100 packed entries: all of them are found, in order.
fn memtable(bytes: &[u8]) {
    let (from, bytes) = number(bytes);
    let mut all: Vec<u64> = bytes.chunks(8).map(|chunk| number(chunk).0).collect();
    let mut memtable = Memtable::new(Prefixes { simhash: 16 });
    for part in all.chunks(1 + from as usize % 100) {
        memtable = memtable.with_part(part.to_vec());
    }
    all.sort_unstable();
    let packed = |entry: Entry| crate::index::memtable::packed(entry.address, entry.number as u16);
    assert_eq!(memtable.entries().map(packed).collect::<Vec<_>>(), all);
    let wanted = Address::from_bits(from >> 16);
    let mut seen = Vec::new();
    memtable.scan(&(wanted..=wanted), &mut |entry| {
        seen.push(packed(entry));
        true
    });
    seen.sort_unstable();
    let expected: Vec<u64> = all.into_iter().filter(|entry| entry >> 16 == wanted.bits()).collect();
    assert_eq!(seen, expected);
}

/// A sample as long as its header says.
fn fitting_sample(bytes: &[u8]) -> Vec<u8> {
    let (count, bound) = (field(bytes, 0, 32) as usize, field(bytes, 32, 40));
    let bound = if bound == 0 { 1 << 40 } else { bound };
    let length = 9 + EliasFano::new(count, bound - 1).bytes();
    let mut fitting = bytes.to_vec();
    fitting.resize(length.min(4 * bytes.len().max(256)), 0);
    fitting
}

/// Two samples: read, written, and compared with each other.
fn sample(bytes: &[u8]) {
    let (length, rest) = number(bytes);
    let (first, second) = rest.split_at((length as usize % 4096).min(rest.len()));
    let fitting = fitting_sample(rest);
    let samples = [first, second, rest, &fitting].map(|part| Sample::decode(part).ok());
    let samples: Vec<Sample> = samples.into_iter().flatten().collect();
    for sample in &samples {
        assert_eq!(Sample::decode(&sample.encode()).expect("a stored form"), *sample);
        assert!(sample.values().last().is_none_or(|&last| last < sample.bound()));
        let posted = sample.posted();
        assert_eq!(posted, &sample.values()[..posted.len()]);
        let _ = (sample.shingles(), sample.bottom_s(100), sample.mod_2i(sample.level()));
        for other in &samples {
            let overlap = Overlap::of(sample, other);
            let shares = [overlap.resemblance(), overlap.containment(), overlap.contained()];
            assert!(shares.into_iter().flatten().all(|share| (0.0..=1.0).contains(&share)), "{overlap:?}");
            let _ = (overlap.resemblance_interval(), overlap.containment_interval(), overlap.distance());
        }
    }
}

fn signature(bytes: &[u8]) {
    let signature = Signature::decode(bytes);
    assert_eq!(signature.encode(), bytes[..bytes.len() / 2 * 2]);
    assert_eq!(signature.agreement(&signature), (bytes.len() > 1).then_some(1.0));
}

/// Two edit signatures: read, written, and compared with each other.
fn edit_signature(bytes: &[u8]) {
    let (length, rest) = number(bytes);
    let (first, second) = rest.split_at((length as usize % 4096).min(rest.len()));
    let decoded = [first, second, rest].map(|part| EditSignature::decode(part).ok());
    let signatures: Vec<EditSignature> = decoded.into_iter().flatten().collect();
    let params = EditParams {
        compression: 8 + (length >> 32) as u32 % 1000,
        neighbourhood: 1 + (length >> 56) as u32 % 64,
    };
    for signature in &signatures {
        assert_eq!(EditSignature::decode(&signature.encode()).expect("a stored form"), *signature);
        for other in &signatures {
            let (estimate, context) = (params.estimate(signature, other), params.context(signature, other));
            let numbers =
                [estimate.raw, estimate.corrected, estimate.share, context.unrelated_raw, context.unrelated];
            assert!(
                numbers.iter().all(|number| number.is_finite() && *number >= 0.0),
                "{estimate:?} {context:?}"
            );
            assert!(context.inclusion.is_none_or(|share| (0.0..=1.0).contains(&share)), "{context:?}");
            let profile: f64 = params.profile(signature, other, 7).iter().sum();
            assert!(profile == 0.0 || (profile - 1.0).abs() < 1e-6, "{profile}");
        }
    }
}

/// The parameters of a file; those that are read make a sketcher and an index.
fn parameters(bytes: &[u8]) {
    let Ok(params) = Params::from_json(bytes) else { return };
    let stored = params.to_json().to_string();
    assert_eq!(Params::from_json(stored.as_bytes()).expect("a stored form"), params);
    params.check_same(&params).expect("the same parameters");
}

/// A line of `sketchdb sketch`.
fn portable(bytes: &[u8]) {
    let Ok(line) = serde_json::from_slice::<PortableSketch>(bytes) else { return };
    let Ok(sketch) = line.sketch() else { return };
    let again = PortableSketch::new(line.key.clone(), &line.params, &sketch).expect("its own parameters");
    let text = serde_json::to_vec(&again).expect("plain values");
    let read: PortableSketch = serde_json::from_slice(&text).expect("a stored form");
    assert_eq!((read.sketch().expect("sketches that were read"), &read.params), (sketch, &line.params));
}

/// The decoded text of chunks, and how many sequences were replaced.
pub fn decoded<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> (String, u64) {
    let (mut decoder, mut text) = (Decoder::default(), String::new());
    chunks.for_each(|chunk| decoder.push(chunk, &mut |part| text.push_str(part)));
    decoder.finish(&mut |part| text.push_str(part));
    (text, decoder.replaced())
}

/// The canonical form of chunks of text.
pub fn canonical<'a>(chunks: impl Iterator<Item = &'a str>) -> String {
    let (mut canonical, mut form) = (Canonical::new(), String::new());
    chunks.for_each(|chunk| canonical.push(chunk, &mut |part| form.push_str(part)));
    canonical.finish(&mut |part| form.push_str(part));
    form
}

/// The tokens of chunks of canonical text, each as its fingerprint.
pub fn units<'a>(unit: Unit, rabin: &Polynomial, chunks: impl Iterator<Item = &'a str>) -> Vec<u64> {
    let (mut tokeniser, mut units) = (Tokeniser::new(unit), Vec::new());
    chunks.for_each(|chunk| tokeniser.push(chunk, &rabin.0, &mut units));
    tokeniser.finish(&mut units);
    units
}

/// The fingerprints of the shingles of tokens.
pub fn fingerprints(shingling: Shingling, rabin: &Polynomial, units: &[u64]) -> Vec<u64> {
    let (mut shingler, mut all) = (Shingler::new(shingling.width(), &rabin.0), Vec::new());
    units.chunks(7).for_each(|units| shingler.push(units, &rabin.0, &mut all));
    all.extend(shingler.finish(&rabin.0).map(|shingle| shingle.0));
    all
}

/// The arithmetic that a seed draws.
#[derive(Debug)]
pub struct Polynomial(Rabin);

impl Polynomial {
    /// Draws it.
    pub fn drawn(seed: u64) -> Self {
        Polynomial(Rabin::new(seed))
    }

    /// The polynomial without its leading x^64.
    pub fn coefficients(&self) -> u64 {
        self.0.polynomial()
    }
}

/// The distances of two bit strings: between the whole strings, and of the first within the second.
pub fn distances(first: &[bool], second: &[bool]) -> [usize; 2] {
    [Span::Whole, Span::Within].map(|span| distance(first, second, span))
}

/// An alignment of two bit strings, a letter a step: m(atch), s(ubstitute), d(elete), i(nsert).
pub fn alignment(first: &[bool], second: &[bool]) -> String {
    let letter = |step| match step {
        Step::Match => 'm',
        Step::Substitute => 's',
        Step::Delete => 'd',
        Step::Insert => 'i',
    };
    align(first, second).into_iter().map(letter).collect()
}
