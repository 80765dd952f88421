use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hq_core::{
    Blob, Call, ClientReply, ClientRequest, FromWorker, GrantId, JobId, JobSpec, JobTarget, LaneReport, LinkId,
    Ordinal, Outcome, Profile, Record, Refusal, Reply, Report, Request, RequestId, RunEnd, Selector, Seq, ServerInfo,
    Span, Submit, TaskIds, Tick, ToWorker, WallTime, Welcome, WorkerConfig, WorkerId, WorkerResources,
};
use hq_node::{BackendOrder, PeerRole, ServerConfig, ServerInput, ServerNode, ServerOutput};

/// A server machine, its clock, its journal and its peers' letter boxes.
pub(crate) struct Rig {
    pub(crate) node: ServerNode,
    pub(crate) config: ServerConfig,
    pub(crate) now: Tick,
    /// What was appended.
    pub(crate) log: Vec<(Seq, Record)>,
    /// Whether each append is confirmed at once.
    pub(crate) confirms: bool,
    pub(crate) to_worker: BTreeMap<LinkId, Vec<ToWorker>>,
    pub(crate) to_client: BTreeMap<LinkId, Vec<Reply>>,
    pub(crate) closed: BTreeSet<LinkId>,
    pub(crate) stopped: bool,
    /// What backends are to be asked.
    pub(crate) orders: Vec<BackendOrder>,
    pub(crate) warnings: Vec<String>,
    /// The kinds of outputs of the last drain, in order.
    pub(crate) order: Vec<&'static str>,
    links: u64,
    calls: u64,
}

pub(crate) fn config(journal: bool) -> ServerConfig {
    let info =
        ServerInfo { server_uid: "abc123".to_owned(), started: WallTime(1_000_000_000), ..ServerInfo::default() };
    ServerConfig {
        info,
        journal,
        idle_timeout: None,
        feed_bytes: 1 << 20,
        token_seed: 7,
        adopt_timeout: Span::secs(60),
    }
}

impl Rig {
    /// A server without a journal.
    pub(crate) fn new() -> Self {
        Self::with(config(false), vec![])
    }

    /// A server with a journal that confirms nothing of itself but the boot.
    pub(crate) fn journaled() -> Self {
        let mut rig = Self::with(config(true), vec![]);
        rig.confirm();
        rig
    }

    pub(crate) fn with(config: ServerConfig, log: Vec<(Seq, Record)>) -> Self {
        let mut node = ServerNode::new(config.clone(), log.clone()).unwrap();
        node.open_scaling(Some("/d".to_owned()));
        let now = node.boot_tick();
        let mut rig = Self {
            node,
            config,
            now,
            log,
            confirms: false,
            to_worker: BTreeMap::new(),
            to_client: BTreeMap::new(),
            closed: BTreeSet::new(),
            stopped: false,
            orders: vec![],
            warnings: vec![],
            order: vec![],
            links: 0,
            calls: 0,
        };
        rig.drain();
        rig
    }

    /// The server ends without a word and comes back `later` by the wall clock with what its journal holds.
    pub(crate) fn restart(&self, later: Span) -> Self {
        let mut config = self.config.clone();
        config.info.started = WallTime(config.info.started.0 + later.0);
        "other1".clone_into(&mut config.info.server_uid);
        let mut rig = Self::with(config, self.log.clone());
        rig.confirm();
        rig
    }

    pub(crate) fn input(&mut self, input: ServerInput) {
        self.node.handle_input(self.now, input);
        self.drain();
    }

    pub(crate) fn drain(&mut self) {
        self.order.clear();
        while let Some(output) = self.node.poll_output() {
            assert!(!self.stopped, "something comes after the stop: {output:?}");
            self.take(output);
        }
        if self.confirms && !self.stopped {
            self.confirm();
        }
    }

    fn take(&mut self, output: ServerOutput) {
        self.order.push(match &output {
            ServerOutput::Append { .. } => "append",
            ServerOutput::ToWorker { .. } => "worker",
            ServerOutput::ToClient { .. } => "client",
            ServerOutput::CloseLink { .. } => "close",
            ServerOutput::Backend(_) => "backend",
            ServerOutput::Warn(_) => "warn",
            ServerOutput::Prune { .. } => "prune",
            ServerOutput::Stop => "stop",
        });
        match output {
            ServerOutput::Append { first_seq, records } => {
                let last = self.log.last().map_or(Seq(0), |(seq, _)| *seq);
                assert_eq!(first_seq, last.next(), "a gap in the journal");
                assert!(!records.is_empty());
                self.log.extend((first_seq.0..).map(Seq).zip(records));
            }
            ServerOutput::ToWorker { link, messages } => self.to_worker.entry(link).or_default().extend(messages),
            ServerOutput::ToClient { link, replies } => self.to_client.entry(link).or_default().extend(replies),
            ServerOutput::CloseLink { link } => assert!(self.closed.insert(link), "{link} is ended twice"),
            ServerOutput::Backend(order) => self.orders.push(order),
            ServerOutput::Prune { .. } => {}
            ServerOutput::Warn(text) => self.warnings.push(text),
            ServerOutput::Stop => self.stopped = true,
        }
    }

