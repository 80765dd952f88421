use hq_core::{ClientReply, Fact, LinkId, Reply, Seq, ToWorker, WorkerId};
use hq_scheduler::Action;

use super::{
    ServerNode, ServerOutput, events::LastRun, listening::Carried, retell::retell, story::Story,
    worker_session::SessionState,
};

impl ServerNode {
    /// Works out what follows from the input since the last step, and puts it into the outputs: one append, then
    /// messages, then the ends of links.
    pub(super) fn step(&mut self) {
        self.is_dirty = false;
        self.has_reports = false;
        let mut warnings = Vec::new();
        self.take_actions(&mut warnings);
        self.scale(&mut warnings);
        self.begin_waits();
        self.carry_outputs();
        self.settle_replies();
        self.append_step();
        let prunes = self.prunes.drain(..).map(|(link, id)| ServerOutput::Prune { link, id });
        self.outputs.extend(prunes.chain(warnings));
        self.give_orders();
        if self.feed.publish(self.ledger.durable()) {
            self.tell_listeners();
        }
        self.feed.trim();
        self.flush();
        self.finish_stop();
    }

    /// Takes what the scheduler wants done, its facts first of all.
    pub(super) fn take_actions(&mut self, warnings: &mut Vec<ServerOutput>) {
        while let Some(action) = self.scheduler.poll_batch(self.now) {
            match action {
                Action::Record(fact) => self.note(fact),
                Action::Send { worker, message } => self.tell_worker(worker, message),
                Action::Canceled { token, job, outcome } => {
                    if let Some(((link, id), outcomes)) = self.clients.canceled(token, job, outcome) {
                        self.replies.push((link, Reply { id, reply: ClientReply::Canceled(outcomes) }));
                    }
                }
                Action::Warn(text) => warnings.push(ServerOutput::Warn(text)),
                Action::StopIdle { worker } => self.stop_idle(worker),
            }
        }
        for fact in std::mem::take(&mut self.pending_sessions) {
            self.note(fact);
        }
    }

    /// Carries what programs printed to those who listen. That nothing more comes is told as an end of the job is: once it
    /// is safe, and behind all answers to the same call.
    fn carry_outputs(&mut self) {
        let Carried { told, over, room, quiet } = self.clients.listening.carry();
        for ((link, id), outputs) in told {
            self.reply(link, id, ClientReply::Outputs(outputs));
        }
        for (link, id) in over {
            self.clients.abandon(link, id);
            self.reply_durable(link, id, ClientReply::Done);
        }
        for (worker, job, session, credit) in room {
            self.tell_worker(worker, ToWorker::Listen { job, session, credit });
        }
        for (job, session) in quiet {
            self.tell_workers(&ToWorker::Unlisten { job, session });
        }
    }

    /// Tells all workers that are there.
    pub(super) fn tell_workers(&mut self, message: &ToWorker) {
        let workers: Vec<WorkerId> = self.workers.by_id.keys().copied().collect();
        for worker in workers {
            self.tell_worker(worker, message.clone());
        }
    }

    /// Hands the facts of the step to the journal.
    pub(super) fn append_step(&mut self) {
        if let Some((first_seq, records)) = self.ledger.take_step() {
            self.outputs.push_back(ServerOutput::Append { first_seq, records });
        }
    }

    /// A fact: told to the books, the feed, those who wait for it, and the journal.
    pub(super) fn note(&mut self, fact: Fact) {
        let seq = self.ledger.next();
        let scheduler = &self.scheduler;
        let last = |task| scheduler.task(task).map(LastRun::of).unwrap_or_default();
        let mut stories = std::mem::take(&mut self.stories);
        let settled = retell(&fact, &mut self.jobs, &mut self.grants, &self.wall, last, &mut stories);
        self.sessions.apply(&fact);
        self.scaling.machine.observe(self.now, &fact);
        for job in settled {
            let jobs = &self.jobs;
            for (link, id) in self.clients.job_settled(job, |until_closed| jobs.has_ended(job, until_closed)) {
                self.replies.push((link, Reply { id, reply: ClientReply::Done }));
            }
        }
        for story in stories.drain(..) {
            self.tell_feed(seq, story);
        }
        self.stories = stories;
        self.ledger.record(self.now, fact);
    }

    /// Puts into the feed what happened by fact `seq`. After a failure of the journal nothing is told any more.
    pub(super) fn tell_feed(&mut self, seq: Seq, story: Story) {
        if self.ledger.failure().is_none() {
            self.feed.push(seq, self.now, story);
        }
    }

