use hq_core::{
    Amount, Blob, JobSpec, JobTarget, PROGRAM_KIND, Policy, Profile, Quantity, Request, ResourceDef, ResourceEntry,
    ResourceKind, ResourceName, Rng, Span, Submit, TaskIds, Variants, WorkerConfig, WorkerResources,
};

use crate::workload::{Workload, WorkloadError, WorkloadTask};

/// One question to a scheduler: these workers are idle, these tasks wait; what is the most valuable set to start?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanInstance {
    /// The idle workers.
    pub workers: Vec<WorkerResources>,
    /// The waiting tasks, all of one priority.
    pub classes: Vec<PlanClass>,
}

/// Equal tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanClass {
    /// What one of them needs.
    pub variants: Variants,
    /// How many wait.
    pub count: u64,
}

/// How often something in a large instance is so.
const SOME: u64 = 30;

impl PlanInstance {
    /// A cluster of four kinds of nodes (two with GPUs, of different models) and classes of cpu, memory and GPU tasks,
    /// a third of these with shares of a GPU, some with a second variant without one; about `tasks` tasks.
    pub fn large(rng: &mut Rng, workers: usize, classes: usize, tasks: u64) -> Self {
        Self::mixed(rng, workers, classes, tasks, true)
    }

    /// The same without shares of a GPU.
    pub fn large_whole(rng: &mut Rng, workers: usize, classes: usize, tasks: u64) -> Self {
        Self::mixed(rng, workers, classes, tasks, false)
    }

    fn mixed(rng: &mut Rng, workers: usize, classes: usize, tasks: u64, shares: bool) -> Self {
        let kinds: [(u32, u32, u32); 4] = [(32, 128, 0), (64, 256, 0), (64, 512, 4), (96, 384, 8)];
        let workers = (0..workers).map(|_| {
            let (cpus, mem, gpus) = *rng.pick(&kinds);
            let mut defs = vec![range("cpus", cpus), sum("mem", mem)];
            if gpus > 0 {
                defs.push(range("gpus", gpus));
            }
            resources(defs)
        });
        let workers = workers.collect();
        let each = tasks / classes.max(1) as u64;
        let classes = (0..classes).map(|_| {
            let cpus = whole(rng.range(1, 16));
            let mem = whole(rng.range(1, 64));
            let mut variants = vec![];
            if rng.chance(SOME) {
                let gpus = if shares && rng.chance(33) {
                    Amount::from_parts(rng.range(1, 9) * 1_000)
                } else {
                    whole(1 << rng.range(0, 2))
                };
                variants.push(request(&[("cpus", cpus), ("mem", mem), ("gpus", gpus)]));
                if rng.chance(SOME) {
                    variants.push(request(&[("cpus", whole(rng.range(4, 32))), ("mem", mem)]));
                }
            } else {
                variants.push(request(&[("cpus", cpus), ("mem", mem)]));
            }
            PlanClass { variants: alternatives(variants), count: rng.range(each / 2, each * 3 / 2).max(1) }
        });
        Self { classes: classes.collect(), workers }
    }

    /// So small that every plan can be tried: 1 to 4 workers, 1 to 6 tasks, 1 to 3 resources, whole amounts and shares, up
    /// to 2 variants, now and then a weight.
    pub fn small(rng: &mut Rng) -> Self {
        let names: &[&str] = &["cpus", "gpus", "mem"][..rng.range(1, 3) as usize];
        let workers = (0..rng.range(1, 4)).map(|_| {
            let defs = names.iter().filter_map(|name| match *name {
                "cpus" => Some(range(name, rng.range(1, 8) as u32)),
                "gpus" => rng.chance(70).then(|| range("gpus", rng.range(1, 3) as u32)),
                _ => Some(sum(name, rng.range(1, 16) as u32)),
            });
            resources(defs.collect())
        });
        let workers = workers.collect();
        let mut left = rng.range(1, 6);
        let mut classes = vec![];
        while left > 0 {
            let count = rng.range(1, left.min(3));
            left -= count;
            let variants = (0..if rng.chance(25) { 2 } else { 1 }).map(|_| small_request(rng, names));
            classes.push(PlanClass { variants: alternatives(variants.collect()), count });
        }
        Self { workers, classes }
    }

    /// The workers, as they arrive.
    pub fn configs(&self) -> impl Iterator<Item = WorkerConfig> + '_ {
        self.workers.iter().enumerate().map(|(i, resources)| WorkerConfig::new(format!("node{i}"), resources.clone()))
    }

    /// The tasks as one array per class, in jobs of their own: a million of them take no room.
    pub fn submits(&self) -> impl Iterator<Item = Submit> + '_ {
        self.classes.iter().map(|class| {
            let ids = TaskIds::Next(u32::try_from(class.count).unwrap_or(u32::MAX));
            let profile = Profile::new(class.variants.clone());
            Submit::array(JobTarget::New(JobSpec::default()), ids, PROGRAM_KIND, Blob::default(), profile)
        })
    }

    /// The tasks, all at the beginning, class by class, an hour long.
    ///
    /// # Errors
    /// For more tasks than can be numbered.
    pub fn workload(&self) -> Result<Workload, WorkloadError> {
        let tasks = self.classes.iter().flat_map(|class| {
            let task = WorkloadTask::new(Span::secs(3_600), class.variants.clone());
            std::iter::repeat_n(task, class.count as usize)
        });
        Workload::new("plan", tasks.collect())
    }
}

fn small_request(rng: &mut Rng, names: &[&str]) -> Request {
    let mut amounts = vec![];
    for name in names {
        match *name {
            "cpus" => amounts.push((*name, whole(rng.range(1, 6)))),
            "gpus" if rng.chance(50) => {
                let share = Amount::from_parts(*rng.pick(&[2_500, 5_000, 7_500, 10_000, 10_000, 20_000]));
                amounts.push((*name, share));
            }
            "mem" if rng.chance(60) => amounts.push((*name, whole(rng.range(1, 12)))),
            _ => {}
        }
    }
    let request = request(&amounts);
    if rng.chance(15) { request.with_weight(rng.range(1, 4) as u32 * 5_000).expect(SOUND) } else { request }
}

/// What is drawn comes from the constants above.
const SOUND: &str = "what is drawn is sound";

fn whole(n: u64) -> Amount {
    Amount::units(u32::try_from(n).unwrap_or(u32::MAX))
}

fn range(name: &str, n: u32) -> ResourceDef {
    ResourceDef { name: ResourceName::new(name).expect(SOUND), kind: ResourceKind::Range { start: 0, end: n - 1 } }
}

fn sum(name: &str, n: u32) -> ResourceDef {
    ResourceDef { name: ResourceName::new(name).expect(SOUND), kind: ResourceKind::Sum(Amount::units(n)) }
}

fn resources(defs: Vec<ResourceDef>) -> WorkerResources {
    WorkerResources::new(defs, vec![]).expect(SOUND)
}

fn request(amounts: &[(&str, Amount)]) -> Request {
    let entry = |(name, amount): &(&str, Amount)| ResourceEntry {
        resource: ResourceName::new(name).expect(SOUND),
        quantity: Quantity::Amount(*amount, Policy::Compact),
    };
    Request::new(amounts.iter().map(entry).collect()).expect(SOUND)
}

fn alternatives(requests: Vec<Request>) -> Variants {
    Variants::new(requests).expect(SOUND)
}
