//! Proves the same of all damage to one small file, when `SKETCHDB_DAMAGE=all` is set: every byte, every page, every length
//! within the first and last pages. On two cores it takes some five minutes when nothing else runs. A number instead of `all`
//! says of how many bytes of the tables one is flipped; superblock, seals and header are flipped byte by byte all the same.

use super::common::rng::Rng;
use super::{Damage, HEADER, PAGE, Whole, assert_noticed, examine_all, name_all};

/// A small file, and of how many bytes of its tables one is flipped; nothing when the long form was not asked for.
fn small() -> Option<(Whole, usize)> {
    let form = std::env::var("SKETCHDB_DAMAGE").unwrap_or_default();
    let stride = if form == "all" { Ok(1) } else { form.parse() };
    if stride.is_err() {
        eprintln!("the long form is not asked for: SKETCHDB_DAMAGE is neither `all` nor a number");
    }
    stride.ok().filter(|&stride| stride > 0).map(|stride| (Whole::new(14, 6), stride))
}

#[test]
fn all_damage_to_a_small_file_is_noticed() {
    let Some((whole, stride)) = small() else { return };
    let (len, used) = (whole.bytes.len(), whole.used_pages());
    let pages = len / PAGE;
    eprintln!("{pages} pages, {} used", used.len());
    let mut rng = Rng(5);
    let mut flip = |at| Damage::Flip { at, bit: rng.below(8) as u32 };
    // The superblock, the seals and redb's header; then the tables.
    let head: Vec<Damage> = (0..HEADER.end).map(&mut flip).collect();
    let tables = used.iter().filter(|&&page| page >= HEADER.end / PAGE);
    let bytes = tables.flat_map(|page| (page * PAGE..(page + 1) * PAGE).step_by(stride));
    let tables: Vec<Damage> = bytes.map(&mut flip).collect();
    let at_pages = (1..pages).flat_map(|page| [page * PAGE - 1, page * PAGE, page * PAGE + 1]);
    let ends = (0..2 * PAGE + 2).chain(len - 2 * PAGE..len);
    let cuts = at_pages.chain(ends).chain((0..len).step_by(509)).map(|len| Damage::Cut { len });
    let swaps = (1..pages).map(|page| Damage::Swap { pages: [page - 1, page] });
    let ranges = [1, 2, 8, 64].into_iter().flat_map(|count| {
        let count = count.min(pages);
        (0..=pages - count).map(move |start| start..start + count)
    });
    let zeroed = ranges.clone().map(|pages| Damage::Zero { pages });
    let both = pages.min(whole.older.len() / PAGE);
    let older = ranges.filter(|range| range.end <= both).map(|pages| Damage::Older { pages });
    assert_noticed(&examine_all(&whole, "flips in superblock, seals and header", head.into_iter()));
    assert_noticed(&examine_all(&whole, "truncations", cuts));
    assert_noticed(&examine_all(&whole, "pairs of adjacent pages swapped", swaps));
    assert_noticed(&examine_all(&whole, "ranges of pages zeroed", zeroed));
    assert_noticed(&examine_all(&whole, "older ranges of pages", older));
    assert_noticed(&examine_all(&whole, "flips in tables", tables.into_iter()));
}

#[test]
fn every_page_and_seal_that_is_damaged_is_named() {
    let Some((whole, _)) = small() else { return };
    let mut rng = Rng(6);
    let pages = whole.bytes.len() / PAGE;
    let mut bytes: Vec<usize> = (0..3 * PAGE).collect();
    bytes.extend((0..pages).flat_map(|page| (0..4).map(move |part| page * PAGE + part * 1000)));
    let flips = bytes.into_iter().map(|at| Damage::Flip { at, bit: rng.below(8) as u32 });
    let (named, refused) = name_all(&whole, flips);
    eprintln!("{named} flips named, {refused} files refused");
    assert!(named > 0 && refused > 0);
}
