use std::sync::Arc;

use hq_core::{
    Blob, Epoch, FromWorker, GrantId, JobId, LossReason, Open, Ordinal, OrdinalRange, Outcome, Parts, Report, Request,
    Resume, RunId, Span, SubmitBody, SubmitId, Tick, ToWorker, Welcome, Work, WorkRun, WorkerConfig, WorkerId,
    WorkerResources, idlist,
};
use hq_node::{StopHow, WorkerInput, WorkerNode, WorkerOutput};

pub(crate) const HEARTBEAT_MS: u64 = 8_000;

/// A worker machine and its clock, in milliseconds.
pub(crate) struct Rig {
    pub(crate) node: WorkerNode,
    pub(crate) now_ms: u64,
}

impl Rig {
    pub(crate) fn new(change: impl FnOnce(&mut WorkerConfig)) -> Self {
        let mut config = WorkerConfig::new("w", WorkerResources::cpus(4).unwrap());
        config.heartbeat = Span::millis(HEARTBEAT_MS);
        change(&mut config);
        Self { node: WorkerNode::new(config, Tick(0)), now_ms: 0 }
    }

    /// A worker that is welcome and has the body of submit 1.
    pub(crate) fn up() -> Self {
        Self::up_with(|_| {})
    }

    pub(crate) fn up_with(change: impl FnOnce(&mut WorkerConfig)) -> Self {
        let mut rig = Self::new(change);
        rig.input(WorkerInput::LinkUp);
        rig.tell([welcome(), ToWorker::Submit(body(1))]);
        rig
    }

    pub(crate) fn now(&self) -> Tick {
        Tick(0).after(Span::millis(self.now_ms))
    }

    pub(crate) fn input(&mut self, input: WorkerInput) -> Vec<String> {
        self.node.handle_input(self.now(), input);
        self.drain()
    }

    pub(crate) fn tell(&mut self, messages: impl IntoIterator<Item = ToWorker>) -> Vec<String> {
        self.input(WorkerInput::Messages(messages.into_iter().collect()))
    }

    pub(crate) fn end(&mut self, n: u32, task: u64, outcome: Outcome) -> Vec<String> {
        self.input(WorkerInput::Ended { run: run(n, task), outcome })
    }

    /// Lets time pass, with a timeout at its end.
    pub(crate) fn pass(&mut self, ms: u64) -> Vec<String> {
        self.now_ms += ms;
        self.node.handle_timeout(self.now());
        self.drain()
    }

    /// Lets time pass, with all timeouts that the machine asks for.
    pub(crate) fn pass_all(&mut self, ms: u64) -> Vec<String> {
        let until = self.now().after(Span::millis(ms));
        let mut shown = vec![];
        while let Some(at) = self.node.poll_timeout().filter(|at| *at <= until) {
            self.now_ms = at.0 / 1_000;
            self.node.handle_timeout(at);
            shown.extend(self.drain().into_iter().map(|line| format!("{} {line}", self.now_ms)));
        }
        self.now_ms = until.0 / 1_000;
        shown
    }

    pub(crate) fn drain(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.node.poll_output()).flat_map(|output| show(&output)).collect()
    }
}

pub(crate) fn grant(n: u32) -> GrantId {
    GrantId { epoch: Epoch(1), n }
}

pub(crate) fn run(n: u32, task: u64) -> RunId {
    RunId { task: Ordinal(task), grant: grant(n) }
}

pub(crate) fn range(start: u64, len: u64) -> OrdinalRange {
    OrdinalRange::new(Ordinal(start), len)
}

pub(crate) fn welcome() -> ToWorker {
    ToWorker::Welcome(Welcome {
        worker: WorkerId(7),
        epoch: Epoch(1),
        token: 9,
        server_uid: "abcdef".to_owned(),
        idle_timeout: None,
    })
}

pub(crate) fn body(submit: u64) -> SubmitBody {
    SubmitBody {
        submit: SubmitId(submit),
        job: JobId(3),
        kind: "program".to_owned(),
        shared: Blob::from(vec![submit as u8]),
    }
}

/// Tasks of submit 1 whose numbers are their ordinals + 100.
pub(crate) fn work(first: u64, count: u32) -> Work {
    let numbers = idlist::Run { start: (first as u32).saturating_add(100), count, step: 1 };
    Work {
        submit: SubmitId(1),
        time_limit: None,
        runs: vec![WorkRun { first: Ordinal(first), numbers }],
        parts: Parts::default(),
        instances: vec![],
    }
}

pub(crate) fn opened(n: u32, work: Vec<Work>) -> Open {
    Open {
        grant: grant(n),
        request: Arc::new(Request::cpus(1).unwrap()),
        variant: 0,
        variants: 1,
        allocation: Default::default(),
        hosts: vec![],
        work,
        not_after: None,
    }
}

