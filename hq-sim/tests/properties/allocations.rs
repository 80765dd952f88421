//! I12: one queue, and all that a backend may answer in whatever order.

use std::{collections::BTreeMap, sync::Arc};

use hq_core::{
    BatchJob, Fact, LossReason, QueueId, QueueSpec, Rng, Span, Tick, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{
    Demand,
    autoscale::{Asked, Autoscaler, ScaleAction, ScaleKnobs, ScaleNews, ScaleOrder, ScaleStatus, Told},
};
use hq_sim::invariants::AllocationLimits;

const QUEUE: QueueId = QueueId(1);

/// One thing that the queue hears. Keys are numbered as they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Demand(u32),
    /// Also of one that has ended: the id comes back.
    Has(usize, &'static str),
    Refused(usize),
    Unsure(usize),
    Missing(usize),
    Running(usize),
    Ended(usize),
    Crashed(usize),
    Lost(usize),
    Arrived(&'static str),
    Gone,
    Canceled(usize, bool),
    Probed,
    Later(u64),
    Pause,
    Resume,
    Restart,
    Stop,
}

/// The queue, the invariant, and the facts so far.
struct Rig {
    now: Tick,
    machine: Autoscaler,
    limits: AllocationLimits,
    facts: Vec<(Tick, Fact)>,
    keys: Vec<String>,
    workers: BTreeMap<WorkerId, ()>,
    last_worker: u32,
    demand: u32,
}

impl Rig {
    fn new(backlog: u32, per_allocation: u32, max_workers: Option<u32>) -> Self {
        let spec = QueueSpec { backlog, workers_per_allocation: per_allocation, max_workers, ..QueueSpec::new("test") };
        let spec = QueueSpec { worker: Some(Arc::new(worker(None))), ..spec };
        let mut machine = Autoscaler::new(ScaleKnobs::default());
        machine.boot(Tick(0), "uid");
        machine.create(Tick(0), spec.clone()).expect("a queue");
        let limits = AllocationLimits::new(spec);
        let mut rig = Self {
            now: Tick(0),
            machine,
            limits,
            facts: vec![],
            keys: vec![],
            workers: BTreeMap::new(),
            last_worker: 0,
            demand: 0,
        };
        rig.settle().expect("nothing is asked for yet");
        rig
    }

    /// Whether it would be news: what is about a key that was never asked for cannot come.
    fn can_hear(&self, heard: Heard) -> bool {
        match heard {
            Heard::Has(n, _)
            | Heard::Refused(n)
            | Heard::Unsure(n)
            | Heard::Missing(n)
            | Heard::Running(n)
            | Heard::Ended(n)
            | Heard::Crashed(n)
            | Heard::Lost(n)
            | Heard::Canceled(n, _) => n < self.keys.len(),
            Heard::Gone => !self.workers.is_empty(),
            _ => true,
        }
    }

    fn hear(&mut self, heard: Heard) -> Result<(), String> {
        let now = self.now;
        let key = |n: usize| self.keys[n].clone();
        let error = "no".to_owned();
        let status = |n: usize, status| Told::Status(vec![(key(n), status)]);
        let told = match heard {
            Heard::Has(n, id) => {
                self.limits.hears_queued(&key(n), id);
                Told::Has { key: key(n), id: id.to_owned() }
            }
            Heard::Refused(n) => Told::Refused { key: key(n), error },
            Heard::Unsure(n) => Told::Unsure { key: key(n), error },
            Heard::Missing(n) => Told::Missing { key: key(n) },
            Heard::Running(n) => status(n, Ok(ScaleStatus::Running)),
            Heard::Ended(n) => status(n, Ok(ScaleStatus::Ended { error: None })),
            Heard::Crashed(n) => status(n, Ok(ScaleStatus::Ended { error: Some(error) })),
            Heard::Lost(n) => Told::Status(vec![(key(n), Err(error)); 25]),
            Heard::Canceled(n, is_well) => Told::Canceled { key: key(n), error: (!is_well).then_some(error) },
            Heard::Probed => Told::Probed { error: None },
            _ => {
                self.act(heard)?;
                return self.settle();
            }
        };
        self.machine.hear(now, ScaleNews { queue: QUEUE, told });
        self.settle()
    }

    fn act(&mut self, heard: Heard) -> Result<(), String> {
        match heard {
            Heard::Demand(workers) => {
                self.demand = workers;
                self.round();
            }
            Heard::Arrived(id) => {
                self.limits.hears_worker(id);
                self.last_worker += 1;
                let worker_id = WorkerId(self.last_worker);
                self.workers.insert(worker_id, ());
                self.observe(Fact::WorkerJoined { worker: worker_id, config: Arc::new(worker(Some(id))) });
            }
            Heard::Gone => {
                let Some((worker, ())) = self.workers.pop_first() else { return Ok(()) };
                self.observe(Fact::WorkerLost { worker, reason: LossReason::ConnectionLost });
            }
            Heard::Later(seconds) => {
                self.now = self.now.after(Span::secs(seconds));
                self.machine.handle_timeout(self.now);
                self.round();
            }
            Heard::Pause => _ = self.machine.pause(self.now, QUEUE),
            Heard::Resume => _ = self.machine.resume(self.now, QUEUE),
            Heard::Restart => {
                let mut again = Autoscaler::new(ScaleKnobs::default());
                self.facts.iter().for_each(|(at, fact)| again.replay(*at, fact));
                if again.book() != self.machine.book() {
                    return Err("I14: a replay gives another book".to_owned());
                }
                self.workers.clear();
                self.observe(Fact::Boot {
                    epoch: hq_core::Epoch(2),
                    server_uid: "uid".to_owned(),
                    wall: 0,
                    version: String::new(),
                });
                let (at, boot) = self.facts.last().expect("the boot");
                again.replay(*at, boot);
                again.boot(self.now, "uid");
                self.machine = again;
            }
            Heard::Stop => self.machine.stop(self.now, false),
            _ => {}
        }
        Ok(())
    }

    fn observe(&mut self, fact: Fact) {
        self.machine.observe(self.now, &fact);
        self.facts.push((self.now, fact));
    }

    fn round(&mut self) {
        let demand = self.demand;
        if self.machine.is_due(self.now) || demand > 0 {
            self.machine.round(self.now, |_| Demand { workers: vec![demand], gangs: vec![] });
        }
    }

    fn settle(&mut self) -> Result<(), String> {
        while let Some(action) = self.machine.poll_action() {
            self.limits.act(&action)?;
            if let ScaleAction::Record(fact) = action {
                if let Fact::AllocationIntended { key, .. } = &fact {
                    self.keys.push(key.clone());
                }
                self.facts.push((self.now, fact));
            }
        }
        self.limits.settled()
    }
}

fn worker(allocation: Option<&str>) -> WorkerConfig {
    let allocation = allocation.map(|id| BatchJob { manager: "Test".to_owned(), id: id.to_owned() });
    WorkerConfig { allocation, ..WorkerConfig::new("w", WorkerResources::cpus(1).expect("one")) }
}

const ALL: [Heard; 18] = [
    Heard::Demand(0),
    Heard::Demand(9),
    Heard::Has(0, "a"),
    Heard::Has(1, "b"),
    Heard::Has(1, "a"),
    Heard::Refused(0),
    Heard::Unsure(0),
    Heard::Missing(0),
    Heard::Running(0),
    Heard::Ended(0),
    Heard::Crashed(0),
    Heard::Lost(0),
    Heard::Arrived("a"),
    Heard::Gone,
    Heard::Canceled(0, true),
    Heard::Later(70),
    Heard::Restart,
    Heard::Stop,
];

const SHAPES: [(u32, u32, Option<u32>); 4] = [(2, 2, Some(3)), (1, 1, Some(1)), (9, 2, None), (2, 4, Some(4))];

#[test]
fn i12_all_interleavings_of_five() {
    let mut walked = 0u64;
    for (backlog, per_allocation, max) in SHAPES {
        let mut paths: Vec<Vec<Heard>> = vec![vec![Heard::Demand(9)]];
        while let Some(path) = paths.pop() {
            let mut rig = Rig::new(backlog, per_allocation, max);
            for heard in &path {
                rig.hear(*heard)
                    .unwrap_or_else(|what| panic!("{what} with {backlog} {per_allocation} {max:?} after {path:?}"));
            }
            walked += 1;
            if path.len() < 5 {
                let next = ALL.into_iter().filter(|heard| rig.can_hear(*heard));
                paths.extend(next.map(|heard| path.iter().copied().chain([heard]).collect()));
            }
            assert!(rig.limits.has_asked());
        }
    }
    assert!(walked > 10_000, "{walked} paths are not all");
}

#[test]
fn i12_long_random_walks() {
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let (backlog, per_allocation, max) = *rng.pick(&SHAPES);
        let mut rig = Rig::new(backlog, per_allocation, max);
        for _ in 0..80 {
            let n = rng.below(rig.keys.len() as u64 + 1) as usize;
            let id = *rng.pick(&["a", "b", "c", "d"]);
            let heard = match rng.below(22) {
                0..=2 => Heard::Demand(rng.below(9) as u32),
                3..=6 => Heard::Has(n, id),
                7 => Heard::Refused(n),
                8 => Heard::Unsure(n),
                9 => Heard::Missing(n),
                10 => Heard::Running(n),
                11 => Heard::Ended(n),
                12 => Heard::Crashed(n),
                13 => Heard::Lost(n),
                14 | 15 => Heard::Arrived(id),
                16 => Heard::Gone,
                17 => Heard::Canceled(n, rng.chance(50)),
                18 => Heard::Probed,
                19 => *rng.pick(&[Heard::Pause, Heard::Resume, Heard::Resume]),
                _ if rng.chance(20) => Heard::Restart,
                _ => Heard::Later(*rng.pick(&[1, 10, 70, 4000])),
            };
            if rig.can_hear(heard) {
                rig.hear(heard).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
            }
        }
    }
}

#[test]
fn i12_can_fail() {
    let spec = QueueSpec { workers_per_allocation: 2, max_workers: Some(3), ..QueueSpec::new("test") };
    let intended = |key: &str, workers| {
        ScaleAction::Record(Fact::AllocationIntended { queue: QUEUE, key: key.to_owned(), workers, dir: None })
    };
    let started = |key: &str| {
        ScaleAction::Record(Fact::AllocationStarted { queue: QUEUE, key: key.to_owned(), id: String::new() })
    };
    let ended = |key: &str| {
        ScaleAction::Record(Fact::AllocationEnded { queue: QUEUE, key: key.to_owned(), id: None, error: None })
    };
    let queued = |key: &str, id: &str| {
        ScaleAction::Record(Fact::AllocationQueued { queue: QUEUE, key: key.to_owned(), id: id.to_owned(), workers: 1 })
    };
    let order = |key: &str| {
        ScaleAction::Order(ScaleOrder::Submit {
            queue: QUEUE,
            spec: Arc::default(),
            key: key.to_owned(),
            number: 1,
            workers: 1,
            dir: None,
        })
    };
    let mut limits = AllocationLimits::new(spec.clone());
    limits.act(&intended("k1", 2)).unwrap();
    assert!(limits.act(&intended("k1", 1)).unwrap_err().contains("used twice"));
    assert!(limits.act(&intended("k2", 1)).unwrap_err().contains("2 allocations wait"));
    limits.act(&started("k1")).unwrap();
    limits.act(&started("k2")).unwrap();
    assert!(limits.act(&intended("k3", 2)).unwrap_err().contains("5 workers where 3 may be"));
    let mut limits = AllocationLimits::new(spec.clone());
    assert!(limits.act(&intended("k1", 3)).unwrap_err().contains("allocation of 3"));
    assert!(limits.act(&started("k9")).unwrap_err().contains("never asked for"));
    assert!(limits.act(&ended("k9")).unwrap_err().contains("ends twice"));
    assert!(limits.act(&order("k9")).unwrap_err().contains("without an intent"));
    limits.hears_queued("gone", "7");
    assert!(limits.settled().unwrap_err().contains("7 came back"));
    limits.hears_queued("gone", "7");
    let allocation = Asked { key: "gone".to_owned(), id: "7".to_owned(), dir: None };
    limits.act(&ScaleAction::Order(ScaleOrder::Cancel { queue: QUEUE, spec: Arc::default(), allocation })).unwrap();
    limits.settled().unwrap();
    // What was given up comes back, and counts.
    let mut limits = AllocationLimits::new(QueueSpec { backlog: 2, ..spec });
    limits.act(&intended("k1", 2)).unwrap();
    limits.act(&queued("k1", "1")).unwrap();
    limits.act(&started("k1")).unwrap();
    limits.act(&intended("k2", 1)).unwrap();
    assert!(limits.act(&queued("k2", "1")).unwrap_err().contains("both 1"));
    limits.act(&ended("k1")).unwrap();
    limits.act(&started("k2")).unwrap();
    limits.act(&intended("k3", 2)).unwrap();
    assert!(limits.act(&started("k1")).unwrap_err().contains("5 workers"));
}
