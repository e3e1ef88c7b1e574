//! Rabin fingerprints: strings as polynomials over GF(2), reduced modulo a random irreducible polynomial P of degree 64
//! (Rabin 1981; Broder, *Some applications of Rabin's fingerprinting method*, 1993).
//!
//! Two different strings of m bits collide with probability at most m/2^63 over the choice of P. A `u64` holds the
//! coefficients of x^63 … x^0, highest bit first; P is held without its leading x^64.

use super::kernel::carryless::Modulus;

/// Arithmetic modulo one irreducible P, with the tables that make it quick.
#[derive(Clone, Debug)]
pub(crate) struct Rabin {
    polynomial: u64,
    /// `byte[b]` = b·x^64 mod P.
    byte: [u64; 256],
    /// Multiplication by x^64.
    shift: Linear,
    modulus: Modulus,
}

/// A linear map of 64-bit polynomials, as eight tables of 256 entries.
#[derive(Clone, Debug)]
pub(crate) struct Linear(Box<[[u64; 256]; 8]>);

impl Linear {
    fn of(map: impl Fn(u64) -> u64) -> Self {
        let mut tables = Box::new([[0; 256]; 8]);
        for (position, table) in tables.iter_mut().enumerate() {
            let images: [u64; 8] = std::array::from_fn(|bit| map(1 << (8 * position + bit)));
            for (byte, entry) in table.iter_mut().enumerate() {
                *entry = (0..8).filter(|bit| byte >> bit & 1 == 1).fold(0, |sum, bit| sum ^ images[bit]);
            }
        }
        Linear(tables)
    }

    #[inline]
    pub fn apply(&self, value: u64) -> u64 {
        let [t0, t1, t2, t3, t4, t5, t6, t7] = &*self.0;
        let [b0, b1, b2, b3, b4, b5, b6, b7] = value.to_le_bytes().map(usize::from);
        t0[b0] ^ t1[b1] ^ t2[b2] ^ t3[b3] ^ t4[b4] ^ t5[b5] ^ t6[b6] ^ t7[b7]
    }
}

/// a·b mod P, bit by bit: the definition.
fn multiply(a: u64, b: u64, polynomial: u64) -> u64 {
    let mut product = 0;
    for bit in (0..64).rev() {
        let carry = product >> 63;
        product = (product << 1) ^ (carry * polynomial);
        product ^= a * (b >> bit & 1);
    }
    product
}

/// Whether x^64 + `polynomial` is irreducible over GF(2): x^(2^64) = x mod P and gcd(x^(2^32) - x, P) = 1
/// (Rabin's test; 2 is the only prime divisor of 64).
fn is_irreducible(polynomial: u64) -> bool {
    const X: u64 = 2;
    let mut power = X;
    for step in 1..=64 {
        power = multiply(power, power, polynomial);
        if step == 32 && !coprime(power ^ X, polynomial) {
            return false;
        }
    }
    power == X
}

/// Whether a (of degree below 64) and x^64 + `polynomial` have no common divisor.
fn coprime(a: u64, polynomial: u64) -> bool {
    let (mut a, mut b) = (u128::from(a), 1 << 64 | u128::from(polynomial));
    while a != 0 {
        while b.leading_zeros() <= a.leading_zeros() && b != 0 {
            b ^= a << (a.leading_zeros() - b.leading_zeros());
        }
        (a, b) = (b, a);
    }
    b == 1
}

impl Rabin {
    /// The first irreducible polynomial in the sequence that `seed` draws.
    pub fn new(seed: u64) -> Self {
        let mut draw = seed;
        let polynomial = loop {
            draw = draw.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let candidate = mix(draw) | 1;
            if is_irreducible(candidate) {
                break candidate;
            }
        };
        let shift = Linear::of(|a| (0..64).fold(a, |a, _| (a << 1) ^ ((a >> 63) * polynomial)));
        let modulus = Modulus::new(polynomial, |fingerprint| shift.apply(fingerprint));
        Rabin { polynomial, byte: shift.0[0], shift, modulus }
    }

