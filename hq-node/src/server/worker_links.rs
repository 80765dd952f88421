use hq_core::{
    ClientReply, EventKind, Fact, FromWorker, Instance, JobId, LinkId, LossReason, Report, RunId, RunOutput, Span,
    TaskOutput, TaskState, Tick, ToWorker, Welcome, WorkerConfig, WorkerId,
};
use hq_scheduler::News;

use super::{
    ServerNode, check,
    stopping::Phase,
    story::Story,
    worker_session::{SessionState, WorkerSession},
};

/// A link that has not said hello by then is ended.
const GREETING_TIME: Span = Span::secs(10);
/// A worker that was told to end has that long to do so by itself.
const LEAVING_TIME: Span = Span::secs(10);
/// Messages that no sound worker sends, before its link is ended.
const VIOLATIONS_MAX: u32 = 8;

impl ServerNode {
    /// A worker's link is there.
    pub(super) fn greet(&mut self, link: LinkId, protocol: u16) {
        let until = self.now.after(GREETING_TIME);
        self.workers.links.insert(link, WorkerSession::new(protocol, self.now, self.attention.clock(), until));
        self.workers.plan(link, until);
    }

    /// A worker says this.
    pub(super) fn hear_worker(&mut self, link: LinkId, messages: Vec<FromWorker>) {
        if self.clients.links.contains_key(&link) {
            self.closing.insert(link);
            return;
        }
        if self.phase != Phase::Running {
            return;
        }
        for mut message in messages {
            let heard = self.attention.clock();
            let Some(session) = self.workers.links.get_mut(&link) else { return };
            session.heard = heard;
            if !check::from_worker(&mut message) {
                self.violation(link);
                continue;
            }
            match (session.state, message) {
                (SessionState::Leaving(_), _) => return,
                (SessionState::Greeting(_), FromWorker::Hello(config)) => self.join(link, *config),
                (SessionState::Greeting(_), FromWorker::Resume(resume)) => self.resume(link, *resume),
                (SessionState::Greeting(_), _) => self.turn_away(link, "the first word has to be a hello".to_owned()),
                (SessionState::Joined(worker), message) => self.worker_says(link, worker, message),
            }
        }
    }

    fn worker_says(&mut self, link: LinkId, worker: WorkerId, message: FromWorker) {
        match message {
            FromWorker::Hello(_) | FromWorker::Resume(_) => self.violation(link),
            FromWorker::Report(report) => self.report(link, worker, report),
            FromWorker::Recalled { grant, n, tasks } => {
                self.scheduler.handle_event(self.now, News::Recalled { worker, grant, n, tasks });
            }
            FromWorker::Heartbeat => {}
            FromWorker::Notify { run, message } => self.notify(worker, run, message),
            FromWorker::Output(output) => self.printed(worker, output),
            FromWorker::Overview(state) => self.note(Fact::WorkerOverview { worker, state }),
            FromWorker::Leaving { reason } => {
                // What only the server can know is not believed.
                let reason = match reason {
                    LossReason::TimeLimitReached | LossReason::IdleTimeout | LossReason::Interrupted => reason,
                    _ => LossReason::ConnectionLost,
                };
                self.lose(worker, reason);
            }
        }
    }

    /// A program printed something: told to those who listen to its job. As with words, what comes from a run that the
    /// worker does not have is dropped.
    fn printed(&mut self, worker: WorkerId, output: RunOutput) {
        let RunOutput { run, session, channel, offset, data } = output;
        let own = self.own_run(worker, run);
        let Some((job, task)) = self.jobs.locate(run.task) else { return };
        let output = own.map(|instance| TaskOutput { task, instance, channel, offset, data });
        self.clients.listening.printed(job, worker, session, output);
    }

