use hq_core::{
    ClientRequest, CrashLimit, DepKind, Deps, DetailPart, ExitCodes, IdList, JobSpec, JobState, JobTarget,
    OnServerLost, Parts, Profile, Request, ResourceDef, ResourceEntry, RetryOn, RetryRule, RetryTimes, Rng, Selector,
    Span, Submit, TaskIds, TaskNumber, Variants, WorkerConfig, WorkerResources,
};
use hq_scheduler::Scheduler;

use crate::{
    RunSpec, SIM_KIND,
    cluster::{Act, Faults, Simulation},
    hostile,
    invariants::case::coupling,
};

/// A small cluster in which everything goes wrong that can: the seed chooses shapes, faults, tasks and requests.
///
/// Faults last for some virtual seconds to two minutes; then capable workers come, and all tasks have to end.
pub fn chaos(seed: u64) -> Simulation {
    let mut rng = Rng::new(seed ^ 0x5eed_5eed);
    // Some clusters live through in seconds what takes minutes in others.
    let haste = *rng.pick(&[1, 1, 4, 20]);
    let safety = Span(rng.range(30_000_000, 120_000_000) / haste);
    let healers = (0..4).map(|_| healer()).collect();
    let mut simulation = Simulation::new(seed)
        .faults(faults(&mut rng, haste))
        .clients(3)
        .heal_after(safety, healers)
        .limit(Span::secs(3_000));
    simulation = simulation.journal(rng.chance(70));
    for i in 0..rng.range(1, 7) {
        let at = if i == 0 { Span::ZERO } else { Span(rng.below(safety.0)) };
        simulation = simulation.bare_worker_at(at, worker(&mut rng));
    }
    // Requests come in bursts, so that they meet each other's recalls and appends on their way.
    let bursts: Vec<u64> = (0..rng.range(1, 6)).map(|_| rng.below(safety.0)).collect();
    simulation = simulation.with_hostile_policies().ask_at(Span::ZERO, policy(&mut rng));
    for _ in 0..rng.range(5, 60) {
        let at = match rng.below(10) {
            0 => *rng.pick(&bursts), // at the same time as others
            1..=6 => *rng.pick(&bursts) + rng.below(300_000),
            _ => rng.below(safety.0),
        };
        simulation = simulation.act_at(Span(at), act(&mut rng));
    }
    // Who is hostile may starve tasks for ever. When this is asked for, no request is lost any more.
    let (order, placement) = built_in(&mut rng);
    simulation.ask_at(Span(safety.0 + 5_000_000), ClientRequest::SetPolicy { order, placement })
}

/// One of the orders and one of the placements that everybody has.
fn built_in(rng: &mut Rng) -> (String, String) {
    let core = Scheduler::new();
    let (orders, placements): (Vec<&str>, Vec<&str>) = (core.orders().collect(), core.placements().collect());
    ((*rng.pick(&orders)).to_owned(), (*rng.pick(&placements)).to_owned())
}

/// Any combination: of those built in, of hostile ones, or of both.
fn policy(rng: &mut Rng) -> ClientRequest {
    let (mut order, mut placement) = built_in(rng);
    if rng.chance(25) {
        order = (*rng.pick(&hostile::ORDERS)).to_owned();
    }
    if rng.chance(25) {
        placement = (*rng.pick(&hostile::PLACEMENTS)).to_owned();
    }
    ClientRequest::SetPolicy { order, placement }
}

/// The same with workers that may come back, links that break at any moment and a server that dies again and again.
pub fn chaos_returning(seed: u64) -> Simulation {
    let mut rng = Rng::new(seed ^ 0xbac_0bac);
    let mut simulation = chaos(seed);
    let mut now_and_then =
        |percent, low, high| if rng.chance(percent) { Span(rng.range(low, high)) } else { Span::ZERO };
    simulation.faults.cut = now_and_then(80, 500_000, 10_000_000);
    simulation.faults.restart = now_and_then(70, 1_000_000, 20_000_000);
    simulation.faults.partition = now_and_then(40, 3_000_000, 30_000_000);
    simulation.faults.freeze = now_and_then(40, 3_000_000, 30_000_000);
    simulation.journal |= simulation.faults.restart > Span::ZERO;
    simulation.adopt_timeout = Span(rng.range(0, 60_000_000));
    for (_, config) in &mut simulation.workers {
        if rng.chance(80) {
            config.on_server_lost = OnServerLost::Reconnect { timeout: Span(rng.range(1_000_000, 600_000_000)) };
        }
    }
    simulation
}

