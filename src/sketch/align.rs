//! The Levenshtein distance of two bit strings, and one alignment that reaches it, 64 cells at a time.
//!
//! Bit-parallel dynamic programming (Myers 1999 in the form of Hyyrö 2003, with blocks of 64 rows): column j keeps for each row
//! whether the cell is one more or one less than the cell above. O(n·m/64) time; an alignment also keeps the columns,
//! n·m/32 bytes, 1 MiB for the longest signatures.

/// Where a distance is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// Between the whole strings.
    Whole,
    /// Between the whole first string and that part of the second which fits it best.
    Within,
}

/// What an alignment does at one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Equal bits.
    Match,
    /// A bit of the first string for another of the second.
    Substitute,
    /// A bit of the first string that the second lacks.
    Delete,
    /// A bit of the second string that the first lacks.
    Insert,
}

/// One column: which rows are one more (plus) or one less (minus) than the row above.
#[derive(Clone, Debug)]
struct Column {
    plus: Vec<u64>,
    minus: Vec<u64>,
}

/// The columns' state while the second string is read.
struct Matrix {
    /// For each bit value, the rows where the first string has it.
    rows_with: [Vec<u64>; 2],
    column: Column,
    rows: usize,
    span: Span,
}

impl Matrix {
    fn new(first: &[bool], span: Span) -> Self {
        let words = first.len().div_ceil(64);
        let mut rows_with = [vec![0; words], vec![0; words]];
        for (row, &bit) in first.iter().enumerate() {
            rows_with[usize::from(bit)][row / 64] |= 1 << (row % 64);
        }
        let column = Column { plus: vec![u64::MAX; words], minus: vec![0; words] };
        Matrix { rows_with, column, rows: first.len(), span }
    }

    /// Reads one bit of the second string; by how much the last row changed.
    fn advance(&mut self, bit: bool) -> i64 {
        let (mut carry_plus, mut carry_minus) = (u64::from(self.span == Span::Whole), 0);
        let mut change = 0;
        let last = self.rows.saturating_sub(1);
        for word in 0..self.column.plus.len() {
            let (plus, minus) = (self.column.plus[word], self.column.minus[word]);
            let equal = self.rows_with[usize::from(bit)][word];
            let vertical = equal | minus;
            let equal = equal | carry_minus;
            let diagonal = ((equal & plus).wrapping_add(plus) ^ plus) | equal;
            let across_plus = minus | !(diagonal | plus);
            let across_minus = plus & diagonal;
            if word == last / 64 {
                change = (across_plus >> (last % 64) & 1) as i64 - (across_minus >> (last % 64) & 1) as i64;
            }
            let shifted_plus = across_plus << 1 | carry_plus;
            let shifted_minus = across_minus << 1 | carry_minus;
            (carry_plus, carry_minus) = (across_plus >> 63, across_minus >> 63);
            self.column.plus[word] = shifted_minus | !(vertical | shifted_plus);
            self.column.minus[word] = shifted_plus & vertical;
        }
        change
    }
}

/// The edit distance of two bit strings.
pub(crate) fn distance(first: &[bool], second: &[bool], span: Span) -> usize {
    if first.is_empty() {
        return if span == Span::Whole { second.len() } else { 0 };
    }
    let mut matrix = Matrix::new(first, span);
    let mut last_row = first.len() as i64;
    let mut least = last_row;
    for &bit in second {
        last_row += matrix.advance(bit);
        least = least.min(last_row);
    }
    (if span == Span::Whole { last_row } else { least }) as usize
}

/// The steps of an alignment of the whole strings that reaches their distance.
pub(crate) fn align(first: &[bool], second: &[bool]) -> Vec<Step> {
    let mut matrix = Matrix::new(first, Span::Whole);
    let mut columns = vec![matrix.column.clone()];
    for &bit in second {
        matrix.advance(bit);
        columns.push(matrix.column.clone());
    }
    let (mut row, mut column) = (first.len(), second.len());
    let mut steps = Vec::with_capacity(row.max(column));
    while row > 0 || column > 0 {
        let here = cell(&columns, row, column);
        let diagonal = (row > 0 && column > 0).then(|| cell(&columns, row - 1, column - 1));
        let equal = diagonal.is_some() && first[row - 1] == second[column - 1];
        let step = match diagonal {
            Some(before) if equal && before == here => Step::Match,
            Some(before) if before + 1 == here => Step::Substitute,
            _ if row > 0 && cell(&columns, row - 1, column) + 1 == here => Step::Delete,
            _ => Step::Insert,
        };
        row -= usize::from(step != Step::Insert);
        column -= usize::from(step != Step::Delete);
        steps.push(step);
    }
    steps.reverse();
    steps
}

/// The value of one cell: its column's number, and the differences of the rows above it.
fn cell(columns: &[Column], row: usize, column: usize) -> i64 {
    let Column { plus, minus } = &columns[column];
    let mut value = column as i64;
    for word in 0..row.div_ceil(64) {
        let rows = (row - 64 * word).min(64);
        let mask = u64::MAX >> (64 - rows);
        value += i64::from((plus[word] & mask).count_ones()) - i64::from((minus[word] & mask).count_ones());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, cell by cell.
    fn definition(first: &[bool], second: &[bool], span: Span) -> usize {
        let mut above: Vec<usize> = (0..=first.len()).collect();
        let mut least = first.len();
        for (j, b) in second.iter().enumerate() {
            let mut column = vec![if span == Span::Whole { j + 1 } else { 0 }];
            for (i, a) in first.iter().enumerate() {
                column.push((above[i] + usize::from(a != b)).min(above[i + 1] + 1).min(column[i] + 1));
            }
            above = column;
            least = least.min(above[first.len()]);
        }
        if span == Span::Whole { above[first.len()] } else { least }
    }

    proptest! {
        #[test]
        fn distances_equal_the_definition(
            first in prop::collection::vec(any::<bool>(), 0..200),
            second in prop::collection::vec(any::<bool>(), 0..200),
        ) {
            for span in [Span::Whole, Span::Within] {
                prop_assert_eq!(distance(&first, &second, span), definition(&first, &second, span));
            }
        }

        #[test]
        fn alignments_reach_the_distance(
            first in prop::collection::vec(any::<bool>(), 0..150),
            second in prop::collection::vec(any::<bool>(), 0..150),
        ) {
            let steps = align(&first, &second);
            let (mut a, mut b) = (first.iter(), second.iter());
            for step in &steps {
                match step {
                    Step::Match => prop_assert_eq!(a.next().unwrap(), b.next().unwrap()),
                    Step::Substitute => prop_assert_ne!(a.next().unwrap(), b.next().unwrap()),
                    Step::Delete => drop(a.next().unwrap()),
                    Step::Insert => drop(b.next().unwrap()),
                }
            }
            prop_assert!(a.next().is_none() && b.next().is_none());
            let edits = steps.iter().filter(|&&step| step != Step::Match).count();
            prop_assert_eq!(edits, distance(&first, &second, Span::Whole));
        }
    }

    #[test]
    fn word_boundaries_make_no_difference() {
        for length in [63, 64, 65, 127, 128, 129, 1000] {
            let first: Vec<bool> = (0..length).map(|i| i * i % 7 < 3).collect();
            let second: Vec<bool> = first[5..].iter().copied().chain([true; 9]).collect();
            assert_eq!(distance(&first, &second, Span::Whole), definition(&first, &second, Span::Whole));
            assert_eq!(distance(&first[9..40], &first, Span::Within), 0);
        }
    }
}
