//! Bit-packed integers and the Elias-Fano code for ascending lists.
//!
//! A list of n non-decreasing values in [0, u] is split at bit l = ⌊log₂(u/n)⌋: the low l bits of each value are
//! packed one after the other; the high parts are written in unary, a 1 for each value and a 0 for each step of the
//! high part. That takes n·(2 + l) bits at most, and one value is found without decoding the others
//! (Elias 1974, Fano 1971; Vigna, *Quasi-succinct indices*, 2013). Bits fill bytes from the lowest up.

/// Appends bit fields to bytes.
#[derive(Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    filled: u32,
}

impl BitWriter {
    /// Appends the low `width` ≤ 56 bits of `value`.
    pub fn push(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 56 && value >> width == 0);
        self.pending |= value << self.filled;
        self.filled += width;
        if self.filled >= 64 {
            self.bytes.extend_from_slice(&self.pending.to_le_bytes());
            self.filled -= 64;
            // Fewer than 64 bits were free, and fewer than 64 are left of the value.
            self.pending = value >> (width - self.filled);
        }
    }

    /// The bytes, the last one filled up with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        let rest = self.filled.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..rest]);
        self.bytes
    }
}

/// The `width` ≤ 56 bits at bit position `at`; bits beyond the end read as zero.
#[inline]
pub(crate) fn field(bytes: &[u8], at: usize, width: u32) -> u64 {
    let (byte, shift) = (at / 8, at % 8);
    let word = match bytes.get(byte..byte + 8) {
        Some(eight) => u64::from_le_bytes(eight.try_into().expect("a slice of eight")),
        None => {
            let mut last = [0; 8];
            let rest = bytes.get(byte..).unwrap_or_default();
            last[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(last)
        }
    };
    word >> shift & ((1 << width) - 1)
}

/// How many bits the values below or equal to `greatest` take.
pub(crate) fn width_of(greatest: u64) -> u32 {
    64 - greatest.leading_zeros()
}

/// The shape of an Elias-Fano list: fixed by how many values there are and the greatest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EliasFano {
    count: usize,
    low_width: u32,
    upper_bits: usize,
}

impl EliasFano {
    pub fn new(count: usize, greatest: u64) -> Self {
        if count == 0 {
            return EliasFano { count, low_width: 0, upper_bits: 0 };
        }
        let low_width = width_of(greatest / count as u64).saturating_sub(1).min(56);
        EliasFano { count, low_width, upper_bits: count + (greatest >> low_width) as usize + 1 }
    }

    /// Bits of the whole code.
    pub fn bits(&self) -> usize {
        self.upper_bits + self.low_width as usize * self.count
    }

    /// Bytes of the code when nothing follows it.
    pub fn bytes(&self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Appends the code of `values`, which must be `count` ascending values, none above the greatest.
    pub fn encode(&self, values: impl Iterator<Item = u64> + Clone, out: &mut BitWriter) {
        out.bytes.reserve(self.bytes() + 8);
        let mut high = 0;
        for value in values.clone() {
            let step = zeros((value >> self.low_width) - high, out);
            out.push(1 << step, step + 1);
            high = value >> self.low_width;
        }
        let step = zeros((self.upper_bits - self.count) as u64 - high, out);
        out.push(0, step);
        for value in values {
            out.push(value & ((1 << self.low_width) - 1), self.low_width);
        }
    }

    fn low(&self, bytes: &[u8], index: usize) -> u64 {
        field(bytes, self.upper_bits + index * self.low_width as usize, self.low_width)
    }

    /// Calls `each(index, value)` for every value from the first one ≥ `from`, until it returns false.
    /// Bytes that are no such code yield at most `count` values: garbage, but bounded.
    pub fn scan_from(&self, bytes: &[u8], from: u64, mut each: impl FnMut(usize, u64) -> bool) {
        let (mut at, mut index) = self.skip_to_high(bytes, from >> self.low_width);
        while at < self.upper_bits {
            let mut ones = field(bytes, at, 56.min(self.upper_bits - at) as u32);
            while ones != 0 {
                if index == self.count {
                    return;
                }
                // What stands before a 1 and is none is a step of the high part.
                let high = (at + ones.trailing_zeros() as usize - index) as u64;
                let value = high << self.low_width | self.low(bytes, index);
                if value >= from && !each(index, value) {
                    return;
                }
                ones &= ones - 1;
                index += 1;
            }
            at += 56;
        }
    }

    /// The bit position and the index of the value where the values with high part `target` begin.
    fn skip_to_high(&self, bytes: &[u8], target: u64) -> (usize, usize) {
        let (mut at, mut zeros) = (0usize, 0u64);
        while at + 56 <= self.upper_bits {
            let in_word = 56 - u64::from(field(bytes, at, 56).count_ones());
            if zeros + in_word >= target {
                break;
            }
            zeros += in_word;
            at += 56;
        }
        while zeros < target && at < self.upper_bits {
            zeros += 1 - field(bytes, at, 1);
            at += 1;
        }
        (at, at - zeros as usize)
    }

    /// All values.
    #[cfg(test)]
    pub fn decode(&self, bytes: &[u8]) -> Vec<u64> {
        let mut values = Vec::with_capacity(self.count.min(bytes.len() * 8));
        self.scan_from(bytes, 0, |_, value| {
            values.push(value);
            true
        });
        values
    }
}

/// Appends zeros until fewer than 56 are left: how many.
fn zeros(mut left: u64, out: &mut BitWriter) -> u32 {
    while left > 55 {
        out.push(0, 56);
        left -= 56;
    }
    left as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn code(values: &[u64]) -> (EliasFano, Vec<u8>) {
        let shape =
            EliasFano::new(values.len(), values.last().copied().unwrap_or(0) + values.len() as u64 % 3);
        let mut out = BitWriter::default();
        shape.encode(values.iter().copied(), &mut out);
        (shape, out.finish())
    }

    proptest! {
        #[test]
        fn what_went_in_comes_out(mut values in prop::collection::vec(0u64..1 << 40, 0..600)) {
            values.sort_unstable();
            let (shape, bytes) = code(&values);
            prop_assert_eq!(bytes.len(), shape.bytes());
            prop_assert_eq!(shape.decode(&bytes), values);
        }

        #[test]
        fn a_scan_starts_at_the_first_value_not_below(mut values in prop::collection::vec(0u64..2000, 1..300), from in 0u64..2100) {
            values.sort_unstable();
            let (shape, bytes) = code(&values);
            let mut seen = Vec::new();
            shape.scan_from(&bytes, from, |index, value| { seen.push((index, value)); true });
            let expected: Vec<_> = values.iter().copied().enumerate().filter(|v| v.1 >= from).collect();
            prop_assert_eq!(seen, expected);
        }

        #[test]
        fn arbitrary_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0usize..5000, greatest in 0u64..1 << 40) {
            prop_assert!(EliasFano::new(count, greatest.max(count as u64)).decode(&bytes).len() <= count);
        }
    }

    #[test]
    fn fields_of_every_width_come_back() {
        let mut out = BitWriter::default();
        for width in 0..=56 {
            out.push((1 << width) - 1, width);
            out.push(0, 3);
        }
        let bytes = out.finish();
        let mut at = 0;
        for width in 0..=56 {
            assert_eq!(field(&bytes, at, width), (1 << width) - 1);
            assert_eq!(field(&bytes, at + width as usize, 3), 0);
            at += width as usize + 3;
        }
    }
}
