//! Tasks of equal priority: small ones that never end coming let a big one through within a bound.

mod cluster;
mod common;

use cluster::Cluster;
use common::node;
use hq_core::{Ordinal, Profile, Request, Span, TaskState};

fn cluster(workers: &[u32], took: Span) -> Cluster {
    Cluster::new(workers.iter().map(|cpus| node(*cpus)), took)
}

/// So many tasks of its level start for each lane before a task is overdue.
const PER_LANE: u64 = 64;

/// Small tasks keep coming; how many end before `big`, which comes when all is full, starts.
fn ends_before(workers: &[u32], took: Span, big: Request) -> Option<u64> {
    let mut cluster = cluster(workers, took);
    cluster.submit(0, 200, Request::cpus(1).unwrap());
    for _ in 0..40 {
        cluster.step();
    }
    let big = cluster.submit(0, 1, big);
    (0..20_000).find(|n| {
        if n % 100 == 0 {
            cluster.submit(0, 100, Request::cpus(1).unwrap());
        }
        cluster.step();
        cluster.is_running(big)
    })
}

#[test]
fn a_big_task_starts_within_a_bound() {
    for workers in [&[4][..], &[4, 4], &[2, 8, 4]] {
        let all: u64 = workers.iter().map(|cpus| u64::from(*cpus)).sum();
        let ends = ends_before(workers, Span::secs(1), Request::cpus(4).unwrap());
        // So many tasks for each lane, or for eight lanes; then one worker runs dry.
        let (least, bound) = (PER_LANE * all / 2, PER_LANE * all.max(8) + 2 * all);
        assert!(ends.is_some_and(|ends| (least..=bound).contains(&ends)), "{workers:?}: {ends:?}, at most {bound}");
    }
}

#[test]
fn backlogs_end_too() {
    let ends = ends_before(&[4, 4], Span::millis(1), Request::cpus(4).unwrap());
    // What lies in backlogs besides.
    assert!(ends.is_some_and(|ends| ends < 2 * PER_LANE * 8), "{ends:?}");
}

#[test]
fn a_gang_starts_within_a_bound() {
    let ends = ends_before(&[4, 4], Span::secs(1), Request::gang(2));
    assert!(ends.is_some_and(|ends| ends < PER_LANE * 8 + 32), "{ends:?}");
}

/// Others of its class that come later, in queues of their own, do not take the place that is held for it.
#[test]
fn a_big_task_starts_although_others_like_it_keep_coming() {
    let mut cluster = cluster(&[4], Span::secs(1));
    cluster.submit(0, 100_000, Request::cpus(1).unwrap());
    for _ in 0..40 {
        cluster.step();
    }
    let big = |cluster: &mut Cluster, limit| {
        cluster.submit_as(1, Profile { time_limit: Some(limit), ..Profile::new(Request::cpus(3).unwrap()) })
    };
    let first = big(&mut cluster, Span::secs(10_000));
    let ends = (0..2_000).find(|n| {
        if n % 30 == 29 {
            big(&mut cluster, Span::secs(9_999 - n / 30));
        }
        cluster.step();
        cluster.is_running(first)
    });
    assert!(ends.is_some_and(|ends| ends < PER_LANE * 8 + 32), "{ends:?}");
}

/// The place that was held for a task is not for the next of its queue, which has only just come to its head.
#[test]
fn a_successor_waits_for_as_long_as_others() {
    let mut cluster = cluster(&[4, 4], Span::secs(1));
    cluster.submit(0, 100_000, Request::cpus(1).unwrap());
    let first = cluster.submit(0, 1, Request::cpus(4).unwrap());
    let second = cluster.submit(0, 1, Request::cpus(4).unwrap());
    while cluster.running.len() > 6 {
        cluster.step();
    }
    let job = cluster.core.locate(first).unwrap().0;
    cluster.core.cancel(cluster.now, job, None);
    cluster.drain();
    assert_eq!(cluster.running.len(), 8, "all is given back");
    let ends = (0..1_000).find(|_| {
        cluster.step();
        cluster.is_running(second)
    });
    assert!(ends.is_some_and(|ends| (PER_LANE * 4..PER_LANE * 8 + 32).contains(&ends)), "{ends:?}");
}

