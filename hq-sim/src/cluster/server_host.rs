use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hq_core::{
    ClientReply, Fact, JobId, LinkId, Record, Reply, Seq, ServerInfo, Span, SubmitId, Tick, ToWorker, WallTime,
};
use hq_node::{PeerRole, ServerConfig, ServerInput, ServerNode, ServerOutput};

use super::{
    network::Peer,
    world::{Down, Event, Up, World},
};
use crate::{
    Planted, hostile,
    invariants::{Freshness, What},
};

/// Microseconds since 1970 at the simulation's beginning.
const WALL: u64 = 1_700_000_000_000_000;
/// The version of the messages that all speak.
const PROTOCOL: u16 = 2;

/// The server's process, and the disk that outlives it.
#[derive(Debug, Default)]
pub(super) struct ServerHost {
    pub(super) node: Option<ServerNode>,
    /// How often it has begun.
    pub(super) life: u64,
    booted: (Tick, Tick),
    /// What is safe.
    disk: Vec<Record>,
    /// What is on its way there, a whole append each.
    pending: VecDeque<Vec<Record>>,
    latest_write: Tick,
    /// Jobs that were ever forgotten, safely or not.
    pub(super) forgotten: BTreeSet<JobId>,
    /// Submits that are not safe yet.
    unsafe_submits: BTreeMap<SubmitId, (Seq, JobId)>,
}

impl ServerHost {
    /// The server's time at a moment of the simulation.
    pub(super) const fn tick(&self, now: Tick) -> Tick {
        self.booted.1.after(now.since(self.booted.0))
    }

    pub(super) fn next_timeout(&self) -> Option<Tick> {
        let at = self.node.as_ref()?.poll_timeout()?;
        Some(self.booted.0.after(at.since(self.booted.1)))
    }

    fn appended(&self) -> Seq {
        Seq((self.disk.len() + self.pending.iter().map(Vec::len).sum::<usize>()) as u64)
    }
}

impl World {
    pub(super) fn boot(&mut self) {
        let config = ServerConfig {
            info: ServerInfo {
                server_uid: "simula".to_owned(),
                version: "0".to_owned(),
                started: WallTime(WALL + self.now.0),
                ..ServerInfo::default()
            },
            journal: self.sim.journal && self.sim.planted != Some(Planted::EarlyAnswers),
            idle_timeout: None,
            feed_bytes: 1 << 16,
            token_seed: self.sim.seed,
            adopt_timeout: self.sim.adopt_timeout,
        };
        let planted = self.sim.planted;
        let records = self.server.disk.iter().cloned();
        let records = records.map(|record| planted.map_or(record.clone(), |planted| planted.history(record)));
        let history = (1..).map(Seq).zip(records);
        let (orders, placements) = if self.sim.hostile {
            (hostile::orders(self.sim.seed), hostile::placements(self.sim.seed))
        } else {
            (vec![], vec![])
        };
        let node = match ServerNode::with_policies(config, history, orders, placements) {
            Ok(node) => node,
            Err(error) => return self.watch.fail(format!("the server does not begin again: {error}")),
        };
        self.server.life += 1;
        self.server.booted = (self.now, node.boot_tick());
        self.server.node = Some(node);
        self.watch.restarted(self.server.tick(self.now), &self.server.disk);
        self.check_promises();
        self.drain_server();
    }

    /// Ends the server without warning. Of what was on its way to the disk, a part from the front arrives.
    pub(super) fn kill_server(&mut self) {
        if self.server.node.take().is_none() {
            return;
        }
        self.watch.trace.push(format_args!("{} the server is killed", self.now.0));
        self.server.unsafe_submits.clear();
        let kept = self.rng.below(self.server.pending.len() as u64 + 1);
        let kept: Vec<Record> = self.server.pending.drain(..).take(kept as usize).flatten().collect();
        self.server.disk.extend(kept);
        if self.sim.planted == Some(Planted::LostAppend) {
            let safe = self.server.disk.len();
            self.server.disk.truncate(safe - safe.min(self.rng.range(1, 20) as usize));
        }
        self.leave_links();
        let down = Span(self.rng.range(1_000, 3_000_000));
        self.plan(self.now.after(down), Event::Boot);
        for _ in 0..self.rng.below(4) {
            self.another_worker();
        }
    }

    /// All links end, for their peers a bit later.
    fn leave_links(&mut self) {
        let links: Vec<LinkId> =
            self.net.links.iter().filter(|(_, link)| link.server_open).map(|(id, _)| *id).collect();
        for link in links {
            self.close_from_server(link);
        }
    }

