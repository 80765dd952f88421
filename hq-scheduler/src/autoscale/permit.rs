use hq_core::{QueueSpec, Span};

/// What a queue is allowed to ask for now, from what is wanted and what is on its way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permit {
    /// Sizes of allocations that have not begun.
    pub queued: Vec<u32>,
    /// Workers of all allocations that have not ended.
    pub active: u32,
    /// Workers of allocations that have begun which are expected at any moment.
    pub coming: u32,
    /// Workers wanted for tasks of one worker.
    pub single: u32,
    /// Gangs wanted: how many, of how many workers each.
    pub gangs: Vec<(u64, u32)>,
}

impl Permit {
    /// Sizes of the allocations to ask for, in order.
    ///
    /// What is queued covers a gang if it is big enough, the largest first; the rest of its workers are for other tasks. What is
    /// then missing is asked for: gangs, each an allocation of its own size, then full allocations, then what is left. A gang
    /// that cannot be had whole is not asked for.
    pub fn sizes(mut self, spec: &QueueSpec) -> Vec<u32> {
        self.gangs.sort_by_key(|(_, nodes)| std::cmp::Reverse(*nodes));
        let mut single = self.single.saturating_sub(self.coming);
        for size in &self.queued {
            let covered = self.gangs.iter_mut().find(|(count, nodes)| *count > 0 && *nodes <= *size);
            let rest = covered.map_or(*size, |(count, nodes)| {
                *count -= 1;
                *size - *nodes
            });
            single = single.saturating_sub(rest);
        }
        let mut room = (spec.backlog as usize).saturating_sub(self.queued.len());
        let mut left = spec.max_workers.map_or(u32::MAX, |max| max.saturating_sub(self.active));
        let mut sizes = Vec::new();
        for (count, nodes) in self.gangs {
            let most = left.checked_div(nodes).unwrap_or(0);
            let times = count.min(room as u64).min(u64::from(most)) as u32;
            sizes.extend(std::iter::repeat_n(nodes, times as usize));
            room -= times as usize;
            left -= times * nodes;
        }
        while room > 0 && single > 0 && left > 0 {
            let size = single.min(spec.workers_per_allocation.max(1)).min(left);
            sizes.push(size);
            room -= 1;
            single -= size;
            left -= size;
        }
        sizes
    }
}

/// Workers of an allocation that has begun are waited for that long; then its place counts as free.
pub(super) const ARRIVAL: Span = Span::secs(60);
