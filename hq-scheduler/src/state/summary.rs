//! The state as facts that come to it: what a snapshot says.

use std::collections::{BTreeMap, BTreeSet};

use hq_core::{
    End, Fact, JobId, JobTarget, Ordinal, OrdinalRange, PastRuns, Record, SnapshotHead, SnapshotTail, SnapshotWorker,
    TaskState, Tick, WorkerId,
};

use super::{Job, State, SubmitState};

/// Tasks whose runs are sorted by worker together: enough for columns, and little memory.
const CHUNK: u64 = 1 << 18;
/// Marks in a fact.
const MARKS: usize = 1 << 12;

impl State {
    /// Facts after which a fresh state is this one. `server` are the boots and whatever else is kept as it was, in order;
    /// `sessions` is how workers are known that may come back; `at` is the moment of the last fact.
    pub(crate) fn summary(&self, server: &[Record], sessions: &BTreeMap<WorkerId, Record>, at: Tick) -> Vec<Record> {
        let (users, projects) = self.owners.snapshot();
        let (classes, free_classes) = self.classes.snapshot();
        let head = SnapshotHead { classes, free_classes, users, projects };
        // A loss ends the snapshot that it is met in, so that those of the past come before it; what is lost is left out already.
        let (losses, server): (Vec<Record>, Vec<Record>) =
            server.iter().cloned().partition(|record| matches!(record.fact, Fact::RecordsLost { .. }));
        let mut begun = self.beginnings(server);
        // The first record of a journal is that of its first boot.
        let first = usize::from(matches!(begun.first(), Some(record) if matches!(record.fact, Fact::Boot { .. })));
        let start = begun.first().map_or(at, |record| record.at);
        begun.insert(first, Record { at: start, fact: Fact::SnapshotBegun { head: Box::new(head) } });
        begun.splice(first..first, losses);
        let mut facts = Facts { records: begun, at };
        self.submits.iter().for_each(|(base, submit)| self.summarise_submit(*base, submit, &mut facts));
        self.summarise_workers(&mut facts);
        let there = sessions.iter().filter(|(worker, _)| self.has_worker(**worker));
        facts.records.extend(there.map(|(_, record)| record.clone()));
        self.summarise_grants(&mut facts);
        for (id, away) in &self.away {
            facts.add(away.since, Fact::WorkerAway { worker: *id });
        }
        if let Some((order, placement)) = self.policy.clone() {
            facts.add(at, Fact::PolicyChanged { order, placement });
        }
        facts.add(at, Fact::SnapshotEnded { tail: Box::new(self.tail()) });
        facts.records
    }

    /// How jobs and submits began, among what the server did.
    fn beginnings(&self, server: Vec<Record>) -> Vec<Record> {
        let mut records = server;
        for (id, job) in &self.jobs {
            let job_id = *id;
            if !self.is_made_by_submit(job) {
                records.push(Record { at: job.created, fact: Fact::JobOpened { job: job_id, spec: job.spec.clone() } });
            }
        }
        for (base, submit) in &self.submits {
            let fact = Fact::Submitted { job: submit.job, base: *base, submit: submit.submit.clone() };
            records.push(Record { at: submit.at, fact });
        }
        // Time does not go back, so that this keeps the order of what happened; a job is before its submits.
        let rank = |fact: &Fact| match fact {
            Fact::JobOpened { .. } => 1,
            Fact::Submitted { .. } => 2,
            _ => 0,
        };
        records.sort_by_key(|record| (record.at, rank(&record.fact)));
        for (id, job) in &self.jobs {
            let (job_id, at) = (*id, job.ended.unwrap_or(job.created));
            if !self.is_made_by_submit(job) && !job.is_open {
                records.push(Record { at, fact: Fact::JobClosed { job: job_id } });
            }
            if job.is_bound {
                records.push(Record { at, fact: Fact::JobBound { job: job_id } });
            }
            if job.cancel_reason.is_some() {
                let reason = job.cancel_reason.clone();
                records.push(Record { at, fact: Fact::JobCanceled { job: job_id, reason } });
            }
        }
        records
    }

    fn is_made_by_submit(&self, job: &Job) -> bool {
        let first = job.submits.first().and_then(|base| self.submits.get(base));
        first.is_some_and(|submit| matches!(submit.submit.job, JobTarget::New(_)))
    }

    fn summarise_submit(&self, base: Ordinal, submit: &SubmitState, facts: &mut Facts) {
        let all = self.range_of(base);
        let at = self.jobs.get(&submit.job).and_then(|job| job.ended).unwrap_or(facts.at);
        let mut marks = self.records.marks_in(all);
        while !marks.is_empty() {
            let rest = marks.split_off(marks.len().min(MARKS));
            facts.add(at, Fact::TasksMarked { marks });
            marks = rest;
        }
        let mut from = all.start;
        while from < all.end() {
            let chunk = OrdinalRange::new(from, CHUNK.min(all.end().0 - from.0));
            self.summarise_runs(chunk, at, facts);
            from = chunk.end();
        }
        for (set, is_cancel) in [(&submit.canceled, true), (&submit.aborted, false)] {
            let tasks: Vec<OrdinalRange> = set.iter().collect();
            if !tasks.is_empty() {
                facts.add(at, if is_cancel { Fact::TasksCanceled { tasks } } else { Fact::TasksAborted { tasks } });
            }
        }
    }

