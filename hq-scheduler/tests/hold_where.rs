//! A place is held where it can be given: not on a worker that never can, nor on one that a gang has without end.

use std::collections::{BTreeMap, VecDeque};

use hq_core::{
    GrantId, JobSpec, JobTarget, LaneReport, Ordinal, OrdinalRange, Outcome, Profile, Request, RunEnd, Span, Standing,
    Submit, TaskIds, TaskState, Tick, ToWorker, Work, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler};

/// Workers that answer at once; the task that started first ends first, but for gangs, which go on.
struct Cluster {
    core: Scheduler,
    now: Tick,
    lanes: BTreeMap<GrantId, (WorkerId, VecDeque<Ordinal>)>,
    running: VecDeque<(GrantId, Ordinal)>,
    /// How many were started, by worker.
    started: BTreeMap<WorkerId, u32>,
}

impl Cluster {
    /// Workers with so many cpus, of which so many percent have to be in use.
    fn new(workers: &[(u32, u32)]) -> Self {
        let (now, mut core) = (Tick(1_000_000), Scheduler::new());
        core.boot(Tick(0), "uid".into(), 0, "1".into());
        for (cpus, percent) in workers {
            let config = WorkerConfig::new("w", WorkerResources::cpus(*cpus).unwrap());
            core.join(now, WorkerConfig { min_utilization: percent * 100, ..config }).unwrap();
        }
        Self { core, now, lanes: BTreeMap::new(), running: VecDeque::new(), started: BTreeMap::new() }
    }

    fn submit(&mut self, priority: i32, tasks: u32, request: Request) -> Ordinal {
        self.submit_as(Profile { priority, ..Profile::new(request) }, tasks)
    }

    fn submit_as(&mut self, profile: Profile, tasks: u32) -> Ordinal {
        let target = JobTarget::New(JobSpec::default());
        let submit = Submit::array(target, TaskIds::Next(tasks), "program", vec![].into(), profile);
        let job = self.core.submit(self.now, submit).unwrap();
        self.drain();
        self.core.job(job).unwrap().submits[0].0
    }

    fn drain(&mut self) {
        let mut actions = 0;
        while let Some(action) = self.core.poll_action(self.now) {
            actions += 1;
            assert!(actions < 100_000, "it goes round and round: {action:?}");
            let Action::Send { worker, message } = action else { continue };
            match message {
                ToWorker::Open(open) => {
                    self.lanes.insert(open.grant, (worker, ordinals(&open.work)));
                    self.start(open.grant, open.request.nodes() == 0);
                }
                ToWorker::Extend { grant, work } => {
                    let idle = !self.running.iter().any(|(lane, _)| *lane == grant);
                    self.lanes.get_mut(&grant).unwrap().1.extend(ordinals(&work));
                    if idle {
                        self.start(grant, true);
                    }
                }
                ToWorker::Recall { grant, n, tasks } => {
                    let backlog = &mut self.lanes.get_mut(&grant).unwrap().1;
                    let is_called = |task: &Ordinal| tasks.iter().any(|range| range.contains(*task));
                    let tasks = backlog.iter().copied().filter(is_called).map(OrdinalRange::one).collect();
                    backlog.retain(|task| !is_called(task));
                    self.core.handle_event(self.now, News::Recalled { worker, grant, n, tasks });
                }
                ToWorker::Close { grant } => drop(self.lanes.remove(&grant)),
                _ => {}
            }
        }
    }

    fn start(&mut self, grant: GrantId, ends: bool) {
        let Some((worker, backlog)) = self.lanes.get_mut(&grant) else { return };
        let (worker, Some(task)) = (*worker, backlog.pop_front()) else { return };
        if ends {
            self.running.push_back((grant, task));
        }
        *self.started.entry(worker).or_default() += 1;
        let lane = LaneReport { grant, ended: vec![], started: Some((task, Span(0))) };
        self.core.handle_event(self.now, News::Report { worker, lane });
    }

    /// The oldest task ends, and the next of its lane starts.
    fn step(&mut self) {
        let (grant, task) = self.running.pop_front().unwrap();
        self.now = self.now.after(Span::secs(1));
        let worker = self.lanes[&grant].0;
        let ended = vec![RunEnd { task, age: Span(0), took: Span::secs(8), outcome: Outcome::Finished }];
        self.core.handle_event(self.now, News::Report { worker, lane: LaneReport { grant, ended, started: None } });
        self.start(grant, true);
        self.drain();
    }

