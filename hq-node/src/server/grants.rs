use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use hq_core::{Fact, GrantId, OpenedLane, WorkerConfig, WorkerId};

/// Grants that are open, as the facts tell of them.
#[derive(Clone, Debug, Default)]
pub(super) struct GrantBook {
    grants: BTreeMap<GrantId, Grant>,
    of_worker: BTreeMap<WorkerId, BTreeSet<GrantId>>,
    /// Workers that may come back.
    returning: BTreeMap<WorkerId, Returning>,
}

/// A worker that may come back.
#[derive(Clone, Debug)]
struct Returning {
    config: Arc<WorkerConfig>,
    /// It was told of in this life of the server.
    is_told: bool,
}

/// What events tell of a grant.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) variant: u8,
    /// The main one first.
    pub(super) workers: Vec<WorkerId>,
}

impl GrantBook {
    /// Applies a fact.
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Boot { .. } => {
                let gone: Vec<WorkerId> =
                    self.of_worker.keys().filter(|id| !self.returning.contains_key(id)).copied().collect();
                gone.into_iter().for_each(|worker| self.lose_all(worker));
                self.returning.values_mut().for_each(|returning| returning.is_told = false);
            }
            Fact::WorkerJoined { worker, config } if config.on_server_lost.reconnects() => {
                self.returning.insert(*worker, Returning { config: config.clone(), is_told: true });
            }
            Fact::WorkerReturned { worker, kept } => {
                if let Some(returning) = self.returning.get_mut(worker) {
                    returning.is_told = true;
                }
                let own = self.of_worker.get(worker).cloned().unwrap_or_default().into_iter();
                let is_main =
                    |grant: &GrantId| self.get(*grant).is_some_and(|open| open.workers.first() == Some(worker));
                let over = own.filter(is_main).filter(|grant| kept.iter().all(|kept| kept.grant != *grant));
                over.collect::<Vec<_>>().into_iter().for_each(|grant| self.close(grant));
            }
            Fact::GrantOpened { grant, workers, variant, .. } => {
                for worker in workers {
                    self.of_worker.entry(*worker).or_default().insert(*grant);
                }
                self.grants.insert(*grant, Grant { variant: *variant, workers: workers.clone() });
            }
            Fact::GrantsOpened(lanes) => {
                for OpenedLane { grant, worker, variant, .. } in lanes.iter() {
                    self.of_worker.entry(worker).or_default().insert(grant);
                    self.grants.insert(grant, Grant { variant, workers: vec![worker] });
                }
            }
            Fact::GrantClosed { grant } => self.close(*grant),
            Fact::WorkerLost { worker, .. } => {
                self.returning.remove(worker);
                self.lose_all(*worker);
            }
            _ => {}
        }
    }

    fn lose_all(&mut self, worker: WorkerId) {
        for grant in self.of_worker.remove(&worker).unwrap_or_default() {
            self.lose(grant, worker);
        }
    }

    /// A worker of a former life of the server that nobody was told of in this one.
    pub(super) fn untold(&self, worker: WorkerId) -> Option<&Arc<WorkerConfig>> {
        self.returning.get(&worker).filter(|returning| !returning.is_told).map(|returning| &returning.config)
    }

    /// A gang ends with its main worker, and goes on without any other.
    fn lose(&mut self, id: GrantId, worker: WorkerId) {
        match self.grants.get_mut(&id) {
            Some(grant) if grant.workers.first() != Some(&worker) => grant.workers.retain(|member| *member != worker),
            _ => self.close(id),
        }
    }

    fn close(&mut self, grant: GrantId) {
        for worker in self.grants.remove(&grant).map_or(vec![], |grant| grant.workers) {
            if let Some(grants) = self.of_worker.get_mut(&worker) {
                grants.remove(&grant);
                if grants.is_empty() {
                    self.of_worker.remove(&worker);
                }
            }
        }
    }

    /// The grant of that name, if it is open.
    pub(super) fn get(&self, grant: GrantId) -> Option<&Grant> {
        self.grants.get(&grant)
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Epoch, LossReason};

    use super::*;

    #[test]
    fn a_gang_ends_with_its_main_worker() {
        let mut book = GrantBook::default();
        let name = |n| GrantId { epoch: Epoch(1), n };
        for (n, workers) in [(1, vec![WorkerId(1), WorkerId(2), WorkerId(3)]), (2, vec![WorkerId(4)])] {
            let (class, tasks) = (None, vec![]);
            let allocation = Default::default();
            book.apply(&Fact::GrantOpened { grant: name(n), workers, class, variant: 1, allocation, tasks });
        }
        let lose = |book: &mut GrantBook, worker| {
            book.apply(&Fact::WorkerLost { worker: WorkerId(worker), reason: LossReason::Stopped });
        };
        lose(&mut book, 2);
        assert_eq!(book.get(name(1)).unwrap().workers, [WorkerId(1), WorkerId(3)]);
        lose(&mut book, 1);
        assert!(book.get(name(1)).is_none());
        assert_eq!(book.get(name(2)).unwrap().workers, [WorkerId(4)]);
        book.apply(&Fact::GrantClosed { grant: name(2) });
        assert!(book.grants.is_empty() && book.of_worker.is_empty(), "nothing is left behind");
    }
}
