//! The two node machines, told anything by peers that are authenticated (T4, T5 of the threat model).

use std::collections::BTreeSet;

use hq_core::{
    Call, ClientRequest, Epoch, FailCause, FromWorker, GrantId, JobId, JobSpec, JobTarget, LaneReport, LinkId,
    LossReason, OnServerLost, Ordinal, Outcome, PROGRAM_KIND, Profile, ProgramBody, ProgramSpec, Record, Reply, Report,
    Request, RequestId, Resume, RetryRule, RunEnd, RunId, Selector, Seq, ServerInfo, Span, Submit, TaskIds, Tick,
    ToWorker, WallTime, WorkerConfig, WorkerId, WorkerResources,
};
use hq_node::{PeerRole, ServerConfig, ServerInput, ServerNode, ServerOutput, WorkerInput, WorkerNode, WorkerOutput};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::Target;

pub(crate) fn targets() -> Vec<Target> {
    let to_worker = answers().0.into_iter().map(WorkerStep::Server);
    let mut life = vec![WorkerStep::LinkUp];
    life.extend(to_worker);
    life.extend([
        WorkerStep::Ended(0, Outcome::Finished),
        WorkerStep::Ended(0, Outcome::Failed("x".into())),
        WorkerStep::LinkDown,
        WorkerStep::Wait(1000),
        WorkerStep::LinkUp,
        WorkerStep::Interrupted,
    ]);
    vec![
        Target::new("server", server, lives().iter().map(|life| encoded(life))).with_memory(64 << 20, 1 << 14).slow(),
        Target::new("worker", worker, [encoded(&life), encoded(&life[..6])]).with_memory(64 << 20, 1 << 14).slow(),
    ]
}

/// What happens to a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Step {
    /// Of a worker, or else of a client.
    LinkUp(bool),
    Worker(u8, FromWorker),
    Client(u8, Call),
    LinkDown(u8),
    Durable,
    Wait(u32),
    /// Ends without a word and begins anew from its journal.
    Restart,
}

/// What happens to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum WorkerStep {
    LinkUp,
    LinkDown,
    Server(ToWorker),
    /// The run of that number among those that go on.
    Ended(u8, Outcome),
    Wait(u32),
    Interrupted,
}

fn encoded<T: Serialize>(steps: &[T]) -> Vec<u8> {
    steps.iter().flat_map(|step| postcard::to_stdvec(step).expect("encodes")).collect()
}

/// As many as can be read.
fn decoded<T: DeserializeOwned>(mut bytes: &[u8]) -> impl Iterator<Item = T> {
    std::iter::from_fn(move || {
        let (step, rest) = postcard::take_from_bytes(bytes).ok()?;
        bytes = rest;
        Some(step)
    })
}

/// A server, its journal and its clock.
struct Rig {
    node: ServerNode,
    now: Tick,
    log: Vec<(Seq, Record)>,
    links: BTreeSet<LinkId>,
    next: u64,
    is_over: bool,
    to_worker: Vec<ToWorker>,
    replies: Vec<Reply>,
}

impl Rig {
    fn new(log: Vec<(Seq, Record)>, started: u64) -> Result<Self, String> {
        let info = ServerInfo { server_uid: "abc123".to_owned(), started: WallTime(started), ..ServerInfo::default() };
        let config = ServerConfig {
            info,
            journal: true,
            idle_timeout: None,
            feed_bytes: 1 << 20,
            token_seed: 7,
            adopt_timeout: Span::secs(60),
        };
        let mut node = ServerNode::new(config, log.clone())?;
        node.open_scaling(Some("/d".to_owned()));
        let now = node.boot_tick();
        let links = BTreeSet::new();
        let mut rig = Self { node, now, log, links, next: 0, is_over: false, to_worker: vec![], replies: vec![] };
        rig.drain();
        rig.input(ServerInput::Durable { seq: rig.last() });
        Ok(rig)
    }

    fn last(&self) -> Seq {
        self.log.last().map_or(Seq(0), |(seq, _)| *seq)
    }

