//! The cases of lanes as a table: what happens, and what the core says to it. `UPDATE=1` rewrites what it says.

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

#[expect(dead_code, reason = "only the table is needed here")]
mod text;

mod common;

use std::cell::RefCell;

use common::booted;
use hq_core::{
    CancelOutcome, GrantId, JobId, JobSpec, JobTarget, LaneReport, LossReason, Ordinal, OrdinalRange, Outcome, Profile,
    Request, RunEnd, Span, Submit, TaskIds, Tick, ToWorker, Work, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, Canceling, News, Scheduler};

#[test]
fn vectors() {
    let bench = RefCell::new(Bench::new());
    text::table::check_table("lanes.txt", |cells| bench.borrow_mut().run(cells[0]));
}

/// The core and the recalls that have not been answered.
struct Bench {
    core: Scheduler,
    now: Tick,
    recalls: Vec<(u32, u32, Vec<OrdinalRange>)>,
}

impl Bench {
    fn new() -> Self {
        Self { core: booted(), now: Tick(1_000_000), recalls: vec![] }
    }

    /// Does what a row says; what the core says then.
    fn run(&mut self, command: &str) -> String {
        let words: Vec<&str> = command.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<u32>().unwrap();
        let option = |name: &str| -> Option<i32> {
            words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        };
        let mut said = vec![];
        match words[0] {
            "case" => *self = Self::new(),
            "submit" => {
                let request = Request::cpus(option("cpus").unwrap_or(1) as u32).unwrap();
                let request = request.with_min_time(Span::secs(option("time").unwrap_or(0) as u64));
                let profile = Profile { priority: option("priority").unwrap_or(0), ..Profile::new(request) };
                let spec = JobSpec { name: "j".into(), max_fails: option("max-fails").map(|n| n as _) };
                let target = JobTarget::New(spec);
                let submit = Submit::array(target, TaskIds::Next(number(1)), "program", vec![].into(), profile);
                self.core.submit(self.now, submit).unwrap();
            }
            "join" => {
                let cpus = WorkerResources::cpus(number(1)).unwrap();
                let time_limit = option("life").map(|seconds| Span::secs(seconds as u64));
                self.core.join(self.now, WorkerConfig { time_limit, ..WorkerConfig::new("w", cpus) }).unwrap();
            }
            "started" => self.report(number(1), vec![], Some((task(words[2]), Span(0)))),
            "ended" | "failed" | "killed" => {
                let took = Span::millis(words.get(3).map_or(1, |ms| ms.parse().unwrap()));
                self.now = self.now.after(took);
                let outcome = match words[0] {
                    "ended" => Outcome::Finished,
                    "failed" => Outcome::Failed("no".into()),
                    _ => Outcome::Killed,
                };
                self.report(number(1), vec![RunEnd { task: task(words[2]), age: Span(0), took, outcome }], None);
            }
            "gives-back" => {
                let (lane, n) = (number(1), number(2));
                let Some(at) = self.recalls.iter().position(|(known, nth, _)| (*known, *nth) == (lane, n)) else {
                    return "nobody has asked".to_owned();
                };
                let (_, _, asked) = self.recalls.remove(at);
                let tasks = words.get(3).map_or(asked, |given| given.split(',').filter_map(range).collect());
                if let Some(worker) = self.core.grant_worker(grant(lane)) {
                    self.core.handle_event(self.now, News::Recalled { worker, grant: grant(lane), n, tasks });
                }
            }
            "lost" => {
                let news = News::WorkerLost { worker: WorkerId(number(1)), reason: LossReason::ConnectionLost };
                self.core.handle_event(self.now, news);
            }
            "away" => _ = self.core.suspend(self.now, WorkerId(number(1))),
            "seconds" => {
                self.now = self.now.after(Span::secs(number(1).into()));
                self.core.handle_timeout(self.now);
            }
            "cancel" | "cancel-waiting" => {
                let (job, core) = (JobId(number(1)), &mut self.core);
                let canceling = match words[0] {
                    "cancel" => core.cancel(self.now, job, None),
                    _ => core.cancel_waiting(self.now, job, None),
                };
                if let Canceling::Done(outcome) = canceling {
                    said.push(canceled(&outcome));
                }
            }
            other => panic!("what is {other}?"),
        }
        while let Some(action) = self.core.poll_action(self.now) {
            said.extend(self.said(action));
        }
        if said.is_empty() { "-".to_owned() } else { said.join(", ") }
    }

    fn report(&mut self, lane: u32, ended: Vec<RunEnd>, started: Option<(Ordinal, Span)>) {
        if let Some(worker) = self.core.grant_worker(grant(lane)) {
            let lane = LaneReport { grant: grant(lane), ended, started };
            self.core.handle_event(self.now, News::Report { worker, lane });
        }
    }

    fn said(&mut self, action: Action) -> Option<String> {
        let (worker, message) = match action {
            Action::Send { worker, message } => (worker, message),
            Action::Canceled { outcome, .. } => return Some(canceled(&outcome)),
            _ => return None,
        };
        match message {
            ToWorker::Open(open) => Some(format!("open {} on w{}: {}", open.grant.n, worker.0, work(&open.work))),
            ToWorker::Extend { grant, work: more } => Some(format!("more for {}: {}", grant.n, work(&more))),
            ToWorker::Recall { grant, n, tasks } => {
                let said = format!("recall {} of {}: {}", n, grant.n, ranges(&tasks));
                self.recalls.push((grant.n, n, tasks));
                Some(said)
            }
            ToWorker::Close { grant } => Some(format!("close {}", grant.n)),
            ToWorker::Kill { grant, task } => Some(format!("kill {} in {}", task.0, grant.n)),
            ToWorker::GoOn { grant } => Some(format!("go on {}", grant.n)),
            _ => None,
        }
    }
}

fn canceled(outcome: &CancelOutcome) -> String {
    match outcome {
        CancelOutcome::Canceled { canceled, already_ended } => {
            format!("cancelled: {canceled}, before: {already_ended}")
        }
        other => format!("{other:?}"),
    }
}

fn grant(n: u32) -> GrantId {
    GrantId { epoch: hq_core::Epoch(1), n }
}

fn task(text: &str) -> Ordinal {
    Ordinal(text.parse().unwrap())
}

fn range(text: &str) -> Option<OrdinalRange> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
    Some(OrdinalRange::new(Ordinal(from), to + 1 - from))
}

fn work(work: &[Work]) -> String {
    let runs = work.iter().flat_map(|work| &work.runs);
    ranges(&runs.map(|run| OrdinalRange::new(run.first, u64::from(run.numbers.count))).collect::<Vec<_>>())
}

/// Neighbours as one.
fn ranges(ranges: &[OrdinalRange]) -> String {
    let mut joined: Vec<OrdinalRange> = vec![];
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.end() == range.start => last.len += range.len,
            _ => joined.push(*range),
        }
    }
    let shown = joined.iter().map(|range| match range.len {
        1 => range.start.0.to_string(),
        len => format!("{}-{}", range.start.0, range.start.0 + len - 1),
    });
    shown.collect::<Vec<_>>().join("+")
}
