//! The worst that users, peers and files can say does no harm.

mod common;

use std::sync::Arc;

use common::{booted, drain, node};
use hq_core::{
    Amount, DepKind, Deps, Epoch, Fact, GrantId, JobId, JobSpec, JobTarget, LaneReport, Ordinal, OrdinalRange, Outcome,
    Owner, Policy, Profile, Quantity, Record, Request, ResourceEntry, ResourceName, RunEnd, Span, Submit, TaskIds,
    TaskNumber, Tick, ToWorker, WorkerConfig, WorkerId,
};
use hq_scheduler::{Action, News, Scheduler, WorkerType};

const NOW: Tick = Tick(1_000_000);

fn tasks(n: u32, request: Request) -> Submit {
    let target = JobTarget::New(JobSpec::default());
    Submit::array(target, TaskIds::Next(n), "program", vec![].into(), Profile::new(request))
}

fn worker(cpus: u32) -> WorkerConfig {
    node(cpus)
}

/// Lanes that are opened, with all their tasks.
fn opened(actions: &[Action]) -> Vec<(WorkerId, GrantId, Vec<Ordinal>)> {
    let open = |action: &Action| match action {
        Action::Send { worker, message: ToWorker::Open(open) } => {
            let runs = open.work.iter().flat_map(|work| &work.runs);
            let tasks = runs.flat_map(|run| (0..u64::from(run.numbers.count)).map(|i| run.first.plus(i)));
            Some((*worker, open.grant, tasks.collect()))
        }
        _ => None,
    };
    actions.iter().filter_map(open).collect()
}

fn finished(task: Ordinal, took: Span) -> RunEnd {
    RunEnd { task, age: Span(0), took, outcome: Outcome::Finished }
}

#[test]
fn tasks_that_ask_for_nothing_do_not_start_all_at_once() {
    let mut core = booted();
    core.submit(NOW, tasks(1 << 24, Request::new(vec![]).unwrap())).unwrap();
    let mut kind = WorkerType::like(&worker(1));
    kind.workers_max = 10;
    assert_eq!(core.demand(NOW, &[kind]).workers, [10]);
    core.join(NOW, worker(1)).unwrap();
    assert_eq!(opened(&drain(&mut core, NOW)).len(), 16_384);
}

#[test]
fn absurd_requests_have_a_value() {
    let mut core = booted();
    core.join(NOW, worker(1)).unwrap();
    let entry = |i: u32| ResourceEntry {
        resource: ResourceName::new(&format!("r{i}")).unwrap(),
        quantity: Quantity::Amount(Amount::MAX, Policy::Compact),
    };
    let absurd = Request::new((0..1000).map(entry).collect()).unwrap().with_weight(4_000_000_000).unwrap();
    core.submit(NOW, tasks(1, absurd)).unwrap();
    core.submit(NOW, tasks(1, Request::cpus(1).unwrap())).unwrap();
    assert_eq!(opened(&drain(&mut core, NOW)).len(), 1);
}

