use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Amount, Fact, Ordinal, Span, TaskCounts, Tick, WorkerId};

use crate::{
    invariants::{Step, What},
    model::{Model, each},
};

/// What came of a simulation. All figures are exact, in virtual time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// From the first submit to the latest end of a task.
    pub makespan: Span,
    /// Sum over tasks of the time from submit to first start.
    pub wait_total: Span,
    /// The longest of these times.
    pub wait_max: Span,
    /// Tasks that started.
    pub started: u64,
    /// All tasks by state, those of forgotten jobs included.
    pub counts: TaskCounts,
    /// Cpu time of runs that finished.
    pub busy: Span,
    /// Cpu time that workers offered until the latest end of a task.
    pub offered: Span,
    /// Facts.
    pub facts: u64,
    /// Steps of the event loop.
    pub events: u64,
    /// Restarts of the server.
    pub restarts: u64,
    /// When it was over.
    pub ended: Tick,
    /// Depends on each byte that the machines put out.
    pub digest: u64,
}

impl Report {
    /// Share of the offered cpu time that finished runs used, in 1/10,000.
    pub fn utilisation(&self) -> u64 {
        (u128::from(self.busy.0) * 10_000 / u128::from(self.offered.0.max(1))) as u64
    }

    /// Mean time from submit to first start.
    pub fn wait_mean(&self) -> Span {
        Span(self.wait_total.0 / self.started.max(1))
    }
}

/// Measures a run by its facts.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    report: Report,
    first_submit: Option<Tick>,
    last_end: Tick,
    began: BTreeSet<Ordinal>,
    gone: TaskCounts,
    lives: BTreeMap<WorkerId, (u64, Tick, Option<Tick>)>,
}

impl Meter {
    pub(crate) fn observe(&mut self, step: &Step<'_>) {
        let What::Fact(record) = step.what else { return };
        self.report.facts += 1;
        let at = record.at;
        match &record.fact {
            Fact::Submitted { .. } => _ = self.first_submit.get_or_insert(at),
            Fact::WorkerJoined { worker, config } => {
                let cpus = config.resources.get("cpus").map_or(0, |def| def.kind.total().whole());
                self.lives.insert(*worker, (cpus, at, None));
            }
            Fact::WorkerLost { worker, .. } => {
                if let Some((.., end)) = self.lives.get_mut(worker) {
                    *end = Some(at);
                }
            }
            Fact::Boot { .. } => self.lives.values_mut().for_each(|(.., end)| _ = end.get_or_insert(at)),
            Fact::TaskStarted { task, start, .. } => self.begin(step.model, *task, *start),
            Fact::TasksFinished { grant, ends } => {
                let granted = step.model.grants.get(grant);
                let cpus = granted.map_or(0, |grant| {
                    grant
                        .allocation
                        .0
                        .iter()
                        .filter(|granted| granted.resource.as_str() == "cpus")
                        .map(|g| g.amount.parts())
                        .sum()
                });
                for end in ends.iter() {
                    self.begin(step.model, end.task, end.start);
                    self.last_end = self.last_end.max(end.end);
                    let used = u128::from(end.end.since(end.start).0) * u128::from(cpus) / u128::from(Amount::PARTS);
                    self.report.busy.0 += used as u64;
                }
            }
            Fact::TaskFailed { .. } => self.last_end = self.last_end.max(at),
            Fact::TasksCanceled { tasks } | Fact::TasksAborted { tasks } if each(tasks).next().is_some() => {
                self.last_end = self.last_end.max(at);
            }
            Fact::JobForgotten { job } => add(&mut self.gone, step.model.counts(*job)),
            _ => {}
        }
    }

    fn begin(&mut self, model: &Model, task: Ordinal, start: Tick) {
        if self.began.insert(task)
            && let Some(known) = model.tasks.get(&task)
        {
            let waited = start.since(known.submitted);
            self.report.started += 1;
            self.report.wait_total.0 += waited.0;
            self.report.wait_max = self.report.wait_max.max(waited);
        }
    }

    pub(crate) fn report(&self, model: &Model) -> Report {
        let mut report = self.report.clone();
        report.makespan = self.last_end.since(self.first_submit.unwrap_or_default());
        report.counts = self.gone;
        for job in model.jobs.keys() {
            add(&mut report.counts, model.counts(*job));
        }
        for (cpus, from, to) in self.lives.values() {
            let life = to.unwrap_or(self.last_end).min(self.last_end).since(*from);
            report.offered.0 += life.times(*cpus).0;
        }
        report
    }
}

fn add(sum: &mut TaskCounts, more: TaskCounts) {
    use hq_core::TaskState::*;
    for state in [Waiting, Running, Finished, Failed, Canceled, Aborted] {
        *sum.of_mut(state) += more.of(state);
    }
}