    /// P without its leading term.
    #[cfg(any(test, fuzzing))]
    pub fn polynomial(&self) -> u64 {
        self.polynomial
    }

    /// What carry-less multiplication takes.
    pub fn modulus(&self) -> &Modulus {
        &self.modulus
    }

    /// (`fingerprint`·x^8 + `byte`) mod P: the fingerprint of one byte more.
    #[inline]
    pub fn append(&self, fingerprint: u64, byte: u8) -> u64 {
        fingerprint << 8 ^ u64::from(byte) ^ self.byte[(fingerprint >> 56) as usize]
    }

    /// The fingerprint of a byte string: up to eight bytes are themselves, as one big-endian number.
    #[inline]
    pub fn bytes(&self, bytes: &[u8]) -> u64 {
        match bytes.split_first_chunk() {
            Some((first, rest)) => {
                rest.iter().fold(u64::from_be_bytes(*first), |unit, &byte| self.append(unit, byte))
            }
            None => bytes.iter().fold(0, |unit, &byte| unit << 8 | u64::from(byte)),
        }
    }

    /// `fingerprint`·x^64 mod P: makes room for one unit more.
    #[inline]
    pub fn shift(&self, fingerprint: u64) -> u64 {
        self.shift.apply(fingerprint)
    }

    /// The map t → t·x^(64·`units`) mod P: what a unit contributes once `units` more have followed it.
    pub fn weight_after(&self, units: u32) -> Linear {
        let power = (0..units).fold(1, |power, _| self.shift(power));
        Linear::of(|t| multiply(t, power, self.polynomial))
    }
}

/// A bijective mixer of 64 bits (the finaliser of SplitMix64; Steele, Lea, Flood 2014).
#[inline]
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ value >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ value >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The remainder of a long bit string, one bit at a time.
    fn remainder(bytes: &[u8], polynomial: u64) -> u64 {
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).fold(0, |rest, bit| {
            let carry = rest >> 63;
            (rest << 1 | u64::from(bit)) ^ (carry * polynomial)
        })
    }

    #[test]
    fn the_test_of_irreducibility_knows_known_polynomials() {
        assert!(is_irreducible(0x1B), "x^64+x^4+x^3+x+1");
        assert!(!is_irreducible(0x01), "x^64+1 = (x+1)^64");
        assert!(!is_irreducible(0x1A), "divisible by x");
        // (x^32+x^7+x^3+x^2+1)², a square: passes x^(2^64) = x only if the gcd step is missing.
        assert!(!is_irreducible(1 << 14 | 1 << 6 | 1 << 4 | 1));
    }

    #[test]
    fn about_one_odd_polynomial_in_32_is_irreducible() {
        let found = (0..2000u64).filter(|&i| is_irreducible(mix(i) | 1)).count();
        assert!((30..100).contains(&found), "expected 62.5 of 2000, found {found}");
    }

    #[test]
    fn drawn_polynomials_are_irreducible() {
        for seed in 0..20 {
            assert!(is_irreducible(Rabin::new(seed).polynomial()), "seed {seed}");
        }
    }

    #[test]
    fn tables_equal_the_bitwise_definition() {
        let rabin = Rabin::new(7);
        let bytes: Vec<u8> = (0..200u64).map(|i| (mix(i) as u8) | 1).collect();
        for end in 0..bytes.len() {
            assert_eq!(
                rabin.bytes(&bytes[..end]),
                remainder(&bytes[..end], rabin.polynomial()),
                "{end} bytes"
            );
        }
        for i in 0..100 {
            let (a, b) = (mix(i), rabin.weight_after(3));
            let shifted: Vec<u8> = a.to_be_bytes().into_iter().chain([0; 24]).collect();
            assert_eq!(b.apply(a), remainder(&shifted, rabin.polynomial()));
            assert_eq!(rabin.shift(a), remainder(&shifted[..16], rabin.polynomial()));
        }
    }
}
