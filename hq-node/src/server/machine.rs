use std::collections::{BTreeSet, VecDeque};

use hq_core::{ClientReply, Epoch, Fact, LinkId, Record, Refusal, Reply, RequestId, Seq, Tick, WallTime};
use hq_scheduler::{
    Scheduler,
    policy::{Order, Placement},
};

use super::{
    PeerRole, ServerConfig, ServerInput, ServerOutput,
    allocations::Scaling,
    attention::Attention,
    book::JobBook,
    client_session::{ClientSession, Clients},
    durability::Ledger,
    feed::Feed,
    grants::GrantBook,
    requests::JobWait,
    sessions::Sessions,
    stopping::Phase,
    story::Story,
    wall::Wall,
    worker_session::Workers,
};

/// The server machine.
///
/// Everything is a function of its inputs and their times: the same calls give the same outputs.
#[derive(Debug)]
pub struct ServerNode {
    pub(super) config: ServerConfig,
    pub(super) scheduler: Scheduler,
    pub(super) ledger: Ledger,
    pub(super) wall: Wall,
    pub(super) jobs: JobBook,
    pub(super) grants: GrantBook,
    pub(super) feed: Feed,
    pub(super) workers: Workers,
    pub(super) clients: Clients,
    pub(super) attention: Attention,
    pub(super) sessions: Sessions,
    /// Secrets given in this step; their facts come behind those of the workers.
    pub(super) pending_sessions: Vec<Fact>,
    pub(super) scaling: Scaling,
    pub(super) epoch: Epoch,
    pub(super) phase: Phase,
    /// The latest moment told; it never goes back.
    pub(super) now: Tick,
    boot_tick: Tick,
    /// Last fact of the boot: nobody hears anything before it is safe.
    pub(super) boot: Seq,
    /// Something came in since the last step.
    pub(super) is_dirty: bool,
    /// Reports came in since the last step.
    pub(super) has_reports: bool,
    /// Replies that wait for all facts of this step.
    pub(super) replies: Vec<(LinkId, Reply)>,
    /// Acknowledgements that wait for all facts of this step.
    pub(super) acks: Vec<(LinkId, u64)>,
    /// Until when clients are waited for whose jobs are bound to them, by the clock of attention.
    pub(super) binders_until: Option<Tick>,
    /// Clients that want the journal pruned behind this step.
    pub(super) prunes: Vec<(LinkId, RequestId)>,
    /// Waits for jobs that begin with this step.
    pub(super) waits: Vec<JobWait>,
    /// Links with something that waits to become safe.
    pub(super) withholding: BTreeSet<LinkId>,
    /// Links with something to be told in this step.
    pub(super) touched: BTreeSet<LinkId>,
    /// Links that end with this step.
    pub(super) closing: BTreeSet<LinkId>,
    pub(super) outputs: VecDeque<ServerOutput>,
    /// Kept to save allocations.
    pub(super) stories: Vec<Story>,
}

impl ServerNode {
    /// A server that goes on from `history` (empty: a new one). The first output is the append of its boot.
    ///
    /// # Errors
    /// One line for people, where the history contradicts itself.
    pub fn new(config: ServerConfig, history: impl IntoIterator<Item = (Seq, Record)>) -> Result<Self, String> {
        Self::with_policies(config, history, vec![], vec![])
    }

