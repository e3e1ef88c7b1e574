//! Which simhashes of a bucket are close to one: the inner loop of a sweep.

use crate::text::kernel::at_level;

/// Simhashes by some of their bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buckets {
    /// The bits that tell the bucket.
    segments: Vec<Segment>,
    /// Where each bucket begins, and where the last ends.
    starts: Vec<u32>,
    /// By how much a simhash is turned to have 32 bits at its low end that its bucket tells little of.
    turn: u32,
    /// Of each simhash those 32 bits: most pairs need no more to be told apart, and sixteen are compared at a time.
    halves: Vec<u32>,
    /// For each simhash its number among those that were given.
    pub numbers: Vec<u32>,
}

/// Bits that lie side by side: those of `mask` after a shift by `low`, and where they go.
#[derive(Clone, Copy, Debug)]
struct Segment {
    low: u32,
    mask: u64,
    to: u32,
}

/// Of a stored simhash and a place in its bucket that the halves are close.
pub(crate) type Found = (u32, u32);

impl Buckets {
    /// Puts simhashes into buckets by the first `bits` of the blocks (lowest bit, width), in that order.
    pub fn new(blocks: &[(u32, u32)], bits: u32, simhashes: &[u64]) -> Self {
        let (mut segments, mut to) = (Vec::new(), 0);
        for &(lowest, width) in blocks {
            let width = width.min(bits - to);
            if width > 0 {
                segments.push(Segment { low: lowest, mask: u64::MAX >> (64 - width), to });
            }
            to += width;
        }
        let told: u64 = segments.iter().fold(0, |told, segment| told | segment.mask << segment.low);
        let untold = |turn: &u32| (told.rotate_right(*turn) as u32).count_zeros();
        let turn = (0..64).max_by_key(untold).unwrap_or(0);
        let mut buckets = Buckets { segments, turn, ..Buckets::default() };
        let mut ends = vec![0u32; (1 << to) + 1];
        simhashes.iter().for_each(|&simhash| ends[buckets.of(simhash) + 1] += 1);
        for bucket in 1..ends.len() {
            ends[bucket] += ends[bucket - 1];
        }
        buckets.starts = ends.clone();
        (buckets.halves, buckets.numbers) = (vec![0; simhashes.len()], vec![0; simhashes.len()]);
        for (number, &simhash) in (0..).zip(simhashes) {
            let end = &mut ends[buckets.of(simhash)];
            buckets.halves[*end as usize] = buckets.half(simhash);
            buckets.numbers[*end as usize] = number;
            *end += 1;
        }
        buckets
    }

    /// The bucket of a simhash; that of what two differ in is 0 where they share one.
    #[inline(always)]
    pub fn of(&self, simhash: u64) -> usize {
        let part = |bucket, segment: &Segment| bucket | (simhash >> segment.low & segment.mask) << segment.to;
        self.segments.iter().fold(0, part) as usize
    }

    #[inline(always)]
    fn half(&self, simhash: u64) -> u32 {
        simhash.rotate_right(self.turn) as u32
    }

    /// Appends every place in a bucket whose half differs in at most `most` bits from that of a stored simhash of the
    /// bucket, with the number of that: all whose simhash does, and a few more.
    pub fn near(&self, stored: &[u64], most: u32, found: &mut Vec<Found>) {
        at_level!(
            avx512: x86::near(self, stored, most, found),
            avx2: x86::counted(self, stored, most, found),
            portable: portable(self, stored, most, found),
        );
    }

    #[inline(always)]
    fn bucket(&self, simhash: u64) -> (u32, &[u32]) {
        let bucket = self.of(simhash);
        let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
        (start, &self.halves[start as usize..end as usize])
    }
}

