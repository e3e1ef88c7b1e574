//! Matches for people: a table with the measure that decides first.

use crate::output::short;
use crate::say::visible;
use sketchdb::{Match, Measure};

/// A measure of a match.
struct Column {
    name: &'static str,
    width: usize,
    value: fn(&Match) -> String,
}

const RESEMBLANCE: Column = Column {
    name: "resemblance",
    width: 11,
    value: |found| if found.exact { "same text".into() } else { short(found.resemblance) },
};
const INTERVAL: Column = Column {
    name: "interval",
    width: 14,
    value: |found| found.interval.map_or(String::new(), |i| format!("[{:.3}, {:.3}]", i.low, i.high)),
};
const HAMMING: Column = Column {
    name: "hamming",
    width: 7,
    value: |found| found.hamming.map_or("-".into(), |bits| bits.to_string()),
};
const CONTAINMENT: Column =
    Column { name: "containment", width: 11, value: |found| short(found.containment) };
const CONTAINED: Column = Column { name: "contained", width: 9, value: |found| short(found.contained) };
const AGREEMENT: Column = Column { name: "agreement", width: 9, value: |found| short(found.agreement) };
/// As a share of the longer text.
const EDIT: Column =
    Column { name: "edit", width: 5, value: |found| short(found.edit.map(|edit| edit.share)) };

/// How matches are laid out.
pub struct Table {
    columns: Vec<&'static Column>,
    /// Whether each key of a text has a row of its own.
    copies: bool,
}

impl Table {
    pub fn new(by: Measure, copies: bool) -> Self {
        let columns = match by {
            Measure::Containment(_) => vec![&CONTAINMENT, &RESEMBLANCE, &INTERVAL, &HAMMING],
            Measure::Contained(_) => vec![&CONTAINED, &RESEMBLANCE, &INTERVAL, &HAMMING],
            Measure::Agreement(_) => vec![&AGREEMENT, &RESEMBLANCE, &INTERVAL, &HAMMING],
            Measure::Edit(_) => vec![&EDIT, &RESEMBLANCE, &INTERVAL, &HAMMING],
            Measure::Any(_) => vec![&CONTAINMENT, &CONTAINED, &RESEMBLANCE, &INTERVAL, &HAMMING],
            Measure::Hamming(_) => vec![&HAMMING, &RESEMBLANCE, &INTERVAL],
            _ => vec![&RESEMBLANCE, &INTERVAL, &HAMMING],
        };
        Table { columns, copies }
    }

    pub fn head(&self) -> String {
        self.cells(|column| column.name.into()) + "found by      match"
    }

    pub fn row(&self, found: &Match) -> String {
        let by = found.found_by.names().join(",");
        let copies = match found.copies {
            copies if copies > 0 && !self.copies => format!("  (+{copies} copies)"),
            _ => String::new(),
        };
        let measures = self.cells(|column| (column.value)(found));
        format!("{measures}{by:<12}  {}{copies}", visible(&found.key))
    }

    fn cells(&self, value: impl Fn(&Column) -> String) -> String {
        let cell = |column: &&Column| format!("{:<width$}  ", value(column), width = column.width);
        self.columns.iter().map(cell).collect()
    }
}
