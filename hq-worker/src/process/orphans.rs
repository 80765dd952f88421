use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::sys::Process;

/// How long the host of this process gets to wait for a child that might be its own.
const GRACE: Duration = Duration::from_secs(10);

/// The dead among the orphans that came to this process. Somebody has to reap them, and nothing else may be reaped:
/// neither leaders of runs nor children of the host program.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    /// Processes that were found to be of a run that is to end, by id and start, and the run's number.
    known: BTreeMap<(i32, u64), u64>,
    /// Dead children that nobody knows, and since when.
    unknown: BTreeMap<(i32, u64), Instant>,
}

/// What of a process is known otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The session was made for a run.
    Run,
    /// The session is this process's own: a child of the host.
    Host,
    /// Neither.
    Unknown,
}

impl Orphans {
    /// This process is one of a run that is to end.
    pub(super) fn know(&mut self, process: &Process, run: u64) {
        self.known.insert((process.pid, process.start), run);
    }

    /// The run that a process was once found to be of. It may not show it any more: a process that was killed loses its
    /// parent, and its environment before it is dead.
    pub(super) fn run_of(&self, process: &Process) -> Option<u64> {
        self.known.get(&(process.pid, process.start)).copied()
    }

    /// Which ones to reap, of a complete census and children of `me`. `is_alone`: those of unknown origin that stay
    /// unreaped for long are orphans.
    pub(super) fn due(
        &mut self,
        census: &[Process],
        me: i32,
        origin: impl Fn(&Process) -> Origin,
        is_alone: bool,
        now: Instant,
    ) -> Vec<i32> {
        let mut due = vec![];
        let mut unknown = BTreeMap::new();
        for process in census.iter().filter(|process| process.is_dead && process.parent == me) {
            let key = (process.pid, process.start);
            let is_due = match origin(process) {
                // Who leads the session of a run is the run's own business.
                Origin::Run if process.session != process.pid => true,
                Origin::Host => false,
                Origin::Run | Origin::Unknown if self.known.contains_key(&key) => true,
                Origin::Run => false,
                Origin::Unknown => {
                    let since = self.unknown.get(&key).copied().unwrap_or(now);
                    unknown.insert(key, since);
                    is_alone && now.duration_since(since) >= GRACE
                }
            };
            if is_due {
                due.push(process.pid);
            }
        }
        self.unknown = unknown;
        let there: BTreeSet<(i32, u64)> = census.iter().map(|process| (process.pid, process.start)).collect();
        self.known.retain(|key, _| there.contains(key));
        due
    }
}

/// Whether any child of this process has ended and is not reaped.
pub(super) fn any_dead() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, options), Ok(Some(_)))
}

/// Reaps a dead child.
pub(super) fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_reaped_and_when() {
        let start = Instant::now();
        let of = |pid, parent, session, is_dead| Process { pid, parent, session, start: 1, is_dead };
        // 1 is this process, in session 5; runs have had the sessions 20 and 30; 41 was seen to be a run's.
        let census = [
            of(10, 1, 5, true),
            of(20, 1, 20, true),
            of(21, 1, 20, true),
            of(22, 1, 20, false),
            of(31, 9, 30, true),
            of(41, 1, 41, true),
            of(51, 1, 51, true),
        ];
        let origin = |process: &Process| match process.session {
            20 | 30 => Origin::Run,
            5 => Origin::Host,
            _ => Origin::Unknown,
        };
        let mut orphans = Orphans::default();
        orphans.know(&census[5], 7);
        assert_eq!((orphans.run_of(&census[5]), orphans.run_of(&Process { start: 2, ..census[5] })), (Some(7), None));
        let mut due = |seconds, is_alone, census: &[Process]| {
            orphans.due(census, 1, origin, is_alone, start + Duration::from_secs(seconds))
        };
        assert_eq!(due(0, true, &census), [21, 41]);
        assert_eq!(due(9, true, &census), [21, 41]);
        assert_eq!(due(10, false, &census), [21, 41]);
        assert_eq!(due(10, true, &census), [21, 41, 51]);
        // Another process with the same number is another one.
        let other = [of(41, 1, 41, true), of(51, 1, 51, true)].map(|process| Process { start: 2, ..process });
        assert!(due(20, true, &other).is_empty());
        assert_eq!(due(30, true, &other), [41, 51]);
    }
}
