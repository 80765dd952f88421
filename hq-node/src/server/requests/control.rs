use hq_core::{Call, ClientReply, ClientRequest, Fact, LinkId, Refusal, Reply, RequestId};
use hq_scheduler::Scheduler;

use super::super::{ServerNode, ServerOutput, check, client_session::STANDING_MAX, stopping::Phase};

impl ServerNode {
    /// A client asks this.
    pub(in super::super) fn hear_client(&mut self, link: LinkId, calls: Vec<Call>) {
        if self.workers.links.contains_key(&link) {
            self.forbid(link, &calls);
            return;
        }
        if !self.clients.links.contains_key(&link) {
            return;
        }
        for call in calls {
            match self.refusal(link, &call) {
                Some(refusal) => self.refuse(link, call.id, refusal),
                None => self.answer(link, call.id, call.request),
            }
        }
    }

    /// The role of a link decides what may be asked on it, not what comes over it.
    fn forbid(&mut self, link: LinkId, calls: &[Call]) {
        let refusal = Refusal::Forbidden("a worker's key is no client's key".to_owned());
        let refused = |call: &Call| Reply { id: call.id, reply: ClientReply::Refused(refusal.clone()) };
        if !calls.is_empty() {
            self.outputs.push_back(ServerOutput::ToClient { link, replies: calls.iter().map(refused).collect() });
        }
        self.violation(link);
    }

    /// Why a call is not even looked at.
    fn refusal(&self, link: LinkId, call: &Call) -> Option<Refusal> {
        if matches!(call.request, ClientRequest::Credit { .. } | ClientRequest::Abandon(_)) {
            return None;
        }
        if self.phase != Phase::Running && call.request != ClientRequest::StopServer {
            return Some(Refusal::Stopping);
        }
        // A boot that is not safe never will be: nothing could be answered.
        if let Some(reason) = self.ledger.failure()
            && (needs_journal(&call.request) || !self.is_ready())
        {
            return Some(Refusal::JournalFailed(reason.to_owned()));
        }
        let session = self.clients.links.get(&link)?;
        let begun = self.waits.iter().filter(|wait| wait.link == link);
        if session.standing.contains_key(&call.id) || begun.clone().any(|wait| wait.id == call.id) {
            return Some(Refusal::Invalid(format!("call {} of this connection still waits for its answer", call.id)));
        }
        if stands(&call.request) && session.standing.len() + begun.count() >= STANDING_MAX {
            let text = format!("too many calls of this connection wait: at most {STANDING_MAX} are possible");
            return Some(Refusal::Invalid(text));
        }
        None
    }

