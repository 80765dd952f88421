//! Submits that wait for whole jobs: none of their tasks is ready before.

use hq_core::{DepKind, JobDep, JobId, Ordinal, OrdinalRange, TaskCounts};

use super::{Effects, Job, State};

impl State {
    /// Lets a submit that has just come wait for those of `after` that are not completed. What is not there was completed
    /// before it went: who submits may only name what there is.
    ///
    /// Returns how many it waits for; a job that has come to the wrong end counts too, and bars the submit.
    pub(super) fn add_gates(&mut self, base: Ordinal, after: &[JobDep], fx: &mut Effects) -> u32 {
        let mut shut = 0;
        for JobDep { job, kind } in after {
            let Some(known) = self.jobs.get(job) else { continue };
            if !known.is_completed() {
                self.gates.entry(*job).or_default().push((base, *kind));
            } else if is_met(*kind, &known.counts) {
                continue;
            } else {
                fx.barred.push(base);
            }
            shut += 1;
        }
        shut
    }

    /// Lets those go on that wait for a job, if it is completed now.
    pub(super) fn open_gates(&mut self, job: JobId, fx: &mut Effects) {
        let Some(known) = self.jobs.get(&job).filter(|known| known.is_completed()) else { return };
        let counts = known.counts;
        for (base, kind) in self.gates.remove(&job).unwrap_or_default() {
            if !is_met(kind, &counts) {
                fx.barred.push(base);
            } else if let Some(submit) = self.submits.get_mut(&base) {
                submit.shut = submit.shut.saturating_sub(1);
                if submit.shut == 0 {
                    self.release(base, fx);
                }
            }
        }
    }

    /// Nothing holds back a submit as a whole any more.
    fn release(&mut self, base: Ordinal, fx: &mut Effects) {
        let open = self.unfinished(base, self.range_of(base));
        let Some(submit) = self.submits.get(&base) else { return };
        let ready: Vec<OrdinalRange> = match &submit.graph {
            None => open.iter().collect(),
            Some(graph) => {
                let ready = |task: &Ordinal| graph.is_ready(task.0 - base.0);
                open.iter().flat_map(|range| range.iter()).filter(ready).map(OrdinalRange::one).collect()
            }
        };
        for range in ready {
            self.insert_ready(range, fx);
        }
    }

    /// Whether `job` waits, through any number of others, for `target`.
    pub(crate) fn waits_for(&self, job: JobId, target: JobId) -> bool {
        let mut seen = std::collections::BTreeSet::new();
        let mut left = vec![job];
        while let Some(job) = left.pop() {
            if job == target {
                return true;
            }
            let known = self.jobs.get(&job).filter(|known| !known.is_completed());
            if let (Some(known), true) = (known, seen.insert(job)) {
                let shut = known.submits.iter().filter_map(|base| self.submits.get(base)).filter(|s| s.shut > 0);
                left.extend(shut.flat_map(|submit| submit.submit.after.iter().map(|dep| dep.job)));
            }
        }
        false
    }
}

impl Job {
    /// Closed, and no task waits or runs.
    pub(crate) const fn is_completed(&self) -> bool {
        !self.is_open && self.counts.is_terminated()
    }
}

/// Whether a completed job with these tasks is what was waited for.
fn is_met(kind: DepKind, counts: &TaskCounts) -> bool {
    let succeeded = counts.finished == counts.total();
    match kind {
        DepKind::Success => succeeded,
        DepKind::AnyEnd => true,
        DepKind::Failure => !succeeded,
    }
}
