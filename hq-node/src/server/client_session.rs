use std::collections::{BTreeMap, BTreeSet};

use hq_core::{CancelOutcome, ClientReply, JobId, LinkId, Refusal, Reply, RequestId, Seq, Submit};
use hq_scheduler::CancelToken;

use super::{durability::Withheld, feed::Cursor, listening::Listening};

/// Waiting calls and subscriptions that a link may have at a time.
pub(super) const STANDING_MAX: usize = 1024;

/// A call that waits: its link and its number there.
pub(super) type Waiting = (LinkId, RequestId);

/// A link to a client.
#[derive(Debug, Default)]
pub(super) struct ClientSession {
    /// Calls that are answered later.
    pub(super) standing: BTreeMap<RequestId, Standing>,
    /// Replies to what is not safe yet.
    withheld: Withheld<Reply>,
    /// What is to be told at the end of the step.
    outbox: Vec<Reply>,
    /// Submits that are kept ready, and their bytes.
    pub(super) staged: Vec<Submit>,
    pub(super) staged_bytes: usize,
    /// Open jobs that end with the link.
    pub(super) bound: BTreeSet<JobId>,
}

/// A call that is answered later.
#[derive(Debug)]
pub(super) enum Standing {
    /// A cancel that waits for recalls.
    Cancel {
        /// What came of its jobs so far.
        outcomes: Vec<(JobId, CancelOutcome)>,
        /// What is still to come.
        tokens: BTreeSet<CancelToken>,
    },
    /// Waits until these jobs have ended.
    Jobs {
        /// Those that have not.
        left: BTreeSet<JobId>,
        /// They have to be closed as well.
        until_closed: bool,
    },
    /// Waits until that many workers are there.
    Workers(u32),
    /// Listens to events.
    Subscription {
        /// Where it is.
        cursor: Cursor,
        /// Batches it may still be sent.
        credit: u32,
    },
    /// Listens to what programs of a job print.
    Listener(JobId),
}

impl ClientSession {
    /// Answers once everything up to `after` is safe. Replies overtake each other: their numbers tell which is which.
    pub(super) fn reply(&mut self, reply: Reply, after: Seq, durable: Seq) {
        if after <= durable {
            self.outbox.push(reply);
        } else {
            self.withheld.push(after, reply);
        }
    }

    /// Lets go what need not wait any more.
    pub(super) fn release(&mut self, durable: Seq) {
        while let Some(reply) = self.withheld.pop(durable) {
            self.outbox.push(reply);
        }
    }

    /// Nothing more becomes safe: refuses what waits for that.
    pub(super) fn refuse_unsafe(&mut self, refusal: &Refusal) {
        for (_, reply) in self.withheld.take_all() {
            self.outbox.push(Reply { id: reply.id, reply: ClientReply::Refused(refusal.clone()) });
        }
    }

    /// Whether something waits to become safe.
    pub(super) fn is_waiting(&self) -> bool {
        !self.withheld.is_empty()
    }

    /// Takes what is kept ready.
    pub(super) fn drop_staged(&mut self) -> Vec<Submit> {
        self.staged_bytes = 0;
        std::mem::take(&mut self.staged)
    }

    /// Takes what is to be told.
    pub(super) fn take_outbox(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.outbox)
    }
}

/// The links to clients, and who waits for what.
#[derive(Debug, Default)]
pub(super) struct Clients {
    pub(super) links: BTreeMap<LinkId, ClientSession>,
    /// Calls that wait for a job.
    of_job: BTreeMap<JobId, BTreeSet<Waiting>>,
    /// Calls that wait for workers.
    of_workers: BTreeSet<Waiting>,
    /// Cancels by what they wait for.
    of_token: BTreeMap<CancelToken, Waiting>,
    /// Who listens to events.
    listeners: BTreeSet<Waiting>,
    /// Who listens to programs.
    pub(super) listening: Listening,
}

impl Clients {
    /// Lets a call stand. The caller has seen to it that there is room and that the number is free.
    pub(super) fn stand(&mut self, link: LinkId, id: RequestId, standing: Standing) {
        let Some(session) = self.links.get_mut(&link) else { return };
        let call = (link, id);
        match &standing {
            Standing::Cancel { tokens, .. } => self.of_token.extend(tokens.iter().map(|token| (*token, call))),
            Standing::Jobs { left, .. } => {
                for job in left {
                    self.of_job.entry(*job).or_default().insert(call);
                }
            }
            Standing::Workers(_) => _ = self.of_workers.insert(call),
            Standing::Subscription { .. } => _ = self.listeners.insert(call),
            // It listens since before: with a credit of its own.
            Standing::Listener(_) => {}
        }
        session.standing.insert(id, standing);
    }

