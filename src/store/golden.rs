//! Golden bytes: one stored value of every kind, kept in `schema/golden` as hex and described in `schema/format.md`.
//!
//! What the code writes must equal the file, and what the file says must be read as the value it was made from.
//! While the version is a draft, `tools/bless` makes all of them anew when the bytes change.

use super::frame::{Frame, Kind, Label, frames};
use super::pages::{self, FORMAT_VERSION, Superblock};
use super::postings::{self, IdSet};
use super::record::{
    Amendment, Changed, ContentRecord, Counters, DocumentRecord, Input, RepresentativeRecord, RunRecord,
    Times,
};
use crate::error::Result;
use crate::id::DatabaseId;
use crate::index::block::{Block, Entry};
use crate::index::filter;
use crate::index::indexing::{Indexed, Indexing};
use crate::index::run::{Directory, RunBuilder, RunSink};
use crate::index::term::{Address, Prefixes, Space, Term};
use crate::index::{Bands, TableDesign};
use crate::sketch::{Sample, Signature, Simhash, SketchParams, Sketcher};
use std::fs;
use std::path::PathBuf;

/// Where the file with this name is.
pub(crate) fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "schema", "golden", name].iter().collect()
}

/// Whether golden files are to be written.
pub(crate) fn blessing() -> bool {
    std::env::var_os("SKETCHDB_BLESS").is_some_and(|value| value == "1")
}

/// The bytes in a golden file, which must be `encoded`. `what` is the comment on its first line.
pub(crate) fn stored(name: &str, what: &str, encoded: &[u8]) -> Vec<u8> {
    let path = path(&format!("{name}.hex"));
    if blessing() {
        let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let lines: Vec<String> = encoded.chunks(32).map(digits).collect();
        fs::write(&path, format!("# {what}\n{}\n", lines.join("\n"))).expect("writing a golden file");
    }
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (comment, digits) = text.split_once('\n').expect("a comment and digits");
    assert_eq!(comment, format!("# {what}"), "{name}");
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex");
    let bytes: Vec<u8> = digits.chunks(2).map(byte).collect();
    assert_eq!(bytes, encoded, "{name}: these bytes are not written any more");
    bytes
}

fn six_bytes(address: Address) -> impl Iterator<Item = u8> {
    address.bits().to_le_bytes().into_iter().take(6)
}

const DATABASE: DatabaseId = DatabaseId(0x0123_4567_89AB_CDEF);

#[test]
fn superblock() {
    let superblock = Superblock { version: FORMAT_VERSION, id: DATABASE };
    let page = superblock.encode(b"copy");
    let mut read = [0; 4096];
    read[..524].copy_from_slice(&stored(
        "superblock",
        "Superblock: its first sector, of database 0123456789abcdef; behind it a copy, as if the parameters were `copy`",
        &page[..524],
    ));
    assert_eq!(Superblock::decode(&read).expect("a superblock"), superblock);
    assert_eq!(Superblock::copy(&read), Some(&b"copy"[..]));
    assert_eq!(page, read, "nothing follows the copy");
}

#[test]
fn crc_entry() {
    let page: Vec<u8> = (0..4096u32).map(|i| i as u8).collect();
    stored(
        "crc-entry",
        "Entry 5 of the first crc page: page 5 holds the bytes 00 01 .. ff again and again",
        &pages::crc(5, &page).to_le_bytes(),
    );
}

#[test]
fn samples() {
    let whole = Sample::of_sorted(&[5 << 24, 6 << 24, 0x77_0000_0000 << 24], 16);
    let bytes = stored("sample-whole", "Sample: whole, the values 5, 6, 7700000000 (hex)", &whole.encode());
    assert_eq!(Sample::decode(&bytes).expect("a sample"), whole);
    let hashes: Vec<u64> = (1..=17).map(|i| (i * i) << 24).collect();
    let cut = Sample::of_sorted(&hashes, 16);
    let bytes = stored("sample-cut", "Sample: the squares of 1..16 below the bound 289", &cut.encode());
    assert_eq!(Sample::decode(&bytes).expect("a sample"), cut);
}

#[test]
fn signature() {
    let signature = Signature(vec![0x0102, 0, 0xFFFF, 0xABCD]);
    let bytes =
        stored("signature", "Signature: the entries 0102, 0000, ffff, abcd (hex)", &signature.encode());
    assert_eq!(Signature::decode(&bytes), signature);
}

