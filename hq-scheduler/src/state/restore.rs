//! The facts of a snapshot: see [`hq_core::SnapshotHead`].

use hq_core::{Ordinal, OrdinalRange, PastRuns, SnapshotHead, SnapshotTail, TaskMark, TaskState, Tick, WorkerId};

use super::{Effects, Entry, State, class::Classes};

impl State {
    pub(super) fn begin_snapshot(&mut self, head: &SnapshotHead) -> Result<(), String> {
        if !self.submits.is_empty() {
            return Err("a snapshot does not stand at the beginning".to_owned());
        }
        self.in_snapshot = true;
        self.classes = Classes::restored(&head.classes, &head.free_classes);
        self.owners.restore(&head.users, &head.projects);
        Ok(())
    }

    pub(super) fn mark_tasks(&mut self, marks: &[TaskMark], fx: &mut Effects) {
        for mark in marks {
            if self.submit_of(mark.task).is_some() {
                self.records.mark(mark);
                self.hold_back(mark.task, fx);
            }
        }
    }

    /// Gives tasks their last runs. Those that had not ended come to `state`.
    pub(super) fn restore_runs(
        &mut self,
        at: Tick,
        worker: WorkerId,
        variant: u8,
        state: TaskState,
        runs: &PastRuns,
        fx: &mut Effects,
    ) {
        let mut rows = runs.iter();
        for range in runs.ranges() {
            // Whoever lost records has rows of tasks that nobody knows.
            let mut from = range.start;
            for (base, part) in self.split_by_submit(range) {
                rows.by_ref().take((part.start.0 - from.0) as usize).for_each(drop);
                from = part.end();
                let mut ended = Vec::new();
                for run in rows.by_ref().take(part.len as usize) {
                    let took = run.end.since(run.start);
                    let entry = Entry { state, variant, worker, start: run.start, took };
                    self.restore_run(base, run.task, entry, &mut ended, fx);
                }
                self.after_ends(base, &ended, state, at, fx);
            }
            rows.by_ref().take((range.end().0 - from.0) as usize).for_each(drop);
        }
    }

    fn restore_run(
        &mut self,
        base: Ordinal,
        task: Ordinal,
        entry: Entry,
        ended: &mut Vec<OrdinalRange>,
        fx: &mut Effects,
    ) {
        let Some(before) = self.submits.get(&base).map(|submit| self.state_in(submit, task)) else { return };
        if before.is_end() {
            return;
        }
        self.records.set(task, entry);
        if !entry.state.is_end() {
            return;
        }
        self.count(base, before, entry.state, 1);
        self.remove_ready(base, OrdinalRange::one(task), fx);
        match ended.last_mut() {
            Some(run) if run.end() == task => run.len += 1,
            _ => ended.push(OrdinalRange::one(task)),
        }
    }

    pub(super) fn end_snapshot(&mut self, tail: &SnapshotTail) {
        self.in_snapshot = false;
        self.classes.forget_unused();
        self.next_ordinal = self.next_ordinal.max(tail.next_ordinal);
        self.last_job = self.last_job.max(tail.last_job);
        self.last_worker = tail.last_worker;
        self.last_grant = tail.last_grant;
        for (job, ended) in &tail.ended {
            if let Some(job) = self.jobs.get_mut(job) {
                job.ended = Some(*ended);
            }
        }
        self.submits.values_mut().for_each(|submit| submit.shut = 0);
        for (base, shut) in &tail.shut {
            if let Some(submit) = self.submits.get_mut(base) {
                submit.shut = *shut;
            }
        }
        for last in &tail.workers {
            if let Some(worker) = self.any_worker_mut(last.worker) {
                (worker.last_lane, worker.last_task) = (last.grant, last.task);
            } else if let Some(worker) = self.lost.get_mut(&last.worker) {
                worker.last_task = last.task;
            }
        }
    }
}