    fn input(&mut self, input: ServerInput) {
        if !self.is_over {
            self.node.handle_input(self.now, input);
            self.drain();
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.node.poll_output() {
            assert!(!self.is_over, "something comes after the stop");
            match output {
                ServerOutput::Append { first_seq, records } => {
                    assert_eq!(first_seq, self.last().next(), "a gap in the journal");
                    self.log.extend((first_seq.0..).map(Seq).zip(records));
                }
                ServerOutput::CloseLink { link } => assert!(self.links.remove(&link), "{link} is ended twice"),
                ServerOutput::ToWorker { messages, .. } => self.to_worker.extend(messages),
                ServerOutput::ToClient { replies, .. } => self.replies.extend(replies),
                ServerOutput::Warn(line) => assert!(!line.contains('\n'), "{line:?} is more than a line"),
                ServerOutput::Stop => self.is_over = true,
                ServerOutput::Backend(_) | ServerOutput::Prune { .. } => {}
            }
        }
    }

    /// The link of that number, if it is up.
    fn link(&self, number: u8) -> Option<LinkId> {
        self.links.iter().nth(usize::from(number)).copied()
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::LinkUp(is_worker) => {
                self.next += 1;
                let (link, role) = (LinkId(self.next), if is_worker { PeerRole::Worker } else { PeerRole::Client });
                self.links.insert(link);
                self.input(ServerInput::LinkUp { link, role, protocol: hq_transport::PROTOCOL_VERSION });
            }
            Step::Worker(link, message) => {
                if let Some(link) = self.link(link) {
                    self.input(ServerInput::FromWorker { link, messages: vec![message] });
                }
            }
            Step::Client(link, call) => {
                if let Some(link) = self.link(link) {
                    self.input(ServerInput::FromClient { link, calls: vec![call] });
                }
            }
            Step::LinkDown(link) => {
                if let Some(link) = self.link(link) {
                    self.links.remove(&link);
                    self.input(ServerInput::LinkDown { link });
                }
            }
            Step::Durable => self.input(ServerInput::Durable { seq: self.last() }),
            Step::Wait(ms) => self.wait(Span::millis(u64::from(ms))),
            Step::Restart => *self = Self::new(std::mem::take(&mut self.log), 2_000_000_000)?,
        }
        Ok(())
    }

