use std::collections::BTreeSet;

use hq_core::{ClientReply, JobId, JobSpec, JobState, LinkId, Refusal, RequestId, Selector, Submit, Tick};
use hq_scheduler::{Canceling, Scheduler, view::JobView};

use super::super::{ServerNode, check, client_session::Standing};

impl ServerNode {
    pub(super) fn submit(&mut self, link: LinkId, id: RequestId, submit: Submit) -> Result<(), Refusal> {
        check::submit(&submit)?;
        let job = self.scheduler.submit(self.now, submit)?;
        self.reply_durable(link, id, ClientReply::Submitted { job });
        Ok(())
    }

    pub(super) fn submit_listening(
        &mut self,
        link: LinkId,
        id: RequestId,
        submit: Submit,
        credit: u32,
    ) -> Result<(), Refusal> {
        check::submit(&submit)?;
        let job = self.scheduler.submit(self.now, submit)?;
        self.begin_listening(link, id, job, credit);
        self.reply_durable(link, id, ClientReply::Submitted { job });
        Ok(())
    }

    pub(super) fn open_job(&mut self, link: LinkId, id: RequestId, spec: JobSpec) -> Result<(), Refusal> {
        check::spec(&spec)?;
        let job = self.scheduler.open(self.now, spec);
        self.reply_durable(link, id, ClientReply::Opened { job });
        Ok(())
    }

    /// All: those that are open.
    pub(super) fn close_jobs(&mut self, link: LinkId, id: RequestId, jobs: &Selector) -> Result<(), Refusal> {
        let jobs = self.named_jobs(jobs, |job| job.is_open)?;
        let outcomes = jobs.into_iter().map(|job| (job, self.scheduler.close(self.now, job))).collect();
        self.reply_durable(link, id, ClientReply::Closed(outcomes));
        Ok(())
    }

    /// All: those that wait or run.
    pub(super) fn cancel_jobs(
        &mut self,
        link: LinkId,
        id: RequestId,
        jobs: &Selector,
        reason: Option<&String>,
        cancel: impl Fn(&mut Scheduler, Tick, JobId, Option<String>) -> Canceling,
    ) -> Result<(), Refusal> {
        check::reason(reason)?;
        let jobs = self.named_jobs(jobs, |job| !job.counts.is_terminated())?;
        let mut outcomes = Vec::new();
        let mut tokens = BTreeSet::new();
        for job in jobs {
            match cancel(&mut self.scheduler, self.now, job, reason.cloned()) {
                Canceling::Done(outcome) => outcomes.push((job, outcome)),
                Canceling::Pending(token) => _ = tokens.insert(token),
            }
        }
        if tokens.is_empty() {
            self.reply_durable(link, id, ClientReply::Canceled(outcomes));
        } else {
            self.clients.stand(link, id, Standing::Cancel { outcomes, tokens });
        }
        Ok(())
    }

    /// All: every one, those that still live count as ignored.
    pub(super) fn forget_jobs(
        &mut self,
        link: LinkId,
        id: RequestId,
        jobs: &Selector,
        states: &[JobState],
    ) -> Result<(), Refusal> {
        let jobs = self.named_jobs(jobs, |_| true)?;
        let (mut forgotten, mut ignored) = (0, 0);
        for job in jobs {
            let is_wanted = self
                .scheduler
                .job(job)
                .is_some_and(|view| view.is_completed() && states.contains(&JobState::of(&view.counts, view.is_open)));
            if is_wanted && self.scheduler.forget(self.now, job) {
                forgotten += 1;
            } else {
                ignored += 1;
            }
        }
        self.reply_durable(link, id, ClientReply::Forgotten { forgotten, ignored });
        Ok(())
    }

    /// Jobs of a command by id, those that do not exist as well. `All` means those with `of_all`.
    pub(super) fn named_jobs(
        &self,
        jobs: &Selector,
        of_all: impl Fn(&JobView<'_>) -> bool,
    ) -> Result<BTreeSet<JobId>, Refusal> {
        Ok(match jobs {
            Selector::Last => self.scheduler.last_job().into_iter().collect(),
            Selector::All => self.scheduler.jobs().filter(of_all).map(|job| job.id).collect(),
            Selector::Ids(ids) => {
                check::ids(ids)?;
                ids.iter().map(JobId).collect()
            }
        })
    }
}
