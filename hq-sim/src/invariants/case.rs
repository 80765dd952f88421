//! Random small states for properties of one decision.

use hq_core::{
    Allocation, Amount, CouplingItem, Fact, JobSpec, JobTarget, LossReason, Ordinal, Policy, Profile, Quantity,
    Request, ResourceDef, ResourceEntry, ResourceKind, ResourceName, Rng, Submit, TaskIds, Tick, Variants,
    WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, Canceling, News, Scheduler};

/// A small state in which properties of one decision are tried out: workers, and tasks that wait.
#[derive(Clone, Debug)]
pub struct Case {
    /// They join in this order.
    pub workers: Vec<WorkerResources>,
    /// Submitted in this order.
    pub tasks: Vec<CaseTasks>,
}

/// Some tasks that are alike.
#[derive(Clone, Debug)]
pub struct CaseTasks {
    /// What each needs.
    pub variants: Variants,
    /// Larger first.
    pub priority: i32,
    /// How many.
    pub count: u32,
}

/// Where one task starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which of the workers, from 0.
    pub worker: usize,
    /// Which of the kinds of tasks, from 0.
    pub kind: usize,
    /// Which of its requests.
    pub variant: u8,
    /// What it gets.
    pub allocation: Allocation,
}

/// Who decides.
#[derive(Clone, Debug)]
pub struct Decider {
    /// An empty core that knows the policies.
    pub core: fn() -> Scheduler,
    /// By its name.
    pub order: String,
    /// By its name.
    pub placement: String,
}

impl Decider {
    /// Each order with each placement that the core knows.
    pub fn all(core: fn() -> Scheduler) -> Vec<Self> {
        let known = core();
        let placements: Vec<&str> = known.placements().collect();
        let with =
            |order: &str, placement: &str| Self { core, order: order.to_owned(), placement: placement.to_owned() };
        known.orders().flat_map(|order| placements.iter().map(move |placement| with(order, placement))).collect()
    }
}

/// How tasks come, and what came before them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// Tasks come one by one and not as arrays.
    pub one_by_one: bool,
    /// So many workers came and went, and as many tasks were cancelled, before anything else.
    pub before: u32,
}

impl Case {
    /// Up to four workers and six tasks, of three resources, with amounts at and beside the borders.
    pub fn random(rng: &mut Rng) -> Self {
        let workers: Vec<WorkerResources> = (0..rng.range(1, 4)).map(|_| worker(rng)).collect();
        let mut left = rng.range(1, 6) as u32;
        let mut tasks = Vec::new();
        while left > 0 {
            let count = rng.range(1, left.into()) as u32;
            left -= count;
            let on = rng.pick(&workers).clone();
            let requests = (0..if rng.chance(20) { 2 } else { 1 }).map(|_| request(rng, &on)).collect();
            let Ok(variants) = Variants::new(requests) else { continue };
            // Equal priorities more often than not.
            tasks.push(CaseTasks { variants, priority: if rng.chance(70) { 0 } else { rng.below(3) as i32 }, count });
        }
        Self { workers, tasks }
    }

    /// The same tasks, all of one priority.
    #[must_use]
    pub fn flat(mut self) -> Self {
        self.tasks.iter_mut().for_each(|tasks| tasks.priority = 0);
        self
    }

    /// A core that has decided once, and what it decided.
    ///
    /// # Errors
    /// Where it refuses what it is told.
    pub fn decide(&self, by: &Decider, manner: Manner) -> Result<(Scheduler, Vec<Placed>), String> {
        let mut core = (by.core)();
        core.boot(Tick(0), "case".into(), 0, "1".into());
        core.set_policy(Tick(0), &by.order, &by.placement).map_err(|refusal| refusal.to_string())?;
        drain(&mut core);
        for _ in 0..manner.before {
            come_and_go(&mut core)?;
        }
        let first_worker = core.last_worker().map_or(0, |worker| worker.0) + 1;
        let first_task = u64::from(manner.before);
        for worker in &self.workers {
            let joined = core.join(Tick(1), WorkerConfig::new("case", worker.clone()));
            joined.map_err(|refusal| refusal.to_string())?;
        }
        let mut kinds = Vec::new();
        for (kind, tasks) in self.tasks.iter().enumerate() {
            let at_once = if manner.one_by_one { 1 } else { tasks.count };
            for _ in 0..tasks.count / at_once {
                let job = core.submit(Tick(1), submit(tasks, at_once)).map_err(|refusal| refusal.to_string())?;
                debug_assert!(core.job(job).is_some());
            }
            kinds.extend((0..tasks.count).map(|_| kind));
        }
        let opened = drain(&mut core).into_iter().filter_map(|fact| match fact {
            Fact::GrantOpened { workers, variant, allocation, tasks, .. } => {
                let Ordinal(task) = tasks.first()?.start;
                let worker = workers.first()?.0.checked_sub(first_worker)? as usize;
                let kind = *kinds.get((task - first_task) as usize)?;
                Some(Placed { worker, kind, variant, allocation: (*allocation).clone() })
            }
            _ => None,
        });
        let placed: Vec<Placed> = opened.collect();
        Ok((core, placed))
    }
}

