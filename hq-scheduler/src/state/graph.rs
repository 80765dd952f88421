use hq_core::{DepKind, Submit};

/// Who waits for whom inside one submit, seen from the task that is waited for; and how much each task still waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    /// Unmet dependencies of each task.
    unmet: Vec<u32>,
    /// End of each task's row of consumers.
    ends: Vec<u32>,
    /// Indices of the consumers.
    consumers: Vec<u32>,
    /// Kind per edge; empty: all are [`DepKind::Success`].
    kinds: Vec<DepKind>,
}

impl Graph {
    /// The graph of `submit`; `inner` tells the index of a number inside the submit. Edges to tasks outside of it are counted
    /// by [`add_unmet`](Self::add_unmet).
    pub(crate) fn new(submit: &Submit, inner: impl Fn(u32) -> Option<u64>) -> Self {
        let n = submit.ids.count() as usize;
        let mut counts = vec![0u32; n];
        let mut unmet = vec![0u32; n];
        let mut plain = true;
        for (i, waits) in unmet.iter_mut().enumerate() {
            for (on, kind) in submit.deps.of(i as u64) {
                if let Some(index) = inner(on.0) {
                    counts[index as usize] += 1;
                    *waits += 1;
                    plain &= kind == DepKind::Success;
                }
            }
        }
        let mut ends = counts;
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            *end = total;
        }
        // Filled from the back, so that each row ends up in order of its consumers.
        let mut consumers = vec![0u32; total as usize];
        let mut kinds = if plain { vec![] } else { vec![DepKind::Success; total as usize] };
        let mut at = ends.clone();
        for i in (0..n).rev() {
            for (on, kind) in submit.deps.of(i as u64) {
                if let Some(index) = inner(on.0) {
                    let slot = &mut at[index as usize];
                    *slot -= 1;
                    consumers[*slot as usize] = i as u32;
                    if !plain {
                        kinds[*slot as usize] = kind;
                    }
                }
            }
        }
        Self { unmet, ends, consumers, kinds }
    }

    pub(crate) fn add_unmet(&mut self, index: u64) {
        self.unmet[index as usize] += 1;
    }

    pub(crate) fn is_ready(&self, index: u64) -> bool {
        self.unmet[index as usize] == 0
    }

    /// One dependency less; true when it was the last one.
    pub(crate) fn meet(&mut self, index: u64) -> bool {
        let unmet = &mut self.unmet[index as usize];
        *unmet = unmet.saturating_sub(1);
        *unmet == 0
    }

    /// A task that has ended waits for nothing, whatever it had waited for.
    pub(crate) fn settle(&mut self, index: u64) {
        self.unmet[index as usize] = 0;
    }

    /// Who waits for the task, and how.
    pub(crate) fn consumers(&self, index: u64) -> Vec<(u64, DepKind)> {
        let i = index as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        let row = start..self.ends[i] as usize;
        row.map(|e| (u64::from(self.consumers[e]), self.kinds.get(e).copied().unwrap_or_default())).collect()
    }
}
