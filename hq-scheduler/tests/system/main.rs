//! Whole systems, step by step: the tables in `testdata/system/`.
//!
//! A line is a command, `->` and facts that must hold, and perhaps `=>` and all that happened. `UPDATE=1` rewrites what is
//! behind `=>`, and nothing else: facts are what users rely on, the rest only shows what a change changes.
//!
//! | command | does |
//! |---|---|
//! | `world` | begins anew |
//! | `worker NAME: DEF; DEF; couple …; group G; lives 30s; idle 2s` | a worker comes |
//! | `submit NAME: REQ; REQ; nodes 3; prio 5; weight 2; needs 30s; takes 1s; times 50` | tasks come; the round is at the next line |
//! | `go` · `pass 2s` | nothing else happens · time passes |
//! | `end TASK` · `fail TASK` · `cancel NAME` | a run ends, a job is cancelled |
//! | `lose WORKER` · `stop WORKER` | a worker is lost, or stopped by its user |
//!
//! Variants of a submit are joined by a bar. Of a submit of 50, the tasks are `NAME.0` and so on, and `NAME` is all of them.
//!
//! | fact | holds if |
//! |---|---|
//! | `run A B` · `wait A` · `done A` · `failed A` · `canceled A` | each of these tasks is in that state |
//! | `at 1s A` | each started last at that time |
//! | `starts A 0s 0s 1s` | so the tasks started, in order of time |
//! | `on w1+w2 A` | each ran last there, the main worker first |
//! | `apart A B` · `together A B` | on different workers, on the same ones |
//! | `busy w1 w2` · `idle w1` · `stopped w1` · `there w1` | of workers |
//! | `variant 1 A` · `instance 1 A` | each runs so |
//! | `A: FACT` | a fact of the pool tables holds for the indices of each |

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../facts/mod.rs"]
mod facts;
mod liveness;
mod world;

use std::{fmt::Write as _, fs, path::Path};

use hq_core::{
    Amount, LossReason, Outcome, Profile, Request, ResourceDef, Span, TaskState, Variants, WorkerConfig,
    WorkerResources,
};

use crate::{
    facts::Granted,
    world::{START, Task, World},
};

#[test]
fn tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/system");
    let update = std::env::var_os("UPDATE").is_some();
    let (mut rows, mut wrong) = (0, vec![]);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let (mut world, mut out) = (World::new(), String::new());
        for (number, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                writeln!(out, "{line}").unwrap();
                continue;
            }
            rows += 1;
            let place = format!("{}:{}: {line}", path.file_name().unwrap().to_string_lossy(), number + 1);
            let (input, exact) =
                line.split_once("=>").map_or((line, None), |(input, exact)| (input, Some(exact.trim())));
            let (command, facts) = input.split_once("->").unwrap_or((input, ""));
            step(&mut world, command.trim());
            let happened = std::mem::take(&mut world.log).join(" | ");
            for fact in facts.split(';').map(str::trim).filter(|fact| !fact.is_empty()) {
                if !holds(&world, fact) {
                    wrong.push(format!("{place}\n  {fact}: does not hold\n  happened: {happened}"));
                }
            }
            match exact {
                None => writeln!(out, "{line}").unwrap(),
                Some(exact) => {
                    if exact != happened && !update {
                        wrong.push(format!("{place}\n  happened: {happened}"));
                    }
                    writeln!(out, "{}", format!("{} => {happened}", input.trim()).trim_end()).unwrap();
                }
            }
        }
        if update && out != text {
            fs::write(&path, out).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows > 100, "only {rows} rows found");
}

fn step(world: &mut World, command: &str) {
    let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
    match verb {
        "world" => *world = World::new(),
        "worker" => world.join(worker(rest)),
        "submit" => return submit(world, rest),
        "go" => {}
        "pass" => {
            world.settle();
            world.pass(Span::parse(rest).unwrap());
        }
        "end" => world.end(rest, Outcome::Finished),
        "fail" => world.end(rest, Outcome::Failed("it failed".to_owned())),
        "cancel" => world.cancel(rest),
        "lose" => world.lose(rest, LossReason::ConnectionLost),
        "stop" => world.lose(rest, LossReason::Stopped),
        _ => panic!("unknown command {command}"),
    }
    world.settle();
}

fn worker(text: &str) -> WorkerConfig {
    let (name, parts) = text.split_once(':').unwrap();
    let mut config = WorkerConfig::new(name, WorkerResources::cpus(1).unwrap());
    let (mut defs, mut coupling) = (vec![], vec![]);
    for part in parts.split(';').map(str::trim) {
        match part.split_once(' ') {
            Some(("couple", item)) => coupling.push(item),
            Some(("group", group)) => config.group = group.to_owned(),
            Some(("lives", span)) => config.time_limit = Some(Span::parse(span).unwrap()),
            Some(("idle", span)) => config.idle_timeout = Some(Span::parse(span).unwrap()),
            _ => defs.push(ResourceDef::parse(part).unwrap()),
        }
    }
    config.resources = WorkerResources::new(defs, vec![]).unwrap();
    if !coupling.is_empty() {
        config.resources = config.resources.with_coupling(&coupling.join(",")).unwrap();
    }
    config
}