/// Lane `n` with `count` tasks from `first`.
pub(crate) fn open(n: u32, first: u64, count: u32) -> ToWorker {
    ToWorker::Open(Box::new(opened(n, vec![work(first, count)])))
}

pub(crate) fn extend(n: u32, work: Work) -> ToWorker {
    ToWorker::Extend { grant: grant(n), work: vec![work] }
}

pub(crate) fn recall(n: u32, recall: u32, start: u64, len: u64) -> ToWorker {
    ToWorker::Recall { grant: grant(n), n: recall, tasks: vec![range(start, len)] }
}

pub(crate) fn kill(n: u32, task: u64) -> ToWorker {
    ToWorker::Kill { grant: grant(n), task: Ordinal(task) }
}

pub(crate) fn close(n: u32) -> ToWorker {
    ToWorker::Close { grant: grant(n) }
}

pub(crate) fn go_on(n: u32) -> ToWorker {
    ToWorker::GoOn { grant: grant(n) }
}

pub(crate) fn failed() -> Outcome {
    Outcome::Failed("bad".to_owned())
}

/// An output in a few words; a line per message of a batch.
pub(crate) fn show(output: &WorkerOutput) -> Vec<String> {
    match output {
        WorkerOutput::Send(messages) => messages.iter().map(show_message).collect(),
        WorkerOutput::Start(order) => vec![format!("start {}", show_run(order.run))],
        WorkerOutput::Stop { run, how: StopHow::Interrupt } => vec![format!("interrupt {}", show_run(*run))],
        WorkerOutput::Stop { run, how: StopHow::Kill } => vec![format!("kill {}", show_run(*run))],
        WorkerOutput::Stop { run, how: StopHow::Leave } => vec![format!("leave {}", show_run(*run))],
        WorkerOutput::Listen { job, session, credit: Some(credit) } => vec![format!("listen {job}#{session}+{credit}")],
        WorkerOutput::Listen { job, session, credit: None } => vec![format!("unlisten {job}#{session}")],
        WorkerOutput::Connect => vec!["connect".to_owned()],
        WorkerOutput::Disconnect => vec!["disconnect".to_owned()],
        WorkerOutput::Exit(exit) => vec![format!("exit {exit:?}")],
    }
}

fn show_run(run: RunId) -> String {
    format!("{}/{}", run.grant.n, run.task)
}

fn show_message(message: &FromWorker) -> String {
    match message {
        FromWorker::Hello(config) => format!("hello {}", config.hostname),
        FromWorker::Heartbeat => "beat".to_owned(),
        FromWorker::Leaving { reason } => format!("leaving {}", LossReason::label(*reason)),
        FromWorker::Recalled { grant, n, tasks } => {
            let tasks: Vec<String> = tasks.iter().map(|r| format!(" {}+{}", r.start, r.len)).collect();
            format!("recalled {} #{n}:{}", grant.n, tasks.concat())
        }
        FromWorker::Report(report) => show_report(report),
        FromWorker::Notify { run, message } => format!("notify {}: {message}", show_run(*run)),
        FromWorker::Output(output) => format!("output {}: {}", show_run(output.run), output.offset),
        FromWorker::Resume(resume) => show_resume(resume),
        FromWorker::Overview(state) => format!("overview of {} cpus", state.cpus.len()),
    }
}

/// `resume 7 of 1 by 9, 2 safe; 1: 5 runs for 20 6+3 wait; report 3: …`
fn show_resume(resume: &Resume) -> String {
    let mut parts =
        vec![format!("resume {} of {} by {}, {} safe", resume.worker, resume.epoch, resume.token, resume.acked)];
    for held in &resume.grants {
        let running = held.running.iter().map(|(task, age)| format!(" {task} runs for {}", age.0 / 1_000));
        let backlog = held.backlog.iter().map(|range| format!(" {}+{} wait", range.start, range.len));
        parts.push(format!("{}:{}", held.grant.n, running.chain(backlog).collect::<String>()));
    }
    parts.extend(resume.reports.iter().map(show_report));
    parts.join("; ")
}

/// `report 1: 1/5 finished age 0 took 20, 1/6 runs for 0`, times in milliseconds.
fn show_report(report: &Report) -> String {
    let mut news = vec![];
    for lane in &report.lanes {
        let n = lane.grant.n;
        for end in &lane.ended {
            let outcome = match &end.outcome {
                Outcome::Finished => "finished".to_owned(),
                Outcome::Failed(why) => format!("failed ({why})"),
                Outcome::FailedOf(failure) => format!("failed ({})", failure.error),
                Outcome::Killed => "killed".to_owned(),
            };
            let (age, took) = (end.age.0 / 1_000, end.took.0 / 1_000);
            news.push(format!("{n}/{} {outcome} age {age} took {took}", end.task));
        }
        if let Some((task, age)) = lane.started {
            news.push(format!("{n}/{task} runs for {}", age.0 / 1_000));
        }
    }
    format!("report {}: {}", report.seq, news.join(", "))
}
