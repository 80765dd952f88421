//! I11, I25, I26 and I27.

use std::sync::atomic::{AtomicU64, Ordering};

use hq_core::{
    Allocation, Amount, Policy, Quantity, Request, ResourceDef, ResourceEntry, ResourceName, Rng, Tick, WorkerResources,
};
use hq_scheduler::{
    Scheduler, WorkerType,
    policy::{Placement, PlacementKey, SlotView},
    pool::Pools,
};
use hq_sim::invariants::{
    Fits, batching,
    case::{Case, CaseTasks, Decider, Manner, Placed, request},
    fits, monotone, renaming,
};

const CASES: u64 = 400;

/// What a property says of many random cases under each policy; how many tasks started in them.
fn holds(property: fn(&Case, &Decider) -> Result<(), String>) -> usize {
    let all = Decider::all(Scheduler::new);
    let mut placed = 0;
    for seed in 0..CASES {
        let (case, by) = (Case::random(&mut Rng::new(seed)), &all[seed as usize % all.len()]);
        property(&case, by).unwrap_or_else(|what| panic!("seed {seed}, {by:?}: {what}\n{case:?}"));
        placed += case.decide(by, Manner::default()).unwrap().1.len();
    }
    placed
}

#[test]
fn i25_renaming_changes_names_only() {
    assert!(holds(renaming) > CASES as usize, "nothing is placed");
}

#[test]
fn i26_arrays_or_one_by_one() {
    assert!(holds(batching) > CASES as usize, "nothing is placed");
}

#[test]
fn i27_more_room_or_less_need() {
    let mut tried = 0;
    for seed in 0..5 * CASES {
        let mut rng = Rng::new(seed);
        let case = Case::random(&mut rng);
        let worker = &case.workers[0];
        let mut pools = Pools::new(worker);
        let mut taken: Vec<Allocation> = Vec::new();
        for _ in 0..rng.below(4) {
            if let Some(allocation) = pools.allocate(&request(&mut rng, worker)) {
                pools.take(&allocation);
                taken.push(allocation);
            }
        }
        let request = request(&mut rng, worker);
        tried += usize::from(pools.allocate(&request).is_some());
        monotone(worker, &taken, &request, &fits).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
    }
    assert!(tried > 100, "only {tried} requests fit at all");
}

fn entry(name: &str, parts: u64) -> ResourceEntry {
    let quantity = Quantity::Amount(Amount::from_parts(parts), Policy::Compact);
    ResourceEntry { resource: ResourceName::new(name).unwrap(), quantity }
}

fn tasks(request: Request, priority: i32, count: u32) -> CaseTasks {
    CaseTasks { variants: request.into(), priority, count }
}

#[test]
fn i11_what_asks_for_nothing_is_in_nobodys_way() {
    // A placement that counts lanes counts these as well; and only by priority they come first.
    let counts_lanes = |by: &Decider| matches!(&*by.placement, "round-robin" | "least-loaded");
    let mut all = Decider::all(Scheduler::new);
    all.retain(|by| by.order == "priority" && !counts_lanes(by));
    for seed in 0..CASES {
        let plain = Case::random(&mut Rng::new(seed));
        let mut with = plain.clone();
        with.tasks.push(tasks(Request::new(vec![]).unwrap(), 9, 3));
        let by = &all[seed as usize % all.len()];
        let (_, mut placed) = with.decide(by, Manner::default()).unwrap();
        let nothing = with.tasks.len() - 1;
        assert_eq!(placed.iter().filter(|one| one.kind == nothing).count(), 3, "they start all, seed {seed}");
        assert!(placed.iter().filter(|one| one.kind == nothing).all(|one| one.allocation == Allocation::default()));
        placed.retain(|one| one.kind != nothing);
        let started = plain.decide(by, Manner::default()).unwrap().1;
        // A place where something runs may look less idle; how much of what runs is the same.
        let kinds = |placed: &[Placed]| {
            let mut kinds: Vec<usize> = placed.iter().map(|one| one.kind).collect();
            kinds.sort_unstable();
            kinds
        };
        assert_eq!(kinds(&placed), kinds(&started), "seed {seed}, {by:?}: {plain:?}");
    }
}