fn faults(rng: &mut Rng, haste: u64) -> Faults {
    let shortest = Span(rng.range(20, 5_000));
    let longest = Span(shortest.0 + if rng.chance(50) { rng.below(200_000) } else { 0 });
    let mut now_and_then = |percent, low, high| {
        if rng.chance(percent) { Span(rng.range(low, high) / haste) } else { Span::ZERO }
    };
    let (crash, freeze) = (now_and_then(60, 5_000_000, 60_000_000), now_and_then(30, 10_000_000, 60_000_000));
    let (partition, restart) = (now_and_then(40, 8_000_000, 60_000_000), now_and_then(35, 10_000_000, 80_000_000));
    Faults {
        delay: (shortest, longest),
        disk: (Span(100), Span(rng.range(100, 400_000))),
        doubled_percent: if rng.chance(60) { rng.range(1, 40) } else { 0 },
        crash,
        freeze,
        partition,
        cut: Span::ZERO,
        restart,
    }
}

/// Whatever can be asked for fits one of these, or four of them together.
fn healer() -> WorkerConfig {
    let mut config = WorkerConfig::new("healer", resources("2x4", &["gpus=[a,b]", "mem=sum(20)"]));
    config.kinds.push(SIM_KIND.to_owned());
    config
}

fn resources(cpus: &str, others: &[&str]) -> WorkerResources {
    let defs = others.iter().filter_map(|text| ResourceDef::parse(text).ok());
    let all = ResourceDef::parse_cpus(cpus).into_iter().chain(defs).collect();
    WorkerResources::new(all, vec![]).unwrap_or_else(|_| WorkerResources::cpus(1).expect("one cpu is a worker"))
}

/// Groups of cpus and gpus that are near each other. It draws from numbers of its own: other seeds stay what they are.
fn coupled(mut rng: Rng) -> WorkerResources {
    let (cpus, gpus) = (*rng.pick(&["2x2", "3x2", "2x4"]), *rng.pick(&["gpus=[[a],[b]]", "gpus=[[a,b],[c],[d]]"]));
    let plain = resources(cpus, &[gpus, "mem=sum(10)"]);
    let items = coupling(&mut rng, plain.resources());
    WorkerResources::new(plain.resources().to_vec(), items).unwrap_or(plain)
}

fn worker(rng: &mut Rng) -> WorkerConfig {
    let cpus = *rng.pick(&["1", "2", "3", "4", "8", "2x2", "2x4", "3x2"]);
    let others: &[&str] = match rng.below(5) {
        0 => &["gpus=[a]", "mem=sum(10)"],
        1 => &["gpus=[a,b]"],
        2 => &["mem=sum(4.5)"],
        _ => &[],
    };
    let resources = if rng.chance(10) { coupled(rng.clone()) } else { resources(cpus, others) };
    let mut config = WorkerConfig::new("node", resources);
    // Short ones, so that a loss by silence meets lanes that are still at work.
    config.heartbeat = Span(if rng.chance(60) { rng.range(160_000, 600_000) } else { rng.range(600_000, 8_000_000) });
    if rng.chance(30) {
        config.time_limit = Some(Span(rng.range(2_000_000, 60_000_000)));
    }
    if rng.chance(25) {
        config.idle_timeout = Some(Span(rng.range(100_000, 10_000_000)));
    }
    if rng.chance(20) {
        config.on_server_lost = OnServerLost::FinishRunning;
    }
    if rng.chance(30) {
        config.group = "other".to_owned();
    }
    if rng.chance(85) {
        config.kinds.push(SIM_KIND.to_owned());
    }
    config
}

