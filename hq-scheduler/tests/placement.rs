//! Vectors of placement: one round on workers with listed loads. `UPDATE=1` rewrites the results.

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

#[expect(dead_code, reason = "this table has flags behind what is found")]
mod text;

use std::{collections::BTreeMap, fmt::Write as _};

use hq_core::{
    Fact, GrantId, JobSpec, JobTarget, LaneReport, Ordinal, Outcome, Profile, RunEnd, Span, Submit, TaskIds, Tick,
    ToWorker, Variants, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler};
use text::{defs_of, variants_of};

const TABLE: &str = "testdata/placement.txt";

#[test]
fn vectors() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut rewritten = String::new();
    let mut wrong = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            writeln!(rewritten, "{line}").unwrap();
            continue;
        }
        let cells: Vec<&str> = line.split(';').map(str::trim).collect();
        let flag = cells.get(3).copied().unwrap_or_default();
        let found = run(cells[0], cells[1], flag);
        if !matches(cells[2], &found, flag == "eq") {
            wrong.push(format!("line {}: {line}\n    found: {found}", n + 1));
        }
        let flag = if flag.is_empty() { String::new() } else { format!(" ; {flag}") };
        writeln!(rewritten, "{} ; {} ; {found}{flag}", cells[0], cells[1]).unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, rewritten).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{} of the vectors differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Strict priorities: 300 workers of eight cpus, and for each of 3,200 priorities a task of one cpu and one of two, of which the
/// best 800 or so of each start.
#[test]
fn many_priorities_are_strict() {
    const PRIORITIES: u64 = 3_200;
    let mut core = Scheduler::new();
    let now = Tick(1_000_000);
    core.boot(now, "uid".into(), 0, "1".into());
    for _ in 0..300 {
        core.join(now, worker_of("8")).unwrap();
    }
    for priority in 0..PRIORITIES as i32 {
        submit(&mut core, now, "program", priority, "1");
        submit(&mut core, now, "program", priority, "2");
    }
    let started = drain(&mut core, now);
    let small = started.iter().filter(|granted| granted.task.0 % 2 == 0).count();
    let big = started.len() - small;
    assert!((790..=810).contains(&small) && (790..=810).contains(&big), "{small} and {big}");
    assert!(started.iter().all(|granted| granted.task.0 >= 2 * (PRIORITIES - 810)), "the best ones");
}

fn matches(expected: &str, found: &str, swapped: bool) -> bool {
    if !swapped {
        return expected == found;
    }
    let sorted = |text: &str| {
        let mut parts: Vec<String> = text.split(" / ").map(str::to_owned).collect();
        parts.sort();
        parts
    };
    sorted(expected) == sorted(found)
}

fn run(workers: &str, tasks: &str, flag: &str) -> String {
    let mut core = Scheduler::new();
    let now = Tick(1_000_000);
    core.boot(now, "uid".into(), 0, "1".into());
    let mut names = Vec::new();
    for worker in workers.split_whitespace() {
        let (resources, running) = worker.split_once('*').unwrap_or((worker, ""));
        let kind = format!("load of {}", names.len());
        let mut config = worker_of(resources);
        config.kinds = vec![kind.clone()];
        let id = core.join(now, config).unwrap();
        for cpus in running.split('+').filter(|cpus| !cpus.is_empty()) {
            submit(&mut core, now, &kind, 100, cpus);
            occupy(&mut core, now, id);
        }
        names.push(id);
    }
    let mut order: BTreeMap<Ordinal, String> = BTreeMap::new();
    let mut of_request: Vec<(String, u64)> = Vec::new();
    let mut assigned: BTreeMap<WorkerId, Vec<String>> = BTreeMap::new();
    for stage in tasks.split('>') {
        for task in stage.split_whitespace() {
            if let Some(worker) = task.strip_prefix('+') {
                names.push(core.join(now, worker_of(worker)).unwrap());
                continue;
            }
            let (task, count) = match task.rsplit_once('x') {
                Some((task, count)) => (task, count.parse().unwrap()),
                None => (task, 1),
            };
            let (priority, request) = task.split_once(':').unwrap_or(("0", task));
            if !of_request.iter().any(|(known, _)| known == request) {
                of_request.push((request.to_owned(), 0));
            }
            for _ in 0..count {
                let job = submit(&mut core, now, "program", priority.parse().unwrap(), request);
                let base = core.job(job).unwrap().submits[0].0;
                order.insert(base, format!("t{}", order.len()));
            }
        }
        for Granted { worker, task, variant, .. } in started(&mut core, now, flag == "ends") {
            let name = order[&task].clone() + &if variant > 0 { format!("v{variant}") } else { String::new() };
            assigned.entry(worker).or_default().push(name);
            let (base, submit, _) = core.job(core.locate(task).unwrap().0).unwrap().submits[0];
            let request = shown(&submit.profile(task.0 - base.0).variants);
            if let Some((_, n)) = of_request.iter_mut().find(|(known, _)| shown(&variants_of(known)) == request) {
                *n += 1;
            }
        }
    }
    if flag == "totals" {
        return of_request.iter().map(|(_, n)| n.to_string()).collect::<Vec<_>>().join(" ");
    }
    let part = |id| assigned.get(id).map_or_else(|| "-".to_owned(), |tasks| tasks.join(","));
    names.iter().map(part).collect::<Vec<_>>().join(" / ")
}