    /// Whether a task starts before so many others have ended. What is said of `others` meanwhile is never that they are due.
    fn starts_within(&mut self, steps: u32, task: Ordinal, others: Ordinal) -> bool {
        for _ in 0..steps {
            if self.core.task(task).unwrap().state == TaskState::Running {
                return true;
            }
            let last = self.core.explain(self.now, others).unwrap();
            assert_ne!(last.standing, Standing::Due, "{last:?}");
            self.step();
        }
        false
    }

    fn started_on(&self, worker: u32) -> u32 {
        self.started.get(&WorkerId(worker)).copied().unwrap_or(0)
    }
}

fn ordinals(work: &[Work]) -> VecDeque<Ordinal> {
    let runs = work.iter().flat_map(|work| &work.runs);
    runs.flat_map(|run| (0..u64::from(run.numbers.count)).map(|i| run.first.plus(i))).collect()
}

fn cpus(n: u32) -> Request {
    Request::cpus(n).unwrap()
}

#[test]
fn not_where_too_little_would_be_in_use() {
    // 20 and 8 of 32 are too few.
    for high in [1, 3] {
        let mut cluster = Cluster::new(&[(32, 0), (32, 100)]);
        let low = cluster.submit(0, 400, cpus(8));
        let first = cluster.submit(10, high, cpus(20));
        assert!(cluster.starts_within(20, first, low.plus(399)), "of {high}");
        assert!(cluster.started_on(2) >= 4);
        let before = cluster.started_on(2);
        (0..40).for_each(|_| cluster.step());
        assert!(cluster.started_on(2) > before, "it goes on");
    }
}

#[test]
fn nothing_that_it_cannot_use_keeps_such_a_worker_idle() {
    for high in [1, 3] {
        let mut cluster = Cluster::new(&[(32, 100)]);
        cluster.submit(10, high, cpus(20));
        cluster.submit(0, 100, cpus(8));
        assert_eq!(cluster.started_on(1), 4, "of {high}");
    }
}

#[test]
fn where_company_brings_it_to_enough_use() {
    let mut cluster = Cluster::new(&[(32, 100)]);
    let low = cluster.submit(0, 400, cpus(8));
    cluster.submit(5, 1, cpus(12));
    let first = cluster.submit(10, 1, cpus(20));
    assert!(cluster.starts_within(20, first, low.plus(399)));
}

#[test]
fn not_where_a_gang_is() {
    for percent in [0, 50] {
        let mut cluster = Cluster::new(&[(4, percent), (4, percent)]);
        let gang = cluster.submit(0, 1, Request::gang(1));
        assert_eq!(cluster.core.task(gang).unwrap().state, TaskState::Running);
        let low = cluster.submit(0, 400, cpus(2));
        let first = cluster.submit(10, 1, cpus(3));
        assert!(cluster.starts_within(20, first, low.plus(399)));
    }
}

#[test]
fn not_where_a_gang_is_of_higher_id() {
    let mut cluster = Cluster::new(&[(4, 0)]);
    let low = cluster.submit(0, 400, cpus(2));
    cluster.core.join(cluster.now, WorkerConfig::new("w", WorkerResources::cpus(4).unwrap())).unwrap();
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
        let mut cluster = Cluster::new(&[(4, 0), (4, 0), (4, 0)]);
        cluster.submit(0, 400, cpus(1));
        let first = cluster.submit(10, 1, cpus(4));
        let second = cluster.submit_as(Profile { priority, time_limit: limit, ..Profile::new(cpus(4)) }, 1);
        let before: u32 = cluster.started.values().sum();
        // Those that ran on two of three workers end; beside them, only on the third others start.
        while cluster.core.task(second).unwrap().state != TaskState::Running {
            cluster.step();
        }
        assert_eq!(cluster.core.task(first).unwrap().state, TaskState::Running);
        let others = cluster.started.values().sum::<u32>() - before - 2;
        assert!(others <= 4, "{others} of less rank were started before {priority} {limit:?}");
    }
}
