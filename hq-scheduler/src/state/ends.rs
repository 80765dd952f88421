//! Ends of tasks, and what they set off.

use std::sync::Arc;

use hq_core::{DepKind, End, Ends, GrantId, IdList, Ordinal, OrdinalRange, RangeSet, TaskState, Tick, WorkerId};

use super::{Bereft, Effects, Entry, QueueKey, State, push_run};

impl State {
    /// Tasks of a lane that finished.
    pub(super) fn finish(&mut self, grant_id: GrantId, ends: &Ends, fx: &mut Effects) -> Result<(), String> {
        let grant = self.grants.get_mut(&grant_id).ok_or_else(|| format!("grant {grant_id} does not exist"))?;
        let (worker, variant) = (grant.worker, grant.variant);
        let gang = (!grant.others.is_empty()).then(|| grant.workers().collect::<Vec<WorkerId>>());
        for range in &ends.tasks {
            grant.tasks.remove(*range);
            if grant.running.is_some_and(|task| range.contains(task)) {
                grant.running = None;
            }
        }
        let mut last = None;
        let mut rows = ends.iter();
        for range in &ends.tasks {
            for (base, part) in self.split_by_submit(*range) {
                let row = rows.by_ref().take(part.len as usize);
                let seen = self.finish_in_submit(base, row, worker, variant, gang.as_deref());
                last = seen.last.or(last);
                self.after_ends(base, &seen.ended, TaskState::Finished, seen.at, fx);
            }
        }
        if let (Some((task, start)), Some(worker)) = (last, self.workers.get_mut(&worker))
            && worker.last_task.is_none_or(|(_, before)| before <= start)
        {
            worker.last_task = Some((task, start));
        }
        Ok(())
    }

    fn finish_in_submit(
        &mut self,
        base: Ordinal,
        ends: impl Iterator<Item = End>,
        worker: WorkerId,
        variant: u8,
        gang: Option<&[WorkerId]>,
    ) -> Finished {
        let mut seen = Finished { ended: vec![], last: None, at: Tick(0) };
        let (mut ran, mut waited) = (0, 0);
        for End { task, start, end } in ends {
            match self.records.get(task).map(|entry| entry.state) {
                Some(TaskState::Running) => ran += 1,
                Some(state) if state.is_end() => continue,
                _ => waited += 1,
            }
            let entry = Entry { state: TaskState::Finished, variant, worker, start, took: end.since(start) };
            self.records.set(task, entry);
            if let Some(workers) = gang {
                self.records.set_gang(task, workers.to_vec());
            }
            match seen.ended.last_mut() {
                Some(OrdinalRange { start, len }) if start.plus(*len) == task => *len += 1,
                _ => seen.ended.push(OrdinalRange::one(task)),
            }
            seen.last = Some((task, start));
            seen.at = seen.at.max(end);
        }
        if let Some(job) = self.submits.get(&base).and_then(|submit| self.jobs.get_mut(&submit.job)) {
            job.counts.running = job.counts.running.saturating_sub(ran);
            job.counts.waiting = job.counts.waiting.saturating_sub(waited);
            job.counts.finished += ran + waited;
        }
        seen
    }

    /// One task of known former state has come to `entry`.
    pub(super) fn end_one(&mut self, task: Ordinal, entry: Entry, at: Tick, fx: &mut Effects) {
        let Some((base, submit)) = self.submit_of(task) else { return };
        let before = self.state_in(submit, task);
        if before.is_end() {
            return;
        }
        self.records.set(task, entry);
        self.count(base, before, entry.state, 1);
        self.after_ends(base, &[OrdinalRange::one(task)], entry.state, at, fx);
    }

    /// Tasks that end without having run, or while they run, by their user's or another task's doing.
    pub(super) fn end_ranges(&mut self, ranges: &[OrdinalRange], end: TaskState, at: Tick, fx: &mut Effects) {
        let parts: Vec<_> = ranges.iter().flat_map(|range| self.split_by_submit(*range)).collect();
        for (base, range) in parts {
            let (mut ran, mut waited) = (0, 0);
            let (mut recorded, mut ended) = (Vec::new(), Vec::new());
            self.records.change(range, |task, mut entry| {
                if entry.state.is_end() {
                    push_run(&mut ended, task);
                    return None;
                }
                if entry.state == TaskState::Running {
                    ran += 1;
                    entry.took = at.since(entry.start);
                } else {
                    waited += 1;
                }
                entry.state = end;
                push_run(&mut recorded, task);
                Some(entry)
            });
            let mut open = self.without_ended(base, range);
            ended.into_iter().for_each(|run| _ = open.remove(run));
            let mut bare: RangeSet = open.clone();
            recorded.into_iter().for_each(|run| _ = bare.remove(run));
            waited += bare.len();
            if let Some(submit) = self.submits.get_mut(&base) {
                let set = if end == TaskState::Canceled { &mut submit.canceled } else { &mut submit.aborted };
                for range in bare.iter() {
                    set.insert(range);
                }
            }
            self.count(base, TaskState::Running, end, ran);
            self.count(base, TaskState::Waiting, end, waited);
            for run in open.iter() {
                self.remove_ready(base, run, fx);
            }
            let ended: Vec<OrdinalRange> = open.iter().collect();
            self.after_ends(base, &ended, end, at, fx);
        }
    }

