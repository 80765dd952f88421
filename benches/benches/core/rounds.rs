//! Rounds of placement on 1,000 workers: the first one, and what single events cost after it.
//!
//! `cargo bench -p hq-benches --bench core -- events idle` runs these rows alone. An event's time is that of the call and of
//! draining what it set off; the messages are dropped, which a server would do as well.

use std::time::{Duration, Instant};

use hq_core::{
    GrantId, JobId, LaneReport, LossReason, Ordinal, Outcome, Request, RunEnd, Span, Tick, ToWorker, WorkerConfig,
    WorkerId, WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler, pool::Pools};

use crate::{core, expand, submit};

const WORKERS: usize = 1_000;
const CLASSES: u32 = 100;

pub(crate) fn all() {
    type Row = (&'static str, fn());
    let rows: [Row; 6] = [
        ("mixed", || first_placement("mixed sizes", |class| 1 + class % 60)),
        ("small", || first_placement("one cpu each", |_| 1)),
        ("events", single_events),
        ("idle", one_task_on_idle_workers),
        ("together", few_of_several_priorities),
        ("priorities", many_priorities),
    ];
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    rows.iter().filter(|(name, _)| asked.is_empty() || asked.iter().any(|row| row == name)).for_each(|(_, row)| row());
}

/// A task that was started, and where.
struct Started {
    worker: WorkerId,
    grant: GrantId,
    task: Ordinal,
}

fn worker() -> WorkerConfig {
    WorkerConfig::new("w", WorkerResources::cpus(64).unwrap())
}

fn request(class: u32, cpus: u32) -> Request {
    Request::cpus(cpus).unwrap().with_min_time(Span(class.into()))
}

/// A core with workers and a million tasks that wait.
fn loaded(cpus: impl Fn(u32) -> u32) -> (Scheduler, Vec<JobId>) {
    let mut core = core();
    for _ in 0..WORKERS {
        core.join(Tick(0), worker()).unwrap();
    }
    let jobs = (0..CLASSES)
        .map(|class| submit(&mut core, Tick(0), 10_000, class as i32 % 4, request(class, cpus(class))))
        .collect();
    (core, jobs)
}

/// Drains the actions, and takes note of what they start.
fn drain(core: &mut Scheduler, now: Tick) -> Vec<Started> {
    let mut started = Vec::new();
    while let Some(action) = core.poll_batch(now) {
        let (worker, grant, work) = match action {
            Action::Send { worker, message: ToWorker::Open(open) } => (worker, open.grant, open.work),
            Action::Send { worker, message: ToWorker::Extend { grant, work } } => (worker, grant, work),
            Action::Send { worker, message: ToWorker::OpenLanes(open) } => {
                let lanes = open.lanes.into_iter();
                started.extend(lanes.map(|lane| Started { worker, grant: lane.grant, task: lane.run.first }));
                continue;
            }
            _ => continue,
        };
        started.push(Started { worker, grant, task: expand(&work)[0] });
    }
    started
}

/// Workers say that these run.
fn tell_started(core: &mut Scheduler, now: Tick, started: &[Started]) {
    for Started { worker, grant, task } in started {
        let lane = LaneReport { grant: *grant, ended: vec![], started: Some((*task, Span(0))) };
        core.handle_event(now, News::Report { worker: *worker, lane });
    }
    drain(core, now);
}

fn first_placement(what: &str, cpus: impl Fn(u32) -> u32) {
    let (mut core, _) = loaded(cpus);
    let before = crate::allocations();
    let start = Instant::now();
    let mut starts = 0;
    while let Some(action) = core.poll_batch(Tick(1)) {
        starts += match action {
            Action::Send { message: ToWorker::Open(_), .. } => 1,
            Action::Send { message: ToWorker::OpenLanes(open), .. } => open.lanes.len() as u32,
            _ => 0,
        };
    }
    let took = start.elapsed();
    let allocations = (crate::allocations() - before) as f64 / f64::from(starts);
    let bare = bare_loop(starts);
    println!(
        "first placement, 1,000 workers × 100 classes × 1 M tasks, {what}: {took:.1?} for {starts} starts, \
         {:.0} ns and {allocations:.1} allocations each; a loop that only takes one cpu for each: {bare:.1?}",
        took.as_nanos() as f64 / f64::from(starts)
    );
}

/// As many starts without any choice: allocate and take, worker by worker.
fn bare_loop(starts: u32) -> Duration {
    let mut pools = vec![Pools::new(&worker().resources); WORKERS];
    let request = Request::cpus(1).unwrap();
    let start = Instant::now();
    let mut taken = Vec::with_capacity(starts as usize);
    for nth in 0..starts as usize {
        let pools = &mut pools[nth % WORKERS];
        taken.extend(pools.allocate(&request).filter(|allocation| pools.take(allocation)));
    }
    start.elapsed()
}

/// Times of one kind of event.
type Row = (&'static str, Vec<Duration>);

/// The same again in a new core, which does exactly the same: what an event takes but for what the machine does meanwhile (its
/// clock alone interrupts four of five hundred joins) is the best of its times.
fn single_events() {
    let runs: Vec<Vec<Row>> = (0..5).map(events_in_turn).collect();
    for (at, (what, _)) in runs[0].iter().enumerate() {
        let times = || runs.iter().map(|run| &run[at].1);
        let best = (0..runs[0][at].1.len()).filter_map(|nth| times().map(|times| times[nth]).min()).collect();
        print(&format!("{what}, of all"), times().flatten().copied().collect());
        print(&format!("{what}, the best of {} of each", runs.len()), best);
    }
}

/// One event after the other on a cluster that is full of running tasks, each with the round that it causes.
fn events_in_turn(run: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut note = |what, n, event: &mut dyn FnMut(u64) -> Duration| rows.push((what, (0..n).map(event).collect()));
    let (mut core, jobs) = loaded(|class| 1 + class % 60);
    let started = drain(&mut core, Tick(1));
    tell_started(&mut core, Tick(1), &started);
    let mut ends = started.iter();
    note("one end, its lane goes on", 1_000, &mut |nth| {
        let Started { worker, grant, task } = ends.next().unwrap();
        let ended = vec![RunEnd { task: *task, age: Span(0), took: Span::secs(1), outcome: Outcome::Finished }];
        let report = News::Report { worker: *worker, lane: LaneReport { grant: *grant, ended, started: None } };
        timed(&mut core, Tick(2 + nth), |core, now| core.handle_event(now, report))
    });
    note("one submit of a known class", 1_000, &mut |nth| {
        let class = nth as u32 % CLASSES;
        timed(&mut core, Tick(2_000), |core, now| {
            submit(core, now, 1, class as i32 % 4, request(class, 1 + class % 60));
        })
    });
    note("one join", 500, &mut |_| timed(&mut core, Tick(4_000), |core, now| drop(core.join(now, worker()))));
    note("one loss of a worker with twelve tasks on average", 500, &mut |nth| {
        let news = News::WorkerLost { worker: WorkerId(nth as u32 + 1), reason: LossReason::ConnectionLost };
        timed(&mut core, Tick(5_000), |core, now| core.handle_event(now, news))
    });
    note("one submit of a new class", 1_000, &mut |nth| {
        let class = CLASSES + nth as u32;
        timed(&mut core, Tick(5_500), |core, now| {
            submit(core, now, 1, class as i32 % 4, request(class, 1 + class % 60));
        })
    });
    if run == 0 {
        let running = |job: &JobId| core.job(*job).map_or(0, |job| job.counts.running);
        println!("of the job of which most runs, {} tasks do", jobs.iter().map(running).max().unwrap_or(0));
    }
    note("one cancel of a job of 10,000 tasks", 100, &mut |nth| {
        timed(&mut core, Tick(6_000), |core, now| {
            let _ = core.cancel(now, jobs[nth as usize], None);
        })
    });
    rows
}

/// How long an event and its round take. What is started runs, before the next one.
fn timed(core: &mut Scheduler, now: Tick, event: impl FnOnce(&mut Scheduler, Tick)) -> Duration {
    let start = Instant::now();
    event(core, now);
    let started = drain(core, now);
    let took = start.elapsed();
    tell_started(core, now, &started);
    took
}

fn measure(what: &str, n: u64, event: impl FnMut(u64) -> Duration) {
    print(what, (0..n).map(event).collect());
}

fn print(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |percent: usize| times[times.len() * percent / 100];
    println!("{what}: p50 {:.1?}, p99 {:.1?}, max {:.1?}", at(50), at(99), times[times.len() - 1]);
}

fn one_task_on_idle_workers() {
    let mut core = core();
    for _ in 0..WORKERS {
        core.join(Tick(0), worker()).unwrap();
    }
    drain(&mut core, Tick(0));
    measure("one task on 1,000 idle workers", 1_000, |nth| {
        timed(&mut core, Tick(1 + nth), |core, now| {
            submit(core, now, 1, 0, request(0, 1));
        })
    });
}

/// Few tasks, all of which have room: they are placed as one level (`round/together.rs`).
fn few_of_several_priorities() {
    for (what, priorities) in [("as many priorities", 16), ("one priority", 1)] {
        let mut core = core();
        for _ in 0..WORKERS {
            core.join(Tick(0), worker()).unwrap();
        }
        drain(&mut core, Tick(0));
        measure(&format!("sixteen submits of one task each, of {what}"), 400, |nth| {
            timed(&mut core, Tick(1 + nth), |core, now| {
                for class in 0..16 {
                    submit(core, now, 1, class as i32 % priorities, request(class, 1 + class));
                }
            })
        });
    }
}

fn many_priorities() {
    for (what, cpus) in [("one cpu each", 1), ("32 cpus each", 32)] {
        let mut core = core();
        for _ in 0..WORKERS {
            core.join(Tick(0), worker()).unwrap();
        }
        drain(&mut core, Tick(0));
        for priority in 0..10_000 {
            submit(&mut core, Tick(0), 1, priority, request(0, cpus));
        }
        let start = Instant::now();
        let started = drain(&mut core, Tick(1)).len();
        println!("first round over 10,000 priorities, {what}: {:.1?} for {started} starts", start.elapsed());
        measure("one submit after that", 1_000, |nth| {
            timed(&mut core, Tick(2), |core, now| {
                submit(core, now, 1, nth as i32 * 9, request(0, cpus));
            })
        });
    }
}
