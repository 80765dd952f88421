use std::collections::BTreeSet;

use hq_core::{
    ClientReply, DetailPart, IdList, JobId, JobInfo, LinkId, Page, Refusal, RequestId, Selector, StopOutcome, SubmitId,
    TaskNumber, WorkerId,
};
use hq_scheduler::view::JobView;

use super::super::{
    ServerNode, check,
    details::{BYTES_MAX, Details},
    render,
};

/// Up to that many ids are looked up one by one; with more, everything there is is looked through.
const FEW_IDS: u64 = 1024;

impl ServerNode {
    pub(super) fn list_jobs(&mut self, link: LinkId, id: RequestId, jobs: &Selector) -> Result<(), Refusal> {
        let infos = self.present_jobs(jobs).into_iter().filter_map(|job| self.accepted_job(job));
        let infos = infos.map(|job| render::job_info(&job, &self.wall));
        let weight = |job: &JobInfo| 128 + job.spec.name.len() + job.cancel_reason.as_ref().map_or(0, String::len);
        let page = page(infos, |job| job.id.0, weight);
        self.reply(link, id, ClientReply::Jobs(page));
        Ok(())
    }

    pub(super) fn detail_jobs(
        &mut self,
        link: LinkId,
        id: RequestId,
        jobs: &Selector,
        part: &DetailPart,
    ) -> Result<(), Refusal> {
        let details = Details { scheduler: &self.scheduler, wall: &self.wall, server_uid: self.server_uid(), part };
        let page = details.page(self.present_jobs(jobs).into_iter(), |job| self.accepted_job(job));
        self.reply(link, id, ClientReply::JobDetails(page));
        Ok(())
    }

    pub(super) fn explain(
        &mut self,
        link: LinkId,
        id: RequestId,
        job: JobId,
        number: TaskNumber,
    ) -> Result<(), Refusal> {
        let view = self.accepted_job(job).ok_or(Refusal::NoJob(job))?;
        let task = self.scheduler.find(job, number).ok_or(Refusal::NoTask(number, job))?;
        if !view.submits.iter().any(|(base, submit, _)| *base <= task && task < base.plus(submit.ids.count())) {
            return Err(Refusal::NoTask(number, job));
        }
        let explanation = self.scheduler.explain(self.now, task).ok_or(Refusal::TaskEnded(number, job))?;
        self.reply(link, id, ClientReply::Explained(Box::new(explanation)));
        Ok(())
    }

    /// All: those that have ended as well.
    pub(super) fn list_workers(&mut self, link: LinkId, id: RequestId, workers: &Selector) -> Result<(), Refusal> {
        let ids: BTreeSet<WorkerId> = match workers {
            Selector::Last => self.scheduler.last_worker().into_iter().collect(),
            Selector::Ids(ids) if ids.len() <= FEW_IDS => ids.iter().map(WorkerId).collect(),
            Selector::All => self.scheduler.workers().map(|worker| worker.id).collect(),
            Selector::Ids(ids) => {
                self.scheduler.workers().map(|worker| worker.id).filter(|worker| has(ids, worker.0)).collect()
            }
        };
        let views = ids.into_iter().filter_map(|worker| self.scheduler.worker(worker));
        let infos = views.map(|worker| render::worker_info(&worker, &self.wall));
        let page = page(infos, |worker| worker.id.0, |worker| 256 + worker.config.weight());
        self.reply(link, id, ClientReply::Workers(page));
        Ok(())
    }

    /// All: those that are there.
    pub(super) fn stop_workers(&mut self, link: LinkId, id: RequestId, workers: &Selector) -> Result<(), Refusal> {
        let ids: BTreeSet<WorkerId> = match workers {
            Selector::Last => self.scheduler.last_worker().into_iter().collect(),
            Selector::All => self.workers.by_id.keys().copied().collect(),
            Selector::Ids(ids) => {
                check::ids(ids)?;
                ids.iter().map(WorkerId).collect()
            }
        };
        let outcomes = ids.into_iter().map(|worker| (worker, self.stop_if_there(worker))).collect();
        self.reply(link, id, ClientReply::WorkersStopped(outcomes));
        Ok(())
    }

    fn stop_if_there(&mut self, worker: WorkerId) -> StopOutcome {
        if self.workers.by_id.contains_key(&worker) {
            self.stop_worker(worker);
            return StopOutcome::Stopped;
        }
        match self.scheduler.worker(worker) {
            Some(_) => StopOutcome::AlreadyStopped,
            None => StopOutcome::NotFound,
        }
    }

    /// The job without what was refused after all when the journal failed: that must not be shown, as nobody was told
    /// that it is there, and its ids go to others after a restart.
    fn accepted_job(&self, job: JobId) -> Option<JobView<'_>> {
        let mut view = self.scheduler.job(job)?;
        if self.ledger.first_refused().is_some_and(|first| job >= first) {
            return None;
        }
        let counts = &mut view.counts;
        view.submits.retain(|(base, submit, _)| {
            let is_refused = self.ledger.is_refused(SubmitId(base.0));
            if is_refused {
                counts.waiting = counts.waiting.saturating_sub(submit.ids.count());
            }
            !is_refused
        });
        Some(view)
    }

    fn last_accepted(&self) -> Option<JobId> {
        match self.ledger.first_refused() {
            Some(first) => first.0.checked_sub(1).filter(|last| *last > 0).map(JobId),
            None => self.scheduler.last_job(),
        }
    }

    /// Jobs of a listing by id; those that do not exist may be among them.
    fn present_jobs(&self, jobs: &Selector) -> BTreeSet<JobId> {
        match jobs {
            Selector::Last => self.last_accepted().into_iter().collect(),
            Selector::All => self.scheduler.jobs().map(|job| job.id).collect(),
            Selector::Ids(ids) if ids.len() <= FEW_IDS => ids.iter().map(JobId).collect(),
            Selector::Ids(ids) => self.scheduler.jobs().map(|job| job.id).filter(|job| has(ids, job.0)).collect(),
        }
    }
}

/// As much of a list as goes into one answer.
fn page<T>(items: impl Iterator<Item = T>, id: impl Fn(&T) -> u32, weight: impl Fn(&T) -> usize) -> Page<T> {
    let mut page = Page::whole(vec![]);
    let mut bytes = 0;
    for item in items {
        if bytes >= BYTES_MAX {
            page.next = Some(id(&item));
            break;
        }
        bytes += weight(&item);
        page.items.push(item);
    }
    page
}

fn has(ids: &IdList, id: u32) -> bool {
    ids.index_of(id).is_some()
}