fn submit(world: &mut World, text: &str) {
    let (name, rest) = text.split_once(':').unwrap();
    let (mut priority, mut takes, mut times) = (0, None, 1);
    let mut variants = vec![];
    for variant in rest.split('|') {
        let (mut entries, mut nodes, mut needs, mut weight) = (vec![], 0, Span::ZERO, Amount::ONE);
        for part in variant.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once(' ') {
                Some(("prio", n)) => priority = n.parse().unwrap(),
                Some(("takes", span)) => takes = Some(Span::parse(span).unwrap()),
                Some(("times", n)) => times = n.parse().unwrap(),
                Some(("needs", span)) => needs = Span::parse(span).unwrap(),
                Some(("weight", n)) => weight = n.parse().unwrap(),
                Some(("nodes", n)) => nodes = n.parse().unwrap(),
                _ => entries.push(part),
            }
        }
        let request = if nodes > 0 { Request::gang(nodes) } else { Request::parse(entries).unwrap() };
        variants.push(request.with_min_time(needs).with_weight(weight.parts() as u32).unwrap());
    }
    let profile = Profile { priority, ..Profile::new(Variants::new(variants).unwrap()) };
    world.submit(name, times, profile, takes);
}

fn holds(world: &World, fact: &str) -> bool {
    if let Some((name, fact)) = fact.split_once(':') {
        let fact: Vec<&str> = fact.split_whitespace().collect();
        let one = |name: &str| granted(world, tasks(world, name)[0]);
        return tasks(world, name).into_iter().all(|task| granted(world, task).holds(&fact, one));
    }
    let words: Vec<&str> = fact.split_whitespace().collect();
    let (verb, rest) = (words[0], &words[1..]);
    let state = |state: TaskState| all(world, rest, |task| world.core.task(task.ordinal).unwrap().state == state);
    match verb {
        "run" => state(TaskState::Running),
        "wait" => state(TaskState::Waiting),
        "done" => state(TaskState::Finished),
        "failed" => state(TaskState::Failed),
        "canceled" => state(TaskState::Canceled),
        "at" => all(world, &rest[1..], |task| task.run.as_ref().is_some_and(|run| time(run.0) == rest[0])),
        "starts" => {
            let mut starts: Vec<_> =
                tasks(world, rest[0]).iter().filter_map(|task| Some(task.run.as_ref()?.0)).collect();
            starts.sort();
            starts.into_iter().map(time).collect::<Vec<_>>() == rest[1..]
        }
        "on" => all(world, &rest[1..], |task| hosts(task).join("+") == rest[0]),
        "apart" | "together" => {
            let of = |name: &&str| tasks(world, name).into_iter().flat_map(hosts).collect::<Vec<_>>();
            let sets: Vec<_> = rest.iter().map(of).collect();
            let apart = |(at, set): (usize, &Vec<_>)| sets[..at].iter().flatten().all(|host| !set.contains(host));
            if verb == "together" { sets.windows(2).all(|w| w[0] == w[1]) } else { sets.iter().enumerate().all(apart) }
        }
        "busy" => rest.iter().all(|name| used(world, name)),
        "idle" => rest.iter().all(|name| !used(world, name)),
        "stopped" => rest.iter().all(|name| world.stopped.contains(*name)),
        "there" => rest.iter().all(|name| world.workers.contains_key(*name)),
        "variant" => {
            all(world, &rest[1..], |task| world.core.task(task.ordinal).unwrap().variant.to_string() == rest[0])
        }
        "instance" => {
            all(world, &rest[1..], |task| world.core.task(task.ordinal).unwrap().instance.to_string() == rest[0])
        }
        _ => panic!("unknown fact {fact}"),
    }
}

fn all(world: &World, names: &[&str], test: impl Fn(&Task) -> bool) -> bool {
    assert!(!names.is_empty(), "a fact about no task");
    names.iter().flat_map(|name| tasks(world, name)).all(test)
}

/// The task of that name, or all of its submit.
fn tasks<'a>(world: &'a World, name: &str) -> Vec<&'a Task> {
    let of = |known: &str| known == name || known.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    let found: Vec<&Task> = world.tasks.iter().filter(|(known, _)| of(known)).map(|(_, task)| task).collect();
    assert!(!found.is_empty(), "there is no task {name}");
    found
}

fn granted<'a>(world: &'a World, task: &'a Task) -> Granted<'a> {
    let (_, hosts, allocation) = task.run.as_ref().expect("it has not started");
    Granted { worker: &world.resources[&hosts[0]], allocation }
}

fn hosts(task: &Task) -> &[String] {
    task.run.as_ref().map_or(&[], |(_, hosts, _)| hosts)
}

/// Whether a task that runs now runs there.
fn used(world: &World, name: &str) -> bool {
    let runs = |task: &Task| world.core.task(task.ordinal).unwrap().state == TaskState::Running;
    world.tasks.values().any(|task| runs(task) && hosts(task).iter().any(|host| host == name))
}

fn time(at: hq_core::Tick) -> String {
    at.since(START).to_string()
}
