use std::io;

use super::pid_set::{PID_LIMIT, PidSet};
use crate::process::Mark;

/// Which processes are the worker's, in memory that is shared with the guardian and outlives the worker.
pub(crate) struct Ledger {
    /// Leaders of live runs, which are groups and sessions at once.
    leaders: PidSet,
    /// Live runs, by their numbers.
    runs: PidSet,
    /// All sessions that ever were a run's.
    sessions: PidSet,
    mark: Mark,
}

impl Ledger {
    /// An empty one, for processes with this mark.
    pub(crate) fn new(mark: Mark) -> io::Result<Self> {
        Ok(Self { leaders: PidSet::new()?, runs: PidSet::new()?, sessions: PidSet::new()?, mark })
    }

    /// What the processes of this worker's runs are known by.
    pub(crate) fn mark(&self) -> &Mark {
        &self.mark
    }

    /// From now on the processes of the run die with the worker. Async-signal-safe.
    pub(super) fn add(&self, leader: i32, run: u64) {
        self.sessions.add(leader);
        self.runs.add(place(run));
        self.leaders.add(leader);
    }

    /// The run is none of ours any more; call it while its leader is not yet reaped.
    pub(crate) fn remove(&self, leader: i32, run: u64) {
        self.leaders.remove(leader);
        self.runs.remove(place(run));
    }

    /// Whether the process leads a live run. Async-signal-safe.
    pub(crate) fn is_leader(&self, pid: i32) -> bool {
        self.leaders.contains(pid)
    }

    /// Whether the session is or was that of a run.
    pub(crate) fn is_session(&self, session: i32) -> bool {
        self.sessions.contains(session)
    }

    /// Async-signal-safe.
    pub(super) fn is_live(&self, run: u64) -> bool {
        self.runs.contains(place(run))
    }

    /// Calls `f` with the leader of each live run. Async-signal-safe where `f` is.
    pub(super) fn each_leader(&self, f: impl FnMut(i32)) {
        self.leaders.each(f);
    }
}

/// Millions of runs pass before two share a place.
fn place(run: u64) -> i32 {
    const PLACES: u64 = PID_LIMIT as u64 - 2;
    (run % PLACES) as i32 + 2
}
