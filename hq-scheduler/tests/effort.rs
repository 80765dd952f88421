//! I23: the work of a round follows what changed and the classes that wait, not the tasks that wait nor the workers that are
//! alike. Counted, not timed.

mod common;

use common::{array, booted, node};
use hq_core::{
    Amount, DepKind, Deps, GrantId, IdList, JobSpec, JobTarget, LaneReport, Ordinal, Outcome, Profile, Request,
    ResourceEntry, RunEnd, Span, Submit, TaskIds, TaskNumber, Tick, ToWorker, WorkerId,
};
use hq_scheduler::{Action, Effort, News, Scheduler};

const CPUS: u32 = 16;

/// What a first round takes, and then an end whose lane goes on, a submit, a join and a loss.
#[derive(Debug, PartialEq)]
struct Cost {
    first: Effort,
    end: Effort,
    submit: Effort,
    join: Effort,
    loss: Effort,
}

fn request(class: u32) -> Request {
    Request::cpus(1 + class % CPUS).unwrap().with_min_time(Span(class.into()))
}

fn submit(core: &mut Scheduler, class: u32, tasks: u32) {
    let profile = Profile { priority: class as i32 % 4, ..Profile::new(request(class)) };
    core.submit(Tick(1), array(tasks, profile)).unwrap();
}

fn join(core: &mut Scheduler) {
    core.join(Tick(1), node(CPUS)).unwrap();
}

/// When the first task has run for a second: so long ones have no backlogs.
fn later() -> Tick {
    Tick(1).after(Span::secs(1))
}

/// Drains the actions; gives the lanes that were opened, and the effort.
fn round(core: &mut Scheduler, now: Tick, before: Effort) -> (Vec<(WorkerId, GrantId, Ordinal)>, Effort) {
    let mut opened = Vec::new();
    while let Some(action) = core.poll_action(now) {
        if let Action::Send { worker, message: ToWorker::Open(open) } = action {
            opened.push((worker, open.grant, open.work[0].runs[0].first));
        }
    }
    (opened, core.effort().since(before))
}

fn cost(workers: u32, classes: u32, tasks: u32) -> Cost {
    let mut core = booted();
    (0..workers).for_each(|_| join(&mut core));
    (0..classes).for_each(|class| submit(&mut core, class, tasks));
    costs(core, workers)
}

fn costs(mut core: Scheduler, workers: u32) -> Cost {
    let (opened, first) = round(&mut core, Tick(1), Effort::default());
    let (worker, grant, task) = opened[0];
    let mut event = |event: &dyn Fn(&mut Scheduler)| {
        let before = core.effort();
        event(&mut core);
        round(&mut core, later(), before).1
    };
    let ended = RunEnd { task, age: Span(0), took: Span::secs(1), outcome: Outcome::Finished };
    let lane = LaneReport { grant, ended: vec![ended], started: None };
    Cost {
        first,
        end: event(&|core| core.handle_event(later(), News::Report { worker, lane: lane.clone() })),
        submit: event(&|core| submit(core, 1, 1)),
        join: event(&join),
        loss: event(&|core| {
            let reason = hq_core::LossReason::ConnectionLost;
            core.handle_event(later(), News::WorkerLost { worker: WorkerId(workers), reason });
        }),
    }
}

#[test]
fn waiting_tasks_cost_nothing() {
    // Enough that no worker of the test takes the last one of a class.
    let few = cost(20, 30, 10_000);
    assert_eq!(few, cost(20, 30, 10_000_000));
    assert!(few.first.fit_tests >= 30, "{few:?}");
}

#[test]
fn workers_that_are_alike_cost_nothing() {
    let [few, many] = [20, 200].map(|workers| cost(workers, 30, 10_000));
    assert!(many.first.fit_tests <= 2 * few.first.fit_tests, "{few:?} {many:?}");
    for (few, many) in [(few.end, many.end), (few.submit, many.submit), (few.loss, many.loss)] {
        assert_eq!(Effort { lanes: 0, ..few }, Effort { lanes: 0, ..many });
        assert!(many.lanes <= 1, "{many:?}");
    }
    assert_eq!(many.join.lanes, 0, "no lane has what nobody else waits for: {many:?}");
}

/// What a cancel takes of a job with three running tasks and more that wait, on workers that are full of another one's; and
/// then of that one.
fn cancels(workers: u32, told: bool) -> [Effort; 2] {
    let mut core = booted();
    (0..workers).for_each(|_| join(&mut core));
    let array = |tasks, priority| {
        let profile = Profile { priority, ..Profile::new(Request::cpus(1).unwrap()) };
        Submit::array(JobTarget::New(JobSpec::default()), TaskIds::Next(tasks), "program", vec![].into(), profile)
    };
    let others = core.submit(Tick(1), array(workers * CPUS - 3, 1)).unwrap();
    let own = core.submit(Tick(1), array(1_000, 0)).unwrap();
    let (opened, _) = round(&mut core, Tick(1), Effort::default());
    assert_eq!(opened.len() as u32, workers * CPUS);
    for (worker, grant, task) in opened.into_iter().filter(|_| told) {
        let lane = LaneReport { grant, ended: vec![], started: Some((task, Span(0))) };
        core.handle_event(Tick(2), News::Report { worker, lane });
    }
    [own, others].map(|job| {
        let before = core.effort();
        core.cancel(Tick(2), job, None);
        round(&mut core, Tick(2), before).1
    })
}