    /// Forgets a call that stands.
    pub(super) fn abandon(&mut self, link: LinkId, id: RequestId) {
        let Some(standing) = self.links.get_mut(&link).and_then(|session| session.standing.remove(&id)) else { return };
        self.unlink(link, id, &standing);
    }

    fn unlink(&mut self, link: LinkId, id: RequestId, standing: &Standing) {
        let call = (link, id);
        match standing {
            Standing::Cancel { tokens, .. } => {
                for token in tokens {
                    self.of_token.remove(token);
                }
            }
            Standing::Jobs { left, .. } => {
                for job in left {
                    if let Some(calls) = self.of_job.get_mut(job) {
                        calls.remove(&call);
                        if calls.is_empty() {
                            self.of_job.remove(job);
                        }
                    }
                }
            }
            Standing::Workers(_) => _ = self.of_workers.remove(&call),
            Standing::Subscription { .. } => _ = self.listeners.remove(&call),
            Standing::Listener(job) => self.listening.leave(*job, call),
        }
    }

    /// Forgets a link.
    pub(super) fn remove(&mut self, link: LinkId) -> Option<ClientSession> {
        let session = self.links.remove(&link)?;
        for (id, standing) in &session.standing {
            self.unlink(link, *id, standing);
        }
        Some(session)
    }

    /// Tells those who wait for `job`; `has_ended` says whether it counts as ended with or without being closed.
    /// Gives the calls that wait for nothing any more.
    pub(super) fn job_settled(&mut self, job: JobId, has_ended: impl Fn(bool) -> bool) -> Vec<Waiting> {
        if has_ended(true) {
            self.listening.ended(job);
        }
        let calls: Vec<_> = self.of_job.get(&job).into_iter().flatten().copied().collect();
        let mut done = Vec::new();
        for (link, id) in calls {
            let standing = self.links.get_mut(&link).and_then(|session| session.standing.get_mut(&id));
            let Some(Standing::Jobs { left, until_closed }) = standing else { continue };
            if !has_ended(*until_closed) || !left.remove(&job) {
                continue;
            }
            if left.is_empty() {
                done.push((link, id));
            }
            if let Some(calls) = self.of_job.get_mut(&job) {
                calls.remove(&(link, id));
            }
        }
        if self.of_job.get(&job).is_some_and(BTreeSet::is_empty) {
            self.of_job.remove(&job);
        }
        for (link, id) in &done {
            self.abandon(*link, *id);
        }
        done
    }

    /// Tells those who wait for workers how many are there. Gives the calls that wait no more.
    pub(super) fn workers_are(&mut self, count: u64) -> Vec<Waiting> {
        let enough = |(link, id): &Waiting| {
            let standing = self.links.get(link).and_then(|session| session.standing.get(id));
            matches!(standing, Some(Standing::Workers(wanted)) if u64::from(*wanted) <= count)
        };
        let done: Vec<_> = self.of_workers.iter().filter(|call| enough(call)).copied().collect();
        for (link, id) in &done {
            self.abandon(*link, *id);
        }
        done
    }

    /// Tells the cancel that waits for `token`. Gives its call and outcomes once it waits for nothing any more.
    pub(super) fn canceled(
        &mut self,
        token: CancelToken,
        job: JobId,
        outcome: CancelOutcome,
    ) -> Option<(Waiting, Vec<(JobId, CancelOutcome)>)> {
        let (link, id) = self.of_token.remove(&token)?;
        let session = self.links.get_mut(&link)?;
        let Some(Standing::Cancel { outcomes, tokens }) = session.standing.get_mut(&id) else { return None };
        outcomes.push((job, outcome));
        tokens.remove(&token);
        if !tokens.is_empty() {
            return None;
        }
        let mut outcomes = std::mem::take(outcomes);
        session.standing.remove(&id);
        outcomes.sort_by_key(|(job, _)| *job);
        Some(((link, id), outcomes))
    }

