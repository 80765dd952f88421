//! Workers that lose their links and come back, over a restart of the server as well.

use hq_core::{Fact, LinkId, LossReason, Resume, Resumed, Tick, ToWorker, Welcome, WorkerId};

use super::{ServerNode, sessions::token, worker_links::talk_interval, worker_session::SessionState};

impl ServerNode {
    /// The secret by which a worker is known later; kept only for those that may come back.
    pub(super) fn give_token(&mut self, worker: WorkerId, comes_back: bool) -> u64 {
        let token = token(self.config.token_seed, self.epoch, worker);
        if comes_back {
            // Behind the facts of the step so far, of which its arrival is one.
            self.pending_sessions.push(Fact::SessionGiven { worker, epoch: self.epoch, token });
        }
        token
    }

    /// After a restart: who may come back is waited for.
    pub(super) fn await_all(&mut self) {
        let until = self.attention.clock().after(self.config.adopt_timeout);
        let away: Vec<WorkerId> = self.scheduler.away().collect();
        for worker in away {
            self.sessions.await_until(worker, until, LossReason::ServerEnded);
        }
    }

    /// The link of a worker is gone that may come back: it is waited for as long as for one that says nothing. False for
    /// others.
    pub(super) fn suspend(&mut self, worker: WorkerId) -> bool {
        if !self.sessions.comes_back(worker) {
            return false;
        }
        if self.has_reports {
            self.step(); // Events of runs are told as they were before.
        }
        if !self.scheduler.suspend(self.now, worker) {
            return false;
        }
        let mut until = self.attention.clock();
        if let Some((_, session)) = self.workers.session(worker) {
            until = until.max(session.heard.after(session.heartbeat.times(2)));
        }
        self.workers.by_id.remove(&worker);
        self.sessions.await_until(worker, until, LossReason::ConnectionLost);
        true
    }

    /// Workers that were waited for long enough are gone.
    pub(super) fn give_up_overdue(&mut self) {
        while let Some((worker, reason)) = self.sessions.overdue(self.attention.clock()) {
            self.lose(worker, reason);
        }
    }

    /// When the next one is, or the wait for clients that bound jobs ends.
    pub(super) fn next_overdue(&self) -> Option<Tick> {
        let next = self.sessions.next_overdue().into_iter().chain(self.binders_until()).min();
        next.map(|until| self.attention.real(until))
    }

    /// The server ends for good: nobody comes back to it.
    pub(super) fn dismiss_all(&mut self) {
        for worker in self.sessions.all() {
            self.lose(worker, LossReason::ServerEnded);
        }
    }

    /// A worker says that it was here before. A forged or outdated word of that kind gets nothing.
    pub(super) fn resume(&mut self, link: LinkId, resume: Resume) {
        let Resume { worker, epoch, token, acked, reports, grants } = resume;
        if !self.sessions.knows(worker, epoch, token) {
            return self.forget_again(link);
        }
        if let Some(old) = self.workers.by_id.get(&worker).copied() {
            // It found out before the server did.
            self.suspend(worker);
            if let Some(session) = self.workers.links.get_mut(&old) {
                session.hush();
                session.state = SessionState::Leaving(self.now);
            }
            self.closing.insert(old);
        }
        let Some(kept) = self.scheduler.take_back(self.now, worker, &grants, &reports) else {
            return self.forget_again(link);
        };
        self.sessions.awaits_no_more(worker);
        let heartbeat = self.scheduler.worker(worker).map(|known| known.config.heartbeat).unwrap_or_default();
        let welcome = Welcome {
            worker,
            epoch: self.epoch,
            token,
            server_uid: self.config.info.server_uid.clone(),
            idle_timeout: self.config.idle_timeout,
        };
        let (boot, durable) = (self.boot, self.ledger.durable());
        if let Some(session) = self.workers.links.get_mut(&link) {
            session.state = SessionState::Joined(worker);
            session.heartbeat = heartbeat;
            session.reports = acked;
            session.tell(ToWorker::Resumed(Box::new(Resumed { welcome, kept: kept.clone() })), boot, durable);
        }
        self.settle_in(link, worker, talk_interval(heartbeat));
        for report in reports {
            self.report(link, worker, report);
        }
        self.scheduler.go_on(worker, &kept);
    }

    /// Nothing is known of such a worker; it may say hello as a new one.
    fn forget_again(&mut self, link: LinkId) {
        let (boot, durable) = (self.boot, self.ledger.durable());
        if let Some(session) = self.workers.links.get_mut(&link) {
            session.tell(ToWorker::Forgotten, boot, durable);
            self.mark(link);
        }
    }
}
