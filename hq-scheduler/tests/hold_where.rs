//! A place is held where it can be given: not on a worker that never can, nor on one that a gang has without end.

mod cluster;
mod common;

use cluster::Cluster;
use common::node;
use hq_core::{Ordinal, Profile, Request, Span, Standing, TaskState, WorkerConfig, WorkerId};

/// Workers with so many cpus, of which so many percent have to be in use.
fn cluster(workers: &[(u32, u32)]) -> Cluster {
    let worker = |(cpus, percent): &(u32, u32)| {
        let config = node(*cpus);
        WorkerConfig { min_utilization: percent * 100, ..config }
    };
    Cluster::new(workers.iter().map(worker), Span::secs(8))
}

/// Whether a task starts before so many others have ended. What is said of `others` meanwhile is never that they are due.
fn starts_within(cluster: &mut Cluster, steps: u32, task: Ordinal, others: Ordinal) -> bool {
    for _ in 0..steps {
        if cluster.is_running(task) {
            return true;
        }
        let last = cluster.core.explain(cluster.now, others).unwrap();
        assert_ne!(last.standing, Standing::Due, "{last:?}");
        cluster.step();
    }
    false
}

fn started_on(cluster: &Cluster, worker: u32) -> u32 {
    cluster.started.get(&WorkerId(worker)).copied().unwrap_or(0)
}

fn cpus(n: u32) -> Request {
    Request::cpus(n).unwrap()
}

#[test]
fn not_where_too_little_would_be_in_use() {
    // 20 and 8 of 32 are too few.
    for high in [1, 3] {
        let mut cluster = cluster(&[(32, 0), (32, 100)]);
        let low = cluster.submit(0, 400, cpus(8));
        let first = cluster.submit(10, high, cpus(20));
        assert!(starts_within(&mut cluster, 20, first, low.plus(399)), "of {high}");
        assert!(started_on(&cluster, 2) >= 4);
        let before = started_on(&cluster, 2);
        (0..40).for_each(|_| cluster.step());
        assert!(started_on(&cluster, 2) > before, "it goes on");
    }
}

#[test]
fn nothing_that_it_cannot_use_keeps_such_a_worker_idle() {
    for high in [1, 3] {
        let mut cluster = cluster(&[(32, 100)]);
        cluster.submit(10, high, cpus(20));
        cluster.submit(0, 100, cpus(8));
        assert_eq!(started_on(&cluster, 1), 4, "of {high}");
    }
}

#[test]
fn where_company_brings_it_to_enough_use() {
    let mut cluster = cluster(&[(32, 100)]);
    let low = cluster.submit(0, 400, cpus(8));
    cluster.submit(5, 1, cpus(12));
    let first = cluster.submit(10, 1, cpus(20));
    assert!(starts_within(&mut cluster, 20, first, low.plus(399)));
}

#[test]
fn not_where_a_gang_is() {
    for percent in [0, 50] {
        let mut cluster = cluster(&[(4, percent), (4, percent)]);
        let gang = cluster.submit(0, 1, Request::gang(1));
        assert_eq!(cluster.core.task(gang).unwrap().state, TaskState::Running);
        let low = cluster.submit(0, 400, cpus(2));
        let first = cluster.submit(10, 1, cpus(3));
        assert!(starts_within(&mut cluster, 20, first, low.plus(399)));
    }
}

#[test]
fn not_where_a_gang_is_of_higher_id() {
    let mut cluster = cluster(&[(4, 0)]);
    let low = cluster.submit(0, 400, cpus(2));
    cluster.core.join(cluster.now, node(4)).unwrap();
    let gang = cluster.submit(20, 1, Request::gang(1));
    let first = cluster.submit(10, 1, cpus(3));
    for _ in 0..40 {
        cluster.step();
    }
    let state = |task| cluster.core.task(task).unwrap().state;
    assert_eq!(state(gang), TaskState::Running);
    assert_ne!(state(first), TaskState::Waiting);
    assert_eq!(state(low.plus(399)), TaskState::Waiting);
}

/// Queues of one class hold a worker for each of their tasks, whatever else tells them apart.
#[test]
fn for_each_task_of_several_queues() {
    for (priority, limit) in [(10, Some(Span::secs(60))), (9, None)] {
        let mut cluster = cluster(&[(4, 0), (4, 0), (4, 0)]);
        cluster.submit(0, 400, cpus(1));
        let first = cluster.submit(10, 1, cpus(4));
        let second = cluster.submit_as(1, Profile { priority, time_limit: limit, ..Profile::new(cpus(4)) });
        let before: u32 = cluster.started.values().sum();
        // Those that ran on two of three workers end; beside them, only on the third others start.
        while !cluster.is_running(second) {
            cluster.step();
        }
        assert_eq!(cluster.core.task(first).unwrap().state, TaskState::Running);
        let others = cluster.started.values().sum::<u32>() - before - 2;
        assert!(others <= 4, "{others} of less rank were started before {priority} {limit:?}");
    }
}