#[test]
fn a_cancel_looks_at_its_own_lanes() {
    for told in [true, false] {
        for workers in [2, 20, 200] {
            let [own, others] = cancels(workers, told);
            assert_eq!((own.lanes, own.visited, own.fit_tests), (3, 0, 0), "{workers} {told} {own:?}");
            assert_eq!(others.lanes, u64::from(workers * CPUS - 3), "{workers} {told}");
        }
    }
}

#[test]
fn work_follows_the_classes() {
    let [few, many] = [30, 300].map(|classes| cost(20, classes, 1_000));
    for (few, many) in [(few.first, many.first), (few.join, many.join)] {
        assert!(many.ranked <= 10 * few.ranked + 10, "{few:?} {many:?}");
        assert!(many.visited <= 10 * few.visited + 10, "{few:?} {many:?}");
        assert!(many.fit_tests <= 12 * few.fit_tests + 10, "{few:?} {many:?}");
    }
    for (few, many) in [(few.end, many.end), (few.submit, many.submit)] {
        assert_eq!(few, many);
        assert!(few.ranked <= 2 && few.visited == 0 && few.fit_tests == 0, "{few:?}");
    }
}

/// What filling workers takes where so many classes of next to nothing wait.
fn combined(workers: u32, classes: u64) -> u64 {
    let mut core = booted();
    for class in 0..classes {
        let amount = Amount::from_parts(100 + class);
        let entry = ResourceEntry::parse(&format!("cpus={amount}")).unwrap();
        let request = Request::new(vec![entry]);
        let target = JobTarget::New(JobSpec::default());
        let submit =
            Submit::array(target, TaskIds::Next(100_000), "program", vec![].into(), Profile::new(request.unwrap()));
        core.submit(Tick(1), submit).unwrap();
    }
    for worker in 0..workers {
        // Each unlike the others.
        let config = node(40 - worker);
        core.join(Tick(1), config).unwrap();
    }
    round(&mut core, Tick(1), Effort::default()).1.combined
}

#[test]
fn combinations_are_bounded() {
    for classes in [2, 10] {
        let looks = combined(1, classes);
        assert!((1_000..100_000).contains(&looks), "{classes}: {looks}");
    }
    let looks = combined(8, 3);
    assert!((10_000..800_000).contains(&looks), "{looks}");
}

/// What waits is of three classes, and of so many time limits.
fn with_time_limits(limits: u64) -> Cost {
    let mut core = booted();
    (0..20).for_each(|_| join(&mut core));
    for limit in 0..limits {
        for cpus in [2, 3, 5] {
            let time_limit = Some(Span::secs(100 + limit));
            let profile = Profile { time_limit, ..Profile::new(Request::cpus(cpus).unwrap()) };
            let target = JobTarget::New(JobSpec::default());
            let tasks = TaskIds::Next(12_000 / limits as u32);
            core.submit(Tick(1), Submit::array(target, tasks, "program", vec![].into(), profile)).unwrap();
        }
    }
    costs(core, 20)
}

#[test]
fn queues_of_one_class_cost_what_one_does() {
    let plain = |effort: Effort| (effort.fit_tests, effort.combined);
    let [few, many] = [3, 300].map(with_time_limits);
    assert!(few.first.fit_tests > 0, "{few:?}");
    for (few, many) in [(few.first, many.first), (few.end, many.end), (few.join, many.join), (few.loss, many.loss)] {
        assert_eq!(plain(few), plain(many), "{few:?} {many:?}");
    }
}

/// What the loss of a worker takes where every lane has a backlog of one class, and the tasks of another one, of such a priority,
/// come back and find no room.
fn loss_among_backlogs(workers: u32, priority: i32) -> Effort {
    let mut core = booted();
    (0..workers).for_each(|_| join(&mut core));
    let array = |tasks, cpus, priority| {
        let profile = Profile { priority, ..Profile::new(Request::cpus(cpus).unwrap()) };
        Submit::array(JobTarget::New(JobSpec::default()), TaskIds::Next(tasks), "program", vec![].into(), profile)
    };
    let big = core.submit(Tick(1), array(3, CPUS, priority)).unwrap();
    let (big_ones, _) = round(&mut core, Tick(1), Effort::default());
    core.submit(Tick(1), array(1_000_000, 1, 0)).unwrap();
    let (small_ones, _) = round(&mut core, Tick(1), Effort::default());
    assert_eq!((big_ones.len(), small_ones.len() as u32), (3, (workers - 3) * CPUS), "{big:?}");
    let now = later();
    for (worker, grant, task) in small_ones {
        let ended = RunEnd { task, age: Span(0), took: Span::millis(1), outcome: Outcome::Finished };
        let lane = LaneReport { grant, ended: vec![ended], started: None };
        core.handle_event(now, News::Report { worker, lane });
        round(&mut core, now, Effort::default());
    }
    let before = core.effort();
    let reason = hq_core::LossReason::ConnectionLost;
    core.handle_event(now, News::WorkerLost { worker: big_ones[0].0, reason });
    round(&mut core, now, before).1
}