    fn answer(&mut self, link: LinkId, id: RequestId, request: ClientRequest) {
        let result = match request {
            ClientRequest::ServerInfo => {
                let info = Box::new(self.config.info.clone());
                self.reply(link, id, ClientReply::Server(info));
                Ok(())
            }
            ClientRequest::StopServer => {
                self.begin_stop(Some((link, id)));
                Ok(())
            }
            ClientRequest::Submit(submit) => self.submit(link, id, *submit),
            ClientRequest::OpenJob(spec) => self.open_job(link, id, spec),
            ClientRequest::CloseJobs(jobs) => self.close_jobs(link, id, &jobs),
            ClientRequest::CancelJobs { jobs, reason } => {
                self.cancel_jobs(link, id, &jobs, reason.as_ref(), Scheduler::cancel)
            }
            ClientRequest::CancelWaiting { jobs, reason } => {
                self.cancel_jobs(link, id, &jobs, reason.as_ref(), Scheduler::cancel_waiting)
            }
            ClientRequest::ForgetJobs { jobs, states } => self.forget_jobs(link, id, &jobs, &states),
            ClientRequest::Jobs(jobs) => self.list_jobs(link, id, &jobs),
            ClientRequest::JobDetails { jobs, part } => self.detail_jobs(link, id, &jobs, &part),
            ClientRequest::WaitJobs { jobs, until_closed } => self.wait_jobs(link, id, &jobs, until_closed),
            ClientRequest::Workers(workers) => self.list_workers(link, id, &workers),
            ClientRequest::StopWorkers(workers) => self.stop_workers(link, id, &workers),
            ClientRequest::WaitWorkers(count) => self.wait_workers(link, id, count),
            ClientRequest::Subscribe { from, jobs, credit } => self.subscribe(link, id, from, jobs, credit),
            ClientRequest::Credit { subscription, batches } => self.credit(link, subscription, batches),
            ClientRequest::Abandon(call) => {
                self.clients.abandon(link, call);
                self.waits.retain(|wait| wait.call() != (link, call));
                Ok(())
            }
            ClientRequest::SetPolicy { order, placement } => self.set_policy(link, id, &order, &placement),
            ClientRequest::FlushJournal => {
                self.note(Fact::FlushWanted);
                self.reply_durable(link, id, ClientReply::Done);
                Ok(())
            }
            ClientRequest::PruneJournal => self.prune_journal(link, id),
            ClientRequest::Explain { job, task } => self.explain(link, id, job, task),
            ClientRequest::Listen { job, credit } => self.listen(link, id, job, credit),
            ClientRequest::SubmitListening { submit, credit } => self.submit_listening(link, id, *submit, credit),
            ClientRequest::Stage(submit) => self.stage(link, id, *submit),
            ClientRequest::SubmitStaged { job, credit } => self.submit_staged(link, id, job, credit),
            ClientRequest::Bind(job) => self.bind(link, id, job),
            ClientRequest::AddQueue { spec, trial } => self.add_queue(link, id, *spec, trial),
            ClientRequest::TryQueue(spec) => self.dry_run(link, id, *spec),
            ClientRequest::Queues => self.list_queues(link, id),
            ClientRequest::Allocations(queue) => self.list_allocations(link, id, queue),
            ClientRequest::FindAllocation(name) => self.find_allocation(link, id, &name),
            ClientRequest::PauseQueue(queue) => self.pause_queue(link, id, queue),
            ClientRequest::ResumeQueue(queue) => self.resume_queue(link, id, queue),
            ClientRequest::RemoveQueue { queue, force } => self.remove_queue(link, id, queue, force),
        };
        if let Err(refusal) = result {
            self.refuse(link, id, refusal);
        }
    }

    fn set_policy(&mut self, link: LinkId, id: RequestId, order: &str, placement: &str) -> Result<(), Refusal> {
        check::name("name of the order", order)?;
        check::name("name of the placement", placement)?;
        self.scheduler.set_policy(self.now, order, placement)?;
        self.reply_durable(link, id, ClientReply::Done);
        Ok(())
    }
}

impl ServerNode {
    /// What is over by now has to be in the file, to be left out of it.
    fn prune_journal(&mut self, link: LinkId, id: RequestId) -> Result<(), Refusal> {
        if !self.config.journal {
            let reason = "this server keeps no journal: start it with `--journal`, or name a journal file to be pruned";
            return Err(Refusal::Invalid(reason.to_owned()));
        }
        self.note(Fact::FlushWanted);
        self.prunes.push((link, id));
        Ok(())
    }
}

/// Whether the answer has to be safe.
const fn needs_journal(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::Submit(_)
            | ClientRequest::SubmitListening { .. }
            | ClientRequest::Stage(_)
            | ClientRequest::SubmitStaged { .. }
            | ClientRequest::Bind(_)
            | ClientRequest::OpenJob(_)
            | ClientRequest::CloseJobs(_)
            | ClientRequest::CancelJobs { .. }
            | ClientRequest::CancelWaiting { .. }
            | ClientRequest::ForgetJobs { .. }
            | ClientRequest::SetPolicy { .. }
            | ClientRequest::WaitJobs { .. }
            | ClientRequest::FlushJournal
            | ClientRequest::PruneJournal
            | ClientRequest::AddQueue { .. }
            | ClientRequest::PauseQueue(_)
            | ClientRequest::ResumeQueue(_)
            | ClientRequest::RemoveQueue { .. }
    )
}

/// Whether the answer may come much later.
const fn stands(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CancelJobs { .. }
            | ClientRequest::CancelWaiting { .. }
            | ClientRequest::WaitJobs { .. }
            | ClientRequest::WaitWorkers(_)
            | ClientRequest::Subscribe { .. }
            | ClientRequest::Listen { .. }
            | ClientRequest::SubmitListening { .. }
            | ClientRequest::SubmitStaged { .. }
    )
}
