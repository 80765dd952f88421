//! What each placement is: tasks that come one after the other or together, and the workers they get. `UPDATE=1` rewrites
//! the results.

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

use std::{collections::BTreeMap, fmt::Write as _};

use hq_core::{
    Fact, JobSpec, JobTarget, LossReason, Ordinal, Profile, Request, ResourceDef, ResourceEntry, Submit, TaskIds, Tick,
    Variants, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, News, Scheduler};

const TABLE: &str = "testdata/places.txt";
const NOW: Tick = Tick(1_000_000);

#[test]
fn vectors() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(TABLE);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut rewritten = String::new();
    let mut wrong = Vec::new();
    let mut groups: BTreeMap<(String, String), Vec<(String, String)>> = BTreeMap::new();
    for (n, line) in text.lines().enumerate() {
        if line.starts_with('#') || line.trim().is_empty() {
            writeln!(rewritten, "{line}").unwrap();
            continue;
        }
        let cells: Vec<&str> = line.split(';').map(str::trim).collect();
        let [policy, workers, tasks, expected] = cells[..] else { panic!("line {}: four cells", n + 1) };
        let found = run(policy, workers, tasks);
        if found != expected {
            wrong.push(format!("line {}: {line}\n    found: {found}", n + 1));
        }
        let rows = groups.entry((workers.to_owned(), tasks.to_owned())).or_default();
        rows.push((policy.to_owned(), found.clone()));
        writeln!(rewritten, "{policy} ; {workers} ; {tasks} ; {found}").unwrap();
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, rewritten).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{} of the vectors differ:\n{}", wrong.len(), wrong.join("\n"));
    // Some case tells any two placements apart.
    for one in PLACEMENTS {
        for other in PLACEMENTS.iter().filter(|other| **other != one) {
            let found = |rows: &[(String, String)], name: &str| {
                rows.iter().find(|(policy, _)| policy == name).map(|(_, found)| found.clone())
            };
            let differ = groups.values().any(|rows| {
                let both = found(rows, one).zip(found(rows, other));
                both.is_some_and(|(one, other)| one != other)
            });
            assert!(differ, "nothing tells {one} from {other}");
        }
    }
}

const PLACEMENTS: [&str; 5] = ["pack", "least-loaded", "round-robin", "first-fit", "least-fragmenting"];

/// The worker of each task, from 1, or `-`; what `/` parts comes later. `!NAME` lets another placement decide from then on,
/// `+WORKER` comes then and `-N` goes.
fn run(placement: &str, workers: &str, tasks: &str) -> String {
    let mut core = Scheduler::new();
    core.boot(NOW, "uid".into(), 0, "1".into());
    core.set_policy(NOW, "priority", placement).unwrap();
    for worker in workers.split_whitespace() {
        core.join(NOW, WorkerConfig::new("w", resources(worker))).unwrap();
    }
    let mut shown: Vec<Vec<Ordinal>> = Vec::new();
    let mut placed: BTreeMap<Ordinal, WorkerId> = BTreeMap::new();
    for part in tasks.split('/') {
        let mut submitted = Vec::new();
        for task in part.split_whitespace() {
            if let Some(name) = task.strip_prefix('!') {
                core.set_policy(NOW, "priority", name).unwrap();
            } else if let Some(worker) = task.strip_prefix('+') {
                core.join(NOW, WorkerConfig::new("w", resources(worker))).unwrap();
            } else if let Some(n) = task.strip_prefix('-') {
                let worker = WorkerId(n.parse().unwrap());
                core.handle_event(NOW, News::WorkerLost { worker, reason: LossReason::Stopped });
            } else {
                submitted.push(submit(&mut core, task));
            }
        }
        shown.push(submitted);
        while let Some(action) = core.poll_action(NOW) {
            if let Action::Record(Fact::GrantOpened { workers, tasks, .. }) = action {
                placed.extend(tasks.iter().flat_map(|range| range.iter()).map(|task| (task, workers[0])));
            }
        }
    }
    let worker = |task: &Ordinal| placed.get(task).map_or_else(|| "-".to_owned(), |worker| worker.0.to_string());
    let part = |tasks: &Vec<Ordinal>| tasks.iter().map(worker).collect::<Vec<_>>().join(" ");
    shown.iter().map(part).collect::<Vec<_>>().join(" / ").trim_end().to_owned()
}

fn submit(core: &mut Scheduler, text: &str) -> Ordinal {
    let variants: Vec<Request> = text.split('|').map(|text| Request::new(entries(text)).unwrap()).collect();
    let target = JobTarget::New(JobSpec::default());
    let profile = Profile::new(Variants::new(variants).unwrap());
    let job = core.submit(NOW, Submit::array(target, TaskIds::Next(1), "program", vec![].into(), profile)).unwrap();
    core.job(job).unwrap().submits[0].0
}

fn entries(text: &str) -> Vec<ResourceEntry> {
    let parts = text.split(',').enumerate();
    let text = |(i, part): (usize, &str)| if i == 0 { format!("cpus={part}") } else { part.to_owned() };
    parts.map(|part| ResourceEntry::parse(&text(part)).unwrap()).collect()
}

fn resources(text: &str) -> WorkerResources {
    let def = |(i, part): (usize, &str)| match part.split_once('=') {
        _ if i == 0 => ResourceDef::parse_cpus(part).unwrap(),
        Some((name, n)) if name.starts_with("gpus") => ResourceDef::parse(&format!(
            "{name}=[{}]",
            (0..n.parse().unwrap()).map(|i: u32| i.to_string()).collect::<Vec<_>>().join(",")
        ))
        .unwrap(),
        Some((name, amount)) => ResourceDef::parse(&format!("{name}=sum({amount})")).unwrap(),
        None => panic!("{part}"),
    };
    WorkerResources::new(text.split(',').enumerate().map(def).collect(), vec![]).unwrap()
}
