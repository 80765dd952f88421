use std::{collections::BTreeMap, sync::Arc};

use hq_core::{Allocation, Amount, Fact, RunId, WorkerConfig, WorkerId};

use super::{Invariant, Step, What};

/// I1: for each worker and index, the sum of granted parts is at most one; for each resource at most what there is. The same
/// for the runs that really are on the worker.
#[derive(Debug, Default)]
pub struct NoOversubscription {
    configs: BTreeMap<WorkerId, Arc<WorkerConfig>>,
    runs: BTreeMap<(WorkerId, RunId), Arc<Run>>,
}

#[derive(Debug)]
struct Run {
    allocation: Allocation,
    is_gang: bool,
}

impl Invariant for NoOversubscription {
    fn name(&self) -> &'static str {
        "I1 no oversubscription"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => match &record.fact {
                Fact::WorkerJoined { worker, config } => _ = self.configs.insert(*worker, config.clone()),
                Fact::GrantOpened { grant, workers, allocation, .. } => {
                    for worker in workers {
                        let config = step.model.workers.get(worker).ok_or(format!("worker {worker} is not there"))?;
                        let held = step.model.grants_of(*worker);
                        let mut all: Vec<&Allocation> = held.map(|(_, grant)| &grant.allocation).collect();
                        all.push(allocation);
                        check(&config.config, &all)
                            .map_err(|what| format!("grant {grant} on worker {worker}: {what}"))?;
                    }
                }
                _ => {}
            },
            What::Started(worker, order) => {
                let on_it = || self.runs.range((worker, RunId::MIN)..).take_while(|((of, _), _)| *of == worker);
                let is_gang = !order.lane.hosts.is_empty();
                if on_it().any(|(_, run)| is_gang || run.is_gang) {
                    return Err(format!("run {} shares worker {worker} with a gang", order.run));
                }
                let mut all: Vec<&Allocation> = on_it().map(|(_, run)| &run.allocation).collect();
                all.push(&order.lane.allocation);
                if let Some(config) = self.configs.get(&worker) {
                    check(config, &all).map_err(|what| format!("run {} on worker {worker}: {what}", order.run))?;
                }
                let run = Run { allocation: order.lane.allocation.clone(), is_gang };
                self.runs.insert((worker, order.run), Arc::new(run));
            }
            What::Ended(worker, run) => _ = self.runs.remove(&(worker, run)),
            // The number of a worker that the journal does not know any more is given to another.
            What::Restarted(_) => {
                self.runs.retain(|(of, _), _| step.model.workers.contains_key(of) || step.model.away.contains_key(of))
            }
            What::Gone(worker) => self.runs.retain(|(of, _), _| *of != worker),
            _ => {}
        }
        Ok(())
    }
}

trait Least {
    const MIN: Self;
}

impl Least for RunId {
    const MIN: Self = Self { task: hq_core::Ordinal(0), grant: hq_core::GrantId { epoch: hq_core::Epoch(0), n: 0 } };
}

fn check(config: &WorkerConfig, all: &[&Allocation]) -> Result<(), String> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    let mut indices: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for granted in all.iter().flat_map(|allocation| &allocation.0) {
        let name = granted.resource.as_str();
        let def = config.resources.get(name).ok_or_else(|| format!("it has no {name}"))?;
        let sum = sums.entry(name).or_default();
        *sum += granted.amount.parts();
        if *sum > def.kind.total().parts() {
            return Err(format!("{} of {name} where there are {}", Amount::from_parts(*sum), def.kind.total()));
        }
        let count: u32 = def.kind.group_sizes().iter().sum();
        if count > 0 && granted.pieces.iter().map(|piece| piece.amount.parts()).sum::<u64>() != granted.amount.parts() {
            return Err(format!("the indices of {name} do not add up to {}", granted.amount));
        }
        for piece in &granted.pieces {
            let used = indices.entry((name, piece.index)).or_default();
            *used += piece.amount.parts();
            if piece.index >= count || *used > Amount::PARTS {
                return Err(format!("index {} of {name} is given to {}", piece.index, Amount::from_parts(*used)));
            }
        }
    }
    Ok(())
}
