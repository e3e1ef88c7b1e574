//! Vertical counters: bit p of the counts of ones at 64 places, in eight lanes that count on their own.
//!
//! Sixteen words of a lane are added by a tree of carry-save adders (Harley and Seal; Muła, Kurz, Lemire, *Faster population
//! counts using AVX2 instructions*, 2018), which is two instructions a word with AVX-512.

use crate::text::kernel::at_level;

/// Lanes, each with counters of its own.
pub(crate) const LANES: usize = 8;

/// A bit of all counts, in every lane.
pub(crate) type Plane = [u64; LANES];

/// Words that are counted at a time.
pub(crate) const BLOCK: usize = 16 * LANES;

/// Counts the words of a block in planes 0 to 3; what overflows them comes back.
pub(crate) fn count(block: &[u64; BLOCK], low: &mut [Plane; 4]) -> Plane {
    at_level!(
        avx512: x86::count_512(block, low),
        avx2: x86::count_256(block, low),
        portable: portable(block, low),
    )
}

/// Adds three bits in each position: sum and carry.
#[inline]
pub(crate) fn add(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, a & b | half & c)
}

/// Sixteen words, `$word` of each number, through planes 0 to 3 in `$low`: what overflows them. `$add` adds three.
macro_rules! tree {
    ($low:ident, $word:ident, $add:ident) => {{
        let [mut ones, mut twos, mut fours, mut eights] = $low;
        let (two, four, eight, sixteen);
        (ones, two) = pair!(ones, $word(0), $word(1), $word(2), $word(3), twos, $add);
        (ones, four) = pair!(ones, $word(4), $word(5), $word(6), $word(7), twos, $add);
        (fours, eight) = $add(fours, two, four);
        let (five, six, seven);
        (ones, five) = pair!(ones, $word(8), $word(9), $word(10), $word(11), twos, $add);
        (ones, six) = pair!(ones, $word(12), $word(13), $word(14), $word(15), twos, $add);
        (fours, seven) = $add(fours, five, six);
        (eights, sixteen) = $add(eights, eight, seven);
        $low = [ones, twos, fours, eights];
        sixteen
    }};
}

/// Four words into the ones and twos: the ones, and four of what overflows the twos.
macro_rules! pair {
    ($ones:expr, $a:expr, $b:expr, $c:expr, $d:expr, $twos:ident, $add:ident) => {{
        let (ones, first) = $add($ones, $a, $b);
        let (ones, second) = $add(ones, $c, $d);
        let (twos, four) = $add($twos, first, second);
        $twos = twos;
        (ones, four)
    }};
}

fn portable(block: &[u64; BLOCK], low: &mut [Plane; 4]) -> Plane {
    let mut over = [0; LANES];
    for (lane, over) in over.iter_mut().enumerate() {
        let word = |number: usize| block[number * LANES + lane];
        let mut own = low.map(|plane| plane[lane]);
        *over = tree!(own, word, add);
        low.iter_mut().zip(own).for_each(|(plane, own)| plane[lane] = own);
    }
    over
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{BLOCK, LANES, Plane};
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub fn count_512(block: &[u64; BLOCK], low: &mut [Plane; 4]) -> Plane {
        let [ones, twos, fours, eights] = &*low;
        let mut own = [load_512(ones), load_512(twos), load_512(fours), load_512(eights)];
        let (words, _) = block.as_chunks::<LANES>();
        let word = |number: usize| load_512(&words[number]);
        let over = tree!(own, word, add_512);
        for (plane, own) in low.iter_mut().zip(own) {
            *plane = store_512(own);
        }
        store_512(over)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add_512(a: __m512i, b: __m512i, c: __m512i) -> (__m512i, __m512i) {
        // Whether an odd number of three is set, whether most are.
        (_mm512_ternarylogic_epi64::<0x96>(a, b, c), _mm512_ternarylogic_epi64::<0xE8>(a, b, c))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load_512(plane: &Plane) -> __m512i {
        // Sound: there are eight words, and an unaligned load asks for no more.
        unsafe { _mm512_loadu_si512(plane.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store_512(words: __m512i) -> Plane {
        let mut plane = [0; LANES];
        // Sound: there is room for eight words, and an unaligned store writes no more.
        unsafe { _mm512_storeu_si512(plane.as_mut_ptr().cast(), words) };
        plane
    }

    /// Half of the lanes, then the others.
    #[target_feature(enable = "avx2")]
    pub fn count_256(block: &[u64; BLOCK], low: &mut [Plane; 4]) -> Plane {
        let mut over = [0; LANES];
        let (words, _) = block.as_chunks::<4>();
        for half in 0..2 {
            let mut own = [
                load_256(&low[0], half),
                load_256(&low[1], half),
                load_256(&low[2], half),
                load_256(&low[3], half),
            ];
            let word = |number: usize| load(&words[2 * number + half]);
            let sixteen = tree!(own, word, add_256);
            for (plane, own) in low.iter_mut().zip(own) {
                store_256(plane, half, own);
            }
            store_256(&mut over, half, sixteen);
        }
        over
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_256(a: __m256i, b: __m256i, c: __m256i) -> (__m256i, __m256i) {
        let half = _mm256_xor_si256(a, b);
        let carry = _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(half, c));
        (_mm256_xor_si256(half, c), carry)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load_256(plane: &Plane, half: usize) -> __m256i {
        load(&plane.as_chunks().0[half])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(words: &[u64; 4]) -> __m256i {
        // Sound: there are four words, and an unaligned load asks for no more.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store_256(plane: &mut Plane, half: usize, words: __m256i) {
        let (halves, _) = plane.as_chunks_mut::<4>();
        // Sound: there is room for four words, and an unaligned store writes no more.
        unsafe { _mm256_storeu_si256(halves[half].as_mut_ptr().cast(), words) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    #[test]
    fn counts_equal_their_definition() {
        let (mut low, mut counts) = ([[0; LANES]; 4], [[0u64; 64]; LANES]);
        for round in 0..200 {
            let often = mix(round) & 3;
            let word = |i: u64| if mix(i ^ round) & 3 <= often { mix(i ^ round << 32) } else { u64::MAX };
            let block: [u64; BLOCK] = std::array::from_fn(|i| word(i as u64));
            for (i, word) in block.iter().enumerate() {
                (0..64).for_each(|bit| counts[i % LANES][bit] += word >> bit & 1);
            }
            let over = count(&block, &mut low);
            for (lane, counts) in counts.iter_mut().enumerate() {
                for (bit, count) in counts.iter_mut().enumerate() {
                    let bits = low.iter().chain([&over]).enumerate();
                    let told: u64 = bits.map(|(plane, words)| (words[lane] >> bit & 1) << plane).sum();
                    assert_eq!(told, *count, "round {round}, lane {lane}, bit {bit}");
                    *count &= 15;
                }
            }
        }
    }
}