    /// Timers fire one after another, a few at most.
    fn wait(&mut self, span: Span) {
        let until = Tick(self.now.0.saturating_add(span.0));
        for _ in 0..20 {
            let Some(due) = self.node.poll_timeout().filter(|due| *due <= until && !self.is_over) else { break };
            self.now = self.now.max(due);
            self.node.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }
}

/// No peer brings it down, and what it has appended can be gone on from.
fn server(bytes: &[u8]) {
    let mut rig = Rig::new(vec![], 1_000_000_000).expect("a new one");
    for step in decoded::<Step>(bytes) {
        rig.step(step).expect("goes on from its own journal");
    }
    rig.step(Step::Restart).expect("goes on from its own journal");
}

/// Goes on from any history, or says why not.
pub(crate) fn go_on_from(log: Vec<(Seq, Record)>) {
    if let Ok(mut rig) = Rig::new(log, 2_000_000_000) {
        for step in lives().swap_remove(0) {
            drop(rig.step(step));
        }
    }
}

/// No server brings it down, and each run that it starts it starts once.
fn worker(bytes: &[u8]) {
    let mut now = Tick(1);
    let mut node = WorkerNode::new(config(OnServerLost::Reconnect { timeout: Span::secs(60) }), now);
    let (mut running, mut seen, mut is_over) = (Vec::<RunId>::new(), BTreeSet::new(), false);
    for step in decoded::<WorkerStep>(bytes) {
        match step {
            WorkerStep::LinkUp => node.handle_input(now, WorkerInput::LinkUp),
            WorkerStep::LinkDown => node.handle_input(now, WorkerInput::LinkDown),
            WorkerStep::Server(message) => node.handle_input(now, WorkerInput::Messages(vec![message])),
            WorkerStep::Ended(n, outcome) if usize::from(n) < running.len() => {
                let run = running.remove(usize::from(n));
                node.handle_input(now, WorkerInput::Ended { run, outcome });
            }
            WorkerStep::Ended(..) => {}
            WorkerStep::Wait(ms) => {
                now = Tick(now.0 + u64::from(ms) * 1000);
                if node.poll_timeout().is_some_and(|due| due <= now) {
                    node.handle_timeout(now);
                }
            }
            WorkerStep::Interrupted => node.handle_input(now, WorkerInput::Interrupted),
        }
        while let Some(output) = node.poll_output() {
            assert!(!is_over, "something comes after the end: {output:?}");
            match output {
                WorkerOutput::Start(order) => {
                    assert!(seen.insert(order.run), "{} is started twice", order.run);
                    running.push(order.run);
                }
                WorkerOutput::Exit(_) => is_over = true,
                _ => {}
            }
        }
        if is_over {
            return;
        }
    }
}

fn config(on_server_lost: OnServerLost) -> WorkerConfig {
    let resources = WorkerResources::cpus(2).expect("cpus");
    WorkerConfig { on_server_lost, ..WorkerConfig::new("n1", resources) }
}

/// What a worker may say, in an order that makes sense.
pub(crate) fn from_worker() -> Vec<FromWorker> {
    let grant = |n| GrantId { epoch: Epoch(1), n };
    let ended = |task, outcome| RunEnd { task: Ordinal(task), age: Span(1), took: Span::millis(2), outcome };
    let report = |seq, grant, ended, started| {
        FromWorker::Report(Report { seq, lanes: vec![LaneReport { grant, ended, started }] })
    };
    vec![
        FromWorker::Hello(Box::new(config(OnServerLost::Reconnect { timeout: Span::secs(60) }))),
        report(1, grant(1), vec![], Some((Ordinal(0), Span(5)))),
        report(2, grant(1), vec![ended(0, Outcome::Finished)], None),
        report(3, grant(2), vec![ended(1, Outcome::Failed("exit code 1".into()))], None),
        report(4, grant(3), vec![ended(2, Outcome::failed_of(FailCause::Exit(75), "exit code 75"))], None),
        FromWorker::Recalled { grant: grant(3), n: 1, tasks: vec![] },
        FromWorker::Heartbeat,
        FromWorker::Notify { run: RunId { task: Ordinal(1), grant: grant(2) }, message: "half".into() },
        FromWorker::Resume(Box::new(Resume {
            worker: WorkerId(1),
            epoch: Epoch(1),
            token: 7,
            acked: 1,
            reports: vec![],
            grants: vec![],
        })),
        FromWorker::Leaving { reason: LossReason::Stopped },
    ]
}

/// What a client may ask, in an order that makes sense.
pub(crate) fn calls() -> Vec<Call> {
    let retry = [RetryRule::parse("exit=75:3:10s").expect("a rule")];
    let profile = Profile { retry: retry.into(), ..Profile::new(Request::cpus(1).expect("a cpu")) };
    let submit = |target, count| {
        let shared = postcard::to_stdvec(&ProgramBody::Same(program_spec())).expect("encodes");
        Box::new(Submit::array(target, TaskIds::Next(count), PROGRAM_KIND, shared.into(), profile.clone()))
    };
    let last = || Selector::Last;
    let requests = vec![
        ClientRequest::ServerInfo,
        ClientRequest::Submit(submit(JobTarget::New(JobSpec::default()), 5)),
        ClientRequest::OpenJob(JobSpec { name: "open".into(), ..JobSpec::default() }),
        ClientRequest::Submit(submit(JobTarget::Attach(JobId(2)), 2)),
        ClientRequest::Jobs(Selector::All),
        ClientRequest::Workers(Selector::All),
        ClientRequest::Explain { job: JobId(1), task: hq_core::TaskNumber(1) },
        ClientRequest::CloseJobs(last()),
        ClientRequest::FlushJournal,
        ClientRequest::Stage(submit(JobTarget::New(JobSpec::default()), 3)),
        ClientRequest::WaitWorkers(1),
        ClientRequest::StopWorkers(Selector::All),
        ClientRequest::Queues,
        ClientRequest::StopServer,
    ];
    requests.into_iter().zip(1..).map(|(request, id)| Call { id: RequestId(id), request }).collect()
}

fn program_spec() -> ProgramSpec {
    ProgramSpec { args: vec![b"echo"[..].into(), b"%{TASK_ID}"[..].into()], ..ProgramSpec::default() }
}

pub(crate) fn program() -> ProgramBody {
    ProgramBody::Same(program_spec())
}

/// Lives of servers.
fn lives() -> Vec<Vec<Step>> {
    let client = |call: &Call| [Step::Client(0, call.clone()), Step::Durable];
    let worker = |message: &FromWorker| [Step::Worker(1, message.clone()), Step::Durable];
    let (calls, said) = (calls(), from_worker());
    let mut life = vec![Step::LinkUp(false), Step::LinkUp(true)];
    life.extend(calls[..4].iter().flat_map(client));
    life.extend(said[..5].iter().flat_map(worker));
    let mut lost = life.clone();
    lost.extend([Step::LinkDown(1), Step::Wait(20_000), Step::LinkUp(true), Step::Worker(1, said[8].clone())]);
    lost.extend([Step::Wait(20_000), Step::Restart, Step::LinkUp(true), Step::Wait(70_000)]);
    life.extend(calls[4..].iter().flat_map(client));
    life.extend(said[5..].iter().flat_map(worker));
    let alone: Vec<Step> = [Step::LinkUp(false)].into_iter().chain(calls.iter().flat_map(client)).collect();
    let forged: Vec<Step> =
        [Step::LinkUp(false), Step::LinkUp(true)].into_iter().chain(said.iter().flat_map(worker)).collect();
    vec![life, lost, alone, forged, vec![Step::LinkUp(true), Step::Wait(1), Step::LinkDown(0), Step::Restart]]
}

/// What a server answers in these lives.
pub(crate) fn answers() -> (Vec<ToWorker>, Vec<Reply>) {
    let (mut to_worker, mut replies) = (vec![], vec![]);
    for life in lives() {
        let mut rig = Rig::new(vec![], 1_000_000_000).expect("a new one");
        life.into_iter().try_for_each(|step| rig.step(step)).expect("goes on");
        to_worker.append(&mut rig.to_worker);
        replies.append(&mut rig.replies);
    }
    (to_worker, replies)
}

/// What they append.
pub(crate) fn histories() -> Vec<Vec<(Seq, Record)>> {
    let run = |life: Vec<Step>| {
        let mut rig = Rig::new(vec![], 1_000_000_000).expect("a new one");
        life.into_iter().try_for_each(|step| rig.step(step)).expect("goes on");
        rig.log
    };
    lives().into_iter().map(run).collect()
}