#[inline(always)]
fn portable(buckets: &Buckets, stored: &[u64], most: u32, found: &mut Vec<Found>) {
    for (number, &simhash) in (0..).zip(stored) {
        let (start, some) = buckets.bucket(simhash);
        let half = buckets.half(simhash);
        let close = |&other: &u32| (other ^ half).count_ones() <= most;
        if some.iter().fold(false, |any, other| any | close(other)) {
            let places = (start..).zip(some).filter(|(_, other)| close(other));
            found.extend(places.map(|(place, _)| (number, place)));
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Buckets, Found};
    use std::arch::x86_64::*;

    /// Simhashes whose buckets are fetched together.
    const AHEAD: usize = 32;

    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    pub fn counted(buckets: &Buckets, stored: &[u64], most: u32, found: &mut Vec<Found>) {
        super::portable(buckets, stored, most, found);
    }

    #[target_feature(enable = "avx512f,avx512vpopcntdq,bmi1,bmi2")]
    pub fn near(buckets: &Buckets, stored: &[u64], most: u32, found: &mut Vec<Found>) {
        let most = _mm512_set1_epi32(most as i32);
        for (first, some) in (0..).step_by(AHEAD).zip(stored.chunks(AHEAD)) {
            let mut places: [(u32, &[u32]); AHEAD] = [(0, &[]); AHEAD];
            for (place, &simhash) in places.iter_mut().zip(some) {
                *place = buckets.bucket(simhash);
                _mm_prefetch::<_MM_HINT_T0>(place.1.as_ptr().cast());
                _mm_prefetch::<_MM_HINT_T0>(place.1.as_ptr().wrapping_add(16).cast());
            }
            for (number, (&simhash, &(start, bucket))) in (first..).zip(some.iter().zip(&places)) {
                let wanted = _mm512_set1_epi32(buckets.half(simhash) as i32);
                for (place, some) in (start..).step_by(16).zip(bucket.chunks(16)) {
                    let lanes = u16::MAX >> (16 - some.len());
                    // Sound: the lanes are those of the slice, of 1 to 16 numbers.
                    let others = unsafe { _mm512_maskz_loadu_epi32(lanes, some.as_ptr().cast()) };
                    let apart = _mm512_popcnt_epi32(_mm512_xor_si512(others, wanted));
                    let mut close = _mm512_mask_cmple_epu32_mask(lanes, apart, most);
                    while close != 0 {
                        found.push((number, place + close.trailing_zeros()));
                        close &= close - 1;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn what_is_close_in_a_bucket_is_found() {
        // Few buckets hold all, so that lengths from 0 on occur, and pairs at every distance.
        for count in (0..70u64).chain([1000, 5000]) {
            let near =
                |i: u64| mix(i % 5) ^ (mix(i) & mix(i ^ 1 << 50) & mix(i ^ 1 << 51) & mix(i ^ 1 << 52));
            let simhashes: Vec<u64> = (0..count).map(near).collect();
            let stored: Vec<u64> = (10_000..10_100).map(near).chain([0, u64::MAX]).collect();
            for (blocks, bits) in [(&[(16, 16)][..], 16), (&[(60, 4), (0, 3), (9, 20)], 9), (&[(0, 64)], 1)] {
                let buckets = Buckets::new(blocks, bits, &simhashes);
                for most in [0, 3, 7] {
                    let (mut found, mut expected) = (Vec::new(), Vec::new());
                    buckets.near(&stored, most, &mut found);
                    for (number, a) in stored.iter().enumerate() {
                        let close =
                            |b: &u64| buckets.half(a ^ b).count_ones() <= most && buckets.of(a ^ b) == 0;
                        let all = simhashes.iter().enumerate().filter(|(_, b)| close(b));
                        expected.extend(all.map(|(at, _)| (number as u32, at as u32)));
                    }
                    let mut found: Vec<Found> =
                        found.iter().map(|found| (found.0, buckets.numbers[found.1 as usize])).collect();
                    found.sort_unstable();
                    assert_eq!(found, expected, "{count} simhashes, {bits} bits, distance {most}");
                    let (mut slowly, mut again) = (Vec::new(), Vec::new());
                    portable(&buckets, &stored, most, &mut slowly);
                    buckets.near(&stored, most, &mut again);
                    assert_eq!(slowly, again);
                }
            }
        }
    }
}
