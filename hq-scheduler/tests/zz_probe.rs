use hq_core::*;
use hq_scheduler::{Action, News, Scheduler};
use std::time::Instant;
const NOW: Tick = Tick(1_000_000);
fn booted() -> Scheduler {
    let mut c = Scheduler::new();
    c.boot(Tick(0), "u".into(), 0, "1".into());
    c
}
fn sub(core: &mut Scheduler, n: u32, prio: i32, r: Request) -> JobId {
    let p = Profile { priority: prio, ..Profile::new(r) };
    core.submit(NOW, Submit::array(JobTarget::New(JobSpec::default()), TaskIds::Next(n), "program", vec![].into(), p))
        .unwrap()
}
fn drain(core: &mut Scheduler, now: Tick) -> Vec<Action> {
    std::iter::from_fn(|| core.poll_action(now)).collect()
}
fn opened(a: &[Action]) -> Vec<(WorkerId, GrantId, Ordinal)> {
    a.iter()
        .filter_map(|a| match a {
            Action::Send { worker, message: ToWorker::Open(o) } => Some((*worker, o.grant, o.work[0].runs[0].first)),
            _ => None,
        })
        .collect()
}
fn join(core: &mut Scheduler, cpus: u32) {
    core.join(NOW, WorkerConfig::new("w", WorkerResources::cpus(cpus).unwrap())).unwrap();
}
fn end(core: &mut Scheduler, at: Tick, o: (WorkerId, GrantId, Ordinal)) -> Vec<Action> {
    let ended = vec![RunEnd { task: o.2, age: Span(0), took: Span::secs(1), outcome: Outcome::Finished }];
    core.handle_event(at, News::Report { worker: o.0, lane: LaneReport { grant: o.1, ended, started: None } });
    drain(core, at)
}
fn t<R>(what: &str, f: impl FnOnce() -> R) -> R {
    let s = Instant::now();
    let r = f();
    println!("{what}: {:?}", s.elapsed());
    r
}

