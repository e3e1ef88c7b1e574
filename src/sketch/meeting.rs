//! A sample compared with a stored one while that is decoded, which ends where no match can come of it any more.
//!
//! It says what [`Sample::decode`] and [`Overlap::of`] say. It gives up when the share asked for would not be reached though
//! every value to come were one of both: most texts that share a band or a value by chance are known after a few dozen values.

use super::estimate::Overlap;
use super::sample::Sample;
use crate::error::Result;

/// The least share that makes a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Floor {
    Resemblance(f64),
    /// Of the first in the second.
    Containment(f64),
    /// Of the second in the first.
    Contained(f64),
}

/// How far two samples have been compared.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    first: u64,
    second: u64,
    both: u64,
}

/// Stored values between two looks at whether to go on.
const STEP: u64 = 16;

impl Floor {
    /// Whether it cannot be reached, with so many values of both samples, at most, to come.
    fn is_out_of_reach(self, met: Met, first_in_all: u64, most_to_come: u64) -> bool {
        let both = met.both + most_to_come.min(first_in_all - met.first);
        let (first_only, second_only) = (met.first - met.both, met.second - met.both);
        let (whole, floor) = match self {
            Floor::Resemblance(floor) => (both + first_only + second_only, floor),
            Floor::Containment(floor) => (first_in_all, floor),
            Floor::Contained(floor) => (both + second_only, floor),
        };
        // A quotient that is rounded keeps the order of what it is rounded from.
        whole > 0 && (both as f64 / whole as f64) < floor
    }
}

impl Overlap {
    /// Compares a sample with a stored one; `None` when the floor is not reached, for certain.
    pub(crate) fn with_stored(first: &Sample, stored: &[u8], floor: Option<Floor>) -> Result<Option<Self>> {
        let shape = Sample::shape(stored)?;
        let bound = first.bound().min(shape.bound());
        let own = first.below(bound);
        let (mut met, mut next, mut holds, mut given_up) = (Met::default(), 0, true, false);
        let mut seen = 0usize;
        shape.each(|value| {
            holds &= value >= next;
            next = value + 1;
            seen += 1;
            if value >= bound {
                return true;
            }
            let mut at = met.first as usize;
            while own.get(at).is_some_and(|&own| own < value) {
                at += 1;
            }
            let same = own.get(at) == Some(&value);
            met.first = at as u64 + u64::from(same);
            met.second += 1;
            met.both += u64::from(same);
            given_up = met.second % STEP == 0
                && floor.is_some_and(|floor| {
                    floor.is_out_of_reach(met, own.len() as u64, (shape.count() - seen) as u64)
                });
            !given_up
        });
        if given_up {
            return Ok(None);
        }
        shape.check(holds && next <= shape.bound(), seen)?;
        Ok(Some(Overlap { first: own.len() as u64, second: met.second, both: met.both, bound }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    /// Samples of two sets that share a part, of any sizes.
    fn pair(key: u64) -> (Sample, Sample) {
        let [first, second, share] = [1, 2, 3].map(|i| mix(key << 2 ^ i));
        let (first, second) = (first % 900, second % 900);
        let shared = share % (first.min(second) + 1);
        let sample = |range: std::ops::Range<u64>, size: usize| {
            let mut hashes: Vec<u64> = range.map(|x| mix(x ^ key << 20)).collect();
            hashes.sort_unstable();
            Sample::of_sorted(&hashes, size)
        };
        let sizes = [64, 100, 256];
        (
            sample(0..first, sizes[(share >> 20) as usize % 3]),
            sample(first - shared..first - shared + second, sizes[(share >> 30) as usize % 3]),
        )
    }

    #[test]
    fn it_says_what_the_definition_says() {
        for key in 0..3000 {
            let (first, second) = pair(key);
            let defined = Overlap::of(&first, &second);
            assert_eq!(Overlap::with_stored(&first, &second.encode(), None).unwrap(), Some(defined));
        }
    }

    #[test]
    fn it_gives_up_only_what_is_no_match() {
        let (mut given_up, mut matches) = (0, 0);
        for key in 0..3000 {
            let (first, second) = pair(key);
            let defined = Overlap::of(&first, &second);
            for floor in [0.1, 0.5, 0.8, 1.0] {
                let floors = [
                    (Floor::Resemblance(floor), defined.resemblance()),
                    (Floor::Containment(floor), defined.containment()),
                    (Floor::Contained(floor), defined.contained()),
                ];
                for (kind, estimate) in floors {
                    match Overlap::with_stored(&first, &second.encode(), Some(kind)).unwrap() {
                        Some(overlap) => assert_eq!(overlap, defined),
                        None => {
                            given_up += 1;
                            assert!(
                                estimate.is_none_or(|estimate| estimate < floor),
                                "{kind:?}: {defined:?}"
                            );
                        }
                    }
                    matches += u32::from(estimate.is_some_and(|estimate| estimate >= floor));
                }
            }
        }
        assert!(given_up > 10_000 && matches > 5000, "{given_up} given up, {matches} matches");
    }

    #[test]
    fn what_does_not_decode_is_an_error() {
        let (first, second) = (0..).map(pair).find(|pair| pair.1.values().len() > 50).unwrap();
        let bytes = second.encode();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let met = Overlap::with_stored(&first, &damaged, None);
                match Sample::decode(&damaged) {
                    Ok(sample) => assert_eq!(met.unwrap(), Some(Overlap::of(&first, &sample))),
                    Err(_) => assert!(met.is_err(), "byte {at}, bit {bit}"),
                }
            }
        }
        assert!(Overlap::with_stored(&first, &bytes[..bytes.len() - 1], None).is_err());
    }
}
