//! Nothing waits for ever: how full the groups of a worker are, what is coupled, what is cut into parts and who comes first
//! delays a task, but whatever could run on an idle worker runs.

use hq_core::{Amount, Policy, Profile, Quantity, Request, ResourceEntry, ResourceName, Span, TaskState, WorkerConfig};
use proptest::{collection::vec, prelude::*, sample::select, test_runner::RngSeed};

use crate::{worker, world::World};

const WORKERS: [&str; 6] = [
    "cpus=4",
    "cpus=3x4",
    "cpus=[[0,1,2,3,4],[5],[6,7]]",
    "cpus=4x3; gpus=4x2; couple cpus[0]:gpus[0]; couple cpus[1]:gpus[1]; couple cpus[2]:gpus[2]; couple cpus[3]:gpus[3]",
    "cpus=2x2; gpus=3x1; mem=sum(2); couple cpus[0]:gpus[2]=9; couple cpus[1]:gpus[2]",
    "cpus=2; gpus=[0,1]; mem=sum(1.5); group other",
];

fn quantities() -> impl Strategy<Value = Quantity> {
    let policy =
        select(vec![Policy::Compact, Policy::ForceCompact, Policy::Tight, Policy::ForceTight, Policy::Scatter]);
    let fraction = select(vec![0, 0, 0, 3_000, 5_000, 6_000]);
    let amount = (0u64..=5, fraction, policy).prop_map(|(units, fraction, policy)| {
        Quantity::Amount(Amount::from_parts((units * Amount::PARTS + fraction).max(1)), policy)
    });
    prop_oneof![12 => amount, 1 => Just(Quantity::All)]
}

fn requests() -> impl Strategy<Value = Request> {
    let lines = (quantities(), prop::option::of(quantities()), prop::option::weighted(0.2, quantities()));
    let one = lines.prop_map(|(cpus, gpus, mem)| {
        let lines = ["cpus", "gpus", "mem"].into_iter().zip([Some(cpus), gpus, mem]);
        let entry = |(name, quantity): (&str, Option<_>)| {
            Some(ResourceEntry { resource: ResourceName::new(name).unwrap(), quantity: quantity? })
        };
        Request::new(lines.filter_map(entry).collect()).unwrap()
    });
    prop_oneof![10 => one, 1 => (1u32..=3).prop_map(Request::gang)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_could_run_runs(
        workers in vec(select(WORKERS.to_vec()), 1..=4),
        tasks in vec((requests(), 0i32..3, 1u32..=3, 1u64..=4, 0u64..=2), 1..=25),
    ) {
        let mut world = World::new();
        let workers: Vec<WorkerConfig> =
            workers.iter().enumerate().map(|(i, text)| worker(&format!("w{i}: {text}"))).collect();
        workers.iter().for_each(|config| world.join(config.clone()));
        for (i, (request, priority, times, takes, gap)) in tasks.iter().enumerate() {
            let profile = Profile { priority: *priority, ..Profile::new(request.clone()) };
            world.submit(&format!("t{i}"), *times, profile, Some(Span::secs(*takes)));
            world.settle();
            world.pass(Span::secs(*gap));
        }
        // One after the other they would need that long.
        world.pass(Span::secs(25 * 3 * 4));
        for (i, (request, ..)) in tasks.iter().enumerate() {
            let size_of = |group: &str| workers.iter().filter(|config| config.group == group).count() as u32;
            let possible = match request.nodes() {
                0 => world.workers.values().any(|worker| world.core.pools(*worker).unwrap().could_ever(request)),
                nodes => size_of("default").max(size_of("other")) >= nodes,
            };
            let expected = if possible { TaskState::Finished } else { TaskState::Waiting };
            for task in crate::tasks(&world, &format!("t{i}")) {
                prop_assert_eq!(world.core.task(task.ordinal).unwrap().state, expected, "t{}: {:?}", i, request);
            }
        }
        prop_assert!(world.workers.values().all(|worker| world.core.pools(*worker).unwrap().is_idle()));
    }
}
