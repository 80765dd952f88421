//! How many more workers the waiting tasks could use.
//!
//! | file | concern |
//! |---|---|
//! | `types` | what is asked about, and the answer |
//! | `waiting` | the tasks that count |
//! | `single` | workers that get tasks of one worker |

mod single;
mod types;
mod waiting;

use hq_core::Tick;

pub use types::{Demand, GangDemand, WorkerType};

use self::{single::Cluster, waiting::Waiting};
use crate::Scheduler;

/// What is most valuable depends on the size of the cluster, and that on the answer: so many tries at most to find one that
/// agrees with itself. Else the least of them counts.
const PASSES_MAX: u32 = 4;

impl Scheduler {
    /// How many new workers of each type would get at least one task if they were all there now and nobody else was, the
    /// earlier types first; and which gangs they could form. Ask when all actions have been taken: what the workers that
    /// are there can start is not counted, but what waits in their backlogs is.
    ///
    /// Workers are filled one after the other, each as in a round: from the best rank down, on each level with the most
    /// valuable combination. Nothing is held for tasks that find no room, so that a worker that is asked for always gets
    /// something. Tasks that a type could never run ask for none of it. The cost follows the number of queues and types,
    /// not the number of tasks or workers.
    pub fn demand(&self, now: Tick, types: &[WorkerType]) -> Demand {
        let mut waiting = Waiting::new(self, now);
        let gangs = waiting.take_gangs(self, types);
        let mut workers: Vec<u32> = types.iter().map(|kind| kind.workers_max).collect();
        let mut least = workers.clone();
        for _ in 0..PASSES_MAX {
            let found = self.demand_in(types, &workers, waiting.clone());
            if found == workers {
                return Demand { workers, gangs };
            }
            least = least.iter().zip(&found).map(|(least, found)| *least.min(found)).collect();
            workers = found;
        }
        Demand { workers: least, gangs }
    }

    /// The same in a cluster that has grown by so many of each type.
    fn demand_in(&self, types: &[WorkerType], workers: &[u32], mut waiting: Waiting) -> Vec<u32> {
        let cluster = Cluster::new(self, types, workers);
        types.iter().map(|kind| cluster.workers_of(self, kind, &mut waiting)).collect()
    }
}