    /// The same with orders and placements besides those built in, to be chosen by their names.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_policies(
        config: ServerConfig,
        history: impl IntoIterator<Item = (Seq, Record)>,
        orders: Vec<Box<dyn Order>>,
        placements: Vec<Box<dyn Placement>>,
    ) -> Result<Self, String> {
        let mut past = Past::default();
        orders.into_iter().for_each(|order| past.scheduler.add_order(order));
        placements.into_iter().for_each(|placement| past.scheduler.add_placement(placement));
        for (seq, record) in history {
            past.apply(seq, &record)?;
        }
        let Past { scheduler, jobs, grants, sessions, mut wall, scaling, last_seq, last_tick, server_uid } = past;
        let started = config.info.started;
        let boot_tick = wall.resume(last_tick, started);
        wall.anchor(boot_tick, started);
        let mut config = config;
        if let Some(uid) = server_uid {
            config.info.server_uid = uid;
        }
        let mut server = Self {
            ledger: Ledger::new(config.journal, last_seq),
            feed: Feed::new(last_seq.next(), config.feed_bytes),
            sessions,
            pending_sessions: vec![],
            config,
            scheduler,
            wall,
            jobs,
            grants,
            workers: Workers::default(),
            clients: Clients::default(),
            attention: Attention::default(),
            scaling,
            epoch: Epoch(0),
            phase: Phase::Running,
            now: boot_tick,
            boot_tick,
            boot: Seq(0),
            is_dirty: false,
            has_reports: false,
            replies: vec![],
            acks: vec![],
            prunes: vec![],
            binders_until: None,
            waits: vec![],
            withholding: BTreeSet::new(),
            touched: BTreeSet::new(),
            closing: BTreeSet::new(),
            outputs: VecDeque::new(),
            stories: vec![],
        };
        server.attention.look(boot_tick, None);
        let (uid, version) = (server.config.info.server_uid.clone(), server.config.info.version.clone());
        server.epoch = server.scheduler.boot(boot_tick, uid.clone(), started.0, version);
        server.scaling.machine.boot(boot_tick, &uid);
        server.step();
        server.await_all();
        server.await_binders();
        server.boot = server.ledger.appended();
        Ok(server)
    }

    /// The moment of the boot: the shell's clock counts from here, so that time never goes back over restarts.
    pub fn boot_tick(&self) -> Tick {
        self.boot_tick
    }

    /// Whether the boot is safe. Listeners open only then; what comes earlier is heard but not answered before.
    pub fn is_ready(&self) -> bool {
        self.ledger.durable() >= self.boot
    }

    /// The server's uid: an old journal's, else that of the configuration.
    pub fn server_uid(&self) -> &str {
        &self.config.info.server_uid
    }

    /// Which boot on this journal it is.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The core, to be looked at.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Takes news. Stale and impossible ones change nothing.
    pub fn handle_input(&mut self, now: Tick, input: ServerInput) {
        if self.phase == Phase::Stopped {
            return;
        }
        self.look(now);
        match input {
            ServerInput::LinkUp { link, role, protocol } => self.link_up(link, role, protocol),
            ServerInput::FromWorker { link, messages } => self.hear_worker(link, messages),
            ServerInput::FromClient { link, calls } => self.hear_client(link, calls),
            ServerInput::LinkDown { link } => self.link_down(link),
            ServerInput::Durable { seq } => {
                if self.ledger.confirm(seq) {
                    self.release();
                }
            }
            ServerInput::JournalFailed { reason } => self.journal_failed(reason),
            ServerInput::JournalTaken { reason } => return self.leave(reason),
            ServerInput::Pruned { link, id, result } => match result {
                Ok(()) => self.reply(link, id, ClientReply::Done),
                Err(reason) => self.refuse(link, id, Refusal::Invalid(reason)),
            },
            ServerInput::Backend(news) => self.hear_backend(news),
            ServerInput::Interrupted => self.begin_stop(None),
        }
        self.is_dirty = true;
    }

    /// Takes the passing of time; call it at [`poll_timeout`](Self::poll_timeout), earlier or later does no harm: time
    /// in which this machine was overdue does not count as its workers' silence.
    pub fn handle_timeout(&mut self, now: Tick) {
        if self.phase == Phase::Stopped {
            return;
        }
        self.look(now);
        if self.phase == Phase::Running {
            self.scheduler.handle_timeout(self.now);
            self.give_up_overdue();
            self.end_orphans();
        }
        self.scaling.machine.handle_timeout(self.now);
        while let Some(link) = self.workers.due(self.now) {
            self.look_after(link);
        }
        self.is_dirty = true;
    }

    /// The next thing to do; drain it after each input. A round of placement runs in here.
    pub fn poll_output(&mut self) -> Option<ServerOutput> {
        if self.outputs.is_empty() && self.is_dirty {
            self.step();
        }
        self.outputs.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called next.
    pub fn poll_timeout(&self) -> Option<Tick> {
        let scheduler = match self.phase {
            Phase::Running => [self.scheduler.poll_timeout(), self.next_overdue()].into_iter().flatten().min(),
            Phase::Stopping { until, .. } => Some(until),
            Phase::Stopped => return None,
        };
        [scheduler, self.workers.next_due(), self.next_scaling()].into_iter().flatten().min()
    }

    fn look(&mut self, now: Tick) {
        if self.is_dirty && now > self.now {
            self.step(); // A step is of one moment: its facts are stamped with the time at which they became true.
        }
        self.now = self.now.max(now);
        let expected = [self.workers.next_due(), self.next_overdue()].into_iter().flatten().min();
        self.attention.look(self.now, expected);
    }

    fn link_up(&mut self, link: LinkId, role: PeerRole, protocol: u16) {
        let is_known = self.workers.links.contains_key(&link) || self.clients.links.contains_key(&link);
        if is_known {
            return;
        }
        if self.phase != Phase::Running {
            self.closing.insert(link);
            return;
        }
        match role {
            PeerRole::Worker => self.greet(link, protocol),
            PeerRole::Client => _ = self.clients.links.insert(link, ClientSession::default()),
        }
    }

    fn link_down(&mut self, link: LinkId) {
        self.withholding.remove(&link);
        self.touched.remove(&link);
        self.closing.remove(&link);
        if let Some(session) = self.clients.remove(link) {
            self.unbind(session.bound);
        }
        self.worker_link_down(link);
    }

    fn journal_failed(&mut self, reason: String) {
        self.ledger.fail(reason);
        let refusal = Refusal::JournalFailed(self.ledger.failure().unwrap_or_default().to_owned());
        let durable = self.ledger.durable();
        for link in std::mem::take(&mut self.withholding) {
            if let Some(session) = self.clients.links.get_mut(&link) {
                session.refuse_unsafe(&refusal);
            }
            if let Some(session) = self.workers.links.get_mut(&link) {
                session.abandon_unsafe(durable);
            }
            self.touched.insert(link);
        }
        let waits = self.clients.waits().into_iter();
        let begun = std::mem::take(&mut self.waits).into_iter().map(|wait| wait.call());
        let unsafe_replies = std::mem::take(&mut self.replies).into_iter().map(|(link, reply)| (link, reply.id));
        let calls: Vec<(LinkId, RequestId)> = waits.chain(begun).chain(unsafe_replies).collect();
        for (link, id) in calls {
            self.clients.abandon(link, id);
            self.refuse(link, id, refusal.clone());
        }
        self.refuse_waiting(&refusal);
    }

    /// Lets go what need not wait any more.
    fn release(&mut self) {
        let durable = self.ledger.durable();
        for link in std::mem::take(&mut self.withholding) {
            let is_waiting = if let Some(session) = self.clients.links.get_mut(&link) {
                session.release(durable);
                session.is_waiting()
            } else if let Some(session) = self.workers.links.get_mut(&link) {
                session.release(durable);
                session.is_waiting()
            } else {
                false
            };
            if is_waiting {
                self.withholding.insert(link);
            }
            self.touched.insert(link);
        }
    }
}

/// What a history comes to.
#[derive(Debug, Default)]
struct Past {
    scheduler: Scheduler,
    jobs: JobBook,
    grants: GrantBook,
    sessions: Sessions,
    wall: Wall,
    scaling: Scaling,
    last_seq: Seq,
    last_tick: Tick,
    server_uid: Option<String>,
}

impl Past {
    fn apply(&mut self, seq: Seq, record: &Record) -> Result<(), String> {
        if seq <= self.last_seq {
            return Err(format!("record {seq} of the journal comes after record {}", self.last_seq));
        }
        self.scheduler.replay(record).map_err(|reason| format!("record {seq} of the journal: {reason}"))?;
        self.scaling.machine.replay(record.at, &record.fact);
        self.last_seq = seq;
        self.last_tick = self.last_tick.max(record.at);
        if let Fact::Boot { server_uid, wall, .. } = &record.fact {
            self.server_uid = Some(server_uid.clone());
            self.wall.anchor(record.at, WallTime(*wall));
        }
        self.grants.apply(&record.fact);
        self.sessions.apply(&record.fact);
        let mut settled = vec![];
        self.jobs.apply(&record.fact, &mut settled);
        for job in settled {
            self.jobs.completes_now(job);
        }
        Ok(())
    }
}