    fn summarise_runs(&self, chunk: OrdinalRange, at: Tick, facts: &mut Facts) {
        let mut groups: BTreeMap<(TaskState, WorkerId, u8), Vec<End>> = BTreeMap::new();
        for (task, entry) in self.records.in_range(chunk) {
            // Those that run follow with their lanes.
            if entry.state != TaskState::Running {
                let end = End { task, start: entry.start, end: entry.start.after(entry.took) };
                groups.entry((entry.state, entry.worker, entry.variant)).or_default().push(end);
            }
        }
        for ((state, worker, variant), ends) in groups {
            facts.add(at, Fact::TasksRan { worker, variant, state, runs: PastRuns::new(by_lane(ends)) });
        }
    }

    fn summarise_workers(&self, facts: &mut Facts) {
        for (id, lost) in &self.lost {
            facts.add(lost.joined, Fact::WorkerJoined { worker: *id, config: lost.config.clone() });
            facts.add(lost.lost, Fact::WorkerLost { worker: *id, reason: lost.reason });
        }
        let away = self.away.iter().map(|(id, away)| (id, &away.worker));
        for (id, worker) in self.workers.iter().chain(away) {
            facts.add(worker.joined, Fact::WorkerJoined { worker: *id, config: worker.config.clone() });
        }
    }

    fn summarise_grants(&self, facts: &mut Facts) {
        // Lanes are suspended once more when their workers go away.
        let suspended = self.suspended.iter().map(|(id, grant)| (*id, grant));
        for (id, grant) in self.grants.iter().chain(suspended) {
            let fact = Fact::GrantOpened {
                grant: id,
                workers: grant.workers().collect(),
                class: Some(grant.class),
                variant: grant.variant,
                allocation: grant.allocation.clone(),
                tasks: grant.tasks.iter().collect(),
            };
            facts.add(grant.opened, fact);
            if let Some(task) = grant.running {
                let start = self.records.get(task).map_or(grant.opened, |entry| entry.start);
                facts.add(start, Fact::TaskStarted { grant: id, task, start });
            }
        }
        // A gang that has lost a member since its task began: the task is known with all of them.
        let running = self.grants.values().chain(self.suspended.values()).filter(|grant| grant.running.is_some());
        let marks: Vec<_> = running
            .filter_map(|grant| Some(self.records.marks_in(OrdinalRange::one(grant.running?))))
            .flatten()
            .filter(|mark| !mark.gang.is_empty())
            .collect();
        if !marks.is_empty() {
            facts.add(facts.at, Fact::TasksMarked { marks });
        }
    }

    fn tail(&self) -> SnapshotTail {
        let ended = self.jobs.iter().filter_map(|(id, job): (&JobId, _)| Some((*id, job.ended?))).collect();
        let shut = self.submits.iter().filter(|(_, submit)| submit.shut > 0);
        let lost = self.lost.iter().map(|(id, lost)| (*id, None, lost.last_task));
        let away = self.away.iter().map(|(id, away)| (id, &away.worker));
        let live = self.workers.iter().chain(away).map(|(id, worker)| (*id, worker.last_lane, worker.last_task));
        let workers = lost
            .chain(live)
            .filter(|(_, grant, task)| grant.is_some() || task.is_some())
            .map(|(worker, grant, task)| SnapshotWorker { worker, grant, task })
            .collect();
        SnapshotTail {
            next_ordinal: self.next_ordinal,
            last_job: self.last_job,
            last_worker: self.last_worker,
            last_grant: self.last_grant,
            ended,
            shut: shut.map(|(base, submit)| (*base, submit.shut)).collect(),
            workers,
        }
    }
}

struct Facts {
    records: Vec<Record>,
    at: Tick,
}

impl Facts {
    fn add(&mut self, at: Tick, fact: Fact) {
        self.records.push(Record { at, fact });
    }
}

/// Puts runs that followed each other side by side: each goes behind the one that had ended last before it began, as the
/// lanes of a worker do, so that the times between are short. Lanes come one after another.
fn by_lane(mut runs: Vec<End>) -> Vec<End> {
    runs.sort_by_key(|run| (run.start, run.task));
    let mut lanes: Vec<Vec<End>> = Vec::new();
    // Lanes by their last end; of those that end together the one that was there first.
    let mut free: BTreeSet<(Tick, usize)> = BTreeSet::new();
    for run in runs {
        let last = free.range(..=(run.start, usize::MAX)).next_back().copied();
        let lane = match last {
            Some(key) => {
                free.remove(&key);
                key.1
            }
            None => {
                lanes.push(vec![]);
                lanes.len() - 1
            }
        };
        lanes[lane].push(run);
        free.insert((run.end, lane));
    }
    lanes.into_iter().flatten().collect()
}
