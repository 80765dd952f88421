//! The scheduling core alone: counts first, then times beside each other in one run.
//!
//! `cargo bench -p hq-benches --bench core`
#![allow(clippy::print_stdout, missing_docs)]

mod rounds;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

use hq_core::{
    JobSpec, JobTarget, LaneReport, Ordinal, Outcome, Profile, Request, RunEnd, Span, Submit, TaskIds, Tick, ToWorker,
    WorkerConfig, WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler};

fn main() {
    if std::env::args().skip(1).all(|arg| arg.starts_with('-')) {
        waiting_array();
        array_through(1_000_000, 4);
        array_through(1_000_000, 64);
    }
    rounds::all();
}

fn submit(core: &mut Scheduler, now: Tick, tasks: u32, priority: i32, request: Request) -> hq_core::JobId {
    let profile = Profile { priority, ..Profile::new(request) };
    let submit =
        Submit::array(JobTarget::New(JobSpec::default()), TaskIds::Next(tasks), "program", vec![].into(), profile);
    core.submit(now, submit).unwrap()
}

fn core() -> Scheduler {
    let mut core = Scheduler::new();
    core.boot(Tick(0), "uid".into(), 0, "1".into());
    core
}

/// Heap and time of ten million waiting tasks.
fn waiting_array() {
    let mut core = core();
    while core.poll_action(Tick(0)).is_some() {}
    let before = ALLOCATED.load(Ordering::Relaxed);
    let start = Instant::now();
    let job = submit(&mut core, Tick(1), 10_000_000, 0, Request::cpus(1).unwrap());
    while core.poll_action(Tick(1)).is_some() {}
    let submitted = start.elapsed();
    let heap = ALLOCATED.load(Ordering::Relaxed) - before;
    let start = Instant::now();
    core.cancel(Tick(2), job, None);
    while core.poll_action(Tick(2)).is_some() {}
    println!("waiting array of 10 M: {heap} B heap; submit {submitted:?}, cancel {:?}", start.elapsed());
}

/// An array run through the core by workers that answer at once.
fn array_through(tasks: u32, lanes: u32) {
    let mut core = core();
    submit(&mut core, Tick(0), tasks, 0, Request::cpus(1).unwrap());
    core.join(Tick(0), WorkerConfig::new("w", WorkerResources::cpus(lanes).unwrap())).unwrap();
    let mut now = Tick(1);
    let start = Instant::now();
    let (mut done, mut rounds, mut facts) = (0u64, 0u64, 0u64);
    let mut inbox: Vec<(hq_core::WorkerId, hq_core::GrantId, Vec<Ordinal>)> = Vec::new();
    while done < u64::from(tasks) {
        rounds += 1;
        while let Some(action) = core.poll_batch(now) {
            match action {
                Action::Send { worker, message: ToWorker::OpenLanes(open) } => {
                    inbox.extend(open.lanes.into_iter().map(|lane| (worker, lane.grant, vec![lane.run.first])))
                }
                Action::Send { worker, message: ToWorker::Open(open) } => {
                    inbox.push((worker, open.grant, expand(&open.work)))
                }
                Action::Send { worker, message: ToWorker::Extend { grant, work } } => {
                    inbox.push((worker, grant, expand(&work)))
                }
                Action::Record(_) => facts += 1,
                _ => {}
            }
        }
        for (worker, grant, tasks) in inbox.drain(..) {
            now.0 += tasks.len() as u64;
            done += tasks.len() as u64;
            let ended =
                tasks.into_iter().map(|task| RunEnd { task, age: Span(0), took: Span(1), outcome: Outcome::Finished });
            let lane = LaneReport { grant, ended: ended.collect(), started: None };
            core.handle_event(now, News::Report { worker, lane });
        }
    }
    let took = start.elapsed();
    println!(
        "array of {tasks} over {lanes} lanes: {:.0} ns a task, {rounds} rounds, {facts} facts",
        took.as_nanos() as f64 / f64::from(tasks)
    );
}

fn expand(work: &[hq_core::Work]) -> Vec<Ordinal> {
    let runs = work.iter().flat_map(|work| &work.runs);
    runs.flat_map(|run| (0..u64::from(run.numbers.count)).map(|i| run.first.plus(i))).collect()
}

/// Counts what is allocated.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// How many allocations there were until now.
fn allocations() -> usize {
    ALLOCATIONS.load(Ordering::Relaxed)
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[expect(unsafe_code, reason = "an allocator is unsafe to write")]
// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}
