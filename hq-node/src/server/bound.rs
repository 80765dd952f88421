//! Open jobs that end with the client that made them, over a restart of the server as well.

use hq_core::{ClientReply, JobId, LinkId, Refusal, RequestId, Tick};

use super::ServerNode;

impl ServerNode {
    pub(super) fn bind(&mut self, link: LinkId, id: RequestId, job: JobId) -> Result<(), Refusal> {
        self.scheduler.bind(self.now, job)?;
        if let Some(session) = self.clients.links.get_mut(&link) {
            session.bound.insert(job);
        }
        self.reply_durable(link, id, ClientReply::Done);
        Ok(())
    }

    /// The link has ended: what was bound to it ends, unless it was closed.
    pub(super) fn unbind(&mut self, bound: impl IntoIterator<Item = JobId>) {
        for job in bound {
            // Its client may be there again, by another link.
            if self.clients.links.values().any(|session| session.bound.contains(&job)) {
                continue;
            }
            if self.scheduler.job(job).is_some_and(|view| view.is_open) {
                let _ = self.scheduler.cancel(self.now, job, Some("who submitted it is gone".to_owned()));
                let _ = self.scheduler.close(self.now, job);
            }
        }
    }

    /// After a restart: whose client does not bind it again, as long as workers are waited for, ends.
    pub(super) fn await_binders(&mut self) {
        let is_bound = self.scheduler.jobs().any(|job| job.is_bound);
        self.binders_until = is_bound.then(|| self.attention.clock().after(self.config.adopt_timeout));
    }

    /// When the wait for clients ends, by the clock of attention.
    pub(super) const fn binders_until(&self) -> Option<Tick> {
        self.binders_until
    }

    /// Ends what nobody has bound again in time.
    pub(super) fn end_orphans(&mut self) {
        if self.binders_until.is_none_or(|until| until > self.attention.clock()) {
            return;
        }
        self.binders_until = None;
        let bound: Vec<JobId> = self.scheduler.jobs().filter(|job| job.is_bound).map(|job| job.id).collect();
        self.unbind(bound);
    }
}
