//! Tasks in a backlog that turn out to wait behind long ones go to whoever can start them now.

mod common;

use std::collections::BTreeMap;

use common::{array, booted, node, ordinals};
use hq_core::{
    GrantId, HeldGrant, LaneReport, Ordinal, OrdinalRange, Outcome, Profile, Request, RunEnd, Span, TaskState, Tick,
    ToWorker, WorkerId,
};
use hq_scheduler::{Action, News, Scheduler};

/// Workers that answer at once. Tasks of the first job take a millisecond, others do not end.
struct Cluster {
    core: Scheduler,
    now: Tick,
    backlogs: BTreeMap<GrantId, (WorkerId, Vec<Ordinal>)>,
    /// What each lane runs.
    begun: BTreeMap<GrantId, Ordinal>,
}

impl Cluster {
    fn new() -> Self {
        Self { core: booted(), now: Tick(1_000_000), backlogs: BTreeMap::new(), begun: BTreeMap::new() }
    }

    fn submit(&mut self, tasks: u32) {
        let profile = Profile::new(Request::cpus(1).unwrap());
        let submit = array(tasks, profile);
        self.core.submit(self.now, submit).unwrap();
        self.run();
    }

    fn join(&mut self, cpus: u32) {
        self.core.join(self.now, node(cpus)).unwrap();
        self.run();
    }

    fn run(&mut self) {
        while let Some(action) = self.core.poll_action(self.now) {
            let Action::Send { worker, message } = action else { continue };
            match message {
                ToWorker::Open(open) => {
                    self.backlogs.insert(open.grant, (worker, ordinals(&open.work)));
                    self.begin(worker, open.grant);
                }
                ToWorker::Extend { grant, work } => {
                    self.backlogs.get_mut(&grant).unwrap().1.extend(ordinals(&work));
                    if !self.begun.contains_key(&grant) {
                        self.begin(worker, grant);
                    }
                }
                ToWorker::Recall { grant, n, tasks } => {
                    let (_, backlog) = self.backlogs.get_mut(&grant).unwrap();
                    backlog.retain(|task| !tasks.iter().any(|run| run.contains(*task)));
                    self.core.handle_event(self.now, News::Recalled { worker, grant, n, tasks });
                }
                _ => {}
            }
        }
    }

    /// A lane begins its next task.
    fn begin(&mut self, worker: WorkerId, grant: GrantId) {
        let (_, backlog) = self.backlogs.get_mut(&grant).unwrap();
        if backlog.is_empty() {
            return;
        }
        let task = backlog.remove(0);
        self.begun.insert(grant, task);
        self.report(worker, LaneReport { grant, ended: vec![], started: Some((task, Span(0))) });
        if task == Ordinal(0) {
            self.begun.remove(&grant);
            let took = Span::millis(1);
            self.now = self.now.after(took);
            let ended = vec![RunEnd { task, age: Span(0), took, outcome: Outcome::Finished }];
            self.report(worker, LaneReport { grant, ended, started: None });
            self.begin(worker, grant);
        }
    }

    fn report(&mut self, worker: WorkerId, lane: LaneReport) {
        self.core.handle_event(self.now, News::Report { worker, lane });
    }

    fn running(&self, tasks: std::ops::Range<u64>) -> usize {
        tasks.filter(|task| self.core.task(Ordinal(*task)).is_some_and(|task| task.state == TaskState::Running)).count()
    }
}

#[test]
fn new_workers_empty_the_backlogs_of_others() {
    for cpus in [&[2, 2, 2][..], &[6], &[1; 6], &[1, 8]] {
        let mut cluster = Cluster::new();
        cluster.join(2);
        cluster.submit(41); // of which the first is short
        assert_eq!(cluster.running(1..41), 2);
        assert!(cluster.backlogs.values().any(|(_, backlog)| !backlog.is_empty()), "there are backlogs");
        let mut all = 2;
        for cpus in cpus {
            cluster.join(*cpus);
            all += *cpus as usize;
            assert_eq!(cluster.running(1..41), all.min(40), "after a worker of {cpus} cpus");
        }
    }
}

#[test]
fn backlogs_that_come_back_go_to_whoever_has_room_since() {
    let mut cluster = Cluster::new();
    cluster.join(2);
    cluster.submit(41); // of which the first is short
    assert_eq!(cluster.running(1..41), 2);
    let kept: usize = cluster.backlogs.values().map(|(_, backlog)| backlog.len()).sum();
    assert!(kept > 0, "there are backlogs");
    let worker = WorkerId(1);
    assert!(cluster.core.suspend(cluster.now, worker));
    cluster.join(60);
    assert_eq!(cluster.running(1..41), 38 - kept, "what waits there is its own while it is away");
    let held = |(grant, (_, backlog)): (&GrantId, &(WorkerId, Vec<Ordinal>))| {
        let running = cluster.begun.get(grant).map(|task| (*task, Span::secs(1)));
        let backlog = backlog.iter().map(|task| OrdinalRange::new(*task, 1)).collect();
        HeldGrant { grant: *grant, running, backlog }
    };
    let held: Vec<HeldGrant> = cluster.backlogs.iter().map(held).collect();
    let kept = cluster.core.take_back(cluster.now, worker, &held, &[]).unwrap();
    cluster.core.go_on(worker, &kept);
    cluster.run();
    assert_eq!(cluster.running(1..41), 40);
}
