//! The queues of one level on workers that are filled one after the other.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use hq_core::{Tick, WorkerId};

use super::{
    blocked::Blockers,
    fill::{Way, fill},
    lanes::has_time,
    slots::{LANES_MAX, Slot},
};
use crate::{Scheduler, policy::Rank, state::QueueKey};

impl Scheduler {
    /// Starts up to `budgets` tasks of each queue, worker by worker, on each the most valuable combination; says how many.
    #[expect(clippy::too_many_arguments, reason = "what a pass knows")]
    pub(super) fn fill_workers(
        &mut self,
        now: Tick,
        keys: &[QueueKey],
        rank: Rank,
        budgets: &[u64],
        dirty: &BTreeSet<WorkerId>,
        fresh: &BTreeSet<QueueKey>,
        blockers: &mut Blockers,
    ) -> Vec<u64> {
        // Queues that could use each worker now.
        let mut candidates: BTreeMap<WorkerId, Vec<usize>> = BTreeMap::new();
        for (i, key) in keys.iter().enumerate() {
            self.learn_capable(key.class);
            let Some(capable) = self.mind.capable.get(&key.class) else { continue };
            let roomy = capable.roomy.iter().filter(|worker| fresh.contains(key) || dirty.contains(worker));
            for worker in roomy {
                candidates.entry(*worker).or_default().push(i);
            }
        }
        let mut left = budgets.to_vec();
        let mut slots: Vec<Vec<Slot>> = keys.iter().map(|_| vec![]).collect();
        let mut full: Vec<(usize, WorkerId)> = Vec::new();
        let blockers = RefCell::new(blockers);
        for (worker, queues) in candidates {
            if left.iter().all(|left| *left == 0) {
                break;
            }
            let Some(known) = self.state.workers.get(&worker).filter(|known| known.gang.is_none()) else { continue };
            let mut options = Vec::new();
            for i in queues {
                let before = options.len();
                let requests = &self.state.classes.get(keys[i].class).requests;
                for (variant, request) in (0..).zip(requests) {
                    if has_time(known.deadline(), now, request.min_time()) && known.pools.fits(request) {
                        options.push(Way { class: i, variant, request, value: self.value(request, &known.pools) });
                    }
                }
                if options.len() == before {
                    full.push((i, worker));
                }
            }
            if options.is_empty() {
                continue;
            }
            let mut pools = known.pools.clone();
            let most = LANES_MAX.saturating_sub(known.grants.len()) as u64;
            let may =
                |i: usize, pools: &_| self.may_pass(now, &mut blockers.borrow_mut(), rank, keys[i], worker, pools);
            for (n, placed) in fill(&mut pools, &options, &left, most, &may).into_iter().enumerate() {
                left[placed.class] = left[placed.class].saturating_sub(1);
                let slot = Slot { worker, variant: placed.variant, allocation: placed.allocation, turn: n };
                slots[placed.class].push(slot);
            }
        }
        for (i, worker) in full {
            if let Some(capable) = self.mind.capable.get_mut(&keys[i].class) {
                capable.roomy.remove(&worker);
            }
        }
        let placed: Vec<u64> = slots.iter().map(|slots| slots.len() as u64).collect();
        for ((key, slots), budget) in keys.iter().zip(slots).zip(budgets) {
            let budget = blockers.borrow().backlog_budget(slots.len() as u64, *budget);
            self.open_lanes(now, *key, slots, budget);
        }
        placed
    }
}
