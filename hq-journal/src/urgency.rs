use hq_core::{Fact, Record};

/// How soon a batch has to be safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Nobody waits: within the flush period, together with what comes until then.
    Lazy,
    /// Somebody waits: as soon as the disk is free.
    Now,
}

impl Urgency {
    /// [`Urgency::Now`] where somebody waits for one of `records`: the listeners for a boot, a client for the answer to its
    /// command, the backend's call for the intent, a worker's acknowledgement and `job wait` for the end of a task.
    pub fn of(records: &[Record]) -> Self {
        records.iter().map(|record| Self::of_fact(&record.fact)).max().unwrap_or(Self::Lazy)
    }

    const fn of_fact(fact: &Fact) -> Self {
        match fact {
            Fact::Boot { .. }
            | Fact::JobOpened { .. }
            | Fact::Submitted { .. }
            | Fact::JobClosed { .. }
            | Fact::JobBound { .. }
            | Fact::JobCanceled { .. }
            | Fact::JobForgotten { .. }
            | Fact::PolicyChanged { .. }
            | Fact::TasksFinished { .. }
            | Fact::TaskFailed { .. }
            | Fact::TaskKilled { .. }
            | Fact::TaskRetried { .. }
            | Fact::TasksCanceled { .. }
            | Fact::TasksAborted { .. }
            | Fact::QueueCreated { .. }
            | Fact::QueueRemoved { .. }
            | Fact::QueueClosing { .. }
            | Fact::QueuePaused { .. }
            | Fact::QueueResumed { .. }
            | Fact::AllocationIntended { .. }
            | Fact::FlushWanted
            | Fact::ServerStopped
            | Fact::SnapshotBegun { .. }
            | Fact::TasksMarked { .. }
            | Fact::TasksRan { .. }
            | Fact::SnapshotEnded { .. }
            | Fact::RecordsLost { .. } => Self::Now,
            Fact::WorkerJoined { .. }
            | Fact::WorkerLost { .. }
            | Fact::SessionGiven { .. }
            | Fact::WorkerAway { .. }
            | Fact::WorkerReturned { .. }
            | Fact::GrantOpened { .. }
            | Fact::GrantsOpened(_)
            | Fact::GrantExtended { .. }
            | Fact::GrantReturned { .. }
            | Fact::GrantClosed { .. }
            | Fact::TaskStarted { .. }
            | Fact::RetriesDue { .. }
            | Fact::AllocationQueued { .. }
            | Fact::AllocationStarted { .. }
            | Fact::AllocationEnded { .. }
            | Fact::QueueLearned { .. }
            | Fact::WorkerOverview { .. } => Self::Lazy,
        }
    }
}

#[cfg(test)]
mod tests {
    use hq_core::{Epoch, GrantId, JobId, Ordinal, Tick};

    use super::*;

    #[test]
    fn one_awaited_fact_makes_the_batch_urgent() {
        let grant = GrantId { epoch: Epoch(1), n: 1 };
        let record = |fact| Record { at: Tick(0), fact };
        let start = record(Fact::TaskStarted { grant, task: Ordinal(1), start: Tick(0) });
        let close = record(Fact::JobClosed { job: JobId(1) });
        for (records, urgency) in [
            (vec![], Urgency::Lazy),
            (vec![start.clone()], Urgency::Lazy),
            (vec![close.clone()], Urgency::Now),
            (vec![start.clone(), close, start], Urgency::Now),
        ] {
            assert_eq!(Urgency::of(&records), urgency, "{records:?}");
        }
    }
}
