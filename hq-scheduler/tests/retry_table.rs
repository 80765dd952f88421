//! The cases of retries as a table: what happens, and what comes of it. `UPDATE=1` rewrites the latter.
//!
//! After each row, a replay of all facts so far, and one of a snapshot of them, have to come to the same state.

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

#[expect(dead_code, reason = "only the table is needed here")]
mod text;

use std::cell::RefCell;

use hq_core::{
    CancelOutcome, CrashLimit, DepKind, Deps, Epoch, Fact, FailCause, GrantId, JobId, JobSpec, JobTarget, LaneReport,
    LossReason, Ordinal, Outcome, Profile, Record, Request, RetryRule, RunEnd, Span, Submit, TaskIds, TaskNumber, Tick,
    ToWorker, Work, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{Action, Canceling, Condenser, News, Scheduler};

#[test]
fn vectors() {
    let bench = RefCell::new(Bench::new());
    text::table::check_table("retry.txt", |cells| bench.borrow_mut().run(cells[0]));
}

struct Bench {
    core: Scheduler,
    now: Tick,
    epoch: u32,
    facts: Vec<Record>,
}

impl Bench {
    fn new() -> Self {
        let mut this = Self { core: Scheduler::new(), now: Tick(0), epoch: 0, facts: vec![] };
        this.boot();
        this
    }

    fn boot(&mut self) -> Vec<String> {
        self.epoch = self.core.boot(self.now, "uid".into(), 0, "1".into()).0;
        self.drain()
    }

    /// Does what a row says; what comes of it.
    fn run(&mut self, command: &str) -> String {
        let words: Vec<&str> = command.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<u32>().unwrap();
        let options =
            |name: &'static str| words.iter().filter_map(move |word| word.strip_prefix(name)?.strip_prefix('='));
        let mut said = vec![];
        match words[0] {
            "case" => *self = Self::new(),
            "submit" => {
                let crash_limit = options("crash").next().map_or(CrashLimit::default(), |text| match text {
                    "never" => CrashLimit::NeverRestart,
                    "unlimited" => CrashLimit::Unlimited,
                    n => CrashLimit::Limit(n.parse().unwrap()),
                });
                let retry = options("retry").map(|rule| RetryRule::parse(rule).unwrap()).collect();
                let profile = Profile { crash_limit, retry, ..Profile::new(Request::cpus(1).unwrap()) };
                let max_fails = options("max-fails").next().map(|n| n.parse().unwrap());
                let target = JobTarget::New(JobSpec { name: "j".into(), max_fails });
                let mut submit = Submit::array(target, TaskIds::Next(number(1)), "program", vec![].into(), profile);
                if let Some(kind) = options("then").next() {
                    let kind = match kind {
                        "any" => DepKind::AnyEnd,
                        "failed" => DepKind::Failure,
                        _ => DepKind::Success,
                    };
                    let row = |i: u32| (i > 0).then(|| (TaskNumber(i - 1), kind));
                    submit.deps = Deps::new((0..number(1)).map(row)).unwrap();
                }
                if let Err(refusal) = self.core.submit(self.now, submit) {
                    said.push(refusal.to_string());
                }
            }
            "join" => {
                let cpus = WorkerResources::cpus(number(1)).unwrap();
                self.core.join(self.now, WorkerConfig::new("w", cpus)).unwrap();
            }
            "started" => self.report(number(1), vec![], Some((task(words[2]), Span(0)))),
            "ended" => self.end(number(1), task(words[2]), Outcome::Finished),
            "fails" => {
                let outcome = match words[3].split_once('=').unwrap_or((words[3], "")) {
                    ("exit", code) => Outcome::failed_of(FailCause::Exit(code.parse().unwrap()), "exit"),
                    ("signal", n) => Outcome::failed_of(FailCause::Signal(n.parse().unwrap()), "signal"),
                    ("oom", _) => Outcome::failed_of(FailCause::OutOfMemory, "oom"),
                    ("time-limit", _) => Outcome::failed_of(FailCause::TimeLimit, "time limit"),
                    ("start", _) => Outcome::failed_of(FailCause::NoStart, "no process"),
                    ("crash", _) => Outcome::failed_of(FailCause::Crash, "a lie"),
                    ("killed", _) => Outcome::Killed,
                    _ => Outcome::Failed("error".into()),
                };
                self.end(number(1), task(words[2]), outcome);
            }
            "lost" => {
                let reason = match words.get(2).copied() {
                    Some("stopped") => LossReason::Stopped,
                    Some("interrupted") => LossReason::Interrupted,
                    Some("time") => LossReason::TimeLimitReached,
                    _ => LossReason::ConnectionLost,
                };
                self.core.handle_event(self.now, News::WorkerLost { worker: WorkerId(number(1)), reason });
            }
            // One microsecond before it nothing happens.
            "next" => match self.core.poll_timeout() {
                Some(next) => {
                    self.core.handle_timeout(Tick(next.0 - 1));
                    said.extend(self.drain());
                    self.now = self.now.max(next);
                    self.core.handle_timeout(self.now);
                }
                None => said.push("nothing".to_owned()),
            },
            "seconds" => {
                self.now = self.now.after(Span::secs(number(1).into()));
                self.core.handle_timeout(self.now);
            }
            "restart" => {
                self.core = self.restored();
                said.extend(self.boot());
            }
            "cancel" => {
                if let Canceling::Done(CancelOutcome::Canceled { canceled, .. }) =
                    self.core.cancel(self.now, JobId(number(1)), None)
                {
                    said.push(format!("cancelled: {canceled}"));
                }
            }
            "job" => said.push(format!("{:?}", self.core.job(JobId(number(1))).unwrap().counts)),
            "task" => said.push(self.task(task(words[1]))),
            other => panic!("what is {other}?"),
        }
        said.extend(self.drain());
        self.check_replays();
        if said.is_empty() { "-".to_owned() } else { said.join(", ") }
    }

    fn end(&mut self, lane: u32, task: Ordinal, outcome: Outcome) {
        self.now = self.now.after(Span::secs(1));
        self.report(lane, vec![RunEnd { task, age: Span(0), took: Span::secs(1), outcome }], None);
    }

    fn report(&mut self, lane: u32, ended: Vec<RunEnd>, started: Option<(Ordinal, Span)>) {
        let grant = GrantId { epoch: Epoch(self.epoch), n: lane };
        if let Some(worker) = self.core.grant_worker(grant) {
            let lane = LaneReport { grant, ended, started };
            self.core.handle_event(self.now, News::Report { worker, lane });
        }
    }

    fn task(&self, task: Ordinal) -> String {
        let view = self.core.task(task).unwrap();
        let mut text = format!("{:?} instance {}", view.state, view.instance);
        if let Some(delay) = view.delay {
            text +=
                &format!(" delayed {} retries {} `{}`", whole(delay.until.since(self.now)), delay.retries, delay.error);
        }
        if let Some(told) = self.core.explain(self.now, task) {
            text += &format!(" {:?}", told.standing);
        }
        text
    }

    fn drain(&mut self) -> Vec<String> {
        let mut said = vec![];
        while let Some(action) = self.core.poll_action(self.now) {
            if let Action::Record(fact) = &action {
                self.facts.push(Record { at: self.now, fact: fact.clone() });
            }
            said.extend(self.said(action));
        }
        said
    }

    fn said(&self, action: Action) -> Option<String> {
        match action {
            Action::Record(Fact::TaskRetried { task, rule, until, .. }) => {
                let rule = if rule == RetryRule::BUILT_IN { "built in".to_owned() } else { rule.to_string() };
                Some(format!("again {task} by {rule} in {}", whole(until.since(self.now))))
            }
            Action::Record(Fact::RetriesDue { tasks }) => {
                let tasks = tasks.iter().flat_map(|range| range.iter()).map(|task| task.to_string());
                Some(format!("due {}", tasks.collect::<Vec<_>>().join("+")))
            }
            Action::Record(Fact::TaskFailed { task, error, .. }) => {
                Some(format!("failed {task}: {}", error.replace('\n', " / ")))
            }
            Action::Record(Fact::TasksAborted { tasks }) => {
                let tasks = tasks.iter().flat_map(|range| range.iter()).map(|task| task.to_string());
                Some(format!("aborted {}", tasks.collect::<Vec<_>>().join("+")))
            }
            Action::Send { message: ToWorker::Open(open), worker } => {
                Some(format!("open {} on w{worker}: {}", open.grant.n, work(&open.work)))
            }
            Action::Send { message: ToWorker::Extend { grant, work: more }, .. } => {
                Some(format!("more for {}: {}", grant.n, work(&more)))
            }
            Action::Send { message: ToWorker::Close { grant }, .. } => Some(format!("close {}", grant.n)),
            Action::Send { message: ToWorker::GoOn { .. } | ToWorker::Submit(_) | ToWorker::DropSubmit(_), .. } => None,
            Action::Send { message, .. } => Some(format!("{message:?}")),
            _ => None,
        }
    }

    fn restored(&self) -> Scheduler {
        let mut core = Scheduler::new();
        self.facts.iter().for_each(|record| core.replay(record).unwrap());
        core
    }

    fn check_replays(&self) {
        let mut restored = self.restored();
        assert!(restored.same_state(&self.core), "restored = live");
        let mut condenser = Condenser::new();
        self.facts.iter().for_each(|record| condenser.take(record).unwrap());
        let mut short = Scheduler::new();
        condenser.records().iter().for_each(|record| short.replay(record).unwrap());
        assert!(short.same_state(&restored), "a snapshot comes to the same");
        // The delays that were given hold in a new life, and no other.
        let next = |core: &mut Scheduler| {
            core.boot(self.now, "uid".into(), 0, "1".into());
            core.poll_timeout()
        };
        assert_eq!(next(&mut short), next(&mut restored));
    }
}

/// Delays are told to the tenth of a second.
fn whole(span: Span) -> Span {
    Span(span.0 / 100_000 * 100_000)
}

fn task(text: &str) -> Ordinal {
    Ordinal(text.parse().unwrap())
}

/// Tasks, with their instances where they are not 0.
fn work(work: &[Work]) -> String {
    let mut tasks = vec![];
    for work in work {
        for run in &work.runs {
            for task in (0..u64::from(run.numbers.count)).map(|i| run.first.plus(i)) {
                let instance = work.instances.iter().find(|(other, _)| *other == task);
                tasks.push(instance.map_or(task.to_string(), |(_, n)| format!("{task}({n})")));
            }
        }
    }
    tasks.join("+")
}
