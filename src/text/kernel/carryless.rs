//! Fingerprints of all windows of w units by carry-less multiplication: Σ uᵢ·x^(64(w-1-i)) as one polynomial of degree
//! below 128, then one Barrett reduction (Gopal et al., *Fast CRC computation using PCLMULQDQ*, 2009), of eight windows at a time;
//! or from window to window, of a few parts of the text at a time.

use super::{Level, level};

/// The widest window that is summed from nothing: wider ones are quicker to slide.
const WIDEST: usize = 8;

/// What multiplication modulo P = x^64 + `polynomial` takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modulus {
    polynomial: u64,
    /// ⌊x^128 / P⌋ without its leading x^64.
    quotient: u64,
    /// x^(64·i) mod P.
    powers: [u64; WIDEST + 1],
}

impl Modulus {
    /// `shift` multiplies by x^64 modulo P.
    pub fn new(polynomial: u64, shift: impl Fn(u64) -> u64) -> Self {
        let mut rest = u128::from(polynomial) << 64;
        let quotient = (0..64).rev().fold(0, |quotient, bit| match rest >> (64 + bit) & 1 {
            1 => {
                rest ^= (1 << 64 | u128::from(polynomial)) << bit;
                quotient | 1 << bit
            }
            _ => quotient,
        });
        let mut powers = [1; WIDEST + 1];
        (1..=WIDEST).for_each(|i| powers[i] = shift(powers[i - 1]));
        Modulus { polynomial, quotient, powers }
    }
}

/// Whether [`windows`] can be called for windows of so many units.
pub(crate) fn has(width: usize) -> bool {
    level() >= Level::Avx2 && (2..=WIDEST).contains(&width)
}