    /// The journal says that all of it is safe.
    pub(crate) fn confirm(&mut self) {
        let seq = self.log.last().map_or(Seq(0), |(seq, _)| *seq);
        let confirms = std::mem::replace(&mut self.confirms, false);
        self.input(ServerInput::Durable { seq });
        self.confirms = confirms;
    }

    /// Lets time pass, with all timeouts that the machine asks for.
    pub(crate) fn pass(&mut self, span: Span) {
        let until = self.now.after(span);
        while let Some(at) = self.node.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.node.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    pub(crate) fn link(&mut self, role: PeerRole) -> LinkId {
        self.link_of(role, 2)
    }

    /// A link to a peer that speaks this version.
    pub(crate) fn link_of(&mut self, role: PeerRole, protocol: u16) -> LinkId {
        self.links += 1;
        let link = LinkId(self.links);
        self.input(ServerInput::LinkUp { link, role, protocol });
        link
    }

    pub(crate) fn client(&mut self) -> LinkId {
        self.link(PeerRole::Client)
    }

    pub(crate) fn worker(&mut self, cpus: u32) -> Hand {
        self.worker_with(cpus, |_| {})
    }

    pub(crate) fn worker_with(&mut self, cpus: u32, change: impl FnOnce(&mut WorkerConfig)) -> Hand {
        let link = self.link(PeerRole::Worker);
        let mut config = WorkerConfig::new("node", WorkerResources::cpus(cpus).unwrap());
        change(&mut config);
        self.say(link, [FromWorker::Hello(Box::new(config))]);
        let first = self.hear(link);
        let Some(ToWorker::Welcome(welcome)) = first.first() else { panic!("not welcome: {first:?}") };
        let welcome = welcome.clone();
        let mut hand = Hand { link, id: welcome.worker, welcome, reports: 0, lanes: BTreeMap::new(), acked: 0 };
        hand.take(first.clone());
        hand
    }

    pub(crate) fn say(&mut self, link: LinkId, messages: impl IntoIterator<Item = FromWorker>) {
        self.input(ServerInput::FromWorker { link, messages: messages.into_iter().collect() });
    }

    /// What a worker was told since it was looked at last, lane by lane.
    pub(crate) fn hear(&mut self, link: LinkId) -> Vec<ToWorker> {
        self.hear_together(link).into_iter().flat_map(ToWorker::singly).collect()
    }

    /// The same as it came.
    pub(crate) fn hear_together(&mut self, link: LinkId) -> Vec<ToWorker> {
        self.to_worker.remove(&link).unwrap_or_default()
    }

    pub(crate) fn call(&mut self, link: LinkId, request: ClientRequest) -> RequestId {
        self.calls += 1;
        let id = RequestId(self.calls);
        self.input(ServerInput::FromClient { link, calls: vec![Call { id, request }] });
        id
    }

    /// The replies of a link since it was looked at last.
    pub(crate) fn replies(&mut self, link: LinkId) -> Vec<(RequestId, ClientReply)> {
        let replies = self.to_client.remove(&link).unwrap_or_default();
        replies.into_iter().map(|reply| (reply.id, reply.reply)).collect()
    }

    /// A call that is answered at once, or as soon as the journal has confirmed.
    pub(crate) fn ask(&mut self, link: LinkId, request: ClientRequest) -> ClientReply {
        let id = self.call(link, request);
        self.confirm();
        let replies = self.replies(link);
        match &replies[..] {
            [(of, reply)] if *of == id => reply.clone(),
            _ => panic!("expected one reply to {id}: {replies:?}"),
        }
    }

    pub(crate) fn refused(&mut self, link: LinkId, request: ClientRequest) -> Refusal {
        match self.ask(link, request) {
            ClientReply::Refused(refusal) => refusal,
            other => panic!("not refused: {other:?}"),
        }
    }

    pub(crate) fn submit(&mut self, link: LinkId, tasks: u32) -> JobId {
        match self.ask(link, submit(tasks)) {
            ClientReply::Submitted { job } => job,
            other => panic!("not submitted: {other:?}"),
        }
    }
}

/// A new job of that many tasks of one cpu.
pub(crate) fn submit(tasks: u32) -> ClientRequest {
    submit_to(JobTarget::New(JobSpec { name: "test".to_owned(), max_fails: None }), tasks)
}

pub(crate) fn submit_to(target: JobTarget, tasks: u32) -> ClientRequest {
    let profile = Profile::new(Request::cpus(1).unwrap());
    ClientRequest::Submit(Box::new(Submit::array(target, TaskIds::Next(tasks), "program", Blob::default(), profile)))
}

pub(crate) fn wait(jobs: Selector) -> ClientRequest {
    ClientRequest::WaitJobs { jobs, until_closed: true }
}

pub(crate) fn cancel(jobs: Selector) -> ClientRequest {
    ClientRequest::CancelJobs { jobs, reason: None }
}

pub(crate) fn one(id: u32) -> Selector {
    Selector::Ids(hq_core::IdList::range(id, 1))
}

/// A worker by hand.
pub(crate) struct Hand {
    pub(crate) link: LinkId,
    pub(crate) id: WorkerId,
    pub(crate) welcome: Welcome,
    pub(crate) reports: u64,
    pub(crate) acked: u64,
    /// What waits or runs in each lane.
    pub(crate) lanes: BTreeMap<GrantId, VecDeque<Ordinal>>,
}

impl Hand {
    /// Reads its letter box; answers recalls.
    pub(crate) fn read(&mut self, rig: &mut Rig) {
        loop {
            let messages = rig.hear(self.link);
            if messages.is_empty() {
                return;
            }
            let answers = self.take(messages);
            if !answers.is_empty() {
                rig.say(self.link, answers);
            }
        }
    }

