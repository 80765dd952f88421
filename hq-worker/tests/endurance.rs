//! Many programs, one after the other: none is lost and nothing is left over. Alone in its process, whose descriptors
//! and children it counts.

mod common;

use std::{collections::VecDeque, fs, sync::Arc};

use common::{Bench, lane, order, program, same};
use hq_core::{Outcome, ProgramSpec, Stdio};

const TASKS: usize = 10_000;
const AT_ONCE: usize = 8;

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn children() -> usize {
    fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default())
        .map(|children| children.split_whitespace().count())
        .sum()
}

#[test]
fn ten_thousand_programs() {
    let dir = tempfile::tempdir().unwrap();
    let before = (descriptors(), children());
    let bench = Bench::programs(dir.path());
    let working = (descriptors(), children());
    let quiet = ProgramSpec { stdout: Stdio::Null, stderr: Stdio::Null, ..program(&["/bin/true"], dir.path()) };
    let full = ProgramSpec { task_dir: true, stdin: Some(common::blob("in")), ..program(&["/bin/true"], dir.path()) };
    let bodies = [same(quiet), same(full), same(program(&["no-such-program"], dir.path()))];
    let lane = Arc::new(lane());
    let mut running = VecDeque::new();
    let mut finished = 0;
    for n in 0..TASKS + AT_ONCE {
        if n < TASKS {
            let kind = if n % 100 == 99 { 2 } else { usize::from(n % 10 == 9) };
            running.push_back((kind, bench.start(order(&bodies[kind], &lane))));
        }
        if running.len() > AT_ONCE || n >= TASKS {
            let Some((kind, run)) = running.pop_front() else { break };
            let outcome = bench.end_of(run);
            assert_eq!(outcome == Outcome::Finished, kind != 2, "{outcome:?}");
            finished += 1;
        }
    }
    assert_eq!(finished, TASKS);
    assert!(bench.is_quiet());
    drop(lane);
    // One more for the input that is kept ready in memory.
    assert_eq!((descriptors(), children()), (working.0 + 1, working.1));
    drop(bench);
    assert_eq!((descriptors(), children()), before);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "only the two output files are left");
}
