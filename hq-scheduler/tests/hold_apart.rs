//! Classes that wait for whole workers may hold the same ones: each starts all the same, as soon as those before it have.

mod cluster;
mod common;

use cluster::Cluster;
use common::node;
use hq_core::{Ordinal, Profile, Request, Span};

/// At most so many ends come before the next of those that wait starts: all that runs, twice over.
const PATIENCE: usize = 2 * 4;

/// Small tasks without end on some workers, and large ones of better rank, each a class of its own and as wide as a worker.
fn start_in_turn(workers: usize, priorities: &[i32]) {
    let worker = || node(4);
    let mut cluster = Cluster::new((0..workers).map(|_| worker()), Span::secs(8));
    cluster.submit(0, 10_000, Request::cpus(1).unwrap());
    let mut large: Vec<(i32, Ordinal)> = vec![];
    for (class, priority) in (1..).zip(priorities.iter().copied()) {
        let request = Request::cpus(4).unwrap().with_min_time(Span(class));
        large.push((priority, cluster.submit_as(1, Profile { priority, ..Profile::new(request) })));
    }
    let mut waited = 0;
    while !large.is_empty() {
        let started =
            |(_, task): &(i32, Ordinal)| cluster.is_running(*task) || cluster.core.task(*task).unwrap().state.is_end();
        let best = large.iter().filter(|known| !started(known)).map(|(priority, _)| *priority).max();
        let new: Vec<i32> = large.iter().filter(|known| started(known)).map(|(priority, _)| *priority).collect();
        assert!(
            new.iter().all(|priority| best.is_none_or(|best| best <= *priority)),
            "{workers} {priorities:?}: {new:?}"
        );
        waited = if new.is_empty() { waited + 1 } else { 0 };
        assert!(waited <= workers * PATIENCE, "{workers} {priorities:?}: none of {large:?}");
        large.retain(|known| !started(known));
        cluster.step();
    }
}

#[test]
fn holds_that_fall_together_keep_nobody_from_starting() {
    for workers in 1..=3 {
        for priorities in [
            &[1][..],
            &[1, 2],
            &[2, 1],
            &[1, 1],
            &[3, 2, 1],
            &[1, 2, 3],
            &[2, 1, 2],
            &[1, 1, 1, 1],
            &[5, 1, 4, 2, 3, 5],
        ] {
            start_in_turn(workers, priorities);
        }
    }
}
