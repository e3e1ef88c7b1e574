//! Fingerprints of all windows of w units by carry-less multiplication: Σ uᵢ·x^(64(w-1-i)) as one polynomial of degree
//! below 128, then one Barrett reduction (Gopal et al., *Fast CRC computation using PCLMULQDQ*, 2009), none of which
//! waits for the window before.

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
    powers: [u64; WIDEST],
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
        let mut powers = [1; WIDEST];
        (1..WIDEST).for_each(|i| powers[i] = shift(powers[i - 1]));
        Modulus { polynomial, quotient, powers }
    }
}

/// Whether the CPU multiplies without carry.
#[inline]
pub(crate) fn is_there() -> bool {
    level() >= Level::Avx2
}

/// Whether [`windows`] can be called for windows of so many units.
pub(crate) fn has(width: usize) -> bool {
    is_there() && (2..=WIDEST).contains(&width)
}

/// A polynomial modulo P. Only where multiplication [`is_there`].
pub(crate) fn reduced(polynomial: u128, modulus: &Modulus) -> u64 {
    assert!(is_there());
    // Sound: the CPU was found to have what the function asks for.
    #[cfg(target_arch = "x86_64")]
    return unsafe { x86::reduced(polynomial, modulus) };
    #[cfg(not(target_arch = "x86_64"))]
    unreachable!("no level above the portable one here: {modulus:?} {polynomial}")
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
mod x86 {
    use super::Modulus;
    use std::arch::x86_64::*;

    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub fn windows(units: &[u64], width: usize, modulus: &Modulus, out: &mut Vec<u64>) {
        match width {
            2 => each::<2>(units, modulus, out),
            5 => each::<5>(units, modulus, out),
            _ => out.extend(units.windows(width).map(|window| fingerprint(window, modulus))),
        }
    }

    /// Of a width that is known when this is compiled.
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn each<const W: usize>(units: &[u64], modulus: &Modulus, out: &mut Vec<u64>) {
        out.extend(units.array_windows::<W>().map(|window| fingerprint(window, modulus)));
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

    #[target_feature(enable = "pclmulqdq,sse4.1")]
    pub fn reduced(polynomial: u128, modulus: &Modulus) -> u64 {
        barrett(_mm_set_epi64x((polynomial >> 64) as i64, polynomial as i64), modulus)
    }

    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.1")]
    fn barrett(sum: __m128i, modulus: &Modulus) -> u64 {
        let estimate = _mm_clmulepi64_si128::<1>(sum, whole(modulus.quotient));
        let quotient = _mm_xor_si128(sum, estimate);
        let product = _mm_clmulepi64_si128::<1>(quotient, whole(modulus.polynomial));
        _mm_cvtsi128_si64(_mm_xor_si128(sum, product)) as u64
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
        let [quotient, polynomial] =
            [modulus.quotient, modulus.polynomial].map(|of| _mm512_set1_epi64(of as i64));
        let powers: [__m512i; W] = std::array::from_fn(|i| _mm512_set1_epi64(modulus.powers[i] as i64));
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
            let [even, odd] = [even, odd].map(|sum| {
                let estimate = _mm512_clmulepi64_epi128::<1>(sum, quotient);
                let product = _mm512_clmulepi64_epi128::<1>(_mm512_xor_si512(sum, estimate), polynomial);
                _mm512_xor_si512(sum, product)
            });
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
    use crate::text::rabin::{Rabin, mix};

    #[test]
    fn what_is_reduced_is_the_remainder() {
        if !is_there() {
            return eprintln!("no carry-less multiplication here: not tested");
        }
        for seed in 0..200 {
            let rabin = Rabin::new(seed % 5);
            let (high, low) = (mix(seed), mix(!seed));
            let polynomial = u128::from(high) << 64 | u128::from(low);
            assert_eq!(reduced(polynomial, rabin.modulus()), rabin.shift(high) ^ low);
        }
    }

    #[test]
    fn windows_equal_their_definition_at_every_width_and_length() {
        if !has(2) {
            return eprintln!("no carry-less multiplication here: not tested");
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