    /// Who listens.
    pub(super) fn listeners(&self) -> Vec<Waiting> {
        self.listeners.iter().copied().collect()
    }

    /// Calls that can only be answered by what becomes safe later.
    pub(super) fn waits(&self) -> Vec<Waiting> {
        let of_jobs = self.of_job.values().flatten();
        let calls: BTreeSet<_> = of_jobs.chain(self.of_token.values()).copied().chain(self.listening.calls()).collect();
        calls.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: (LinkId, RequestId) = (LinkId(1), RequestId(1));

    fn clients() -> Clients {
        let mut clients = Clients::default();
        clients.links.insert(LinkId(1), ClientSession::default());
        clients
    }

    fn is_clean(clients: &Clients) -> bool {
        clients.of_job.is_empty()
            && clients.of_workers.is_empty()
            && clients.of_token.is_empty()
            && clients.listeners.is_empty()
            && clients.listening.jobs().next().is_none()
    }

    #[test]
    fn a_wait_ends_with_its_last_job() {
        let mut clients = clients();
        let left = BTreeSet::from([JobId(1), JobId(2)]);
        clients.stand(CALL.0, CALL.1, Standing::Jobs { left, until_closed: true });
        assert_eq!(clients.job_settled(JobId(1), |_| true), []);
        assert_eq!(clients.job_settled(JobId(2), |until_closed| !until_closed), [], "still open");
        assert_eq!(clients.job_settled(JobId(1), |_| true), [], "told twice");
        assert_eq!(clients.job_settled(JobId(2), |_| true), [CALL]);
        assert!(is_clean(&clients));
    }

    #[test]
    fn a_cancel_over_several_jobs_is_answered_once() {
        let mut clients = clients();
        let outcomes = vec![(JobId(5), CancelOutcome::NotFound)];
        let tokens = BTreeSet::from([CancelToken(1), CancelToken(2)]);
        clients.stand(CALL.0, CALL.1, Standing::Cancel { outcomes, tokens });
        let none = CancelOutcome::NothingLeft;
        assert_eq!(clients.canceled(CancelToken(2), JobId(7), none), None);
        assert_eq!(clients.canceled(CancelToken(9), JobId(7), none), None, "nobody's");
        let (call, outcomes) = clients.canceled(CancelToken(1), JobId(3), none).unwrap();
        assert_eq!((call, outcomes.iter().map(|(job, _)| job.0).collect::<Vec<_>>()), (CALL, vec![3, 5, 7]));
        assert!(is_clean(&clients));
    }

    #[test]
    fn waits_for_workers_are_told_when_there_are_enough() {
        let mut clients = clients();
        clients.stand(LinkId(1), RequestId(1), Standing::Workers(2));
        clients.stand(LinkId(1), RequestId(2), Standing::Workers(3));
        assert_eq!(clients.workers_are(1), []);
        assert_eq!(clients.workers_are(2), [CALL]);
        clients.abandon(LinkId(1), RequestId(2));
        assert_eq!(clients.workers_are(9), []);
    }

    #[test]
    fn a_link_takes_its_calls_along() {
        let mut clients = clients();
        clients.stand(LinkId(1), RequestId(1), Standing::Workers(2));
        let left = BTreeSet::from([JobId(1)]);
        clients.stand(LinkId(1), RequestId(2), Standing::Jobs { left, until_closed: false });
        let tokens = BTreeSet::from([CancelToken(1)]);
        clients.stand(LinkId(1), RequestId(3), Standing::Cancel { outcomes: vec![], tokens });
        clients.remove(LinkId(1));
        assert!(is_clean(&clients));
    }

    #[test]
    fn what_is_not_safe_is_withheld_or_refused() {
        let mut session = ClientSession::default();
        let done = |id| Reply { id: RequestId(id), reply: ClientReply::Done };
        session.reply(done(1), Seq(2), Seq(1));
        session.reply(done(2), Seq(1), Seq(1));
        session.reply(done(3), Seq(3), Seq(1));
        session.release(Seq(2));
        assert_eq!(session.take_outbox(), [done(2), done(1)]);
        session.refuse_unsafe(&Refusal::Stopping);
        let refused = Reply { id: RequestId(3), reply: ClientReply::Refused(Refusal::Stopping) };
        assert_eq!(session.take_outbox(), [refused]);
    }
}