    /// Tells a worker that is there; others hear nothing.
    pub(super) fn tell_worker(&mut self, worker: WorkerId, message: ToWorker) {
        let after = self.ledger.barrier(&message).max(self.boot);
        let durable = self.ledger.durable();
        if self.ledger.failure().is_some() && after > durable {
            return; // It would wait for ever, and all behind it.
        }
        let Some((link, session)) = self.workers.session(worker) else { return };
        if session.protocol < message.since() {
            // Lanes it knows one by one; of other things nothing, and it would end its link.
            let protocol = session.protocol;
            let known = message.singly().filter(|message| message.since() <= protocol);
            known.for_each(|message| session.tell(message, after, durable));
        } else {
            session.tell(message, after, durable);
        }
        self.mark(link);
    }

    /// The facts of the step are numbered: what waits for them knows now for what.
    fn settle_replies(&mut self) {
        let (after, durable) = (self.ledger.appended(), self.ledger.durable());
        for (link, reply) in std::mem::take(&mut self.replies) {
            if let Some(session) = self.clients.links.get_mut(&link) {
                session.reply(reply, after, durable);
                self.mark(link);
            }
        }
        for (link, report) in std::mem::take(&mut self.acks) {
            if let Some(session) = self.workers.links.get_mut(&link) {
                session.acknowledge(report, after);
                session.release(durable);
                self.mark(link);
            }
        }
    }

    /// Something of this link has to be told, now or when it is safe.
    pub(super) fn mark(&mut self, link: LinkId) {
        self.touched.insert(link);
        let is_waiting = match (self.clients.links.get(&link), self.workers.links.get(&link)) {
            (Some(session), _) => session.is_waiting(),
            (None, Some(session)) => session.is_waiting(),
            (None, None) => false,
        };
        if is_waiting {
            self.withholding.insert(link);
        }
    }

    /// Puts what is to be told into the outputs, then the ends of links.
    pub(super) fn flush(&mut self) {
        for link in std::mem::take(&mut self.touched) {
            if let Some(session) = self.clients.links.get_mut(&link) {
                let replies = session.take_outbox();
                if !replies.is_empty() {
                    self.outputs.push_back(ServerOutput::ToClient { link, replies });
                }
            } else if let Some(session) = self.workers.links.get_mut(&link) {
                let messages = session.take_outbox();
                if !messages.is_empty() {
                    session.said = self.now;
                    self.outputs.push_back(ServerOutput::ToWorker { link, messages });
                }
            }
        }
        for link in std::mem::take(&mut self.closing) {
            self.withholding.remove(&link);
            if let Some(session) = self.clients.remove(link) {
                self.unbind(session.bound);
                self.is_dirty = true;
            }
            self.workers.remove(link);
            self.outputs.push_back(ServerOutput::CloseLink { link });
        }
    }

    /// Answers a call at once, whatever becomes safe later.
    pub(super) fn reply(&mut self, link: LinkId, id: hq_core::RequestId, reply: ClientReply) {
        let durable = self.ledger.durable();
        // After a failure nothing gets here but refusals, and there is nothing to wait for.
        let is_ready = durable >= self.boot || self.ledger.failure().is_some();
        let after = if is_ready { Seq(0) } else { self.boot };
        let Some(session) = self.clients.links.get_mut(&link) else { return };
        session.reply(Reply { id, reply }, after, durable);
        self.mark(link);
    }

    /// Answers a call once all facts of this step, and those before, are safe.
    pub(super) fn reply_durable(&mut self, link: LinkId, id: hq_core::RequestId, reply: ClientReply) {
        self.replies.push((link, Reply { id, reply }));
    }

    /// Says no to a call.
    pub(super) fn refuse(&mut self, link: LinkId, id: hq_core::RequestId, refusal: hq_core::Refusal) {
        self.reply(link, id, ClientReply::Refused(refusal));
    }

    /// Number of workers that are there.
    pub(super) fn worker_count(&self) -> u64 {
        self.workers.by_id.len() as u64
    }

    /// The worker of a session that has said hello and not left.
    pub(super) fn joined(&self, link: LinkId) -> Option<WorkerId> {
        match self.workers.links.get(&link)?.state {
            SessionState::Joined(worker) => Some(worker),
            SessionState::Greeting(_) | SessionState::Leaving(_) => None,
        }
    }
}