fn request(rng: &mut Rng) -> Request {
    let entries: &[&str] = match rng.below(20) {
        0..=4 => &["cpus=1"],
        5 => &["cpus=2"],
        6 => &["cpus=3"],
        7 => &["cpus=0.5"],
        8 => &["cpus=0.3333"],
        9 => &["cpus=1.1429", "mem=3.9999"],
        10 => &["cpus=2 compact!"],
        11 => &["cpus=4 tight!"],
        12 => &["cpus=2 scatter"],
        13 => &["cpus=2 tight", "gpus=0.25"],
        14 => &["cpus=1", "gpus=1"],
        15 => &["cpus=1", "mem=2.5"],
        16 => &["mem=4.5"],
        17 => &["cpus=all"],
        18 => &[],
        _ => &["cpus=1.5", "gpus=0.5"],
    };
    let entries = entries.iter().filter_map(|text| ResourceEntry::parse(text).ok()).collect();
    let request = Request::new(entries).or_else(|_| Request::cpus(1)).expect("one cpu can be asked for");
    let request = if rng.chance(20) { request.with_min_time(Span(rng.range(0, 10_000_000))) } else { request };
    if rng.chance(10) {
        return request.clone().with_weight(rng.range(1, 50_000) as u32).unwrap_or(request);
    }
    request
}

fn variants(rng: &mut Rng) -> Variants {
    if rng.chance(12) {
        let gang = Request::gang(rng.range(1, 3) as u32);
        return if rng.chance(30) { gang.with_min_time(Span(rng.below(5_000_000))) } else { gang }.into();
    }
    if rng.chance(15) {
        let all = (0..rng.range(2, 3)).map(|_| request(rng)).collect();
        return Variants::new(all).unwrap_or_else(|_| Request::gang(1).into());
    }
    request(rng).into()
}

fn profile(rng: &mut Rng) -> Profile {
    let mut profile = Profile::new(variants(rng));
    if rng.chance(40) {
        profile.priority = rng.below(4) as i32 - 1;
    }
    if rng.chance(10) {
        profile.time_limit = Some(Span(rng.range(1_000, 2_000_000)));
    }
    profile.crash_limit = match rng.below(6) {
        0 => CrashLimit::NeverRestart,
        1 => CrashLimit::Limit(1),
        2 => CrashLimit::Unlimited,
        n => CrashLimit::Limit(n as u16),
    };
    if profile.crash_limit != CrashLimit::NeverRestart {
        profile.retry = rules(rng.clone());
    }
    profile
}

/// When tasks are run again. It draws from numbers of its own: other seeds stay what they are.
fn rules(mut rng: Rng) -> Vec<RetryRule> {
    let count = if rng.chance(40) { rng.range(1, 3) } else { 0 };
    let rule = |_| {
        let codes = ExitCodes::of([rng.range(1, 3) as u8]);
        let (on, is_bounded) = match rng.below(12) {
            0..=2 => (RetryOn::Any, true),
            3 => (RetryOn::Exit(codes), true),
            4 => (RetryOn::Exit(ExitCodes::default()), true),
            5 => (RetryOn::Signal, true),
            6 => (RetryOn::OutOfMemory(codes), true),
            7 => (RetryOn::TimeLimit, true),
            8 => (RetryOn::NoStart, true),
            9 | 10 => (RetryOn::Crash, false),
            _ => (RetryOn::Preempted, false),
        };
        // A task may well fail in the same way for ever.
        let times =
            if !is_bounded && rng.chance(30) { RetryTimes::Unlimited } else { RetryTimes::Limit(rng.below(5) as u16) };
        let first = if rng.chance(30) { Span::ZERO } else { Span(rng.below(2_000_000)) };
        RetryRule::new(on, times).waiting(first, Span(rng.below(5_000_000)))
    };
    (0..count).map(rule).collect()
}

fn takes(rng: &mut Rng) -> Span {
    match rng.below(10) {
        0..=2 => Span::ZERO,
        3..=5 => Span(rng.range(1, 2_000)),
        6..=8 => Span(rng.range(2_000, 500_000)),
        _ => Span(rng.range(500_000, 10_000_000)),
    }
}