#[test]
fn content_records() {
    let lean = ContentRecord {
        hash: *b"0123456789abcdef",
        founder: 7,
        bytes: 0,
        sample: None,
        signature: None,
        simhash: None,
        edit: None,
    };
    let full = ContentRecord {
        founder: 300,
        bytes: 70_000,
        sample: Some(&[1, 2, 3]),
        signature: Some(&[4, 5]),
        simhash: Some(0x8000_0000_0000_0001),
        edit: Some(&[]),
        ..lean.clone()
    };
    for (name, what, record) in [
        ("content-lean", "Content record: 10, of a text without tokens, no sketches", lean),
        ("content-full", "Content record: 10, every part", full),
    ] {
        let bytes = stored(name, what, &record.encode(10));
        assert_eq!(ContentRecord::decode(10, &bytes).expect("a record"), record);
    }
}

#[test]
fn document_records() {
    let times = Times {
        first_seen: Some(1_700_000_000),
        last_seen: Some(1_700_000_000),
        changed: Changed::At(1_700_000_000),
    };
    let document = DocumentRecord { key: "clé", content: 300, times };
    let bytes = stored(
        "document",
        "Document record: 310, key clé, content 300, first and last seen 1700000000, and changed then",
        &document.encode(310),
    );
    assert_eq!(DocumentRecord::decode(310, &bytes).expect("a record"), document);
}

#[test]
fn amendments() {
    let times = Times { first_seen: None, last_seen: Some(250), changed: Changed::At(249) };
    let amendment = Amendment { content: 65_536, times };
    let bytes =
        stored("amendment", "Amendment: content 65536, last seen 250, changed 249", &amendment.encode());
    assert_eq!(Amendment::decode(&bytes).expect("a record"), amendment);
}

#[test]
fn run_records() {
    let finished = RunRecord {
        level: 0,
        contents: (0, 32_768),
        documents: (0, 40_000),
        entries: 892_000,
        groups: 33,
        block_bytes: 4_200_000,
        filter_bytes: 1_100_000,
        building: None,
    };
    let inputs = vec![Input { run: 3, block: 2, entry: 500 }, Input { run: 4, block: 0, entry: 0 }];
    let building = RunRecord { level: 1, building: Some(inputs), ..finished.clone() };
    for (name, what, record) in [
        ("run-record", "Run record: finished, of contents 0..32768 and documents 0..40000", finished),
        (
            "run-record-building",
            "Run record: half merged from runs 3 (block 2, entry 500) and 4 (not begun)",
            building,
        ),
    ] {
        assert_eq!(RunRecord::decode(&stored(name, what, &record.encode())).expect("a record"), record);
    }
}

#[test]
fn counters() {
    let counters = Counters {
        next_document: 1,
        next_content: 250,
        next_run: 251,
        epoch: 6,
        unflushed_document: 65_535,
        unflushed_content: 65_536,
        documents: u64::from(u32::MAX),
        contents: 1 << 32,
        document_bytes: 7,
        content_bytes: 8,
        bounded: 9,
    };
    let bytes = stored(
        "counters",
        "Counters: 1, 250, 251, 6, 65535, 65536, 2^32-1, 2^32, 7, 8, 9",
        &counters.encode(),
    );
    assert_eq!(Counters::decode(&bytes).expect("a record"), counters);
}

#[test]
fn representative_records() {
    let record = RepresentativeRecord { members: 4, sample: &[1, 2, 3] };
    let bytes = stored("representative", "Representative record: 4 members, a sample", &record.encode());
    assert_eq!(RepresentativeRecord::decode(&bytes).expect("a record"), record);
}

#[test]
fn frames_of_records() {
    let several = [(258, &b"first"[..]), (260, b""), (261, b"third")];
    let lone = [(9, &b"a lone record"[..])];
    let apart = [(258, &b"first"[..]), (514, b"second")];
    for (name, what, kind, records) in [
        (
            "frame",
            "Frame: the documents 258, 260, 261 (records: first, nothing, third), epoch 5",
            Kind::Documents,
            &several[..],
        ),
        ("frame-lone", "Frame: content 9 alone, epoch 5", Kind::Contents, &lone),
        (
            "frame-wide",
            "Frame: the contents 258, 514 (records: first, second), epoch 5",
            Kind::Contents,
            &apart,
        ),
    ] {
        let label = Label { kind, database: DATABASE, epoch: 5 };
        let made = frames(label, records.iter().copied());
        assert_eq!((made.len(), made[0].0), (1, records[0].0));
        let bytes = stored(name, what, &made[0].1);
        let frame = Frame::parse(kind, DATABASE, &bytes).expect("a frame");
        frame.check().expect("a sealed frame");
        assert_eq!(frame.records().collect::<Result<Vec<_>>>().expect("records"), records);
    }
}