    /// Whether a worker has this run, as what it may speak for: it runs the task, in that lane. Its instance.
    fn own_run(&mut self, worker: WorkerId, run: RunId) -> Option<Instance> {
        if self.has_reports {
            self.step(); // The start of the run may be among them.
        }
        let has_lane = self.grants.get(run.grant).is_some_and(|grant| grant.workers.first() == Some(&worker));
        let task = self.scheduler.task(run.task).filter(|_| has_lane)?;
        let is_running = task.state == TaskState::Running && task.workers.first() == Some(&worker);
        is_running.then_some(task.instance)
    }

    /// A program says something: told to those who listen, behind what happened before. What comes from a run that the
    /// worker does not have is dropped: it has been given to another meanwhile.
    fn notify(&mut self, worker: WorkerId, run: RunId, message: String) {
        let is_its_own = self.own_run(worker, run).is_some();
        if let Some((job, task)) = self.jobs.locate(run.task).filter(|_| is_its_own) {
            let story = Story::Told(EventKind::TaskNotify { job, task, worker, message });
            self.tell_feed(self.ledger.appended(), story);
        }
    }

    /// A report counts once; a doubled one is only acknowledged again, one that is missing cannot be made up for.
    pub(super) fn report(&mut self, link: LinkId, worker: WorkerId, report: Report) {
        let Some(session) = self.workers.links.get_mut(&link) else { return };
        if report.seq > session.reports.saturating_add(1) || report.seq == 0 {
            self.drop_link(link, LossReason::ConnectionLost);
            return;
        }
        let is_new = report.seq > session.reports;
        session.reports = session.reports.max(report.seq);
        self.acks.push((link, session.reports));
        if is_new {
            self.has_reports = true;
            for lane in report.lanes {
                self.scheduler.handle_event(self.now, News::Report { worker, lane });
            }
        }
    }

    fn join(&mut self, link: LinkId, mut config: WorkerConfig) {
        if let Err(reason) = check::worker(&config) {
            self.turn_away(link, reason);
            return;
        }
        config.idle_timeout = config.idle_timeout.or(self.config.idle_timeout);
        let (heartbeat, comes_back) = (config.heartbeat, config.on_server_lost.reconnects());
        let worker = match self.scheduler.join(self.now, config) {
            Ok(worker) => worker,
            Err(refused) => {
                self.turn_away(link, refused.to_string());
                return;
            }
        };
        let welcome = Welcome {
            worker,
            epoch: self.epoch,
            token: self.give_token(worker, comes_back),
            server_uid: self.config.info.server_uid.clone(),
            idle_timeout: self.config.idle_timeout,
        };
        let durable = self.ledger.durable();
        if let Some(session) = self.workers.links.get_mut(&link) {
            session.state = SessionState::Joined(worker);
            session.heartbeat = heartbeat;
            session.tell(ToWorker::Welcome(welcome), self.boot, durable);
        }
        self.settle_in(link, worker, talk_interval(heartbeat));
    }

    /// A worker is there: what others want of it, and when to look after it.
    pub(super) fn settle_in(&mut self, link: LinkId, worker: WorkerId, talk: Span) {
        self.workers.by_id.insert(worker, link);
        let jobs: Vec<(JobId, u64)> = self.clients.listening.jobs().collect();
        for (job, session) in jobs {
            let credit = self.clients.listening.room_of(job, worker);
            self.tell_worker(worker, ToWorker::Listen { job, session, credit });
        }
        self.workers.plan(link, self.now.after(talk));
        self.mark(link);
        for (client, id) in self.clients.workers_are(self.worker_count()) {
            self.reply(client, id, ClientReply::Done);
        }
    }

    /// No worker of ours, and why.
    fn turn_away(&mut self, link: LinkId, reason: String) {
        let durable = self.ledger.durable();
        if let Some(session) = self.workers.links.get_mut(&link) {
            session.tell(ToWorker::Refused { reason }, durable, durable);
            session.state = SessionState::Leaving(self.now);
            self.closing.insert(link);
            self.mark(link);
        }
    }

