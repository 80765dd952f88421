//! Tasks in a backlog that turn out to wait behind long ones go to whoever can start them now.

mod common;

use std::collections::BTreeMap;

use common::{array, booted, node, ordinals};
use hq_core::{
    GrantId, LaneReport, Ordinal, Outcome, Profile, Request, RunEnd, Span, TaskState, Tick, ToWorker, WorkerId,
};
use hq_scheduler::{Action, News, Scheduler};

/// Workers that answer at once. Tasks of the first job take a millisecond, others do not end.
struct Cluster {
    core: Scheduler,
    now: Tick,
    backlogs: BTreeMap<GrantId, (WorkerId, Vec<Ordinal>)>,
}

impl Cluster {
    fn new() -> Self {
        Self { core: booted(), now: Tick(1_000_000), backlogs: BTreeMap::new() }
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
            let grant = match message {
                ToWorker::Open(open) => {
                    self.backlogs.insert(open.grant, (worker, ordinals(&open.work)));
                    open.grant
                }
                ToWorker::Extend { grant, work } => {
                    self.backlogs.get_mut(&grant).unwrap().1.extend(ordinals(&work));
                    continue;
                }
                ToWorker::Recall { grant, n, tasks } => {
                    self.backlogs
                        .get_mut(&grant)
                        .unwrap()
                        .1
                        .retain(|task| !tasks.iter().any(|run| run.contains(*task)));
                    self.core.handle_event(self.now, News::Recalled { worker, grant, n, tasks });
                    continue;
                }
                _ => continue,
            };
            let task = self.backlogs.get_mut(&grant).unwrap().1.remove(0);
            self.report(worker, LaneReport { grant, ended: vec![], started: Some((task, Span(0))) });
            if task == Ordinal(0) {
                let took = Span::millis(1);
                self.now = self.now.after(took);
                let ended = vec![RunEnd { task, age: Span(0), took, outcome: Outcome::Finished }];
                self.report(worker, LaneReport { grant, ended, started: None });
            }
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
        cluster.submit(1);
        assert_eq!(
            cluster.core.task(Ordinal(0)).unwrap().state,
            TaskState::Finished,
            "the class is known as a short one"
        );
        cluster.submit(8);
        assert_eq!(cluster.running(1..9), 2);
        let mut all = 2;
        for cpus in cpus {
            cluster.join(*cpus);
            all += *cpus as usize;
            assert_eq!(cluster.running(1..9), all.min(8), "after a worker of {cpus} cpus");
        }
    }
}