#[derive(Default)]
struct Rows(Vec<Vec<u8>>);

impl RunSink for Rows {
    fn block(&mut self, _: u32, bytes: &[u8]) -> Result<()> {
        self.0.push(bytes.to_vec());
        Ok(())
    }

    fn group(&mut self, _: u32, directory: &[u8], filter: &[u8]) -> Result<()> {
        self.0.extend([directory.to_vec(), filter.to_vec()]);
        Ok(())
    }
}

#[test]
fn runs() {
    const PREFIXES: Prefixes = Prefixes { simhash: 16 };
    let entry =
        |space, term: u64, number| Entry { address: Address::new(space, Term::of_hash(term << 24)), number };
    let contents = [(0x11_0000_0000, 1), (0x11_0000_0000, 3), (0x11_0000_0009, 0), (0x11_0000_0020, 2)];
    let contents = contents.map(|(term, number)| entry(Space::CONTENTS, term, number));
    let simhash = entry(Space::simhash(3), 0x00AB_CD12_3456, 2);
    let (mut rows, mut builder) = (Rows::default(), RunBuilder::new(3, PREFIXES, Directory::default()));
    contents.iter().chain([&simhash]).for_each(|entry| builder.push(*entry, &mut rows).expect("rows"));
    builder.pause(&mut rows).expect("rows");
    let kinds = [
        (
            "block",
            "Block: terms 1100000000 twice, 1100000009, 1100000020 (hex) of space 1; numbers 1, 3, 0, 2 of 3 bits",
        ),
        ("block-single", "Block: term abcd123456 (hex) of space 5, number 2 of 3 bits"),
        ("directory", "Directory: of a group of the two blocks"),
        ("filter", "Filter: of that group, four keys (16-bit prefixes in space 5)"),
    ];
    assert_eq!(rows.0.len(), kinds.len());
    let read: Vec<Vec<u8>> =
        kinds.iter().zip(&rows.0).map(|((name, what), bytes)| stored(name, what, bytes)).collect();
    let mut entries = Vec::new();
    for block in &read[..2] {
        Block::parse(block).expect("a block").scan_from(Address::from_bits(0), |entry| {
            entries.push(entry);
            true
        });
    }
    assert_eq!(entries, [&contents[..], &[simhash]].concat());
    let mut directory = Directory::default();
    directory.push_group(&read[2]).expect("a directory");
    assert_eq!(&directory, builder.directory());
    let passes = |entry: &Entry| filter::may_hold(&read[3], PREFIXES.filter_key(entry.address));
    assert!(entries.iter().all(passes) && !passes(&entry(Space::CONTENTS, 0x11_0000_0001, 0)));
}

#[test]
fn bitmaps() {
    for (name, what, set) in [
        (
            "bitmap-array",
            "Bitmap: row 1 of the set 65536, 65538, 131071",
            [65_536, 65_538, 131_071].into_iter().collect::<IdSet>(),
        ),
        ("bitmap-run", "Bitmap: row 2 of the set 131072..132071", (131_072..132_072).collect()),
    ] {
        let row = postings::row_of(set.min().expect("not empty"));
        let bytes = stored(name, what, &postings::encode(&set, row).expect("not empty"));
        let mut read = IdSet::new();
        postings::decode_into(&mut read, row, &bytes).expect("a bitmap");
        assert_eq!(read, set);
    }
}

#[test]
fn sketches() {
    let sketch =
        Sketcher::new(&SketchParams::default()).expect("defaults").sketch(b"A rose is a rose is a rose.");
    let signature = sketch.signature.as_ref().expect("tokens");
    let edit = sketch.edit.as_ref().expect("characters");
    let simhash = sketch.simhash.expect("tokens").0.to_le_bytes();
    for (name, what, bytes) in [
        ("rose-hash", "Content hash of: A rose is a rose is a rose.", sketch.hash.0.to_vec()),
        ("rose-sample", "Sample of it, default parameters", sketch.sample.encode()),
        ("rose-signature", "Signature of it", signature.encode()),
        ("rose-edit", "Edit signature of it", edit.encode()),
        ("rose-simhash", "Simhash of it, as eight little-endian bytes", simhash.to_vec()),
    ] {
        stored(name, what, &bytes);
    }
    let indexing = Indexing {
        bands: Bands { rows: 6, bands: 21 },
        tables: TableDesign::new(3, None).expect("a design"),
        containment: true,
    };
    let key = std::iter::once(Indexing::key("rose"));
    let indexed = Indexed {
        hash: &sketch.hash,
        sample: Some(&sketch.sample),
        signature: sketch.signature.as_ref(),
        simhash: sketch.simhash,
    };
    let addresses = key.chain(indexing.addresses(indexed));
    let bytes: Vec<u8> = addresses.flat_map(six_bytes).collect();
    stored(
        "rose-addresses",
        "Addresses of six bytes: of the key rose, the content, 21 bands, 4 simhash tables, 4 sample values",
        &bytes,
    );
}

