//! Proves that a new file which could not be closed is not taken for whole, and that the error says where and what to do.

use super::common::disk::{FailingDisk, Failure, MemoryDisk};
use super::common::workload::options;
use sketchdb::{Database, Params};
use std::collections::BTreeMap;

#[test]
fn a_new_file_that_could_not_be_closed_is_said_to_be_so() {
    let source = MemoryDisk::of(Vec::new());
    Database::create_on(source.clone(), &Params::default()).unwrap();
    let db = Database::open_on(source.clone(), options(super::FLUSH)).unwrap();
    db.add("a", "one two three four five six seven").unwrap();
    db.close().unwrap();
    let copied = |failure| {
        let disk = FailingDisk::over(MemoryDisk::of(Vec::new()), failure);
        (Database::salvage_onto(source.clone(), disk.clone(), 4 << 20, &mut |_, _, _| {}), disk.clock())
    };
    let (whole, operations) = copied(Failure { after: u64::MAX, times: 0, errno: 5 });
    whole.unwrap();
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    for (after, times) in (0..operations).flat_map(|after| [1, 2, 4].map(|times| (after, times))) {
        if let Err(error) = copied(Failure { after, times, errno: 5 }).0 {
            *said.entry(error.to_string()).or_default() += 1;
        }
    }
    let closing = "close the new file for the database: something could not be written; look at the room";
    assert!(said.keys().any(|error| error.starts_with(closing)), "{operations} operations: {said:#?}");
}