    pub(super) fn count(&mut self, base: Ordinal, from: TaskState, to: TaskState, n: u64) {
        if let Some(job) = self.submits.get(&base).and_then(|submit| self.jobs.get_mut(&submit.job)) {
            let from = job.counts.of_mut(from);
            *from = from.saturating_sub(n);
            *job.counts.of_mut(to) += n;
        }
    }

    /// Follows the edges from tasks of one submit that have just ended, and closes the job's books where all is done.
    pub(super) fn after_ends(
        &mut self,
        base: Ordinal,
        ended: &[OrdinalRange],
        end: TaskState,
        at: Tick,
        fx: &mut Effects,
    ) {
        ended.iter().for_each(|range| self.records.retries.forget(*range));
        let Some(submit) = self.submits.get(&base) else { return };
        let job_id = submit.job;
        let has_graph = submit.graph.is_some();
        let Some(job) = self.jobs.get_mut(&job_id) else { return };
        let has_cross = !job.cross.is_empty();
        if job.counts.is_terminated() && job.ended.is_none() {
            job.ended = Some(at);
            fx.ended.insert(job_id);
            self.open_gates(job_id, fx);
        }
        if end == TaskState::Failed {
            fx.failed.insert(job_id);
        }
        if !has_graph && !has_cross {
            return;
        }
        for task in ended.iter().flat_map(|range| range.iter()) {
            let index = task.0 - base.0;
            let mut graph = self.submits.get_mut(&base).and_then(|submit| submit.graph.as_mut());
            if let Some(graph) = &mut graph {
                graph.settle(index);
            }
            let mut edges: Vec<(Ordinal, DepKind)> = graph
                .map(|graph| graph.consumers(index).into_iter().map(|(i, kind)| (base.plus(i), kind)).collect())
                .unwrap_or_default();
            if has_cross && let Some(job) = self.jobs.get_mut(&job_id) {
                edges.extend(job.cross.remove(&task).unwrap_or_default());
            }
            for (consumer, kind) in edges {
                self.follow_edge(consumer, kind, end, fx);
            }
        }
    }

    fn follow_edge(&mut self, consumer: Ordinal, kind: DepKind, end: TaskState, fx: &mut Effects) {
        let Some((base, submit)) = self.submit_of(consumer) else { return };
        if self.state_in(submit, consumer).is_end() {
            return;
        }
        if !is_met(kind, end) {
            fx.doomed.push(consumer);
            return;
        }
        let index = consumer.0 - base.0;
        let graph = self.submits.get_mut(&base).and_then(|submit| submit.graph.as_mut());
        if graph.is_some_and(|graph| graph.meet(index)) {
            self.insert_ready(OrdinalRange::one(consumer), fx);
        }
    }

    /// Puts tasks (of any number of submits) into the queues of those that could start.
    pub(super) fn insert_ready(&mut self, range: OrdinalRange, fx: &mut Effects) {
        if self.records.retries.next().is_some() {
            let rest = self.without_delayed(range);
            return rest.into_iter().for_each(|range| self.queue_up(range, fx));
        }
        self.queue_up(range, fx);
    }

    fn queue_up(&mut self, range: OrdinalRange, fx: &mut Effects) {
        for (base, part) in self.split_by_submit(range) {
            let Some(submit) = self.submits.get(&base).filter(|submit| submit.shut == 0) else { continue };
            for (key, run) in runs_by_key(submit, base, part) {
                self.enter_queue(key, run, fx);
            }
        }
    }

    fn enter_queue(&mut self, key: QueueKey, range: OrdinalRange, fx: &mut Effects) {
        self.ready.entry(key).or_default().insert(range);
        fx.ready.insert(key);
        fx.moved.insert(key);
    }

    /// Takes tasks of one submit out of the queues; says how many were there.
    pub(super) fn remove_ready(&mut self, base: Ordinal, range: OrdinalRange, fx: &mut Effects) -> u64 {
        let Some(submit) = self.submits.get(&base) else { return 0 };
        if submit.submit.profile_of.is_empty() {
            return self.leave_queue(submit.key(0), range, fx);
        }
        let runs = runs_by_key(submit, base, range);
        runs.into_iter().map(|(key, run)| self.leave_queue(key, run, fx)).sum()
    }

    fn leave_queue(&mut self, key: QueueKey, range: OrdinalRange, fx: &mut Effects) -> u64 {
        let Some(set) = self.ready.get_mut(&key) else { return 0 };
        let removed = set.remove(range);
        fx.moved.insert(key);
        if set.is_empty() {
            self.ready.remove(&key);
        }
        removed
    }