/// A table's addresses of the simhash in `rose-simhash.hex`, in the design whose tables are nested.
#[test]
fn nested_tables() {
    let design = TableDesign::new(3, Some(16)).expect("a design");
    let addresses = design.addresses(Simhash(0x0E3D_FC39_F6D5_3A82));
    let bytes: Vec<u8> = addresses.flat_map(six_bytes).collect();
    stored(
        "rose-nested",
        "Addresses of six bytes: of the simhash 0e3dfc39f6d53a82 in the 16 tables of distance 3",
        &bytes,
    );
}

/// A run with entries in every space: the keys and the filter of its one group.
#[test]
fn filter_keys() {
    const PREFIXES: Prefixes = Prefixes { simhash: 28 };
    let spaces = [Space::KEYS, Space::CONTENTS, Space::simhash(0), Space::simhash(15), Space::SAMPLES];
    let addresses = spaces.map(|space| Address::new(space, Term::of_value(0xAB_CDEF_0123)));
    let keys = addresses.map(|address| PREFIXES.filter_key(address).to_le_bytes());
    stored(
        "filter-keys",
        "Filter keys: u64 of term abcdef0123 (hex) in the spaces 0, 1, 2, 17, 255; 28-bit prefixes",
        &keys.concat(),
    );
    let (mut rows, mut builder) = (Rows::default(), RunBuilder::new(0, PREFIXES, Directory::default()));
    addresses
        .iter()
        .for_each(|&address| builder.push(Entry { address, number: 0 }, &mut rows).expect("rows"));
    builder.pause(&mut rows).expect("rows");
    let filter = rows.0.last().expect("a filter");
    let bytes = stored("filter-spaces", "Filter: of a group with the five keys of filter-keys.hex", filter);
    assert!(keys.iter().all(|key| filter::may_hold(&bytes, u64::from_le_bytes(*key))));
}

/// The power that chooses bands is squared from the lowest bit of the exponent up: as `schema/format.md` says, to the last bit.
#[test]
fn powers_are_squared() {
    let power = |base: f64, exponent: usize| {
        let (mut square, mut product) = (base, 1.0);
        for bit in 0..=exponent.ilog2() {
            product = if exponent >> bit & 1 == 1 { product * square } else { product };
            square *= square;
        }
        product
    };
    for threshold in (1..=200).map(|share| f64::from(share) / 200.0) {
        for rows in 1..=4096 {
            let bands = Bands { rows, bands: 4096 / rows };
            let told = 1.0 - power(1.0 - power(threshold, rows), bands.bands);
            assert_eq!(bands.candidate_probability(threshold).to_bits(), told.to_bits(), "{bands:?}");
        }
    }
}

/// Blocks of `schema/format.md` that begin with "```hex NAME" show golden bytes, each line some of them and a remark.
#[test]
fn the_document_shows_the_golden_bytes() {
    let document = include_str!("../../schema/format.md");
    let blocks: Vec<&str> = document.split("```hex ").skip(1).collect();
    for block in &blocks {
        let block = block.split("```").next().expect("a block");
        let (name, lines) = block.split_once('\n').expect("a name and lines");
        let shown: String =
            lines.lines().map(|line| line.split("  ").next().unwrap_or(line)).map(unfold).collect();
        let golden = fs::read_to_string(path(&format!("{name}.hex")))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let golden: String = golden.lines().skip(1).collect();
        assert_eq!(shown, golden, "{name}");
    }
    assert!(blocks.len() > 12, "only {} blocks", blocks.len());
}

/// The digits of a line: `00*3` is three zero bytes.
fn unfold(line: &str) -> String {
    let byte = |part: &str| match part.split_once('*') {
        Some((byte, times)) => byte.repeat(times.parse().expect("a count")),
        None => part.to_owned(),
    };
    line.split(' ').map(byte).collect()
}
