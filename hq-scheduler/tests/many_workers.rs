//! More workers than are looked at first: what some of them cannot have goes to the others.

mod common;

use common::{booted, node};
use hq_core::{
    JobSpec, JobTarget, Ordinal, Profile, Request, ResourceDef, Rng, Span, Standing, Submit, TaskIds, Tick, ToWorker,
    WorkerConfig, WorkerResources,
};
use hq_scheduler::{Action, Scheduler};
use proptest::{prelude::*, test_runner::RngSeed};

const NOW: Tick = Tick(1_000_000);

fn plain() -> WorkerConfig {
    node(4)
}

/// It ends in ten minutes.
fn short() -> WorkerConfig {
    WorkerConfig { time_limit: Some(Span::secs(600)), ..plain() }
}

/// It is to be used by half, or not at all.
fn choosy() -> WorkerConfig {
    WorkerConfig { min_utilization: 5_000, ..plain() }
}

fn submit(core: &mut Scheduler, tasks: u32, request: Request) -> Ordinal {
    let target = JobTarget::New(JobSpec::default());
    let submit = Submit::array(target, TaskIds::Next(tasks), "program", vec![].into(), Profile::new(request));
    let job = core.submit(NOW, submit).unwrap();
    core.job(job).unwrap().submits[0].0
}

/// How many lanes a round opens; nobody answers.
fn round(core: &mut Scheduler) -> usize {
    let actions = std::iter::from_fn(|| core.poll_action(NOW));
    actions.filter(|action| matches!(action, Action::Send { message: ToWorker::Open(_), .. })).count()
}

#[test]
fn a_task_starts_on_the_one_worker_that_takes_it() {
    let hour = || Request::cpus(1).unwrap().with_min_time(Span::secs(3_600));
    type Case = (fn() -> WorkerConfig, Request);
    let cases: [Case; 2] = [(short, hour()), (choosy, Request::cpus(1).unwrap())];
    for (others, request) in cases {
        for before in [15, 16, 17, 40] {
            let mut core = booted();
            (0..before).for_each(|_| _ = core.join(NOW, others()).unwrap());
            core.join(NOW, plain()).unwrap();
            round(&mut core);
            submit(&mut core, 1, request.clone());
            assert_eq!(round(&mut core), 1, "{before} others, {request:?}");
        }
    }
}

fn config(rng: &mut Rng) -> WorkerConfig {
    let mut config = match rng.below(5) {
        0..2 => short(),
        2..4 => choosy(),
        _ => plain(),
    };
    let mut defs = vec![ResourceDef::parse_cpus(if rng.chance(30) { "1" } else { "4" }).unwrap()];
    if rng.chance(20) {
        defs.push(ResourceDef::parse("gpus=[a]").unwrap());
    }
    config.resources = WorkerResources::new(defs, vec![]).unwrap();
    config
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, rng_seed: RngSeed::Fixed(17), ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_due_after_a_round(seed in any::<u64>()) {
        let mut rng = Rng::new(seed);
        let mut core = booted();
        for _ in 0..rng.range(17, 60) {
            core.join(NOW, config(&mut rng)).unwrap();
        }
        round(&mut core);
        let mut waiting = vec![];
        for _ in 0..rng.range(1, 40) {
            let min_time = Span::secs(*rng.pick(&[0, 0, 3_600]));
            let request = Request::cpus(rng.range(1, 4) as u32).unwrap().with_min_time(min_time);
            let tasks = rng.range(1, 4);
            let first = submit(&mut core, tasks as u32, request);
            waiting.extend((0..tasks).map(|n| first.plus(n)));
            if rng.chance(70) {
                round(&mut core);
                for task in &waiting {
                    let explanation = core.explain(NOW, *task).unwrap();
                    prop_assert!(explanation.standing != Standing::Due, "task {task} could start: {explanation:?}");
                }
            }
        }
    }
}
