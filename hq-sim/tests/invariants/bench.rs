//! What an invariant is shown: facts one by one, and steps that are over.

use std::sync::Arc;

use hq_core::{
    Allocation, Amount, DepKind, Deps, End, Ends, Epoch, Fact, GrantId, GrantedResource, JobId, JobSpec, JobTarget,
    LossReason, Ordinal, OrdinalRange, Piece, Profile, Record, Request, ResourceName, Span, Submit, TaskIds,
    TaskNumber, Tick, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::Scheduler;
use hq_sim::{
    Model,
    invariants::{Invariant, Step, What},
};

/// One invariant, the books, and a core that has replayed every fact.
pub(crate) struct Bench<I> {
    invariant: I,
    pub(crate) model: Model,
    pub(crate) core: Scheduler,
}

impl<I: Invariant> Bench<I> {
    /// Four tasks of that request, the second waiting for the first, and two workers.
    pub(crate) fn new(invariant: I, request: Request) -> Self {
        Self::of(invariant, vec![Profile::new(request)], &[])
    }

    /// The same with tasks of several profiles, the n-th of the `n`-th one named.
    pub(crate) fn of(invariant: I, profiles: Vec<Profile>, profile_of: &[u16]) -> Self {
        let mut bench = Self { invariant, model: Model::default(), core: Scheduler::new() };
        bench.good(Fact::Boot { epoch: Epoch(1), server_uid: "u".into(), wall: 0, version: "0".into() });
        let mut submit = Submit::array(
            JobTarget::New(JobSpec::default()),
            TaskIds::Given(hq_core::IdList::range(0, 4)),
            "program",
            vec![].into(),
            profiles[0].clone(),
        );
        submit.profiles = profiles;
        submit.profile_of = profile_of.to_vec();
        submit.deps = Deps::new([vec![], vec![(TaskNumber(0), DepKind::Success)], vec![], vec![]]).unwrap();
        bench.good(Fact::Submitted { job: JobId(1), base: Ordinal(0), submit: Arc::new(submit) });
        bench.join(1, |_| {});
        bench.join(2, |config| config.time_limit = Some(Span::secs(5)));
        bench
    }

    pub(crate) fn join(&mut self, worker: u32, change: fn(&mut WorkerConfig)) {
        let mut config = WorkerConfig::new("w", WorkerResources::cpus(2).unwrap());
        change(&mut config);
        self.good(Fact::WorkerJoined { worker: WorkerId(worker), config: Arc::new(config) });
    }

    pub(crate) fn see(&mut self, what: What<'_>) -> Result<(), String> {
        self.invariant.observe(&Step { at: Tick(10), what, model: &self.model })
    }

    pub(crate) fn good(&mut self, fact: Fact) {
        let record = Record { at: Tick(10), fact };
        self.see(What::Fact(&record)).unwrap();
        self.core.replay(&record).unwrap();
        self.model.apply(&record);
        let core = std::mem::take(&mut self.core);
        self.see(What::Settled(&core)).unwrap();
        self.core = core;
    }

    pub(crate) fn bad(&mut self, fact: Fact) -> String {
        let record = Record { at: Tick(10), fact };
        self.see(What::Fact(&record)).unwrap_err()
    }

    /// Looks at the end of a step again and again: most invariants of progress look at one in so many.
    pub(crate) fn settled(&mut self) -> Result<(), String> {
        let core = std::mem::take(&mut self.core);
        let seen = (0..32).try_for_each(|_| self.see(What::Settled(&core)));
        self.core = core;
        seen
    }

    /// The books know of a fact that the core does not.
    pub(crate) fn bad_for_the_core(&mut self, fact: Fact) -> String {
        let record = Record { at: Tick(10), fact };
        self.see(What::Fact(&record)).unwrap();
        self.model.apply(&record);
        let core = std::mem::take(&mut self.core);
        self.see(What::Settled(&core)).unwrap_err()
    }
}

pub(crate) fn one_cpu() -> Request {
    Request::cpus(1).unwrap()
}

pub(crate) fn grant(n: u32) -> GrantId {
    GrantId { epoch: Epoch(1), n }
}

pub(crate) fn cpu(index: u32) -> Allocation {
    let pieces = vec![Piece { index, amount: Amount::ONE }];
    Allocation(vec![GrantedResource { resource: ResourceName::cpus(), amount: Amount::ONE, pieces }])
}

pub(crate) fn opened(n: u32, workers: &[u32], allocation: Allocation, task: u64) -> Fact {
    Fact::GrantOpened {
        grant: grant(n),
        workers: workers.iter().copied().map(WorkerId).collect(),
        class: None,
        variant: 0,
        allocation: allocation.into(),
        tasks: vec![OrdinalRange::one(Ordinal(task))],
    }
}

pub(crate) fn finished(n: u32, task: u64) -> Fact {
    Fact::TasksFinished {
        grant: grant(n),
        ends: Ends::new([End { task: Ordinal(task), start: Tick(1), end: Tick(2) }]),
    }
}

pub(crate) fn canceled(task: u64) -> Fact {
    Fact::TasksCanceled { tasks: vec![OrdinalRange::one(Ordinal(task))] }
}

pub(crate) fn lost(worker: u32) -> Fact {
    Fact::WorkerLost { worker: WorkerId(worker), reason: LossReason::ConnectionLost }
}
