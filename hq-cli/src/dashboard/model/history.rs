use std::collections::{BTreeMap, VecDeque};

use hq_core::{HardwareState, JobId, JobInfo, Share, TaskCounts, WallTime, WorkerId};

use super::Series;

/// Jobs, and workers, of which a curve is kept: the newest.
const CURVES_MAX: usize = 1_000;
/// Looks over which a rate is taken.
const RATE_LOOKS: usize = 16;

/// How busy a machine is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// All cpus together.
    pub(crate) cpu: Share,
    /// Its memory.
    pub(crate) memory: Share,
}

/// What a look at a machine comes to.
pub(crate) fn load_of(state: &HardwareState) -> Load {
    let sum: u64 = state.cpus.iter().map(|share| u64::from(share.0)).sum();
    let used = state.memory_total.saturating_sub(state.memory_free);
    Load { cpu: Share::of(sum, 10_000 * state.cpus.len() as u64), memory: Share::of(used, state.memory_total) }
}

/// How things were, as curves.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    jobs: BTreeMap<JobId, Series<TaskCounts>>,
    loads: BTreeMap<WorkerId, Series<Load>>,
    /// Tasks that had ended at the latest looks, counted from the first one on.
    ended: VecDeque<(WallTime, u64)>,
}

impl History {
    /// A job at a moment.
    pub(crate) fn job(&mut self, at: WallTime, job: JobId, counts: TaskCounts) {
        self.jobs.entry(job).or_default().push(at, counts);
        bound(&mut self.jobs);
    }

    /// A machine at a moment.
    pub(crate) fn load(&mut self, worker: WorkerId, state: &HardwareState) {
        self.loads.entry(worker).or_default().push(state.at, load_of(state));
        bound(&mut self.loads);
    }

    /// Tasks of a job that have ended since it was looked at last. Of a job that nobody looked at before it is all, but where all jobs
    /// are looked at for the first time, or it is an old one.
    pub(crate) fn fresh(&self, job: &JobInfo, whole: bool) -> u64 {
        match self.jobs.get(&job.id).and_then(Series::last) {
            Some(known) => ended(&job.counts).saturating_sub(ended(known)),
            None if whole || self.jobs.last_key_value().is_some_and(|(last, _)| job.id < *last) => 0,
            None => ended(&job.counts),
        }
    }

    /// A look at `at` found that so many tasks more have ended.
    pub(crate) fn ended(&mut self, at: WallTime, more: u64) {
        let before = self.ended.back().map_or(0, |(_, count)| *count);
        self.ended.push_back((at, before.saturating_add(more)));
        if self.ended.len() > RATE_LOOKS {
            self.ended.pop_front();
        }
    }

    /// Tasks that end in a second, as far as the latest looks tell.
    pub(crate) fn rate(&self) -> Option<u64> {
        let ((first, before), (last, after)) = (self.ended.front()?, self.ended.back()?);
        let span = last.0.checked_sub(first.0).filter(|span| *span > 0)?;
        Some((u128::from(after - before) * 1_000_000 / u128::from(span)) as u64)
    }

    /// The curve of a job.
    pub(crate) fn of_job(&self, job: JobId) -> Option<&Series<TaskCounts>> {
        self.jobs.get(&job)
    }

    /// The curve of a worker.
    pub(crate) fn of_worker(&self, worker: WorkerId) -> Option<&Series<Load>> {
        self.loads.get(&worker)
    }
}

fn bound<K: Ord, V>(curves: &mut BTreeMap<K, V>) {
    while curves.len() > CURVES_MAX {
        curves.pop_first();
    }
}

/// Tasks that have ended.
const fn ended(counts: &TaskCounts) -> u64 {
    counts.finished.saturating_add(counts.failed).saturating_add(counts.canceled).saturating_add(counts.aborted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_have_curves() {
        let mut history = History::default();
        (0..5_000).for_each(|job| history.job(WallTime(job.into()), JobId(job), TaskCounts::default()));
        assert_eq!(history.jobs.len(), CURVES_MAX);
        assert!(history.of_job(JobId(4_999)).is_some() && history.of_job(JobId(0)).is_none());
    }

    #[test]
    fn rates_are_of_the_latest_looks() {
        let mut history = History::default();
        assert_eq!(history.rate(), None);
        history.ended(WallTime(0), 1_000_000);
        assert_eq!(history.rate(), None, "one look is no rate");
        history.ended(WallTime(500_000), 50);
        assert_eq!(history.rate(), Some(100));
        (0..40_u64).for_each(|i| history.ended(WallTime(1_000_000 + i * 500_000), 0));
        assert_eq!(history.rate(), Some(0));
    }

    #[test]
    fn loads_are_shares_of_all() {
        let mut state = HardwareState { memory_total: 100, memory_free: 25, ..HardwareState::default() };
        assert_eq!(load_of(&state), Load { cpu: Share(0), memory: Share(7_500) }, "no cpus, no load");
        state.cpus = vec![Share(10_000), Share(0), Share(5_000), Share(5_000)];
        assert_eq!(load_of(&state).cpu, Share(5_000));
    }
}
