//! What a worker is sent: bodies once, then ranges.

use hq_core::{Ordinal, OrdinalRange, Parts, SubmitBody, SubmitId, ToWorker, Work, WorkRun, WorkerId, idlist::Run};

use crate::{Action, Scheduler, state::SubmitState};

impl Scheduler {
    /// The work that `tasks` are, after the bodies that the worker does not have yet are on their way.
    pub(crate) fn work_for(&mut self, worker: WorkerId, tasks: &[OrdinalRange]) -> Vec<Work> {
        // Nearly always it is one range of tasks that are alike.
        if let [range] = tasks
            && let Some(own) = self.state.submit_at_or_after(range.start).filter(|own| range.end() <= own.end())
        {
            self.send_body(worker, own.start);
            if let Some(submit) = self.state.submits.get(&own.start).filter(|own| own.submit.profile_of.is_empty()) {
                return vec![self.work_of(submit, own.start, *range)];
            }
        }
        let mut work: Vec<Work> = Vec::new();
        for range in tasks {
            for (base, part) in self.state.split_by_submit(*range) {
                self.send_body(worker, base);
                let Some(submit) = self.state.submits.get(&base) else { continue };
                for run in runs_by_profile(submit, base, part) {
                    work.push(self.work_of(submit, base, run));
                }
            }
        }
        work
    }

    /// The work that tasks of one submit are, which have no part of the body of their own; the body is on its way.
    pub(crate) fn work_of_heads(
        &mut self,
        worker: WorkerId,
        heads: impl Iterator<Item = Ordinal> + Clone,
    ) -> Option<Work> {
        let first = heads.clone().next()?;
        let base = self.state.submit_of(first)?.0;
        self.send_body(worker, base);
        let submit = self.state.submits.get(&base)?;
        let ids = submit.ids()?;
        let run = |task: Ordinal| Some(WorkRun { first: task, numbers: ids.run_of(task.0 - base.0)? });
        let instance = |task| Some((task, self.state.records.instance(task))).filter(|(_, instance)| instance.0 > 0);
        Some(Work {
            submit: SubmitId(base.0),
            time_limit: submit.submit.profile(first.0 - base.0).time_limit,
            runs: heads.clone().filter_map(run).collect(),
            parts: Parts::default(),
            instances: heads.filter_map(instance).collect(),
        })
    }

    fn work_of(&self, submit: &SubmitState, base: Ordinal, range: OrdinalRange) -> Work {
        let index = range.start.0 - base.0;
        let mut first = range.start;
        let numbers = submit.ids().map(|ids| ids.slice(index, range.len)).unwrap_or_default();
        let runs = numbers.into_iter().map(|numbers: Run| {
            let run = WorkRun { first, numbers };
            first = first.plus(u64::from(numbers.count));
            run
        });
        Work {
            submit: SubmitId(base.0),
            time_limit: submit.submit.profile(index).time_limit,
            runs: runs.collect(),
            parts: if submit.submit.parts.is_empty() {
                Parts::default()
            } else {
                submit.submit.parts.slice(index, range.len)
            },
            instances: self.state.records.instances_in(range).collect(),
        }
    }

    fn send_body(&mut self, worker: WorkerId, base: Ordinal) {
        if !self.mind.bodies.entry(base).or_default().insert(worker) {
            return;
        }
        self.mind.bodies_of.entry(worker).or_default().insert(base);
        let Some(submit) = self.state.submits.get(&base) else { return };
        let body = SubmitBody {
            submit: SubmitId(base.0),
            job: submit.job,
            kind: submit.submit.kind.clone(),
            shared: submit.submit.shared.clone(),
        };
        self.actions.push_back(Action::Send { worker, message: ToWorker::Submit(body) });
    }

    /// Tells the workers that have it that a body is not needed any more.
    pub(crate) fn drop_body(&mut self, base: Ordinal) {
        self.mind.mean_run.remove(&base);
        self.mind.lanes_of_submit.forget(base);
        for worker in self.mind.bodies.remove(&base).unwrap_or_default() {
            if let Some(bodies) = self.mind.bodies_of.get_mut(&worker) {
                bodies.remove(&base);
            }
            if self.state.workers.contains_key(&worker) {
                self.actions.push_back(Action::Send { worker, message: ToWorker::DropSubmit(SubmitId(base.0)) });
            }
        }
    }

    pub(crate) fn forget_worker_bodies(&mut self, worker: WorkerId) {
        for base in self.mind.bodies_of.remove(&worker).unwrap_or_default() {
            if let Some(holders) = self.mind.bodies.get_mut(&base) {
                holders.remove(&worker);
            }
        }
    }
}

fn runs_by_profile(submit: &SubmitState, base: Ordinal, range: OrdinalRange) -> Vec<OrdinalRange> {
    if submit.submit.profile_of.is_empty() {
        return vec![range];
    }
    let profile = |task: Ordinal| submit.submit.profile_index(task.0 - base.0);
    let mut runs: Vec<OrdinalRange> = Vec::new();
    for task in range.iter() {
        match runs.last_mut() {
            Some(run) if profile(run.start) == profile(task) => run.len += 1,
            _ => runs.push(OrdinalRange::one(task)),
        }
    }
    runs
}
