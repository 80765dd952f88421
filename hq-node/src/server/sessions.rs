use std::collections::{BTreeMap, BTreeSet};

use hq_core::{Epoch, Fact, LossReason, Tick, WorkerId};
use sha2::{Digest, Sha256};

/// Workers that may come back, by the secrets that they were given, and how long those without a link are waited for.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    given: BTreeMap<WorkerId, Session>,
    /// By the clock of attention.
    away: BTreeMap<WorkerId, Awaited>,
    agenda: BTreeSet<(Tick, WorkerId)>,
}

/// What proves that a worker is the one it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Session {
    epoch: Epoch,
    token: u64,
}

#[derive(Clone, Copy, Debug)]
struct Awaited {
    until: Tick,
    /// What its loss is then.
    reason: LossReason,
}

impl Sessions {
    /// Applies a fact.
    pub(super) fn apply(&mut self, fact: &Fact) {
        match fact {
            // Of a number that was given before and got lost with the end of the journal.
            Fact::WorkerJoined { worker, .. } => _ = self.given.remove(worker),
            Fact::SessionGiven { worker, epoch, token } => {
                self.given.insert(*worker, Session { epoch: *epoch, token: *token });
            }
            Fact::WorkerLost { worker, .. } => {
                self.given.remove(worker);
                self.awaits_no_more(*worker);
            }
            _ => {}
        }
    }

    /// Whether that worker was given that secret in that boot.
    pub(super) fn knows(&self, worker: WorkerId, epoch: Epoch, token: u64) -> bool {
        self.given.get(&worker) == Some(&Session { epoch, token })
    }

    /// Whether a worker may come back.
    pub(super) fn comes_back(&self, worker: WorkerId) -> bool {
        self.given.contains_key(&worker)
    }

    /// All workers that may come back.
    pub(super) fn all(&self) -> Vec<WorkerId> {
        self.given.keys().copied().collect()
    }

    /// A worker is away and waited for.
    pub(super) fn await_until(&mut self, worker: WorkerId, until: Tick, reason: LossReason) {
        self.awaits_no_more(worker);
        self.away.insert(worker, Awaited { until, reason });
        self.agenda.insert((until, worker));
    }

    /// It is there, or gone for good.
    pub(super) fn awaits_no_more(&mut self, worker: WorkerId) {
        if let Some(before) = self.away.remove(&worker) {
            self.agenda.remove(&(before.until, worker));
        }
    }

    /// The next worker that was waited for long enough, and what its loss is.
    pub(super) fn overdue(&mut self, clock: Tick) -> Option<(WorkerId, LossReason)> {
        let (_, worker) = *self.agenda.first().filter(|(until, _)| *until <= clock)?;
        let reason = self.away.get(&worker)?.reason;
        self.awaits_no_more(worker);
        Some((worker, reason))
    }

    /// When that is, by the clock of attention.
    pub(super) fn next_overdue(&self) -> Option<Tick> {
        self.agenda.first().map(|(until, _)| *until)
    }
}

/// The secret of a worker: nobody finds out another's from its own.
pub(super) fn token(seed: u64, epoch: Epoch, worker: WorkerId) -> u64 {
    let mut hash = Sha256::new();
    hash.update(b"hq session token");
    hash.update(seed.to_le_bytes());
    hash.update(epoch.0.to_le_bytes());
    hash.update(worker.0.to_le_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    digest.iter().take(8).fold(0, |token, byte| token << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_of_one_worker_and_one_boot() {
        let mut sessions = Sessions::default();
        sessions.apply(&Fact::SessionGiven { worker: WorkerId(1), epoch: Epoch(3), token: 5 });
        for (worker, epoch, token, known) in [(1, 3, 5, true), (1, 4, 5, false), (1, 3, 6, false), (2, 3, 5, false)] {
            assert_eq!(sessions.knows(WorkerId(worker), Epoch(epoch), token), known, "{worker} {epoch} {token}");
        }
        sessions.apply(&Fact::WorkerLost { worker: WorkerId(1), reason: LossReason::Stopped });
        assert!(!sessions.knows(WorkerId(1), Epoch(3), 5), "it was given up");
    }

    #[test]
    fn secrets_differ() {
        let all: BTreeSet<u64> = (0..4)
            .flat_map(|n| [token(n, Epoch(1), WorkerId(1)), token(9, Epoch(n as u32), WorkerId(1))])
            .chain((2..5).map(|n| token(9, Epoch(1), WorkerId(n))))
            .collect();
        assert_eq!(all.len(), 11);
        assert_eq!(token(7, Epoch(1), WorkerId(1)), token(7, Epoch(1), WorkerId(1)));
    }

    #[test]
    fn who_is_waited_for_is_so_once() {
        let mut sessions = Sessions::default();
        sessions.await_until(WorkerId(1), Tick(5), LossReason::ServerEnded);
        sessions.await_until(WorkerId(2), Tick(6), LossReason::ServerEnded);
        sessions.await_until(WorkerId(1), Tick(9), LossReason::ConnectionLost);
        assert_eq!((sessions.next_overdue(), sessions.overdue(Tick(5))), (Some(Tick(6)), None));
        sessions.awaits_no_more(WorkerId(2));
        assert_eq!(sessions.overdue(Tick(9)), Some((WorkerId(1), LossReason::ConnectionLost)));
        assert_eq!((sessions.overdue(Tick(99)), sessions.next_overdue()), (None, None));
    }
}