    /// A message that no sound worker sends. A few are forgiven.
    pub(super) fn violation(&mut self, link: LinkId) {
        let Some(session) = self.workers.links.get_mut(&link) else { return };
        session.violations += 1;
        if session.violations > VIOLATIONS_MAX {
            self.drop_link(link, LossReason::ConnectionLost);
        }
    }

    /// Ends a link; the worker on it is lost.
    fn drop_link(&mut self, link: LinkId, reason: LossReason) {
        if let Some(worker) = self.joined(link) {
            self.lose(worker, reason);
        }
        self.closing.insert(link);
    }

    /// The link is gone; so is its worker, unless that may come back, was known before, or the server ends as well.
    pub(super) fn worker_link_down(&mut self, link: LinkId) {
        if self.phase == Phase::Running
            && let Some(worker) = self.joined(link)
            && !self.suspend(worker)
        {
            self.lose(worker, LossReason::ConnectionLost);
        }
        self.workers.remove(link);
    }

    /// A worker is gone. Its link stays for a moment if it still is there.
    pub(super) fn lose(&mut self, worker: WorkerId, reason: LossReason) {
        if self.has_reports {
            self.step(); // Events of runs are told as they were before the loss.
        }
        self.forget_worker(worker, reason);
    }

    fn forget_worker(&mut self, worker: WorkerId, reason: LossReason) {
        self.scheduler.handle_event(self.now, News::WorkerLost { worker, reason });
        let until = self.now.after(LEAVING_TIME);
        let Some((link, session)) = self.workers.session(worker) else { return };
        session.hush();
        session.state = SessionState::Leaving(until);
        self.workers.by_id.remove(&worker);
        self.workers.plan(link, until);
    }

    /// Ends a worker that is there.
    pub(super) fn stop_worker(&mut self, worker: WorkerId) {
        let link = self.workers.by_id.get(&worker).copied();
        self.lose(worker, LossReason::Stopped);
        self.send_stop(link, LossReason::Stopped);
    }

    /// Ends a worker that has nothing to do; happens inside a step.
    pub(super) fn stop_idle(&mut self, worker: WorkerId) {
        let link = self.workers.by_id.get(&worker).copied();
        self.forget_worker(worker, LossReason::IdleTimeout);
        self.send_stop(link, LossReason::IdleTimeout);
    }

    fn send_stop(&mut self, link: Option<LinkId>, reason: LossReason) {
        let Some(link) = link else { return };
        if let Some(session) = self.workers.links.get_mut(&link) {
            session.stop(reason);
            self.mark(link);
        }
    }

    /// The time planned for a link has come: say a word, or end it.
    pub(super) fn look_after(&mut self, link: LinkId) {
        let clock = self.attention.clock();
        let Some(session) = self.workers.links.get_mut(&link) else { return };
        match session.state {
            SessionState::Greeting(_) => self.turn_away(link, "no hello came in time".to_owned()),
            SessionState::Leaving(_) => _ = self.closing.insert(link),
            SessionState::Joined(_) => {
                let patience = session.heartbeat.times(2);
                if clock.since(session.heard) >= patience {
                    self.drop_link(link, LossReason::HeartbeatLost);
                    return;
                }
                let mut talk_at = session.said.after(talk_interval(session.heartbeat));
                if talk_at <= self.now {
                    session.said = self.now;
                    session.signal();
                    talk_at = self.now.after(talk_interval(session.heartbeat));
                }
                let lost_at = self.attention.real(session.heard.after(patience));
                self.workers.plan(link, talk_at.min(lost_at).max(Tick(self.now.0.saturating_add(1))));
                self.mark(link);
            }
        }
    }
}

/// The server speaks twice per heartbeat: a worker holds its lanes after one without a word, which a little delay must
/// not bring about.
pub(super) fn talk_interval(heartbeat: Span) -> Span {
    Span((heartbeat.0 / 2).max(1))
}