    fn close_from_server(&mut self, link: LinkId) {
        let at = self.net.down(self.now, link);
        let Some(known) = self.net.links.get_mut(&link).filter(|link| link.server_open) else { return };
        known.server_open = false;
        let peer = known.peer;
        // In the dark the peer learns it by the cut.
        if let Some(at) = at {
            let event = match peer {
                Peer::Worker(_) => Event::ToWorker(link, Down::Closed),
                Peer::Client(_) => Event::ToClient(link, Down::Closed),
            };
            self.plan(at, event);
        }
    }

    pub(super) fn server_timeout(&mut self) {
        let now = self.server.tick(self.now);
        if let Some(node) = &mut self.server.node {
            node.handle_timeout(now);
        }
        self.drain_server();
    }

    pub(super) fn interrupt_server(&mut self) {
        self.server_input(ServerInput::Interrupted);
    }

    fn server_input(&mut self, input: ServerInput) {
        let now = self.server.tick(self.now);
        if let Some(node) = &mut self.server.node {
            node.handle_input(now, input);
            self.drain_server();
        }
    }

    pub(super) fn durable(&mut self, life: u64, seq: Seq) {
        if life != self.server.life || self.server.node.is_none() {
            return;
        }
        while (self.server.disk.len() as u64) < seq.0
            && let Some(batch) = self.server.pending.pop_front()
        {
            self.server.disk.extend(batch);
        }
        self.server.unsafe_submits.retain(|_, (at, _)| *at > seq);
        self.server_input(ServerInput::Durable { seq });
    }

    pub(super) fn server_hears(&mut self, link: LinkId, up: Up) {
        let Some(known) = self.net.links.get_mut(&link) else { return };
        if known.life != self.server.life || self.server.node.is_none() {
            return;
        }
        if known.is_cut && !matches!(up, Up::Closed) {
            return;
        }
        let is_open = known.server_open;
        let role = match known.peer {
            Peer::Worker(_) => PeerRole::Worker,
            Peer::Client(_) => PeerRole::Client,
        };
        match up {
            Up::Opened => self.server_input(ServerInput::LinkUp { link, role, protocol: PROTOCOL }),
            Up::Closed if is_open => {
                known.server_open = false;
                self.server_input(ServerInput::LinkDown { link });
            }
            Up::Closed => {}
            Up::Client(calls) if is_open => self.server_input(ServerInput::FromClient { link, calls }),
            Up::Client(_) => {}
            Up::Worker(messages, freshness) => {
                let is_gone = known.worker.is_some_and(|worker| !self.watch.model.workers.contains_key(&worker));
                let freshness = if is_open && !is_gone { freshness } else { Freshness::Old };
                let at = self.server.tick(self.now);
                self.watch.trace.push(format_args!("{} {link} {freshness:?} -> {messages:?}", self.now.0));
                for message in messages {
                    self.watch.see(at, What::Hears(&message, freshness));
                    self.server_input(ServerInput::FromWorker { link, messages: vec![message] });
                }
            }
        }
    }

    /// Does all that the server wants done.
    fn drain_server(&mut self) {
        let at = self.server.tick(self.now);
        while let Some(output) = self.server.node.as_mut().and_then(ServerNode::poll_output) {
            self.watch.trace.push(format_args!("{} {output:?}", self.now.0));
            match output {
                ServerOutput::Append { first_seq, records } => self.append(at, first_seq, records),
                ServerOutput::ToWorker { link, messages } => self.tell_worker(at, link, messages),
                ServerOutput::ToClient { link, replies } => {
                    self.check_replies(&replies);
                    if let Some(arrives) = self.net.down(self.now, link) {
                        self.plan(arrives, Event::ToClient(link, Down::Said(replies)));
                    }
                }
                ServerOutput::CloseLink { link } => self.close_from_server(link),
                ServerOutput::Warn(_) | ServerOutput::Prune { .. } | ServerOutput::Backend(_) => {}
                ServerOutput::Stop => {
                    self.server.node = None;
                    self.leave_links();
                }
            }
        }
        if let Some(node) = &self.server.node {
            self.watch.see(at, What::Settled(node.scheduler()));
        }
    }

