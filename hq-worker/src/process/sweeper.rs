use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::AsFd,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::getpid,
};

use super::{
    Live, Task,
    adoption::Adoption,
    census::census,
    orphans::{self, Origin, Orphans},
    signal,
    supervisor::{Shared, Work},
    sys::{Guardian, Process, each_run_of, session_of},
    tree::trees,
};

/// How often dead orphans are looked for. Where a look takes long, as a part of the time.
const TICK: Duration = Duration::from_secs(1);
const TICK_PER_LOOK: u32 = 50;
/// How long killed processes get to end before the next look; doubles from one look to the next.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// How long a run's tree is hunted: some processes cannot be killed (setuid, a file system that hangs).
const HUNT: Duration = Duration::from_secs(3);
/// Whoever kills guardians on purpose need not be kept busy.
const MOST_RESTARTS: u32 = 10;

/// Ends what the end of a main process leaves behind of a run that was told to end, for all such runs at once: a look
/// at the processes of the machine costs milliseconds. Looks after orphans and the guardian besides.
///
/// One thread.
pub(super) struct Sweeper<T: Task> {
    shared: Arc<Shared<T>>,
    guardian: Option<Guardian>,
    restarts: u32,
    orphans: Orphans,
    hunted: Vec<Hunted<T>>,
    pause: Duration,
    last_look: Instant,
    look_took: Duration,
}

/// A run whose leader has ended and waits to be reaped, so that its number is still its own.
struct Hunted<T: Task> {
    live: Live<T>,
    until: Instant,
}

/// What waits for the sweeper.
pub(super) struct Sweeps<T: Task> {
    /// Leaders to be killed with all that belongs to them, and their runs' numbers.
    pub(super) kills: BTreeMap<i32, u64>,
    /// Stopped runs whose leader has ended.
    pub(super) ended: Vec<Live<T>>,
}

impl<T: Task> Default for Sweeps<T> {
    fn default() -> Self {
        Self { kills: BTreeMap::new(), ended: vec![] }
    }
}

