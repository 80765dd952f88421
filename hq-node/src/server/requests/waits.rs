use std::collections::BTreeSet;

use hq_core::{ClientReply, JobId, LinkId, Refusal, RequestId, Selector, Seq, ToWorker};

use super::super::{ServerNode, client_session::Standing, listening::WINDOW};

/// Jobs that a subscription may name.
const FILTER_MAX: usize = 1 << 16;
/// Jobs that the calls of a link may wait for.
const AWAITED_MAX: usize = 1 << 20;

/// A wait that begins with this step: the books do not know yet what came before it in the step.
#[derive(Debug)]
pub(in super::super) struct JobWait {
    pub(in super::super) link: LinkId,
    pub(in super::super) id: RequestId,
    jobs: BTreeSet<JobId>,
    until_closed: bool,
}

impl JobWait {
    /// The call that waits.
    pub(in super::super) fn call(&self) -> (LinkId, RequestId) {
        (self.link, self.id)
    }
}

impl ServerNode {
    /// All: those that are there now.
    pub(super) fn wait_jobs(
        &mut self,
        link: LinkId,
        id: RequestId,
        jobs: &Selector,
        until_closed: bool,
    ) -> Result<(), Refusal> {
        let jobs =
            self.named_jobs(jobs, |job| if until_closed { !job.is_completed() } else { !job.counts.is_terminated() })?;
        self.waits.push(JobWait { link, id, jobs, until_closed });
        Ok(())
    }

    /// Lets the waits begin that came with this step. The books have all its facts.
    pub(in super::super) fn begin_waits(&mut self) {
        for JobWait { link, id, jobs, until_closed } in std::mem::take(&mut self.waits) {
            let left: BTreeSet<JobId> =
                jobs.into_iter().filter(|job| !self.jobs.has_ended(*job, until_closed)).collect();
            if left.is_empty() {
                self.reply_durable(link, id, ClientReply::Done);
                continue;
            }
            let session = self.clients.links.get(&link);
            let awaited: usize = session.map_or(0, |session| session.standing.values().map(awaited).sum());
            if awaited.saturating_add(left.len()) > AWAITED_MAX {
                let text = format!("too many jobs are awaited by this connection: at most {AWAITED_MAX} are possible");
                self.refuse(link, id, Refusal::Invalid(text));
            } else {
                self.clients.stand(link, id, Standing::Jobs { left, until_closed });
            }
        }
    }

    pub(super) fn wait_workers(&mut self, link: LinkId, id: RequestId, count: u32) -> Result<(), Refusal> {
        if self.worker_count() >= u64::from(count) {
            self.reply(link, id, ClientReply::Done);
        } else {
            self.clients.stand(link, id, Standing::Workers(count));
        }
        Ok(())
    }

    pub(super) fn subscribe(
        &mut self,
        link: LinkId,
        id: RequestId,
        from: Option<Seq>,
        jobs: Option<Vec<JobId>>,
        credit: u32,
    ) -> Result<(), Refusal> {
        if let Some(jobs) = &jobs
            && jobs.len() > FILTER_MAX
        {
            let text =
                format!("{} jobs are too many for one subscription: at most {FILTER_MAX} are possible", jobs.len());
            return Err(Refusal::Invalid(text));
        }
        let jobs = jobs.map(|jobs| jobs.into_iter().collect());
        let cursor = self.feed.listen(from, self.ledger.next(), jobs);
        self.clients.stand(link, id, Standing::Subscription { cursor, credit });
        self.tell_listener(link, id);
        Ok(())
    }

    pub(super) fn credit(&mut self, link: LinkId, subscription: RequestId, batches: u32) -> Result<(), Refusal> {
        let standing = self.clients.links.get_mut(&link).and_then(|session| session.standing.get_mut(&subscription));
        match standing {
            Some(Standing::Subscription { credit, .. }) => {
                *credit = credit.saturating_add(batches);
                self.tell_listener(link, subscription);
            }
            Some(Standing::Listener(job)) => {
                let job = *job;
                self.clients.listening.credit(job, (link, subscription), batches);
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) fn listen(&mut self, link: LinkId, id: RequestId, job: JobId, credit: u32) -> Result<(), Refusal> {
        if self.scheduler.job(job).is_none() {
            return Err(Refusal::NoJob(job));
        }
        if self.jobs.has_ended(job, true) {
            self.reply_durable(link, id, ClientReply::Done);
        } else {
            self.begin_listening(link, id, job, credit);
        }
        Ok(())
    }

    /// Workers hear of it before they hear of tasks that are yet to be given out.
    pub(super) fn begin_listening(&mut self, link: LinkId, id: RequestId, job: JobId, credit: u32) {
        if let Some(session) = self.clients.listening.listen(job, (link, id), credit) {
            self.tell_workers(&ToWorker::Listen { job, session, credit: WINDOW });
        }
        self.clients.stand(link, id, Standing::Listener(job));
    }
}

fn awaited(standing: &Standing) -> usize {
    match standing {
        Standing::Jobs { left, .. } => left.len(),
        _ => 0,
    }
}