fn submit(tasks: &CaseTasks, count: u32) -> Submit {
    let profile = Profile { priority: tasks.priority, ..Profile::new(tasks.variants.clone()) };
    Submit::array(JobTarget::New(JobSpec::default()), TaskIds::Next(count), "program", vec![].into(), profile)
}

fn come_and_go(core: &mut Scheduler) -> Result<(), String> {
    let cpus = WorkerResources::cpus(1).map_err(|error| error.to_string())?;
    let worker = core.join(Tick(0), WorkerConfig::new("gone", cpus)).map_err(|refusal| refusal.to_string())?;
    core.handle_event(Tick(0), News::WorkerLost { worker, reason: LossReason::Stopped });
    let one = CaseTasks { variants: Request::gang(1).into(), priority: 0, count: 1 };
    let job = core.submit(Tick(0), submit(&one, 1)).map_err(|refusal| refusal.to_string())?;
    match core.cancel(Tick(0), job, None) {
        Canceling::Done(_) => {}
        Canceling::Pending(_) => return Err("a task that never ran is called back".to_owned()),
    }
    drain(core);
    Ok(())
}

fn drain(core: &mut Scheduler) -> Vec<Fact> {
    let actions = std::iter::from_fn(|| core.poll_action(Tick(1)));
    let fact = |action| if let Action::Record(fact) = action { Some(fact) } else { None };
    actions.filter_map(fact).collect()
}

fn worker(rng: &mut Rng) -> WorkerResources {
    let mut defs = vec![ResourceDef {
        name: ResourceName::cpus(),
        kind: groups(rng, &[&[1], &[4], &[2, 2], &[3, 1], &[1, 1, 1]]),
    }];
    if rng.chance(60) {
        defs.extend(def("gpus", groups(rng, &[&[1], &[2], &[1, 1], &[1, 2]])));
    }
    if rng.chance(50) {
        let sum = *rng.pick(&[1, 3_333, 10_000, 10_001, 25_000]);
        defs.extend(def("mem", ResourceKind::Sum(Amount::from_parts(sum))));
    }
    let coupling = if rng.chance(50) { coupling(rng, &defs) } else { vec![] };
    let plain = WorkerResources::cpus(1).expect("one cpu is a worker");
    WorkerResources::new(defs, coupling).unwrap_or(plain)
}

/// Groups of the first two resources that are near each other, as far as both have several: side by side, crosswise, one near
/// several others, more or less near.
pub(crate) fn coupling(rng: &mut Rng, defs: &[ResourceDef]) -> Vec<CouplingItem> {
    let sizes: Vec<u16> = defs.iter().take(2).map(|def| def.kind.group_sizes().len() as u16).collect();
    let [first @ 2..=u16::MAX, second @ 2..=u16::MAX] = sizes[..] else { return vec![] };
    let mut items = Vec::new();
    for group1_idx in 0..first {
        for group2_idx in 0..second {
            if rng.chance(if group1_idx == group2_idx { 80 } else { 25 }) {
                let weight = *rng.pick(&[1, 128, 256, 256]);
                items.push(CouplingItem { resource1_idx: 0, group1_idx, resource2_idx: 1, group2_idx, weight });
            }
        }
    }
    items
}

fn def(name: &str, kind: ResourceKind) -> Option<ResourceDef> {
    Some(ResourceDef { name: ResourceName::new(name).ok()?, kind })
}

fn groups(rng: &mut Rng, shapes: &[&[u32]]) -> ResourceKind {
    let mut next = 0..;
    let labels = |size: &u32| next.by_ref().take(*size as usize).map(|label: u32| label.to_string()).collect();
    ResourceKind::Groups(rng.pick(shapes).iter().map(labels).collect())
}

/// Something that fits the idle worker, or just does not.
pub fn request(rng: &mut Rng, on: &WorkerResources) -> Request {
    let mut entries = Vec::new();
    for def in on.resources() {
        let capacity = def.kind.total().parts();
        let part = *rng.pick(&[1_429, 2_857, 3_333, 5_000, 6_667, 9_999]);
        let units = capacity / Amount::PARTS;
        let amount = match rng.below(10) {
            0 => continue, // nothing of it
            1 => capacity,
            2 => capacity + 1,
            3 => capacity + Amount::PARTS,
            4 => capacity.saturating_sub(1),
            5 => capacity.saturating_sub(Amount::PARTS),
            6 => part,
            7 => Amount::PARTS + part,
            _ => rng.range(1, units.max(1)) * Amount::PARTS,
        };
        let policy =
            *rng.pick(&[Policy::Compact, Policy::Tight, Policy::Scatter, Policy::ForceCompact, Policy::ForceTight]);
        let quantity =
            if rng.chance(5) { Quantity::All } else { Quantity::Amount(Amount::from_parts(amount.max(1)), policy) };
        entries.push(ResourceEntry { resource: def.name.clone(), quantity });
    }
    Request::new(entries).unwrap_or_else(|_| Request::gang(1))
}

/// The id of the n-th worker, if nobody was there before.
pub fn worker_id(n: usize) -> WorkerId {
    WorkerId(u32::try_from(n).unwrap_or(u32::MAX).saturating_add(1))
}