#[test]
fn i11_absurd_numbers() {
    // At the border.
    for text in ["cpus=0", "cpus=0.0000", "cpus=-1", "cpus=1e9", "cpus=99999999999999999999", "cpus=0.00001"] {
        ResourceEntry::parse(text).expect_err(text);
    }
    for text in ["cpus=0", "cpus=0x4", "cpus=4x0", "cpus=4294967296", "mem=sum(0)", "mem=sum(99999999999999999999)"] {
        let parsed = ResourceDef::parse(text);
        let worker = parsed.map(|def| WorkerResources::new(vec![def], vec![]).is_ok());
        assert!(!worker.is_ok_and(|accepted| accepted), "{text}");
    }
    Request::new(vec![entry("cpus", 0)]).expect_err("zero");
    // Past it: sums do not wrap, and what is too large is nobody's.
    Request::new(vec![entry("cpus", u64::MAX)]).expect_err("more than can be written");
    let most = Amount::MAX.parts();
    let huge = Request::new(vec![entry("mem", most), entry("cpus", most)]).unwrap();
    huge.clone().with_weight(u32::MAX).expect_err("more than can be written");
    let huge = huge.with_weight(4_000_000_000).unwrap();
    let defs = vec![ResourceDef::parse_cpus("2").unwrap(), ResourceDef::parse("mem=sum(4294967295)").unwrap()];
    let worker = WorkerResources::new(defs, vec![]).unwrap();
    let case = Case {
        workers: vec![worker.clone(); 4],
        tasks: vec![tasks(huge, 9, 6), tasks(Request::cpus(1).unwrap(), 0, 8)],
    };
    for by in Decider::all(Scheduler::new) {
        let (core, placed) = case.decide(&by, Manner::default()).unwrap();
        assert_eq!(placed.len(), 8, "{by:?}");
        assert!(placed.iter().all(|one| one.kind == 1));
        assert_eq!(core.demand(Tick(1), &[WorkerType::exact(&worker)]).workers, [0], "nobody could use them");
    }
}

/// Prefers another worker each time that anything is decided.
#[derive(Debug)]
struct Whim;

static DECISIONS: AtomicU64 = AtomicU64::new(0);

impl Placement for Whim {
    fn name(&self) -> &'static str {
        "whim"
    }

    fn key(&self, slot: &SlotView<'_>) -> PlacementKey {
        let id = i64::from(slot.worker.0);
        (if DECISIONS.load(Ordering::Relaxed).is_multiple_of(2) { id } else { -id }, 0)
    }
}

#[test]
fn properties_can_fail() {
    let core = || {
        DECISIONS.fetch_add(1, Ordering::Relaxed);
        let mut core = Scheduler::new();
        core.add_placement(Box::new(Whim));
        core
    };
    let by = Decider { core, order: "priority".to_owned(), placement: "whim".to_owned() };
    let cpus = |n| WorkerResources::cpus(n).unwrap();
    let one = tasks(Request::cpus(1).unwrap(), 0, 1);
    let case = Case { workers: vec![cpus(2), cpus(2), cpus(2)], tasks: vec![one] };
    assert!(renaming(&case, &by).unwrap_err().contains("I25"));
    assert!(batching(&case, &by).unwrap_err().contains("I26"));
    let two = Request::cpus(2).unwrap();
    let only_all: &Fits<'_> = &|worker, _, request| {
        let asked = request.entries().first().map(|entry| entry.quantity);
        asked == worker.get("cpus").map(|def| Quantity::Amount(def.kind.total(), Policy::Compact))
    };
    assert!(monotone(&cpus(2), &[], &two, only_all).unwrap_err().contains("I27"));
}
