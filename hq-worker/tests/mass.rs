//! Thousands of programs that are told to end at once. Alone in its process, whose descriptors and children it counts.

mod common;

use std::{
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use common::{Bench, lane, order, program, same, until};
use hq_core::{Outcome, ProgramSpec, Stdio};
use hq_node::StopHow;

const RUNS: usize = 5_000;

fn children() -> usize {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default())
        .map(|children| children.split_whitespace().count())
        .sum()
}

#[test]
fn thousands_of_stops_are_not_thousands_of_searches() {
    let dir = tempfile::tempdir().unwrap();
    let bench = Bench::programs(dir.path());
    let idle = children();
    let quiet = |args| same(ProgramSpec { stdout: Stdio::Null, stderr: Stdio::Null, ..program(args, dir.path()) });
    let (body, lane) = (quiet(&["/bin/sleep", "1000"]), Arc::new(lane()));
    let start = Instant::now();
    let runs: Vec<_> = (0..RUNS).map(|_| bench.start(order(&body, &lane))).collect();
    while children() < RUNS + idle {
        assert!(start.elapsed() < Duration::from_secs(60), "they all run");
        std::thread::sleep(Duration::from_millis(20));
    }
    let started = start.elapsed();
    let stop = Instant::now();
    for run in &runs {
        bench.stop(*run, StopHow::Kill);
    }
    for run in runs {
        assert!(bench.end_of(run).error().is_some());
    }
    // To end a process costs about what it costs to start it, whoever else is at work here. With a search for each, which
    // looks at all of them, it is some hundred times that.
    let stopped = stop.elapsed();
    assert!(stopped < 20 * started, "{stopped:?} to stop what took {started:?} to start");
    assert_eq!(bench.run(order(&quiet(&["/bin/true"]), &lane)), Outcome::Finished);
    until("they are reaped", || children() == idle);
}