#[test]
fn a_loss_looks_at_backlogs_that_are_in_the_way() {
    for workers in [20, 200] {
        let equal = loss_among_backlogs(workers, 0);
        assert_eq!(equal.lanes, 0, "no backlog is behind what came back: {equal:?}");
        let better = loss_among_backlogs(workers, 1);
        assert_eq!(better.lanes, u64::from(CPUS), "one worker is held for what came back: {better:?}");
    }
}

/// What a chain takes whose tasks wait for the one before, from its submit to the end of its last task.
fn chain(len: u32) -> Effort {
    let mut core = Scheduler::new();
    core.boot(Tick(0), "uid".into(), 0, "1".into());
    join(&mut core);
    let on = |task: u32| task.checked_sub(1).map(|before| (TaskNumber(before), DepKind::Success));
    let ids = TaskIds::Given(IdList::range(0, len));
    let profile = Profile::new(Request::cpus(1).unwrap());
    let target = JobTarget::New(JobSpec::default());
    let submit = Submit::array(target, ids, "program", vec![].into(), profile);
    core.submit(Tick(1), Submit { deps: Deps::new((0..len).map(on)).unwrap(), ..submit }).unwrap();
    let (mut now, mut ended) = (Tick(1), 0);
    loop {
        let mut next = None;
        while let Some(action) = core.poll_action(now) {
            let Action::Send { worker, message } = action else { continue };
            match message {
                ToWorker::Open(open) => next = Some((worker, open.grant, open.work[0].runs[0].first)),
                ToWorker::Extend { grant, work } => next = Some((worker, grant, work[0].runs[0].first)),
                _ => {}
            }
        }
        let Some((worker, grant, task)) = next else { break };
        (now, ended) = (now.after(Span::millis(1)), ended + 1);
        let end = RunEnd { task, age: Span(0), took: Span::millis(1), outcome: Outcome::Finished };
        let lane = LaneReport { grant, ended: vec![end], started: None };
        core.handle_event(now, News::Report { worker, lane });
    }
    assert_eq!(ended, len, "each task has run, one after the other");
    core.effort()
}

#[test]
fn a_link_of_a_chain_takes_as_much_however_long_it_is() {
    let [one, two, four, eight] = [1_000, 2_000, 4_000, 8_000].map(chain);
    let step = |more: Effort, less: Effort, times: u64| {
        let Effort { ranked, visited, fit_tests, combined, lanes } = more.since(less);
        [ranked, visited, fit_tests, combined, lanes].map(|count| count / times)
    };
    assert_eq!(step(two, one, 1), step(four, two, 2));
    assert_eq!(step(two, one, 1), step(eight, four, 4));
    assert!(two.ranked > one.ranked, "something is counted: {one:?}");
}

/// What a submit takes where a place is reserved for what is blocked, and so many tasks wait that would be in its way.
fn behind_a_reservation(waiting: u32) -> Effort {
    let mut core = Scheduler::new();
    core.boot(Tick(0), "uid".into(), 0, "1".into());
    core.set_policy(Tick(0), "easy-backfill", "pack").unwrap();
    join(&mut core);
    let array = |tasks, cpus, secs| {
        let profile = Profile { time_limit: Some(Span::secs(secs)), ..Profile::new(Request::cpus(cpus).unwrap()) };
        Submit::array(JobTarget::New(JobSpec::default()), TaskIds::Next(tasks), "program", vec![].into(), profile)
    };
    core.submit(Tick(1), array(CPUS - 1, 1, 100)).unwrap();
    let (running, _) = round(&mut core, Tick(1), Effort::default());
    assert_eq!(running.len() as u32, CPUS - 1);
    for (worker, grant, task) in running {
        let lane = LaneReport { grant, ended: vec![], started: Some((task, Span(0))) };
        core.handle_event(Tick(2), News::Report { worker, lane });
    }
    core.submit(Tick(2), array(1, CPUS, 100)).unwrap();
    core.submit(Tick(2), array(waiting, 1, 1_000)).unwrap();
    assert_eq!(round(&mut core, Tick(2), Effort::default()).0, []);
    let before = core.effort();
    core.submit(Tick(2), array(1, 1, 1_000)).unwrap();
    round(&mut core, Tick(2), before).1
}

#[test]
fn a_reservation_costs_what_runs() {
    let few = behind_a_reservation(1_000);
    assert_eq!(few.lanes, u64::from(CPUS - 1), "what runs is looked at once: {few:?}");
    assert_eq!(few, behind_a_reservation(10_000_000));
}
