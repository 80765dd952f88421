//! Bytes in the file, which design and users count on.

mod common;

use std::fs;

use common::{closed, finished, write};
use hq_core::{End, Ordinal, Record, Span, Tick};

/// Two years after the engine's epoch, so that the numbers are long.
const LATE: u64 = 63_000_000_000_000;

/// `n` tasks of a lane, one after another, whose ends are 1 ms apart.
fn lane(n: u64) -> Record {
    let ends = (0..n).map(|i| {
        let start = Tick(LATE + i * 1000);
        End { task: Ordinal(3_000_000_000 + i), start, end: start.after(Span(960)) }
    });
    finished(LATE + n * 1000, 60_000, ends)
}

/// Length of the file when `batch` follows a hundred others.
fn growth(batch: Vec<Record>) -> u64 {
    let dir = common::fast_dir();
    let path = dir.path().join("journal");
    let before: Vec<_> = (0..100_000).map(|_| closed(LATE, 1)).collect();
    write(&path, &[before]);
    let len = fs::metadata(&path).unwrap().len();
    write(&path, &[batch]);
    fs::metadata(&path).unwrap().len() - len
}

#[test]
fn the_end_of_one_array_task_takes_64_bytes() {
    assert_eq!(growth(vec![lane(1)]), 64);
}

#[test]
fn ends_in_a_batch_take_at_most_four_bytes_each() {
    for (n, bytes) in [(64, 253), (1000, 3064)] {
        let len = growth(vec![lane(n)]);
        assert!(len <= 4 * n);
        assert_eq!(len, bytes);
    }
}

#[test]
fn a_million_tasks_are_submitted_in_a_few_hundred_bytes() {
    let len = growth(vec![common::submitted(LATE, 1_000_000, b"true")]);
    assert!(len < 400, "{len}");
}
