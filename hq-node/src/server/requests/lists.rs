use std::collections::BTreeSet;

use hq_core::{ClientReply, IdList, JobId, LinkId, Refusal, RequestId, Selector, StopOutcome, WorkerId};

use super::super::{ServerNode, check, render};

/// Up to that many ids are looked up one by one; with more, everything there is is looked through.
const FEW_IDS: u64 = 1024;

impl ServerNode {
    pub(super) fn list_jobs(&mut self, link: LinkId, id: RequestId, jobs: &Selector) -> Result<(), Refusal> {
        let infos = self.present_jobs(jobs).into_iter().filter_map(|job| self.scheduler.job(job));
        let infos = infos.map(|job| render::job_info(&job, &self.wall)).collect();
        self.reply(link, id, ClientReply::Jobs(infos));
        Ok(())
    }

    pub(super) fn detail_jobs(
        &mut self,
        link: LinkId,
        id: RequestId,
        jobs: &Selector,
        bodies: bool,
    ) -> Result<(), Refusal> {
        let detail = |job| render::job_detail(&self.scheduler, job, &self.wall, self.server_uid(), bodies);
        let details = self.present_jobs(jobs).into_iter().filter_map(detail).collect();
        self.reply(link, id, ClientReply::JobDetails(details));
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
        let infos = views.map(|worker| render::worker_info(&worker, &self.wall)).collect();
        self.reply(link, id, ClientReply::Workers(infos));
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

    /// Jobs of a listing by id; those that do not exist may be among them.
    fn present_jobs(&self, jobs: &Selector) -> BTreeSet<JobId> {
        match jobs {
            Selector::Last => self.scheduler.last_job().into_iter().collect(),
            Selector::All => self.scheduler.jobs().map(|job| job.id).collect(),
            Selector::Ids(ids) if ids.len() <= FEW_IDS => ids.iter().map(JobId).collect(),
            Selector::Ids(ids) => self.scheduler.jobs().map(|job| job.id).filter(|job| has(ids, job.0)).collect(),
        }
    }
}

fn has(ids: &IdList, id: u32) -> bool {
    ids.index_of(id).is_some()
}
