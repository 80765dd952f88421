use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    mem,
    sync::Arc,
};

use hq_core::{GrantId, HeldGrant, KeptGrant, Open, OrdinalRange, Outcome, RunId, SubmitBody, SubmitId, Tick, Work};

use super::{
    Lane, StopHow,
    backlog::Task,
    lane::{LaneState, Run},
};

/// Names of lanes that are over, kept to recognise a doubled message.
const CLOSED_MAX: usize = 256;

/// Bodies by submit.
pub(super) type Bodies = BTreeMap<SubmitId, Arc<SubmitBody>>;

/// All lanes of a worker, who is next, and when runs have to be stopped.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<GrantId, LaneState>,
    /// Lanes that may be able to start something, in turn.
    ready: VecDeque<GrantId>,
    /// One per run that has an alarm.
    alarms: BTreeSet<(Tick, GrantId)>,
    running: usize,
    closed: VecDeque<GrantId>,
    /// Runs that are being killed for good and count no more. Nothing starts beside them: what they use was given away.
    condemned: BTreeSet<RunId>,
}

/// A task that has left its backlog.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) run: RunId,
    /// Runs now, or why it cannot.
    pub(super) task: Result<(Task, Arc<Lane>), &'static str>,
}

impl Lanes {
    /// A new lane; one that is or was there changes nothing.
    pub(super) fn open(&mut self, now: Tick, mut open: Open, server_uid: &str, bodies: &Bodies) {
        let grant = open.grant;
        if self.lanes.contains_key(&grant) || self.closed.contains(&grant) {
            return;
        }
        let work = mem::take(&mut open.work);
        self.lanes.insert(grant, LaneState::new(now, &open, server_uid));
        self.extend(grant, work, bodies);
    }

    /// More tasks for a lane.
    pub(super) fn extend(&mut self, grant: GrantId, work: Vec<Work>, bodies: &Bodies) {
        let Some(lane) = self.lanes.get_mut(&grant).filter(|lane| !lane.closing) else { return };
        let running = lane.running.as_ref().map(|run| run.task);
        for work in work {
            let body = bodies.get(&work.submit).cloned();
            lane.backlog.push(work, body, running);
        }
        enqueue(&mut self.ready, grant, lane);
    }

    /// What recall `n` takes out of the lane's backlog; none where that recall was answered before.
    pub(super) fn recall(&mut self, grant: GrantId, n: u32, tasks: &[OrdinalRange]) -> Option<Vec<OrdinalRange>> {
        let Some(lane) = self.lanes.get_mut(&grant) else { return Some(vec![]) };
        // Done twice, it could take back what was given again since, under a number the server has done with.
        if n <= lane.recalls {
            return None;
        }
        lane.recalls = n;
        Some(lane.backlog.recall(tasks))
    }

    /// The lane ends with its run.
    pub(super) fn close(&mut self, grant: GrantId) {
        let Some(lane) = self.lanes.get_mut(&grant) else { return };
        lane.closing = true;
        lane.backlog.clear();
        if lane.running.is_none() {
            self.remove(grant);
        }
    }

    /// The lane may go on after a run that did not end well.
    pub(super) fn go_on(&mut self, grant: GrantId) {
        let Some(lane) = self.lanes.get_mut(&grant) else { return };
        lane.holds = false;
        enqueue(&mut self.ready, grant, lane);
    }

    /// Ends a task if it runs; says what is to be done now.
    pub(super) fn kill(&mut self, now: Tick, run: RunId) -> Option<StopHow> {
        let running = self.lanes.get_mut(&run.grant)?.running.as_mut().filter(|running| running.task == run.task)?;
        let before = running.alarm;
        let how = running.kill(now);
        let after = running.alarm;
        self.move_alarm(run.grant, before, after);
        how
    }