    fn append(&mut self, at: Tick, first_seq: Seq, records: Vec<Record>) {
        if first_seq != self.server.appended().next() {
            return self.watch.fail(format!("an append begins at {first_seq} behind {}", self.server.appended()));
        }
        let mut seq = self.server.appended();
        for record in &records {
            record.singly().for_each(|record| self.watch.see(at, What::Fact(&record)));
            seq = seq.next();
            match &record.fact {
                Fact::JobForgotten { job } => _ = self.server.forgotten.insert(*job),
                Fact::Submitted { job, base, .. } if self.sim.journal => {
                    self.server.unsafe_submits.insert(SubmitId(base.0), (seq, *job));
                }
                _ => {}
            }
        }
        if !self.sim.journal {
            self.server.disk.extend(records);
            return;
        }
        self.server.pending.push_back(records);
        let (shortest, longest) = self.sim.faults.disk;
        let longest = if self.is_healed { shortest } else { longest };
        let takes = Span(self.rng.range(shortest.0, longest.0));
        self.server.latest_write = self.server.latest_write.max(self.now.after(takes));
        let (life, seq) = (self.server.life, self.server.appended());
        self.plan(self.server.latest_write, Event::Durable { life, seq });
    }

    fn tell_worker(&mut self, at: Tick, link: LinkId, messages: Vec<ToWorker>) {
        for message in &messages {
            let submits: Vec<SubmitId> = match message {
                ToWorker::Open(open) => open.work.iter().map(|work| work.submit).collect(),
                ToWorker::Extend { work, .. } => work.iter().map(|work| work.submit).collect(),
                ToWorker::OpenLanes(lanes) => vec![lanes.submit],
                _ => vec![],
            };
            if let Some(submit) = submits.iter().find(|submit| self.server.unsafe_submits.contains_key(submit)) {
                self.watch.fail(format!("durability: work of submit {submit} leaves before that is safe"));
            }
            let Some(known) = self.net.links.get_mut(&link) else { continue };
            match message {
                ToWorker::Welcome(welcome) => known.worker = Some(welcome.worker),
                ToWorker::Resumed(resumed) => known.worker = Some(resumed.welcome.worker),
                _ => {}
            }
            if let Some(worker) = known.worker {
                self.watch.see(at, What::Told(worker, message));
            }
        }
        let messages = self.spoil(link, messages);
        let Some(arrives) = self.net.down(self.now, link) else { return };
        let doubled = self.rng.chance(self.doubled_percent());
        // A link never changes the order: a second one comes right behind the first, before what was said later.
        let times = |message: &ToWorker| if doubled && says_again(message) { 2 } else { 1 };
        let said = messages.into_iter().flat_map(|message| vec![message.clone(); times(&message)]).collect();
        self.plan(arrives, Event::ToWorker(link, Down::Said(said)));
    }

    /// What a planted fault makes of it.
    fn spoil(&mut self, link: LinkId, messages: Vec<ToWorker>) -> Vec<ToWorker> {
        let Some(planted) = self.sim.planted else { return messages };
        let mut said = Vec::new();
        for message in messages {
            if planted == Planted::DoubleAssignment && matches!(message, ToWorker::Open(_)) {
                let others = self.workers.iter().filter(|other| other.is_alive()).filter_map(|other| other.link);
                if let Some(other) = others.into_iter().find(|other| *other != link)
                    && let Some(at) = self.net.down(self.now, other)
                {
                    self.plan(at, Event::ToWorker(other, Down::Said(vec![message.clone()])));
                }
            }
            let (through, answer) = planted.down(message, &mut self.rng);
            said.extend(through);
            if let Some(answer) = answer
                && let Some(at) = self.net.up(self.now, link)
            {
                self.plan(at, Event::ToServer(link, Up::Worker(vec![answer], Freshness::New)));
            }
        }
        said
    }

    /// What clients are told is safe.
    fn check_replies(&mut self, replies: &[Reply]) {
        let safe = Seq(self.server.disk.len() as u64);
        for reply in replies {
            let early = match &reply.reply {
                ClientReply::Submitted { job } => {
                    // Another submit to the same open job may be younger than the one that is answered.
                    let created = self.watch.model.jobs.get(job).and_then(|job| job.tasks.first());
                    created.is_some_and(|first| self.server.unsafe_submits.contains_key(&SubmitId(first.0)))
                }
                ClientReply::Events(events) => events.iter().any(|event| event.seq > safe),
                _ => false,
            };
            if early {
                self.watch.fail(format!("durability: a client is told what is not safe: {:?}", reply.reply));
            }
        }
    }

    pub(super) fn doubled_percent(&self) -> u64 {
        if self.is_healed { 0 } else { self.sim.faults.doubled_percent }
    }
}

/// A second word to go on would be a word of its own.
const fn says_again(message: &ToWorker) -> bool {
    !matches!(message, ToWorker::GoOn { .. })
}
