//! How many more workers the waiting tasks could use.

use hq_core::WorkerConfig;

use crate::{Scheduler, pool::Pools, round::LANES_MAX};

impl Scheduler {
    /// How many new workers of that kind would get at least one of the tasks that wait now, `max` at most; tasks that a gang
    /// would run ask for the size of the gang.
    ///
    /// Counts queues in order of priority into hypothetical idle workers, first fit. Tasks that need longer than such a
    /// worker lives, or that no worker of this kind could ever hold, ask for nothing. Its cost follows the number of queues
    /// and `max`, not the number of tasks.
    pub fn demand(&self, worker: &WorkerConfig, max: u32) -> u32 {
        let idle = Pools::new(&worker.resources);
        let mut used: Vec<Pools> = Vec::new();
        let mut in_gangs = 0u64;
        for (key, waiting) in &self.state.ready {
            let class = self.state.classes.get(key.class);
            let lives = |request: &hq_core::Request| worker.time_limit.is_none_or(|limit| request.min_time() <= limit);
            if !worker.runs(&class.kind) {
                continue;
            }
            if class.is_gang() {
                if class.requests.first().is_some_and(|request| lives(request)) {
                    let nodes = u64::from(class.nodes());
                    let free = u64::from(max).saturating_sub(used.len() as u64 + in_gangs);
                    in_gangs += waiting.len().min(free / nodes) * nodes;
                }
                continue;
            }
            let requests: Vec<_> =
                class.requests.iter().filter(|request| lives(request) && idle.could_ever(request)).collect();
            let mut left = waiting.len();
            let mut at = 0;
            while left > 0 && !requests.is_empty() {
                if at == used.len() {
                    if used.len() as u64 + in_gangs >= u64::from(max) {
                        break;
                    }
                    used.push(idle.clone());
                }
                left = fill(&mut used[at], &requests, left);
                at += 1;
            }
        }
        (used.len() as u64 + in_gangs) as u32
    }
}

/// Places as many of `left` tasks as fit; says how many are left.
fn fill(pools: &mut Pools, requests: &[&std::sync::Arc<hq_core::Request>], mut left: u64) -> u64 {
    let least = left.saturating_sub(LANES_MAX as u64);
    for request in requests {
        while left > least {
            let Some(allocation) = pools.allocate(request) else { break };
            pools.take(&allocation);
            left -= 1;
        }
    }
    left
}
