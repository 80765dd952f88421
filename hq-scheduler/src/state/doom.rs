//! Tasks that can never run because of what others have come to.

use hq_core::{DepKind, Ordinal, OrdinalRange, RangeSet, TaskState};

use super::{State, ends::is_met};

impl State {
    /// Those of `doomed` that have not ended, and all that can never run once these are aborted: they end in one fact, however
    /// long the chain is.
    pub(crate) fn doomed_with(&self, doomed: &[Ordinal]) -> RangeSet {
        let mut all = RangeSet::new();
        let mut left: Vec<Ordinal> = doomed.to_vec();
        while let Some(task) = left.pop() {
            let open = self.task_state(task).is_some_and(|state| !state.is_end());
            if !open || all.contains(task) {
                continue;
            }
            all.insert(OrdinalRange::one(task));
            let lost = self.consumers(task).into_iter().filter(|(_, kind)| !is_met(*kind, TaskState::Aborted));
            left.extend(lost.map(|(consumer, _)| consumer));
        }
        all
    }

    /// Who waits for a task that has not ended, and how.
    fn consumers(&self, task: Ordinal) -> Vec<(Ordinal, DepKind)> {
        let Some((base, submit)) = self.submit_of(task) else { return vec![] };
        let inner = submit.graph.as_ref().map(|graph| graph.consumers(task.0 - base.0)).unwrap_or_default();
        let cross = self.jobs.get(&submit.job).and_then(|job| job.cross.get(&task));
        inner.into_iter().map(|(i, kind)| (base.plus(i), kind)).chain(cross.into_iter().flatten().copied()).collect()
    }
}