/// Puts the fingerprint of every window of `width` units behind those that are there. Only where [`has`] says so.
pub(crate) fn windows(units: &[u64], width: usize, modulus: &Modulus, out: &mut Vec<u64>) {
    assert!(has(width));
    // Sound: `has` found that the CPU has what the functions ask for.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        let done =
            if level() == Level::Avx512 { x86::windows_of_eight(units, width, modulus, out) } else { 0 };
        x86::windows(&units[done..], width, modulus, out);
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::Modulus;
    use std::arch::x86_64::*;

    /// Parts of the units that are slid over at a time: each waits for the one before.
    const PARTS: usize = 4;

    /// From a window to the next: a unit comes behind it, and the oldest is taken out.
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub fn windows(units: &[u64], width: usize, modulus: &Modulus, out: &mut Vec<u64>) {
        let count = (units.len() + 1).saturating_sub(width);
        let (part, before) = (count / PARTS, out.len());
        out.resize(before + count, 0);
        let out = &mut out[before..];
        if part > 0 {
            let mut sums = [_mm_setzero_si128(); PARTS];
            for (number, sum) in sums.iter_mut().enumerate() {
                out[number * part] = fingerprint(&units[number * part..][..width], modulus);
                *sum = whole(out[number * part]);
            }
            let dropped = whole(modulus.powers[width]);
            for at in 1..part {
                for (number, sum) in sums.iter_mut().enumerate() {
                    let at = number * part + at;
                    let oldest = _mm_clmulepi64_si128::<0>(whole(units[at - 1]), dropped);
                    let longer = _mm_unpacklo_epi64(whole(units[at + width - 1]), *sum);
                    *sum = reduced(_mm_xor_si128(longer, oldest), modulus);
                    out[at] = _mm_cvtsi128_si64(*sum) as u64;
                }
            }
        }
        for at in PARTS * part..count {
            out[at] = fingerprint(&units[at..at + width], modulus);
        }
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn fingerprint(window: &[u64], modulus: &Modulus) -> u64 {
        let (last, rest) = window.split_last().unwrap_or((&0, &[]));
        let sum = rest.iter().rev().zip(&modulus.powers[1..]).fold(whole(*last), |sum, (unit, power)| {
            _mm_xor_si128(sum, _mm_clmulepi64_si128::<0>(whole(*unit), whole(*power)))
        });
        barrett(sum, modulus)
    }

    /// A polynomial of degree below 128 modulo P.
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub fn barrett(sum: __m128i, modulus: &Modulus) -> u64 {
        _mm_cvtsi128_si64(reduced(sum, modulus)) as u64
    }

    /// The remainders of the polynomials in those of four lanes that are `there`, one behind the other.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq,bmi2")]
    pub fn barrett_of_four(sums: __m512i, modulus: &Modulus, there: u8) -> __m256i {
        let lower = _pdep_u32(there.into(), 0x55) as u8;
        _mm512_castsi512_si256(_mm512_maskz_compress_epi64(lower, reduced_four(sums, modulus)))
    }

    /// The lower half of every lane is the remainder.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn reduced_four(sums: __m512i, modulus: &Modulus) -> __m512i {
        let quotient = _mm512_set1_epi64(modulus.quotient as i64);
        let polynomial = _mm512_set1_epi64(modulus.polynomial as i64);
        let estimate = _mm512_clmulepi64_epi128::<1>(sums, quotient);
        let product = _mm512_clmulepi64_epi128::<1>(_mm512_xor_si512(sums, estimate), polynomial);
        _mm512_xor_si512(sums, product)
    }

    /// The lower half is the remainder.
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn reduced(sum: __m128i, modulus: &Modulus) -> __m128i {
        let estimate = _mm_clmulepi64_si128::<1>(sum, whole(modulus.quotient));
        let quotient = _mm_xor_si128(sum, estimate);
        let product = _mm_clmulepi64_si128::<1>(quotient, whole(modulus.polynomial));
        _mm_xor_si128(sum, product)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn whole(value: u64) -> __m128i {
        _mm_cvtsi64_si128(value as i64)
    }

    /// Windows that are made at a time.
    const EIGHT: usize = 8;

    /// As many windows as there are eights of: their number.
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    pub fn windows_of_eight(units: &[u64], width: usize, modulus: &Modulus, out: &mut Vec<u64>) -> usize {
        match width {
            2 => eights::<2>(units, modulus, out),
            5 => eights::<5>(units, modulus, out),
            _ => 0,
        }
    }

    /// Lanes of 128 bits hold the windows that begin at even places in one register, at odd places in another.
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn eights<const W: usize>(units: &[u64], modulus: &Modulus, out: &mut Vec<u64>) -> usize {
        let mut powers = [_mm512_setzero_si512(); W];
        for (all, power) in powers.iter_mut().zip(modulus.powers) {
            *all = _mm512_set1_epi64(power as i64);
        }
        let count = (units.len() + 1).saturating_sub(W) / EIGHT * EIGHT;
        let before = out.len();
        out.resize(before + count, 0);
        let (eights, _) = out[before..].as_chunks_mut::<EIGHT>();
        for (at, fingerprints) in (0..).step_by(EIGHT).zip(eights) {
            let last = load(units, at + W - 1);
            let mut even = _mm512_maskz_mov_epi64(0x55, last);
            let mut odd = _mm512_bsrli_epi128::<8>(last);
            for (i, &power) in powers.iter().enumerate().skip(1) {
                let some = load(units, at + W - 1 - i);
                even = _mm512_xor_si512(even, _mm512_clmulepi64_epi128::<0>(some, power));
                odd = _mm512_xor_si512(odd, _mm512_clmulepi64_epi128::<1>(some, power));
            }
            let (even, odd) = (reduced_four(even, modulus), reduced_four(odd, modulus));
            let both = _mm512_unpacklo_epi64(even, odd);
            // Sound: the chunk has eight fingerprints, and an unaligned store writes no more.
            unsafe { _mm512_storeu_si512(fingerprints.as_mut_ptr().cast(), both) };
        }
        count
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(units: &[u64], at: usize) -> __m512i {
        // Sound: the slice of eight units is there, and an unaligned load asks for no more.
        unsafe { _mm512_loadu_si512(units[at..at + EIGHT].as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skipped::skipped;
    use crate::text::rabin::{Rabin, mix};

    #[test]
    fn windows_equal_their_definition_at_every_width_and_length() {
        if !has(2) {
            return skipped("this machine has no carry-less multiplication");
        }
        for seed in 0..5 {
            let rabin = Rabin::new(seed);
            let modulus = Modulus::new(rabin.polynomial(), |fingerprint| rabin.shift(fingerprint));
            for width in 2..=WIDEST {
                for length in (0..200).step_by(if seed == 0 { 1 } else { 17 }) {
                    let units: Vec<u64> = (0..length).map(|i| mix(i ^ mix(seed))).collect();
                    let defined = |window: &[u64]| window.iter().fold(0, |sum, unit| rabin.shift(sum) ^ unit);
                    let expected: Vec<u64> = units.windows(width).map(defined).collect();
                    let mut found = Vec::new();
                    windows(&units, width, &modulus, &mut found);
                    assert_eq!(found, expected, "{width} of {length}");
                }
            }
        }
    }
}