    fn take(&mut self, messages: Vec<ToWorker>) -> Vec<FromWorker> {
        let mut answers = Vec::new();
        for message in messages {
            let (grant, work) = match message {
                ToWorker::Open(open) => (open.grant, open.work),
                ToWorker::Extend { grant, work } => (grant, work),
                ToWorker::Ack { seq } => {
                    self.acked = seq;
                    continue;
                }
                ToWorker::Close { grant } => {
                    self.lanes.remove(&grant);
                    continue;
                }
                ToWorker::Recall { grant, n, tasks } => {
                    let lane = self.lanes.entry(grant).or_default();
                    let asked = |task: &Ordinal| tasks.iter().any(|range| range.contains(*task));
                    let back: BTreeSet<Ordinal> = lane.iter().skip(1).copied().filter(asked).collect();
                    lane.retain(|task| !back.contains(task));
                    let tasks = back.into_iter().map(hq_core::OrdinalRange::one).collect();
                    answers.push(FromWorker::Recalled { grant, n, tasks });
                    continue;
                }
                _ => continue,
            };
            let tasks = work.iter().flat_map(|work| &work.runs);
            let tasks = tasks.flat_map(|run| (0..u64::from(run.numbers.count)).map(|i| run.first.plus(i)));
            self.lanes.entry(grant).or_default().extend(tasks);
        }
        answers
    }

    /// Says that the first task of each lane runs.
    pub(crate) fn start(&mut self, rig: &mut Rig) {
        self.read(rig);
        let running = self.lanes.iter().filter_map(|(grant, lane)| Some((*grant, *lane.front()?)));
        let lane = |(grant, task)| LaneReport { grant, ended: vec![], started: Some((task, Span::ZERO)) };
        let lanes = running.map(lane).collect();
        self.report(rig, lanes);
    }

    /// Ends the first task of each lane.
    pub(crate) fn end(&mut self, rig: &mut Rig, outcome: &Outcome) {
        self.read(rig);
        let mut lanes = Vec::new();
        for (grant, lane) in &mut self.lanes {
            let ended = lane.pop_front().map(|task| end(task, outcome)).into_iter().collect();
            lanes.push(LaneReport { grant: *grant, ended, started: None });
        }
        self.report(rig, lanes);
    }

    /// Runs what it has and gets until nothing is left.
    pub(crate) fn run_all(&mut self, rig: &mut Rig) {
        for _ in 0..10_000 {
            self.read(rig);
            if self.lanes.values().all(VecDeque::is_empty) {
                return;
            }
            self.end(rig, &Outcome::Finished);
        }
        panic!("it never ends");
    }

    pub(crate) fn report(&mut self, rig: &mut Rig, lanes: Vec<LaneReport>) {
        self.reports += 1;
        rig.say(self.link, [FromWorker::Report(Report { seq: self.reports, lanes })]);
    }
}

pub(crate) fn end(task: Ordinal, outcome: &Outcome) -> RunEnd {
    RunEnd { task, age: Span::ZERO, took: Span::millis(5), outcome: outcome.clone() }
}