/// Holds are rationed: however many different ones wait, one after the other gets its place, in order of arrival, and small ones
/// start in between as often as before.
#[test]
fn big_tasks_that_wait_together_start_one_by_one() {
    let mut cluster = cluster(&[4, 4], Span::secs(1));
    cluster.submit(0, 100_000, Request::cpus(1).unwrap());
    // Worth less than small ones, so that only holds help them.
    let request = |n| Request::cpus(3).unwrap().with_min_time(Span::secs(n)).with_weight(5_000).unwrap();
    let big: Vec<Ordinal> = (0..5).map(|n| cluster.submit(0, 1, request(n))).collect();
    let mut started: Vec<u64> = vec![];
    for n in 0..20_000 {
        cluster.step();
        if big.get(started.len()).is_some_and(|next| cluster.is_running(*next)) {
            started.push(n);
        }
    }
    assert_eq!(started.len(), big.len(), "all start, in order");
    let waits = started.iter().zip(&started[1..]).map(|(before, after)| after - before);
    for wait in waits {
        assert!((PER_LANE * 4..PER_LANE * 8 + 32).contains(&wait), "{started:?}");
    }
}

/// Only one worker is kept free for it.
#[test]
fn others_go_on_meanwhile() {
    let mut cluster = cluster(&[4, 4], Span::secs(1));
    cluster.submit(0, 100_000, Request::cpus(1).unwrap());
    let big = cluster.submit(0, 1, Request::cpus(4).unwrap());
    let mut least = 8;
    while !cluster.is_running(big) {
        cluster.step();
        least = least.min(cluster.running.len());
    }
    assert!((4..8).contains(&least), "{least} ran when the fewest did");
    assert_eq!(cluster.running.len(), 5, "the big one, and the other worker is full");
}

#[test]
fn what_is_kept_free_is_given_back_with_a_cancel() {
    let mut cluster = cluster(&[4, 4], Span::secs(1));
    cluster.submit(0, 100_000, Request::cpus(1).unwrap());
    let big = cluster.submit(0, 1, Request::cpus(4).unwrap());
    while cluster.running.len() > 6 {
        cluster.step();
    }
    let job = cluster.core.locate(big).unwrap().0;
    cluster.core.cancel(cluster.now, job, None);
    cluster.drain();
    assert_eq!(cluster.running.len(), 8);
}

/// A task that is overdue holds a worker against its equals; the others of its queue hold theirs against lower priorities as before.
#[test]
fn the_rest_of_its_queue_keeps_lower_priorities_off() {
    let mut cluster = cluster(&[4, 4], Span::secs(1));
    cluster.submit(0, 8, Request::cpus(1).unwrap());
    let big = cluster.submit(0, 6, Request::cpus(4).unwrap());
    let low = cluster.submit(-1, 8, Request::cpus(1).unwrap());
    let all_start =
        |cluster: &Cluster| (0..6).all(|i| cluster.core.task(big.plus(i)).unwrap().state != TaskState::Waiting);
    let low_waits =
        |cluster: &Cluster| (0..8).all(|i| cluster.core.task(low.plus(i)).unwrap().state == TaskState::Waiting);
    while cluster.running.len() == 8 {
        cluster.submit(0, 1, Request::cpus(1).unwrap());
        cluster.step();
    }
    assert!(!cluster.is_running(big), "a worker is held for the first of them");
    while !all_start(&cluster) {
        assert!(low_waits(&cluster));
        cluster.step();
    }
    while !cluster.running.is_empty() {
        cluster.step();
    }
    assert!(!low_waits(&cluster));
}

/// The next of its queue is not overdue: what was held against equals is room for them again.
#[test]
fn a_task_that_starts_elsewhere_leaves_its_place_to_its_equals() {
    let mut cluster = cluster(&[4, 4], Span::secs(1));
    cluster.submit(0, 100_000, Request::cpus(1).unwrap());
    let big = cluster.submit(0, 2, Request::cpus(4).unwrap());
    while cluster.running.len() > 6 {
        cluster.step();
    }
    cluster.core.join(cluster.now, node(4)).unwrap();
    cluster.drain();
    assert!(cluster.is_running(big));
    assert_eq!(cluster.running.len(), 9, "the big one, and all else is full");
}
