use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Amount, Fact, WorkerId};
use hq_scheduler::Scheduler;

use super::{Invariant, Step, What};
use crate::model::Model;

/// I2: what the core thinks is free of each index is what no grant has; after all tasks have ended, everything is.
#[derive(Debug, Default)]
pub struct Conservation {
    touched: BTreeSet<WorkerId>,
}

impl Invariant for Conservation {
    fn name(&self) -> &'static str {
        "I2 conservation"
    }

    fn observe(&mut self, step: &Step<'_>) -> Result<(), String> {
        match step.what {
            What::Fact(record) => match &record.fact {
                Fact::GrantOpened { workers, .. } => self.touched.extend(workers),
                Fact::GrantClosed { grant } => {
                    self.touched.extend(step.model.grants.get(grant).into_iter().flat_map(|grant| &grant.workers));
                }
                Fact::WorkerReturned { worker, .. } => _ = self.touched.insert(*worker),
                Fact::WorkerLost { .. } | Fact::WorkerAway { .. } | Fact::Boot { .. } => {
                    self.touched.extend(step.model.workers.keys())
                }
                Fact::WorkerJoined { worker, .. } => _ = self.touched.insert(*worker),
                _ => {}
            },
            What::Settled(core) => {
                for worker in std::mem::take(&mut self.touched) {
                    check(core, step.model, worker)?;
                }
            }
            What::Over(core) => {
                if let Some((grant, _)) = step.model.grants.first_key_value() {
                    return Err(format!("grant {grant} is open though all tasks have ended"));
                }
                for worker in step.model.workers.keys() {
                    check(core, step.model, *worker)?;
                    if !core.pools(*worker).is_some_and(hq_scheduler::pool::Pools::is_idle) {
                        return Err(format!("worker {worker} is not idle though all tasks have ended"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn check(core: &Scheduler, model: &Model, worker: WorkerId) -> Result<(), String> {
    let Some(known) = model.workers.get(&worker) else {
        return if core.pools(worker).is_some() {
            Err(format!("worker {worker} is gone and has pools"))
        } else {
            Ok(())
        };
    };
    let pools = core.pools(worker).ok_or_else(|| format!("worker {worker} has no pools"))?;
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    let mut indices: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    for (_, grant) in model.grants_of(worker) {
        for granted in &grant.allocation.0 {
            *sums.entry(granted.resource.as_str()).or_default() += granted.amount.parts();
            for piece in &granted.pieces {
                *indices.entry((granted.resource.as_str(), piece.index)).or_default() += piece.amount.parts();
            }
        }
    }
    for def in known.config.resources.resources() {
        let name = def.name.as_str();
        let (free, granted) = (pools.free(name).parts(), sums.get(name).copied().unwrap_or(0));
        if free + granted != def.kind.total().parts() {
            let (free, granted) = (Amount::from_parts(free), Amount::from_parts(granted));
            return Err(format!(
                "{name} of worker {worker}: {free} free and {granted} granted of {}",
                def.kind.total()
            ));
        }
        for index in 0..def.kind.group_sizes().iter().sum() {
            let granted = indices.get(&(name, index)).copied().unwrap_or(0);
            if pools.free_of_index(name, index).parts() + granted != Amount::PARTS {
                return Err(format!("index {index} of {name} of worker {worker}: free and granted are not one"));
            }
        }
    }
    Ok(())
}
