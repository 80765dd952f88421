use hq_core::{ClientRequest, JobTarget, Span, Submit, Tick, WorkerConfig};

use super::{Faults, world::World};
use crate::{report::Report, trace::Trace};

/// What is to be simulated.
///
/// ```
/// use hq_core::{JobSpec, JobTarget, Profile, Request, Span, Submit, TaskIds, WorkerConfig, WorkerResources};
/// use hq_sim::{RunSpec, SIM_KIND, Simulation};
///
/// let worker = WorkerConfig::new("node", WorkerResources::cpus(4).unwrap());
/// let profile = Profile::new(Request::cpus(1).unwrap());
/// let target = JobTarget::New(JobSpec::default());
/// let body = RunSpec::takes(Span::secs(10)).blob();
/// let tasks = Submit::array(target, TaskIds::Next(80), SIM_KIND, body, profile);
/// let outcome = Simulation::new(1).workers(2, &worker).policy("priority", "pack").submit_at(Span::secs(1), tasks).run();
/// let report = outcome.report.unwrap();
/// assert_eq!(report.counts.finished, 80);
/// assert!(report.makespan >= Span::secs(100) && report.makespan < Span::secs(101));
/// assert!(report.utilisation() > 9_800);
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    pub(super) seed: u64,
    pub(crate) faults: Faults,
    pub(crate) journal: bool,
    pub(crate) workers: Vec<(Span, WorkerConfig)>,
    pub(super) acts: Vec<(Span, Act)>,
    pub(super) clients: usize,
    /// How long faults go on; then come these workers, and all tasks have to end.
    pub(super) heal: Option<(Span, Vec<WorkerConfig>)>,
    pub(super) limit: Span,
    pub(super) keep: usize,
    /// How long whoever goes first may wait; none: nobody looks.
    pub(super) patience: Option<Span>,
    /// Whether orders and placements that propose anything can be chosen.
    pub(super) hostile: bool,
    /// How long a new life of the server waits for workers of the one before.
    pub(crate) adopt_timeout: Span,
}

/// What a client does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Asks this.
    Ask(ClientRequest),
    /// Submits to an open job that it knows, or to a new one.
    Attach(Box<Submit>),
    /// Asks something about a job, chosen at that time.
    AboutJob(fn(hq_core::JobId) -> ClientRequest),
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The figures, or the rule that was broken.
    pub report: Result<Report, Broken>,
    /// What went in and out.
    pub trace: Trace,
}

/// A rule was broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("seed {seed}, at {at} µs: {what}")]
pub struct Broken {
    /// The seed.
    pub seed: u64,
    /// When, by the simulation's clock.
    pub at: u64,
    /// Which rule, and how.
    pub what: String,
}

impl Simulation {
    /// An empty cluster without faults; it ends when nothing is left to do, after 10 virtual years at the latest.
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            faults: Faults::NONE,
            journal: false,
            workers: vec![],
            acts: vec![],
            clients: 1,
            heal: None,
            limit: Span::secs(315_360_000),
            keep: 0,
            patience: None,
            hostile: false,
            adopt_timeout: Span::secs(60),
        }
    }

    /// Workers that are there from the beginning, and know how to run [`SIM_KIND`](crate::SIM_KIND).
    #[must_use]
    pub fn workers(mut self, count: usize, config: &WorkerConfig) -> Self {
        for _ in 0..count {
            self = self.worker_at(Span::ZERO, config.clone());
        }
        self
    }

    /// A worker that comes later.
    #[must_use]
    pub fn worker_at(mut self, at: Span, mut config: WorkerConfig) -> Self {
        if !config.runs(crate::SIM_KIND) {
            config.kinds.push(crate::SIM_KIND.to_owned());
        }
        self.workers.push((at, config));
        self
    }

    /// Who decides, from the beginning.
    #[must_use]
    pub fn policy(self, order: &str, placement: &str) -> Self {
        let (order, placement) = (order.to_owned(), placement.to_owned());
        self.ask_at(Span::ZERO, ClientRequest::SetPolicy { order, placement })
    }

    /// Tasks that come at that time.
    #[must_use]
    pub fn submit_at(self, at: Span, submit: Submit) -> Self {
        self.ask_at(at, ClientRequest::Submit(Box::new(submit)))
    }

    /// A request of a client at that time.
    #[must_use]
    pub fn ask_at(self, at: Span, request: ClientRequest) -> Self {
        self.act_at(at, Act::Ask(request))
    }

    pub(crate) fn act_at(mut self, at: Span, act: Act) -> Self {
        self.acts.push((at, act));
        self
    }

    pub(crate) fn bare_worker_at(mut self, at: Span, config: WorkerConfig) -> Self {
        self.workers.push((at, config));
        self
    }

    /// It is a fault if the task of highest priority, and of these the first, waits longer for a worker that could run it: see
    /// [`NoStarvation`](crate::invariants::NoStarvation).
    #[must_use]
    pub const fn patience(mut self, patience: Span) -> Self {
        self.patience = Some(patience);
        self
    }

    pub(crate) const fn with_hostile_policies(mut self) -> Self {
        self.hostile = true;
        self
    }

    /// How long a new life of the server waits for workers of the one before.
    #[must_use]
    pub const fn adopt_timeout(mut self, timeout: Span) -> Self {
        self.adopt_timeout = timeout;
        self
    }

    /// How many clients share the requests.
    #[must_use]
    pub fn clients(mut self, count: usize) -> Self {
        self.clients = count.max(1);
        self
    }

    /// What may go wrong. With restarts of the server, a journal is kept.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.journal |= faults.restart > Span::ZERO;
        self.faults = faults;
        self
    }

    /// Whether replies wait for a disk.
    #[must_use]
    pub const fn journal(mut self, journal: bool) -> Self {
        self.journal = journal;
        self
    }

    /// After `after` all faults end, these workers come, and all tasks have to end within [`limit`](Self::limit) from then on.
    #[must_use]
    pub fn heal_after(mut self, after: Span, workers: Vec<WorkerConfig>) -> Self {
        self.heal = Some((after, workers));
        self
    }

    /// Virtual time after which it is over, ended or not.
    #[must_use]
    pub const fn limit(mut self, limit: Span) -> Self {
        self.limit = limit;
        self
    }

    /// Keeps the last lines of the trace.
    #[must_use]
    pub const fn keep_trace(mut self, lines: usize) -> Self {
        self.keep = lines;
        self
    }

    /// Whether a submit of it makes a job of its own.
    pub(super) fn is_new(submit: &Submit) -> bool {
        matches!(submit.job, JobTarget::New(_))
    }

    /// Runs it.
    pub fn run(self) -> Outcome {
        let seed = self.seed;
        let mut world = World::new(self);
        let result = world.run();
        let Tick(at) = world.now;
        Outcome { report: result.map_err(|what| Broken { seed, at, what }), trace: world.watch.trace }
    }
}
