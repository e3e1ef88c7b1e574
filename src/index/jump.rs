//! Where an address stands among ascending ones, next to without a search: terms are hashes, so that their first bits tell.
//!
//! Each space has a table by the first bits of a term, about as long as there are addresses of that space; what stands
//! between two of its entries is one address on average, and is searched where it is more (the simhashes of a template).

use super::term::{Address, Space, TERM_BITS, Term};

/// More addresses than this between two entries are searched by halves.
const FEW: usize = 8;

/// The places of addresses by the first bits of their terms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jump {
    /// For each space one more than the number of its table; 0 where it has none.
    tables: Vec<u8>,
    spaces: Vec<Table>,
}

#[derive(Clone, Debug)]
struct Table {
    shift: u32,
    /// How many addresses of all are less than the first of each bucket, and of what follows the last.
    places: Vec<u32>,
}

impl Jump {
    /// The places of ascending addresses.
    pub fn new(addresses: &[Address]) -> Self {
        let mut jump = Jump { tables: vec![0; 256], spaces: Vec::new() };
        let mut before = 0;
        for some in addresses.chunk_by(|a, b| a.space() == b.space()) {
            let space = some[0].space();
            let shift = TERM_BITS - some.len().next_power_of_two().ilog2();
            let mut places = Vec::with_capacity((1 << (TERM_BITS - shift)) + 1);
            for bucket in 0..1u64 << (TERM_BITS - shift) {
                let last = places.last().map_or(0, |&place| place as usize - before);
                let first = Address::new(space, Term::of_value(bucket << shift));
                let less = some[last..].partition_point(|&address| address < first);
                places.push((before + last + less) as u32);
            }
            before += some.len();
            places.push(before as u32);
            jump.spaces.push(Table { shift, places });
            if let Some(table) = jump.tables.get_mut(usize::from(space.number())) {
                *table = jump.spaces.len() as u8;
            }
        }
        jump
    }

    /// How many of the addresses are less than this one.
    pub fn less(&self, addresses: &[Address], address: Address) -> usize {
        let table = self.tables.get(usize::from(address.space().number())).copied().unwrap_or(0);
        let Some(Table { shift, places }) =
            usize::from(table).checked_sub(1).and_then(|t| self.spaces.get(t))
        else {
            return addresses.partition_point(|&other| other < address);
        };
        let bucket = (address.term_bits() >> shift) as usize;
        let (start, end) = match places.get(bucket..bucket + 2) {
            Some(places) => (places[0] as usize, places[1] as usize),
            None => (0, addresses.len()),
        };
        let some = addresses.get(start..end).unwrap_or_default();
        let less = |other: &&Address| **other < address;
        start
            + match some.len() {
                0..FEW => some.iter().filter(less).count(),
                _ => some.partition_point(|&other| other < address),
            }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.tables.len() + self.spaces.iter().map(|table| 4 * table.places.len()).sum::<usize>()
    }
}

/// The space of an address as a number.
impl Space {
    fn number(self) -> u8 {
        (Address::first(self).bits() >> TERM_BITS) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::rabin::mix;

    /// Addresses of some spaces: of some as hashes lie, of others all alike or close together.
    fn addresses(seed: u64) -> Vec<Address> {
        let spaces = [Space::KEYS, Space::CONTENTS, Space::simhash(0), Space::simhash(83), Space::SAMPLES];
        let mut all = Vec::new();
        for (number, space) in (0..).zip(spaces) {
            let draw = mix(seed << 8 | number);
            for i in 0..draw % [0, 1, 5, 200, 3000][(draw >> 20) as usize % 5].max(1) {
                let term = [mix(draw ^ i), draw, draw ^ i << 24, u64::MAX, 0][(draw >> 30) as usize % 5];
                all.push(Address::new(space, Term::of_hash(term)));
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn a_jump_is_a_search() {
        for seed in 0..300 {
            let all = addresses(seed);
            let jump = Jump::new(&all);
            let near = all.iter().flat_map(|a| [a.bits().saturating_sub(1), a.bits(), a.bits() + 1]);
            let spaces = (0..=255u64).flat_map(|space| [space << 40, (space << 40) + (1 << 40) - 1]);
            for bits in near.chain(spaces).chain((0..500).map(|i| mix(i ^ seed << 32) >> 16)) {
                let address = Address::from_bits(bits);
                let searched = all.partition_point(|&other| other < address);
                assert_eq!(jump.less(&all, address), searched, "{address:?} among {}", all.len());
            }
        }
    }
}
