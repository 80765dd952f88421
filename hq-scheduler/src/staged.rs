use hq_core::{IdList, JobId, JobTarget, Refusal, Submit, Tangle, TaskNumber, Tick};

use crate::{Scheduler, commands::invalid};

impl Scheduler {
    /// Takes several submits as one job: all of them or, where one cannot be taken, none. Tasks may wait for those of submits
    /// before theirs. A new job is opened and closed again.
    ///
    /// # Errors
    /// Says why not; nothing has changed then.
    pub fn submit_all(&mut self, now: Tick, target: JobTarget, submits: Vec<Submit>) -> Result<JobId, Refusal> {
        self.check_all(&target, &submits)?;
        let (job, is_new) = match target {
            JobTarget::New(spec) => (self.open(now, spec), true),
            JobTarget::Attach(job) => (job, false),
        };
        for submit in submits {
            // Nothing is refused that was checked.
            self.submit(now, Submit { job: JobTarget::Attach(job), ..submit })?;
        }
        if is_new {
            self.close(now, job);
        }
        Ok(job)
    }

    fn check_all(&self, target: &JobTarget, submits: &[Submit]) -> Result<(), Refusal> {
        let job = match target {
            JobTarget::New(_) => JobId(self.state.last_job.checked_add(1).ok_or_else(|| invalid("no more job ids"))?),
            JobTarget::Attach(job) => {
                let known = self.state.jobs.get(job).ok_or(Refusal::NoJob(*job))?;
                if known.is_open { *job } else { return Err(Refusal::NotOpen(*job)) }
            }
        };
        if submits.iter().all(|submit| submit.ids.count() == 0) {
            return Err(invalid("a submit has to have at least one task"));
        }
        let mut runs = Vec::new();
        let mut top = self.state.jobs.get(&job).and_then(|known| known.top);
        for submit in submits {
            submit.check().map_err(invalid)?;
            let ids = self.settle_ids(job, top, submit)?;
            self.check_after(job, submit)?;
            top = top.max(ids.max());
            runs.extend_from_slice(ids.runs());
        }
        let all = IdList::from(runs);
        all.distinct().map_err(|tangle: Tangle| invalid(&tangle.to_string()))?;
        let mut first = 0;
        for submit in submits {
            self.check_deps(job, submit, &all, first)?;
            first += submit.ids.count();
        }
        Ok(())
    }

    /// Each dependency is a task at an earlier index of `all`, where the submit begins at `first`, or in the job already: cycles
    /// cannot be expressed.
    pub(crate) fn check_deps(&self, job: JobId, submit: &Submit, all: &IdList, first: u64) -> Result<(), Refusal> {
        for i in 0..submit.deps.rows() {
            for (on, _) in submit.deps.of(i) {
                let sound = match all.index_of(on.0) {
                    Some(index) => index < first + i,
                    None => self.state.find(job, on).is_some(),
                };
                if !sound {
                    return Err(Refusal::Dependency { task: TaskNumber(all.get(first + i).unwrap_or(0)), on });
                }
            }
        }
        Ok(())
    }
}
