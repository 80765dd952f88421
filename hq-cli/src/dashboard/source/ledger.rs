use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use hq_core::{AllocationInfo, AllocationState, Event, EventKind, Fact, QueueId, QueueInfo, QueueSpec, Record};

/// Allocations of a queue that are kept: the latest.
const ALLOCATIONS_MAX: usize = 1_000;

/// Queues and allocations, as far as a journal has told.
#[derive(Clone, Debug, Default)]
pub(super) struct Ledger(BTreeMap<QueueId, (Arc<QueueSpec>, VecDeque<AllocationInfo>)>);

impl Ledger {
    /// Takes a record and the events that it tells of.
    pub(super) fn take(&mut self, record: &Record, events: &[Event]) {
        for event in events {
            self.see(event);
        }
        // No event says that it went wrong.
        if let Fact::AllocationEnded { queue, id: Some(id), error: Some(error), .. } = &record.fact
            && let Some(one) = self.find(*queue, id)
        {
            (one.state, one.error) = (AllocationState::Failed, Some(error.clone()));
        }
    }

    fn see(&mut self, event: &Event) {
        match &event.kind {
            EventKind::QueueCreated { queue, spec } => {
                self.0.insert(*queue, (Arc::clone(spec), VecDeque::new()));
            }
            EventKind::QueueRemoved { queue } => drop(self.0.remove(queue)),
            EventKind::AllocationQueued { queue, allocation, workers } => {
                let Some((_, all)) = self.0.get_mut(queue) else { return };
                all.push_back(AllocationInfo {
                    queue: *queue,
                    id: allocation.clone(),
                    workers: *workers,
                    state: AllocationState::Queued,
                    queued: event.at,
                    started: None,
                    ended: None,
                    error: None,
                    dir: None,
                });
                if all.len() > ALLOCATIONS_MAX {
                    all.pop_front();
                }
            }
            EventKind::AllocationStarted { queue, allocation } => {
                if let Some(one) = self.find(*queue, allocation) {
                    (one.state, one.started) = (AllocationState::Running, Some(event.at));
                }
            }
            EventKind::AllocationFinished { queue, allocation } => {
                if let Some(one) = self.find(*queue, allocation) {
                    (one.state, one.ended) = (AllocationState::Finished, Some(event.at));
                }
            }
            _ => {}
        }
    }

    /// The latest of that name.
    fn find(&mut self, queue: QueueId, name: &str) -> Option<&mut AllocationInfo> {
        self.0.get_mut(&queue)?.1.iter_mut().rev().find(|one| one.id == name)
    }

    /// Queues that are there.
    pub(super) fn queues(&self) -> Vec<QueueInfo> {
        let info = |(id, (spec, _)): (&QueueId, &(Arc<QueueSpec>, _))| QueueInfo {
            id: *id,
            spec: Arc::clone(spec),
            paused: None,
            known: None,
        };
        self.0.iter().map(info).collect()
    }

    /// Allocations of one.
    pub(super) fn allocations(&self, queue: QueueId) -> Vec<AllocationInfo> {
        self.0.get(&queue).map(|(_, all)| all.iter().cloned().collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Seq, Tick, WallTime};

    use super::*;

    #[test]
    fn allocations_come_and_go() {
        let (queue, allocation) = (QueueId(1), "7.job".to_owned());
        let mut ledger = Ledger::default();
        let mut take = |at: u64, kind: EventKind, fact: Fact| {
            let event = Event { seq: Seq(at), at: WallTime(at), kind };
            ledger.take(&Record { at: Tick(at), fact }, &[event]);
            ledger.allocations(queue).first().map(|one| (one.state, one.started, one.ended))
        };
        let spec = Arc::new(QueueSpec::new("pbs"));
        assert_eq!(take(1, EventKind::QueueCreated { queue, spec }, Fact::FlushWanted), None);
        let queued = EventKind::AllocationQueued { queue, allocation: allocation.clone(), workers: 2 };
        assert_eq!(take(2, queued, Fact::FlushWanted), Some((AllocationState::Queued, None, None)));
        let started = EventKind::AllocationStarted { queue, allocation: allocation.clone() };
        assert_eq!(take(3, started, Fact::FlushWanted), Some((AllocationState::Running, Some(WallTime(3)), None)));
        let finished = EventKind::AllocationFinished { queue, allocation: allocation.clone() };
        let ended =
            Fact::AllocationEnded { queue, key: "k".to_owned(), id: Some(allocation), error: Some("bad".to_owned()) };
        let seen = take(4, finished, ended);
        assert_eq!(seen, Some((AllocationState::Failed, Some(WallTime(3)), Some(WallTime(4)))));
        assert_eq!(ledger.queues().len(), 1);
        let gone = Event { seq: Seq(5), at: WallTime(5), kind: EventKind::QueueRemoved { queue } };
        ledger.take(&Record { at: Tick(5), fact: Fact::FlushWanted }, &[gone]);
        assert!(ledger.queues().is_empty() && ledger.allocations(queue).is_empty());
    }
}