#[test]
fn an_end_told_twice_is_one_end() {
    let mut core = booted();
    core.submit(NOW, tasks(2, Request::cpus(1).unwrap())).unwrap();
    core.join(NOW, worker(1)).unwrap();
    let (worker, grant, _) = opened(&drain(&mut core, NOW)).remove(0);
    let ended = vec![finished(Ordinal(0), Span(0)); 2];
    core.handle_event(NOW, News::Report { worker, lane: LaneReport { grant, ended, started: None } });
    let ends = drain(&mut core, NOW).into_iter().filter_map(|action| match action {
        Action::Record(Fact::TasksFinished { ends, .. }) => Some(ends.iter().count()),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [1], "others count what the record says");
}

/// A worker that gives back also what runs, and all of it twice: the rest comes back, and what runs stays.
#[test]
fn what_runs_does_not_keep_the_rest_from_coming_back() {
    let mut core = booted();
    core.submit(NOW, tasks(50, Request::cpus(1).unwrap())).unwrap();
    core.join(NOW, worker(1)).unwrap();
    let (first, grant, _) = opened(&drain(&mut core, NOW)).remove(0);
    let short = Span::millis(1);
    let later = NOW.after(short);
    let ended = vec![finished(Ordinal(0), short)];
    let lane = LaneReport { grant, ended, started: None };
    core.handle_event(later, News::Report { worker: first, lane });
    drain(&mut core, later);
    let mut better = tasks(1, Request::cpus(1).unwrap());
    better.profiles[0].priority = 1;
    core.submit(later, better).unwrap();
    let recall = drain(&mut core, later).into_iter().find_map(|action| match action {
        Action::Send { message: ToWorker::Recall { grant, n, tasks }, .. } => Some((grant, n, tasks)),
        _ => None,
    });
    let (grant, n, asked) = recall.expect("the backlog is in the way of a better task");
    let runs = asked[0].start;
    let lane = LaneReport { grant, ended: vec![], started: Some((runs, Span(0))) };
    core.handle_event(later, News::Report { worker: first, lane });
    let doubled = asked.iter().chain(&asked).copied().collect();
    core.handle_event(later, News::Recalled { worker: first, grant, n, tasks: doubled });
    let returned = drain(&mut core, later).into_iter().find_map(|action| match action {
        Action::Record(Fact::GrantReturned { tasks, .. }) => Some(tasks),
        _ => None,
    });
    let returned = returned.expect("the rest comes back");
    let all: u64 = asked.iter().map(|range| range.len).sum();
    assert!(all > 1 && returned.iter().all(|range| !range.contains(runs)), "{asked:?} {returned:?}");
    assert_eq!(returned.iter().map(|range| range.len).sum::<u64>(), all - 1);
}

#[test]
fn a_backlog_does_not_reach_past_what_the_order_allows() {
    let mut core = booted();
    core.set_policy(NOW, "fcfs", "pack").unwrap();
    let short = Request::cpus(1).unwrap();
    let other = Request::cpus(1).unwrap().with_weight(20_000).unwrap();
    core.submit(NOW, tasks(1, short.clone())).unwrap();
    core.join(NOW, worker(1)).unwrap();
    let (lost, grant, _) = opened(&drain(&mut core, NOW)).remove(0);
    let later = NOW.after(Span::millis(1));
    let ended = vec![finished(Ordinal(0), Span::millis(1))];
    core.handle_event(later, News::Report { worker: lost, lane: LaneReport { grant, ended, started: None } });
    core.handle_event(later, News::WorkerLost { worker: lost, reason: hq_core::LossReason::Stopped });
    for (n, request) in [(2, short.clone()), (1, other), (50, short)] {
        core.submit(later, tasks(n, request)).unwrap();
    }
    drain(&mut core, later);
    core.join(later, worker(1)).unwrap();
    let (.., first) = opened(&drain(&mut core, later)).remove(0);
    assert!(first.iter().all(|task| task.0 < 3), "task 3 came before the rest of the class: {first:?}");
}

#[test]
fn names_of_owners_are_short_lines() {
    let mut core = booted();
    for (name, taken) in [
        ("", true),
        ("ann", true),
        ("Åsa Ö.", true),
        (&"a".repeat(256), true),
        (&"a".repeat(257), false),
        (&"é".repeat(129), false),
        ("a\nb", false),
        ("\u{1b}[2J", false),
        ("a\0", false),
    ] {
        for owner in [Owner::user(name), Owner::default().in_project(name)] {
            let submit = Submit { owner, ..tasks(1, Request::cpus(1).unwrap()) };
            assert_eq!(core.submit(NOW, submit).is_ok(), taken, "{name:?}");
        }
    }
}

#[test]
fn records_that_contradict_each_other_are_refused() {
    let mut spoilt: Vec<(&str, Submit)> = vec![];
    for (what, spoil) in [
        ("profile", (|s: &mut Submit| s.profile_of = vec![7, 7]) as fn(&mut Submit)),
        ("profiles", |s| s.profiles.clear()),
        ("differ in length", |s| s.deps = Deps::new([[(TaskNumber(0), DepKind::Success)]]).unwrap()),
    ] {
        let mut submit = tasks(2, Request::cpus(1).unwrap());
        submit.ids = TaskIds::Given(hq_core::IdList::range(0, 2));
        spoil(&mut submit);
        spoilt.push((what, submit));
    }
    for (what, submit) in spoilt {
        let fact = Fact::Submitted { job: JobId(1), base: Ordinal(0), submit: Arc::new(submit) };
        let refused = Scheduler::new().replay(&Record { at: NOW, fact }).unwrap_err();
        assert!(refused.contains(what), "{refused}");
    }
    let mut core = booted();
    core.submit(NOW, tasks(2, Request::cpus(1).unwrap())).unwrap();
    core.join(NOW, worker(1)).unwrap();
    let facts: Vec<Fact> = drain(&mut core, NOW)
        .into_iter()
        .filter_map(|action| if let Action::Record(fact) = action { Some(fact) } else { None })
        .filter(|fact| !matches!(fact, Fact::GrantOpened { .. }))
        .collect();
    for tasks in [OrdinalRange::new(Ordinal(0), u64::MAX), OrdinalRange::new(Ordinal(u64::MAX), 2)] {
        let mut replayed = Scheduler::new();
        for fact in facts.clone() {
            replayed.replay(&Record { at: NOW, fact }).unwrap();
        }
        let fact = Fact::GrantOpened {
            grant: GrantId { epoch: Epoch(1), n: 1 },
            workers: vec![WorkerId(1)],
            class: None,
            variant: 0,
            allocation: Default::default(),
            tasks: vec![tasks],
        };
        assert!(replayed.replay(&Record { at: NOW, fact }).unwrap_err().contains("do not wait"));
    }
}
