//! A model that has seen something of everything, for tests.

use std::sync::Arc;

use hq_core::{
    AllocationInfo, AllocationState, HardwareState, JobDetail, JobId, NetworkCounters, PauseCause, QueueId, QueueInfo,
    QueueSpec, Share, Span, TaskCounts, TaskState, WallTime, WorkerId, WorkerInfo,
};
use jiff::tz::TimeZone;

use super::model::{LINES_MAX, Model, News, RunningTask, Sight, Source};
use crate::testing::samples;

/// 2026-01-31 07:33:00 UTC, and that many seconds later.
pub(super) fn at(seconds: u64) -> WallTime {
    WallTime(1_769_844_780_000_000 + seconds * 1_000_000)
}

/// The name of a job that would act on a terminal.
const EVIL: &str = "\u{1b}[31mred\u{202e}\nname";

fn details() -> Vec<JobDetail> {
    let mut graph = samples::graph_job();
    graph.info.id = JobId(4);
    graph.info.spec.name = EVIL.to_owned();
    vec![samples::running_array(), samples::failed_job(), graph]
}

pub(super) fn machine(cpu: u16, when: WallTime) -> Box<HardwareState> {
    Box::new(HardwareState {
        at: when,
        cpus: vec![Share(cpu), Share(10_000 - cpu), Share(5_000), Share(5_000)],
        memory_total: 4 << 30,
        memory_free: 1 << 30,
        network: NetworkCounters::default(),
        nvidia: None,
        amd: None,
    })
}

fn workers() -> Vec<WorkerInfo> {
    let mut workers = samples::workers();
    workers.insert(1, WorkerInfo { id: WorkerId(2), started: at(60), ..samples::busy_worker() });
    workers
}

fn queues() -> Vec<QueueInfo> {
    let first = QueueSpec { time_limit: Some(Span::secs(180)), name: Some("foo".to_owned()), ..QueueSpec::new("pbs") };
    let queue = |id, spec, paused| QueueInfo { id: QueueId(id), spec: Arc::new(spec), paused, known: None };
    vec![queue(1, first, None), queue(2, QueueSpec::new("slurm"), Some(PauseCause::User))]
}

fn allocations() -> Vec<AllocationInfo> {
    let one = |id: u64, state, started: Option<u64>, ended: Option<u64>| AllocationInfo {
        queue: QueueId(1),
        id: format!("{id}.job"),
        workers: 2,
        state,
        queued: at(id * 30),
        started: started.map(at),
        ended: ended.map(at),
        error: None,
        dir: None,
    };
    vec![
        one(1, AllocationState::Finished, Some(40), Some(100)),
        one(2, AllocationState::Failed, None, Some(70)),
        one(3, AllocationState::Running, Some(120), None),
        one(4, AllocationState::Queued, None, None),
    ]
}

/// Everything that a source could tell, of one moment.
pub(super) fn sights() -> Vec<Sight> {
    let details = details();
    let point = |seconds: u64, running, finished| {
        (
            at(seconds),
            JobId(2),
            TaskCounts { running, finished, waiting: 10 - running - finished, ..Default::default() },
        )
    };
    let lines = details.iter().map(|detail| detail.info.clone()).collect();
    let running = details[0].tasks.iter().filter(|task| task.state == TaskState::Running);
    let running = running.map(|info| RunningTask { job: JobId(2), info: info.clone() }).collect();
    let mut sights = vec![
        Sight::Reach(at(0), at(0)),
        Sight::Sample(vec![point(60, 4, 0), point(120, 4, 3), point(180, 2, 4)]),
        Sight::Jobs { at: at(200), whole: true, lines, gone: vec![JobId(99)] },
        Sight::Workers(workers()),
        Sight::Hardware(WorkerId(1), machine(2_000, at(100))),
        Sight::Hardware(WorkerId(1), machine(9_000, at(160))),
        Sight::Running { worker: WorkerId(1), tasks: running },
        Sight::QueueChanged { queue: QueueId(1), at: at(20), removed: false },
        Sight::QueueChanged { queue: QueueId(3), at: at(20), removed: false },
        Sight::QueueChanged { queue: QueueId(3), at: at(50), removed: true },
        Sight::Queues(queues()),
        Sight::Allocations(QueueId(1), allocations()),
    ];
    sights.extend(details.into_iter().rev().map(|detail| Sight::Job(Box::new(detail))));
    sights
}

/// A model that has seen all that.
pub(super) fn model(source: Source) -> Model {
    let mut model = Model::new(source, "server asShcJ".to_owned(), at(240), TimeZone::UTC, true);
    let of = (source == Source::Replay).then(|| at(240));
    sights().into_iter().for_each(|sight| model.see(News { of, sight }));
    model
}

/// More jobs than are kept.
pub(super) fn many_jobs() -> Sight {
    let lines = (1..=LINES_MAX + 500).map(samples::job).collect();
    Sight::Jobs { at: at(201), whole: true, lines, gone: vec![] }
}