    /// A task whose worker is gone waits again. `ran`: it ran there, or may have begun.
    pub(super) fn requeue(&mut self, task: Ordinal, ran: Option<(WorkerId, Bereft)>, fx: &mut Effects) {
        let Some((base, submit)) = self.submit_of(task) else { return };
        let before = self.state_in(submit, task);
        if before.is_end() {
            return;
        }
        let key = (submit.shut == 0).then(|| submit.key(task.0 - base.0));
        let old = self.records.get(task);
        let entry = Entry {
            state: TaskState::Waiting,
            variant: old.map_or(0, |entry| entry.variant),
            worker: old.map_or(WorkerId(0), |entry| entry.worker),
            start: old.map_or(Tick(0), |entry| entry.start),
            took: old.map_or_else(Default::default, |entry| entry.took),
        };
        self.records.set(task, entry);
        self.records.next_instance(task);
        if let Some((worker, bereft)) = ran {
            if bereft.reason.is_crash() {
                self.records.add_crash(task, worker);
            }
            fx.bereft.push(bereft);
        }
        self.count(base, before, TaskState::Waiting, 1);
        if let Some(key) = key {
            self.enter_queue(key, OrdinalRange::one(task), fx);
        }
    }

    pub(super) fn add_submit(
        &mut self,
        at: Tick,
        job_id: hq_core::JobId,
        base: Ordinal,
        submit: &Arc<hq_core::Submit>,
        fx: &mut Effects,
    ) -> Result<(), String> {
        let n = submit.ids.count();
        if !self.jobs.contains_key(&job_id) {
            return Err(format!("job {job_id} does not exist"));
        }
        if n == 0 {
            return Ok(()); // It would share its ordinal, and with it all that is known by it, with the next submit.
        }
        let owner = self.owners.intern(&submit.owner);
        let key = |profile| QueueKey::new(profile, self.classes.intern(profile, &submit.kind), owner);
        let keys = submit.profiles.iter().map(key).collect();
        let mut state = super::SubmitState {
            job: job_id,
            at,
            submit: submit.clone(),
            keys,
            graph: None,
            shut: self.add_gates(base, &submit.after, fx),
            canceled: RangeSet::new(),
            aborted: RangeSet::new(),
        };
        let mut cross = Vec::new();
        if !submit.deps.is_empty() {
            let mut graph = super::graph::Graph::new(submit, |number| state.index_of(hq_core::TaskNumber(number)));
            for i in 0..n {
                for (on, kind) in submit.deps.of(i) {
                    if state.index_of(on).is_some() {
                        continue;
                    }
                    let on_task =
                        self.find(job_id, on).ok_or_else(|| format!("task {on} of job {job_id} does not exist"))?;
                    let end = self.task_state(on_task).filter(|state| state.is_end());
                    if end.is_some_and(|end| is_met(kind, end)) {
                        continue;
                    }
                    graph.add_unmet(i);
                    match end {
                        Some(_) => fx.doomed.push(base.plus(i)),
                        None => cross.push((on_task, base.plus(i), kind)),
                    }
                }
            }
            state.graph = Some(graph);
        }
        let ready: Vec<OrdinalRange> = match &state.graph {
            None => vec![OrdinalRange::new(base, n)],
            Some(graph) => (0..n).filter(|i| graph.is_ready(*i)).map(|i| OrdinalRange::one(base.plus(i))).collect(),
        };
        let job = self.jobs.get_mut(&job_id).ok_or_else(|| format!("job {job_id} does not exist"))?;
        job.submits.push(base);
        job.by_number.extend(state.ids().and_then(IdList::min).map(|number| (number, base)));
        job.top = job.top.max(state.ids().and_then(IdList::max));
        job.counts.waiting += n;
        job.ended = None;
        for (on, waits, kind) in cross {
            job.cross.entry(on).or_default().push((waits, kind));
        }
        self.next_ordinal = base.0 + n;
        self.submits.insert(base, Box::new(state));
        for range in ready {
            self.insert_ready(range, fx);
        }
        Ok(())
    }
}

struct Finished {
    ended: Vec<OrdinalRange>,
    last: Option<(Ordinal, Tick)>,
    at: Tick,
}

/// Whether an edge of that kind is met by that end; if not, it never will be.
pub(super) const fn is_met(kind: DepKind, end: TaskState) -> bool {
    match kind {
        DepKind::Success => matches!(end, TaskState::Finished),
        DepKind::AnyEnd => true,
        DepKind::Failure => matches!(end, TaskState::Failed),
    }
}

fn runs_by_key(submit: &super::SubmitState, base: Ordinal, range: OrdinalRange) -> Vec<(QueueKey, OrdinalRange)> {
    if submit.submit.profile_of.is_empty() {
        return vec![(submit.key(0), range)];
    }
    let mut runs: Vec<(QueueKey, OrdinalRange)> = Vec::new();
    for task in range.iter() {
        let key = submit.key(task.0 - base.0);
        match runs.last_mut() {
            Some((last, run)) if *last == key => run.len += 1,
            _ => runs.push((key, OrdinalRange::one(task))),
        }
    }
    runs
}