#[test]
fn priorities() {
    for (queues, workers, cpus) in [(1000, 4, 4), (10_000, 4, 4), (1000, 1000, 16), (3000, 1000, 16)] {
        println!("-- {queues} queues of distinct priority, {workers} workers of {cpus}");
        let mut core = booted();
        t("join", || {
            for _ in 0..workers {
                join(&mut core, cpus);
            }
            drain(&mut core, NOW)
        });
        let a = t("submit all, one round", || {
            for i in 0..queues {
                sub(&mut core, 20, i, Request::cpus(1 + (i as u32 % 3)).unwrap());
            }
            drain(&mut core, NOW)
        });
        let o = opened(&a);
        println!("opened {}", o.len());
        let at = NOW.after(Span::secs(1));
        if o.is_empty() {
            continue;
        }
        t("one end", || end(&mut core, at, o[0]));
        t("one end", || end(&mut core, at, o[1]));
        t("one submit low", || {
            sub(&mut core, 1, -1, Request::cpus(1).unwrap());
            drain(&mut core, at)
        });
        t("poll_timeout", || core.poll_timeout());
    }
}
#[test]
fn classes() {
    println!("-- 1000 workers 100 classes 1M tasks");
    let mut core = booted();
    for _ in 0..1000 {
        join(&mut core, 64);
    }
    drain(&mut core, NOW);
    let a = t("first placement", || {
        for i in 0..100 {
            sub(
                &mut core,
                10_000,
                0,
                Request::cpus(1 + (i as u32 % 32)).unwrap().with_weight(10_000 + i as u32).unwrap(),
            );
        }
        drain(&mut core, NOW)
    });
    let o = opened(&a);
    println!("opened {}", o.len());
    let at = NOW.after(Span::secs(1));
    for i in 0..3 {
        t("one end", || end(&mut core, at, o[i]));
    }
    t("one submit", || {
        sub(&mut core, 1, 0, Request::cpus(1).unwrap());
        drain(&mut core, at)
    });
    t("join", || {
        join(&mut core, 64);
        drain(&mut core, at)
    });
    t("loss", || {
        core.handle_event(at, News::WorkerLost { worker: WorkerId(500), reason: LossReason::Stopped });
        drain(&mut core, at).len()
    });
    let j = sub(&mut core, 10, 0, Request::cpus(1).unwrap());
    drain(&mut core, at);
    t("cancel of ten waiting", || {
        core.cancel(at, j, None);
        drain(&mut core, at).len()
    });
}
#[test]
fn graph() {
    let n = 1_000_000u32;
    let deps = Deps::new((0..n).map(|i| (i > 0).then(|| (TaskNumber(i - 1), DepKind::Success)))).unwrap();
    let mut core = booted();
    join(&mut core, 1);
    drain(&mut core, NOW);
    let mut s = Submit::array(
        JobTarget::New(JobSpec::default()),
        TaskIds::Next(n),
        "program",
        vec![].into(),
        Profile::new(Request::cpus(1).unwrap()),
    );
    s.deps = deps;
    let a = t("submit chain of 1M", || {
        core.submit(NOW, s).unwrap();
        drain(&mut core, NOW)
    });
    let o = opened(&a)[0];
    let ended = vec![RunEnd { task: o.2, age: Span(0), took: Span::secs(1), outcome: Outcome::Failed("x".into()) }];
    t("head fails", || {
        core.handle_event(NOW, News::Report { worker: o.0, lane: LaneReport { grant: o.1, ended, started: None } });
        println!("{} actions", drain(&mut core, NOW).len())
    });
    // layers: 1000 x 1000 complete-ish
    let deps = Deps::new((0..n).map(|i| {
        (0..3u32).filter_map(move |k| {
            (i / 1000 > 0).then(|| (TaskNumber((i / 1000 - 1) * 1000 + (i * 7 + k) % 1000), DepKind::Success))
        })
    }))
    .unwrap();
    let mut core = booted();
    for _ in 0..100 {
        join(&mut core, 10);
    }
    drain(&mut core, NOW);
    let mut s = Submit::array(
        JobTarget::New(JobSpec::default()),
        TaskIds::Next(n),
        "program",
        vec![].into(),
        Profile::new(Request::cpus(1).unwrap()),
    );
    s.deps = deps;
    let a = t("submit layers 1M, 3M edges", || {
        core.submit(NOW, s).unwrap();
        drain(&mut core, NOW)
    });
    let mut q: std::collections::VecDeque<_> = opened(&a).into();
    let mut at = NOW;
    let st = Instant::now();
    let mut done = 0;
    while let Some(o) = q.pop_front() {
        at = at.after(Span(1000));
        for a in end(&mut core, at, o) {
            if let Action::Send { worker, message } = a {
                match message {
                    ToWorker::Open(x) => q.push_back((worker, x.grant, x.work[0].runs[0].first)),
                    ToWorker::Extend { grant, work } => q.push_back((worker, grant, work[0].runs[0].first)),
                    _ => {}
                }
            }
        }
        done += 1;
        if done == 100_000 {
            break;
        }
    }
    println!("{done} ends one by one: {:?} each", st.elapsed() / done);
}
#[test]
fn submits() {
    let mut core = booted();
    let job = core.open(NOW, JobSpec::default());
    let one = |core: &mut Scheduler, ids| {
        core.submit(
            NOW,
            Submit::array(
                JobTarget::Attach(job),
                ids,
                "program",
                vec![].into(),
                Profile::new(Request::cpus(1).unwrap()),
            ),
        )
        .unwrap();
    };
    t("50k attached submits", || {
        for _ in 0..50_000 {
            one(&mut core, TaskIds::Next(1));
            drain(&mut core, NOW);
        }
    });
    t("one more", || one(&mut core, TaskIds::Next(1)));
    t("cancel of 50k submits", || {
        core.cancel(NOW, job, None);
        drain(&mut core, NOW).len()
    });
    let mut core = booted();
    t("10k jobs", || {
        for _ in 0..10_000 {
            sub(&mut core, 1, 0, Request::cpus(1).unwrap());
        }
    });
    for _ in 0..1000 {
        join(&mut core, 16);
    }
    drain(&mut core, NOW);
    t("cancel of 10k running jobs", || {
        for j in 1..=10_000 {
            core.cancel(NOW, JobId(j), None);
        }
        drain(&mut core, NOW).len()
    });
    let mut core = booted();
    for _ in 0..1000 {
        join(&mut core, 16);
    }
    drain(&mut core, NOW);
    t("poll_timeout 1000 idle", || core.poll_timeout());
    t("one submit on 1000 idle", || {
        sub(&mut core, 1, 0, Request::cpus(1).unwrap());
        drain(&mut core, NOW)
    });
    let j = sub(&mut core, 10_000_000, 0, Request::cpus(1).unwrap());
    t("place 16k of 10M", || drain(&mut core, NOW).len());
    t("cancel 10M", || {
        core.cancel(NOW, j, None);
        drain(&mut core, NOW).len()
    });
}