fn tasks(rng: &mut Rng) -> Submit {
    let most = if rng.chance(20) { 120 } else { 20 };
    let n = rng.range(1, most);
    let max_fails = rng.chance(30).then(|| rng.below(3) as u32);
    let target = JobTarget::New(JobSpec { name: "chaos".to_owned(), max_fails });
    let kind = if rng.chance(85) { SIM_KIND } else { hq_core::PROGRAM_KIND };
    let fails_percent = if rng.chance(60) { 0 } else { rng.below(40) as u8 };
    let shared = RunSpec { takes: takes(rng), fails_percent };
    let mut submit = Submit::array(target, TaskIds::Next(n as u32), kind, shared.blob(), profile(rng));
    if rng.chance(20) {
        submit.ids = TaskIds::Given(IdList::from(vec![hq_core::idlist::Run { start: 1000, count: n as u32, step: 3 }]));
    }
    if rng.chance(40) {
        let parts = (0..n).map(|_| RunSpec { takes: takes(rng), fails_percent }.bytes()).collect::<Vec<_>>();
        submit.parts = Parts::new(parts).unwrap_or_default();
    }
    if rng.chance(30) {
        submit.profiles.extend((0..rng.range(1, 3)).map(|_| profile(rng)));
        submit.profile_of = (0..n).map(|_| rng.below(submit.profiles.len() as u64) as u16).collect();
    }
    if rng.chance(40) {
        submit.deps = deps(rng, &submit.ids, n);
    }
    submit
}

/// Edges to earlier tasks; in an attached submit they may mean tasks of the job or nothing at all.
fn deps(rng: &mut Rng, ids: &TaskIds, n: u64) -> Deps {
    let number = |index: u64| match ids {
        TaskIds::Given(ids) => ids.get(index).unwrap_or(0),
        TaskIds::Next(_) => index as u32,
    };
    let rows = (0..n).map(|i| {
        let edges = if i == 0 { 0 } else { rng.below(3) };
        let kinds = [DepKind::Success, DepKind::Success, DepKind::AnyEnd, DepKind::Failure];
        (0..edges).map(|_| (TaskNumber(number(rng.below(i))), *rng.pick(&kinds))).collect::<Vec<_>>()
    });
    let rows: Vec<_> = rows.collect();
    Deps::new(rows).unwrap_or_default()
}

fn act(rng: &mut Rng) -> Act {
    let all_states = || vec![JobState::Finished, JobState::Failed, JobState::Canceled, JobState::Aborted];
    match rng.below(40) {
        0..=16 => Act::Ask(ClientRequest::Submit(Box::new(tasks(rng)))),
        17..=21 => Act::Attach(Box::new(tasks(rng))),
        22 => Act::Ask(ClientRequest::OpenJob(JobSpec {
            name: "open".to_owned(),
            max_fails: rng.chance(30).then_some(1),
        })),
        23..=27 => {
            Act::AboutJob(|job| ClientRequest::CancelJobs { jobs: job.into(), reason: Some("chaos".to_owned()) })
        }
        28 => Act::Ask(ClientRequest::CancelJobs { jobs: Selector::All, reason: None }),
        29 | 30 => Act::AboutJob(|job| ClientRequest::CloseJobs(job.into())),
        31 => Act::Ask(ClientRequest::ForgetJobs { jobs: Selector::All, states: all_states() }),
        32 => Act::AboutJob(|job| ClientRequest::JobDetails { jobs: job.into(), part: DetailPart::whole(true) }),
        33 => Act::Ask(ClientRequest::WaitJobs { jobs: Selector::All, until_closed: rng.chance(50) }),
        34 => Act::Ask(ClientRequest::Workers(Selector::All)),
        35 => Act::Ask(ClientRequest::StopWorkers(if rng.chance(50) { Selector::Last } else { Selector::All })),
        36 => Act::Ask(ClientRequest::Subscribe { from: None, jobs: None, credit: rng.below(1000) as u32 }),
        37 => Act::Ask(policy(rng)),
        38 => Act::Ask(ClientRequest::Jobs(Selector::All)),
        _ => Act::AboutJob(|job| ClientRequest::WaitJobs { jobs: job.into(), until_closed: false }),
    }
}
