//! Whoever is asked for gets something to do: all workers that a demand names are added, and after one round each has a task.

mod common;

use std::collections::BTreeSet;

use common::array;
use hq_core::{
    DepKind, Deps, Fact, Profile, Request, ResourceDef, ResourceEntry, Rng, Span, Submit, TaskNumber, Tick, Variants,
    WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, Scheduler, WorkerType};
use proptest::{prelude::*, test_runner::RngSeed};

const NOW: Tick = Tick(1_000_000);

fn resources(rng: &mut Rng) -> WorkerResources {
    let mut defs = vec![ResourceDef::parse_cpus(&rng.range(1, 12).to_string()).unwrap()];
    if rng.chance(40) {
        defs.push(ResourceDef::parse(&format!("gpus=range(1-{})", rng.range(1, 4))).unwrap());
    }
    WorkerResources::new(defs, vec![]).unwrap()
}

fn worker(rng: &mut Rng) -> WorkerConfig {
    let time_limit = rng.chance(30).then(|| Span::secs(rng.range(1, 100)));
    WorkerConfig { time_limit, ..WorkerConfig::new("w", resources(rng)) }
}

fn tasks(rng: &mut Rng) -> Submit {
    let requests = (0..if rng.chance(20) { 2 } else { 1 }).map(|_| {
        let mut entries = vec![ResourceEntry::parse(&format!("cpus={}", rng.range(1, 6))).unwrap()];
        if rng.chance(30) {
            let gpus = *rng.pick(&["1", "0.5", "0.3", "2"]);
            entries.push(ResourceEntry::parse(&format!("gpus={gpus}")).unwrap());
        }
        let min_time = Span::secs(if rng.chance(25) { rng.range(1, 100) } else { 0 });
        Request::new(entries).unwrap().with_min_time(min_time)
    });
    let variants = Variants::new(requests.collect()).unwrap();
    let profile = Profile { priority: rng.below(3) as i32, ..Profile::new(variants) };
    let count = rng.range(1, 30) as u32;
    let mut submit = array(count, profile);
    if rng.chance(20) {
        let row = |n: u32| n.checked_sub(1).map(|on| (TaskNumber(on), DepKind::Success));
        submit.deps = Deps::new((0..count).map(row)).unwrap();
    }
    submit
}

/// Workers that get a task.
fn round(core: &mut Scheduler) -> BTreeSet<WorkerId> {
    let mut busy = BTreeSet::new();
    while let Some(action) = core.poll_action(NOW) {
        if let Action::Record(Fact::GrantOpened { workers, .. }) = action {
            busy.extend(workers);
        }
    }
    busy
}

/// Seeds that found a fault once: of a queue whose tasks come in two parts, by `fcfs` only the first goes before what came between.
const FAULTS_FOUND: [u64; 1] = [4942098945922289614];

#[test]
fn whoever_came_in_vain_once_gets_a_task() {
    FAULTS_FOUND.into_iter().for_each(|seed| check(seed).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(22), ..ProptestConfig::default() })]
    #[test]
    fn whoever_comes_gets_a_task(seed in any::<u64>()) {
        check(seed)?;
    }
}

fn check(seed: u64) -> Result<(), TestCaseError> {
    let mut rng = Rng::new(seed);
    let mut core = Scheduler::new();
    core.boot(NOW, "uid".into(), 0, "1".into());
    let order = *rng.pick(&["priority", "fcfs"]);
    core.set_policy(NOW, order, "pack").unwrap();
    for _ in 0..rng.below(4) {
        core.join(NOW, worker(&mut rng)).unwrap();
    }
    for _ in 0..rng.range(1, 6) {
        core.submit(NOW, tasks(&mut rng)).unwrap();
    }
    round(&mut core);
    let new = worker(&mut rng);
    let mut kind = WorkerType::like(&new);
    kind.workers_max = rng.range(1, 20) as u32;
    // One worker at a time may be all that can be had, and take one task.
    for _ in 0..1_000 {
        let demand = core.demand(NOW, std::slice::from_ref(&kind));
        prop_assert!(demand.workers[0] <= kind.workers_max && demand.gangs.is_empty());
        let more: BTreeSet<WorkerId> = (0..demand.workers[0]).map(|_| core.join(NOW, new.clone()).unwrap()).collect();
        let busy = round(&mut core);
        // Somebody new may set free one that was held, who then takes part, too.
        let others_came = !busy.is_subset(&more);
        prop_assert!(more.is_subset(&busy) || others_came, "{:?} of {more:?}", busy);
        if more.is_empty() {
            break;
        }
    }
    // When nobody more is asked for, nobody more could do anything.
    core.join(NOW, new).unwrap();
    prop_assert!(round(&mut core).is_empty());
    Ok(())
}