    /// Takes the next task that a lane may start, lanes in turn.
    pub(super) fn start_next(&mut self, now: Tick) -> Option<Begun> {
        if !self.condemned.is_empty() {
            return None;
        }
        loop {
            let grant = self.ready.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&grant) else { continue };
            lane.queued = false;
            if !lane.may_start(now) {
                continue;
            }
            let Some((ordinal, task)) = lane.backlog.pop() else { continue };
            let run = RunId { task: ordinal, grant };
            match task {
                Ok(task) => {
                    let running = Run::new(now, ordinal, task.time_limit);
                    let alarm = running.alarm;
                    let shared = Arc::clone(&lane.lane);
                    lane.running = Some(running);
                    self.running += 1;
                    self.move_alarm(grant, None, alarm);
                    return Some(Begun { run, task: Ok((task, shared)) });
                }
                Err(why) => {
                    lane.holds = true;
                    return Some(Begun { run, task: Err(why) });
                }
            }
        }
    }

    /// A run has ended: when it started, and what is reported. None for one that does not run.
    pub(super) fn ended(&mut self, run: RunId, seen: Outcome) -> Option<(Tick, Outcome)> {
        if self.condemned.remove(&run) {
            return None;
        }
        let lane = self.lanes.get_mut(&run.grant)?;
        let running = lane.running.take_if(|running| running.task == run.task)?;
        let outcome = running.outcome(seen);
        self.running -= 1;
        lane.holds |= outcome != Outcome::Finished;
        if lane.closing {
            self.remove(run.grant);
        } else {
            enqueue(&mut self.ready, run.grant, lane);
        }
        self.move_alarm(run.grant, running.alarm, None);
        Some((running.started, outcome))
    }

    /// The next stop that is due.
    pub(super) fn fire(&mut self, now: Tick) -> Option<(RunId, StopHow)> {
        let (at, grant) = *self.alarms.first().filter(|(at, _)| *at <= now)?;
        let running = self.lanes.get_mut(&grant)?.running.as_mut()?;
        let how = running.fire(now);
        let (task, after) = (running.task, running.alarm);
        self.move_alarm(grant, Some(at), after);
        Some((RunId { task, grant }, how))
    }

    /// When the next stop is due.
    pub(super) fn next_alarm(&self) -> Option<Tick> {
        self.alarms.first().map(|(at, _)| *at)
    }

    /// Whether that run has begun and not ended.
    pub(super) fn is_running(&self, run: RunId) -> bool {
        let running = self.lanes.get(&run.grant).and_then(|lane| lane.running.as_ref());
        running.is_some_and(|running| running.task == run.task)
    }

    /// How many runs there are.
    pub(super) const fn running(&self) -> usize {
        self.running
    }

    /// All runs, by lane.
    pub(super) fn runs(&self) -> impl Iterator<Item = RunId> + '_ {
        self.lanes.iter().filter_map(|(grant, lane)| {
            let task = lane.running.as_ref()?.task;
            Some(RunId { task, grant: *grant })
        })
    }

    /// What there is of each lane.
    pub(super) fn inventory(&self, now: Tick) -> Vec<HeldGrant> {
        let held = |(grant, lane): (&GrantId, &LaneState)| HeldGrant {
            grant: *grant,
            running: lane.running.as_ref().map(|run| (run.task, now.since(run.started))),
            backlog: lane.backlog.ranges(),
        };
        self.lanes.iter().map(held).collect()
    }

    /// Goes on with these lanes alone, and of each with these tasks alone; says what has to be killed. They hold.
    pub(super) fn keep(&mut self, kept: &[KeptGrant]) -> Vec<RunId> {
        let kept: BTreeMap<GrantId, &[OrdinalRange]> =
            kept.iter().map(|kept| (kept.grant, kept.tasks.as_slice())).collect();
        let over: Vec<GrantId> = self.lanes.keys().filter(|grant| !kept.contains_key(grant)).copied().collect();
        let mut killed: Vec<RunId> = over.into_iter().filter_map(|grant| self.condemn(grant)).collect();
        for (grant, tasks) in kept {
            let Some(lane) = self.lanes.get_mut(&grant) else { continue };
            lane.backlog.keep(tasks, lane.running.as_ref().map(|run| run.task));
            lane.holds = true;
            lane.recalls = 0;
            let runs_on = |run: &Run| tasks.iter().any(|range| range.contains(run.task));
            if lane.running.as_ref().is_some_and(|run| !runs_on(run)) {
                killed.extend(self.disown(grant));
            }
        }
        killed
    }

    /// All lanes are over; says what has to be killed.
    pub(super) fn condemn_all(&mut self) -> Vec<RunId> {
        let all: Vec<GrantId> = self.lanes.keys().copied().collect();
        let killed = all.into_iter().filter_map(|grant| self.condemn(grant)).collect();
        self.closed.clear();
        killed
    }

    fn condemn(&mut self, grant: GrantId) -> Option<RunId> {
        let run = self.disown(grant);
        self.remove(grant);
        run
    }

    /// What runs in a lane is not its run any more.
    fn disown(&mut self, grant: GrantId) -> Option<RunId> {
        let running = self.lanes.get_mut(&grant)?.running.take()?;
        let run = RunId { task: running.task, grant };
        self.running -= 1;
        self.move_alarm(grant, running.alarm, None);
        self.condemned.insert(run);
        Some(run)
    }

    fn remove(&mut self, grant: GrantId) {
        self.lanes.remove(&grant);
        if self.closed.len() == CLOSED_MAX {
            self.closed.pop_front();
        }
        self.closed.push_back(grant);
    }

    fn move_alarm(&mut self, grant: GrantId, before: Option<Tick>, after: Option<Tick>) {
        if before == after {
            return;
        }
        if let Some(at) = before {
            self.alarms.remove(&(at, grant));
        }
        if let Some(at) = after {
            self.alarms.insert((at, grant));
        }
    }
}

fn enqueue(ready: &mut VecDeque<GrantId>, grant: GrantId, lane: &mut LaneState) {
    if !lane.queued && !lane.backlog.is_empty() {
        lane.queued = true;
        ready.push_back(grant);
    }
}