impl<T: Task> Sweeper<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, guardian: Guardian) -> Self {
        let (pause, look_took) = (SHORTEST_PAUSE, Duration::ZERO);
        let (orphans, hunted, last_look) = (Orphans::default(), vec![], Instant::now());
        Self { shared, guardian: Some(guardian), restarts: 0, orphans, hunted, pause, last_look, look_took }
    }

    /// The thread's life, until the supervisor goes.
    pub(super) fn run(mut self) {
        loop {
            // Without them, nobody hands anything over or takes anything back.
            let is_closing = self.shared.is_closing.load(Ordering::Acquire);
            if is_closing && self.shared.spawners.load(Ordering::Acquire) == 0 {
                return;
            }
            let sweeps = std::mem::take(&mut *self.shared.sweeps());
            self.work(sweeps);
            let timeout = if self.hunted.is_empty() { TICK } else { self.pause };
            if self.wait(timeout) {
                self.replace_guardian();
            }
        }
    }

    /// Waits for work, not longer than that. True when the guardian has ended.
    fn wait(&self, timeout: Duration) -> bool {
        let guardian = self.guardian.as_ref().and_then(Guardian::pidfd);
        let shared = self.shared.sweep.as_fd();
        let mut fds = [
            PollFd::from_borrowed_fd(shared, PollFlags::IN),
            PollFd::from_borrowed_fd(guardian.unwrap_or(shared), PollFlags::IN),
        ];
        let timeout = Timespec::try_from(timeout).ok();
        let ready = poll(&mut fds, timeout.as_ref()).unwrap_or(0);
        let _ = rustix::io::read(&self.shared.sweep, &mut [0; 8]);
        ready > 0 && guardian.is_some() && fds[1].revents().contains(PollFlags::IN)
    }

    fn work(&mut self, sweeps: Sweeps<T>) {
        let now = Instant::now();
        if !sweeps.ended.is_empty() {
            self.pause = SHORTEST_PAUSE;
        }
        self.hunted.extend(sweeps.ended.into_iter().map(|live| Hunted { live, until: now + HUNT }));
        let mut targets = sweeps.kills;
        targets.extend(self.hunted.iter().map(|hunted| (hunted.live.child.pid, hunted.live.child.run)));
        let is_due = now.duration_since(self.last_look) >= TICK.max(self.look_took * TICK_PER_LOOK);
        if !targets.is_empty() || (is_due && orphans::any_dead()) {
            self.look(&targets);
            self.look_took = now.elapsed();
            self.last_look = Instant::now();
        }
    }

    /// Looks once at all processes: kills who belongs to `targets`, reaps orphans, lets go of those who are hunted and
    /// have nobody left.
    fn look(&mut self, targets: &BTreeMap<i32, u64>) {
        let (me, ledger) = (getpid().as_raw_pid(), &self.shared.ledger);
        let own_session = session_of(me).unwrap_or(0);
        let census = census(me, own_session, ledger);
        let found = if targets.is_empty() {
            BTreeMap::new()
        } else {
            let runs_of = |pid| {
                let mut runs = vec![];
                each_run_of(pid, ledger.mark().text(), |run| runs.push(run));
                runs
            };
            trees(&census, targets, me, |process| self.orphans.run_of(process), runs_of)
        };
        for leader in targets.keys() {
            signal::kill_group(*leader);
        }
        for process in &census {
            if let Some(run) = found.get(&process.pid).and_then(|leader| targets.get(leader)) {
                self.orphans.know(process, *run);
                signal::kill(process);
            }
        }
        let guardian = self.guardian.as_ref().map(Guardian::pid);
        let origin = |process: &Process| {
            if Some(process.pid) == guardian || process.session == own_session {
                Origin::Host
            } else if ledger.is_session(process.session) {
                Origin::Run
            } else {
                Origin::Unknown
            }
        };
        let now = Instant::now();
        for pid in self.orphans.due(&census, me, origin, Adoption::is_alone(), now) {
            orphans::reap(pid);
        }
        self.let_go(&found, now);
    }

    /// Hands runs of whose tree nobody is left to the threads that tell ends.
    fn let_go(&mut self, found: &BTreeMap<i32, i32>, now: Instant) {
        let busy: BTreeSet<i32> = found.values().copied().collect();
        for Hunted { live, until } in std::mem::take(&mut self.hunted) {
            let leader = live.child.pid;
            if busy.contains(&leader) && now < until {
                self.hunted.push(Hunted { live, until });
                continue;
            }
            if busy.contains(&leader) {
                let left: Vec<i32> = found.iter().filter(|(_, of)| **of == leader).map(|(pid, _)| *pid).collect();
                tracing::warn!("processes of a task that was told to end cannot be killed: {left:?}");
            }
            self.shared.push(Work::Finish(live));
        }
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// Says that the guardian is gone, and makes another one.
    fn replace_guardian(&mut self) {
        let Some(old) = self.guardian.take() else { return };
        let pid = old.pid();
        drop(old);
        self.restarts += 1;
        if self.restarts > MOST_RESTARTS {
            tracing::error!(
                "the guardian (process {pid}) was killed once more; it is not replaced: processes of tasks may survive \
                 if this worker is killed"
            );
            return;
        }
        match Guardian::start(&self.shared.ledger) {
            Ok(guardian) => {
                tracing::error!(
                    "the guardian (process {pid}), which ends tasks if this worker is killed, was itself killed; process \
                     {} replaces it",
                    guardian.pid()
                );
                self.guardian = Some(guardian);
            }
            Err(error) => tracing::error!(
                "the guardian (process {pid}) was killed and cannot be replaced: {error}; processes of tasks may survive \
                 if this worker is killed"
            ),
        }
    }
}