fn shown(variants: &Variants) -> String {
    format!("{variants:?}")
}

struct Granted {
    grant: GrantId,
    worker: WorkerId,
    task: Ordinal,
    variant: u8,
}

/// Lets the load start that was submitted last; its kind of body leads it to this worker.
fn occupy(core: &mut Scheduler, now: Tick, worker: WorkerId) {
    let mut opened = vec![];
    while let Some(action) = core.poll_action(now) {
        if let Action::Send { worker, message: ToWorker::Open(open) } = action {
            opened.push((worker, open.grant, open.work[0].runs[0].first));
        }
    }
    assert_eq!(opened.len(), 1, "the load has to fit");
    let (to, grant, task) = opened[0];
    assert_eq!(to, worker);
    let lane = LaneReport { grant, ended: vec![], started: Some((task, Span(0))) };
    core.handle_event(now, News::Report { worker, lane });
}

fn submit(core: &mut Scheduler, now: Tick, kind: &str, priority: i32, request: &str) -> hq_core::JobId {
    let profile = Profile { priority, ..Profile::new(variants_of(request)) };
    let target = JobTarget::New(JobSpec::default());
    core.submit(now, Submit::array(target, TaskIds::Next(1), kind, vec![].into(), profile)).unwrap()
}

fn worker_of(text: &str) -> WorkerConfig {
    let (text, group) = text.split_once('@').unwrap_or((text, "default"));
    let (text, seconds) = text.split_once('~').map_or((text, None), |(text, seconds)| (text, Some(seconds)));
    let (text, percent) = text.split_once('%').unwrap_or((text, "0"));
    WorkerConfig {
        min_utilization: percent.parse::<u32>().unwrap() * 100,
        group: group.to_owned(),
        time_limit: seconds.map(|seconds| Span::secs(seconds.parse().unwrap())),
        ..WorkerConfig::new("w", WorkerResources::new(defs_of(text), vec![]).unwrap())
    }
}

/// What a round starts; if it `ends`, all that follows, too.
fn started(core: &mut Scheduler, now: Tick, ends: bool) -> Vec<Granted> {
    let mut all = drain(core, now);
    let mut seen = 0;
    while ends && seen < all.len() {
        for Granted { grant, worker, task, .. } in &all[seen..] {
            let took = Span::secs(1);
            let ended = vec![RunEnd { task: *task, age: Span(0), took, outcome: Outcome::Finished }];
            let lane = LaneReport { grant: *grant, ended, started: None };
            core.handle_event(now.after(took), News::Report { worker: *worker, lane });
        }
        seen = all.len();
        all.extend(drain(core, now.after(Span::secs(1))));
    }
    all
}

/// Tasks granted, in order; a gang's task on each of its workers.
fn drain(core: &mut Scheduler, now: Tick) -> Vec<Granted> {
    let mut granted: Vec<Granted> = vec![];
    while let Some(action) = core.poll_action(now) {
        match action {
            Action::Record(Fact::GrantOpened { grant, workers, tasks, variant, .. }) => {
                for task in tasks.iter().flat_map(|range| range.iter()) {
                    granted.extend(workers.iter().map(|worker| Granted { grant, worker: *worker, task, variant }));
                }
            }
            // A lane goes on with the next of its class.
            Action::Send { worker, message: ToWorker::Extend { grant, work } } => {
                let runs = work.iter().flat_map(|work| &work.runs);
                let tasks = runs.flat_map(|run| (0..u64::from(run.numbers.count)).map(|i| run.first.plus(i)));
                granted.extend(tasks.map(|task| Granted { grant, worker, task, variant: 0 }));
            }
            _ => {}
        }
    }
    granted
}
