//! I12: one queue, and all that a backend may answer in whatever order.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Fact, QueueId, QueueSpec, Rng, Span, Tick};
use hq_scheduler::autoscale::{Autoscaler, ScaleAction};
use hq_sim::invariants::AllocationLimits;

/// One thing that the queue hears. Keys are numbered as they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Demand(u32),
    /// Also of one that has ended: the id comes back.
    Queued(usize, &'static str),
    Refused(usize),
    Failed(usize),
    Started(usize),
    Ended(usize),
    Crashed(usize),
    Arrived(&'static str),
    Later,
    Restart,
    Stop,
}

/// The queue, the invariant, and the facts so far.
struct Rig {
    spec: QueueSpec,
    now: Tick,
    machine: Autoscaler,
    limits: AllocationLimits,
    facts: Vec<Fact>,
    keys: Vec<String>,
    ended: BTreeSet<String>,
    demand: u32,
}

impl Rig {
    fn new(backlog: u32, per_allocation: u32, max_workers: Option<u32>) -> Self {
        let spec = QueueSpec {
            backend: "test".to_owned(),
            backlog,
            workers_per_allocation: per_allocation,
            max_workers,
            time_limit: None,
            worker: None,
        };
        let machine = Autoscaler::new(QueueId(1), spec.clone(), "uid");
        let limits = AllocationLimits::new(spec.clone());
        Self { spec, now: Tick(0), machine, limits, facts: vec![], keys: vec![], ended: BTreeSet::new(), demand: 0 }
    }

    /// Whether it would be news: what is about a key that was never asked for cannot come.
    fn can_hear(&self, heard: Heard) -> bool {
        match heard {
            Heard::Queued(n, _)
            | Heard::Refused(n)
            | Heard::Failed(n)
            | Heard::Started(n)
            | Heard::Ended(n)
            | Heard::Crashed(n) => n < self.keys.len(),
            _ => true,
        }
    }

    fn hear(&mut self, heard: Heard) -> Result<(), String> {
        let key = |n: usize| self.keys[n].clone();
        let (machine, now) = (&mut self.machine, self.now);
        match heard {
            Heard::Demand(workers) => {
                self.demand = workers;
                machine.set_demand(now, workers, &BTreeMap::new());
            }
            Heard::Queued(n, id) => {
                let key = key(n);
                self.limits.hears_queued(&key, id);
                machine.queued(now, &key, id.to_owned());
            }
            Heard::Refused(n) => machine.failed(now, &key(n), Some("no".to_owned())),
            Heard::Failed(n) => machine.failed(now, &key(n), None),
            Heard::Started(n) => machine.started(now, &key(n)),
            Heard::Ended(n) => machine.ended(now, &key(n), None),
            Heard::Crashed(n) => machine.ended(now, &key(n), Some("at once".to_owned())),
            Heard::Arrived(id) => machine.set_demand(now, self.demand, &BTreeMap::from([(id.to_owned(), 1)])),
            Heard::Later => {
                self.now = now.after(Span::secs(70));
                machine.handle_timeout(self.now);
            }
            Heard::Restart => {
                let mut again = Autoscaler::new(QueueId(1), self.spec.clone(), "uid");
                self.facts.iter().for_each(|fact| again.replay(fact));
                again.boot(now);
                self.machine = again;
            }
            Heard::Stop => machine.stop(),
        }
        while let Some(action) = self.machine.poll_action() {
            self.limits.act(&action)?;
            if let ScaleAction::Record(fact) = action {
                match &fact {
                    Fact::AllocationIntended { key, .. } => self.keys.push(key.clone()),
                    Fact::AllocationEnded { key, .. } => _ = self.ended.insert(key.clone()),
                    _ => {}
                }
                self.facts.push(fact);
            }
        }
        self.limits.settled()
    }
}

const ALL: [Heard; 16] = [
    Heard::Demand(0),
    Heard::Demand(3),
    Heard::Demand(9),
    Heard::Queued(0, "a"),
    Heard::Queued(1, "b"),
    Heard::Queued(1, "a"),
    Heard::Refused(0),
    Heard::Failed(1),
    Heard::Started(0),
    Heard::Ended(0),
    Heard::Crashed(0),
    Heard::Ended(1),
    Heard::Arrived("a"),
    Heard::Later,
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
                rig.hear(*heard).unwrap_or_else(|what| panic!("{what} in {:?} after {path:?}", rig.spec));
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
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let (backlog, per_allocation, max) = *rng.pick(&SHAPES);
        let mut rig = Rig::new(backlog, per_allocation, max);
        for _ in 0..60 {
            let n = rng.below(rig.keys.len() as u64 + 1) as usize;
            let id = *rng.pick(&["a", "b", "c"]);
            let heard = match rng.below(12) {
                0..=2 => Heard::Demand(rng.below(9) as u32),
                3 | 4 => Heard::Queued(n, id),
                5 => Heard::Refused(n),
                6 => Heard::Failed(n),
                7 => Heard::Started(n),
                8 => Heard::Ended(n),
                9 => Heard::Crashed(n),
                10 => Heard::Arrived(id),
                _ if rng.chance(30) => Heard::Restart,
                _ => Heard::Later,
            };
            if rig.can_hear(heard) {
                rig.hear(heard).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
            }
        }
    }
}

#[test]
fn i12_can_fail() {
    let spec = Rig::new(1, 2, Some(3)).spec;
    let intended = |key: &str, workers| {
        ScaleAction::Record(Fact::AllocationIntended { queue: QueueId(1), key: key.to_owned(), workers })
    };
    let started = |key: &str| ScaleAction::Record(Fact::AllocationStarted { queue: QueueId(1), key: key.to_owned() });
    let mut limits = AllocationLimits::new(spec.clone());
    limits.act(&intended("k1", 2)).unwrap();
    assert!(limits.act(&intended("k1", 1)).unwrap_err().contains("used twice"));
    assert!(limits.act(&intended("k2", 1)).unwrap_err().contains("2 allocations wait"));
    limits.act(&started("k1")).unwrap();
    limits.act(&started("k2")).unwrap();
    assert!(limits.act(&intended("k3", 2)).unwrap_err().contains("5 workers where 3 may be"));
    let mut limits = AllocationLimits::new(spec);
    assert!(limits.act(&intended("k1", 3)).unwrap_err().contains("allocation of 3"));
    assert!(limits.act(&started("k9")).unwrap_err().contains("after its end"));
    assert!(
        limits
            .act(&ScaleAction::Submit { key: "k9".to_owned(), workers: 1 })
            .unwrap_err()
            .contains("without an intent")
    );
    limits.hears_queued("gone", "7");
    assert!(limits.settled().unwrap_err().contains("7 came back"));
    limits.hears_queued("gone", "7");
    limits.act(&ScaleAction::Cancel { id: "7".to_owned() }).unwrap();
    limits.settled().unwrap();
}
