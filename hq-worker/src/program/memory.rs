//! Whether the system ended a run for want of memory: it says so in counters of cgroups.

use std::{
    fs,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// So long after it was counted, a kill may be that of a run whose end is learnt only then.
const FRESH: Duration = Duration::from_secs(2);

/// Between two looks for the sake of runs that begin.
const LOOK: Duration = Duration::from_secs(1);

/// The kills for want of memory that the system has counted among what this worker runs.
///
/// Looked at where a run ends in a way that may be one, and once a second where runs begin, so that they cost next to
/// nothing. Each kill counts for one run; what happened before a run began, or long before its end, is none of it.
#[derive(Debug)]
pub(super) struct MemoryEvents {
    /// None: the system counts nothing.
    file: Option<PathBuf>,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    count: u64,
    /// Kills that no run has been blamed on yet, the last ones, and when they were noticed.
    open: u64,
    at: Instant,
    looked: Instant,
}

impl MemoryEvents {
    /// Of the cgroup of this process, which its children are in as well; else of the whole machine.
    pub(super) fn of_this_process() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::of(candidates(&groups).into_iter().find(|file| count_in(file).is_some()))
    }

    fn of(file: Option<PathBuf>) -> Self {
        let count = file.as_ref().and_then(count_in).unwrap_or_default();
        let now = Instant::now();
        Self { file, seen: Mutex::new(Seen { count, open: 0, at: now, looked: now }) }
    }

    /// A run begins: how many kills there were before it, as far as is known. What is not known is at most a second old.
    pub(super) fn begin(&self) -> u64 {
        let seen = self.lock();
        if seen.looked.elapsed() < LOOK {
            return seen.count;
        }
        drop(seen);
        self.look().count
    }

    /// Whether a run that has just ended by a signal that we did not send, or said so, was such a kill. There were
    /// `before` it began.
    pub(super) fn was_kill(&self, before: u64) -> bool {
        let mut seen = self.look();
        if seen.open == 0 || seen.count <= before || seen.at.elapsed() > FRESH {
            return false;
        }
        seen.open -= 1;
        true
    }

    /// A run has ended badly in another way: if one of its processes was killed, that explains no later end.
    pub(super) fn pass_by(&self) {
        drop(self.look());
    }

    fn look(&self) -> MutexGuard<'_, Seen> {
        let mut seen = self.lock();
        let count = self.file.as_ref().and_then(count_in).unwrap_or(seen.count);
        seen.looked = Instant::now();
        if count != seen.count {
            let stale = seen.at.elapsed() > FRESH;
            let before = if stale { 0 } else { seen.open };
            let open = before + count.saturating_sub(seen.count);
            *seen = Seen { count, open, at: seen.looked, looked: seen.looked };
        }
        seen
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Files that may have the counter, the nearest first: of the second version of cgroups, of the first, of the machine.
fn candidates(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(id), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        // Inside of a container the path may be one of outside, and the root what the container has.
        let (root, name) = match (id, controllers) {
            ("0", "") => ("/sys/fs/cgroup", "memory.events"),
            (_, list) if list.split(',').any(|one| one == "memory") => ("/sys/fs/cgroup/memory", "memory.oom_control"),
            _ => continue,
        };
        files.push(PathBuf::from(format!("{root}{}/{name}", path.trim_end_matches('/'))));
        files.push(PathBuf::from(format!("{root}/{name}")));
    }
    files.push("/proc/vmstat".into());
    files
}

fn count_in(file: &PathBuf) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_look() {
        let shown = |groups: &str| -> Vec<String> {
            candidates(groups).iter().map(|file| file.display().to_string()).collect()
        };
        assert_eq!(
            shown("0::/user.slice/job_7\n"),
            ["/sys/fs/cgroup/user.slice/job_7/memory.events", "/sys/fs/cgroup/memory.events", "/proc/vmstat"]
        );
        assert_eq!(
            shown("12:cpu,cpuacct:/\n4:memory:/slurm/uid_1/job_2\n0::/\n"),
            [
                "/sys/fs/cgroup/memory/slurm/uid_1/job_2/memory.oom_control",
                "/sys/fs/cgroup/memory/memory.oom_control",
                "/sys/fs/cgroup/memory.events",
                "/sys/fs/cgroup/memory.events",
                "/proc/vmstat",
            ]
        );
        assert_eq!(shown("nonsense\n"), ["/proc/vmstat"]);
    }

    #[test]
    fn each_kill_counts_for_one_run() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("memory.events");
        let write =
            |kills: u32| fs::write(&file, format!("low 0\noom 9\noom_kill {kills}\noom_group_kill 0\n")).unwrap();
        write(3);
        let events = MemoryEvents::of(Some(file.clone()));
        assert!(!events.was_kill(3), "those from before it began are not its own");
        write(4);
        assert!(events.was_kill(3));
        assert!(!events.was_kill(3));
        write(6);
        events.pass_by();
        assert!(events.was_kill(3) && events.was_kill(3) && !events.was_kill(3), "two runs, whoever noticed it first");
        write(7);
        events.pass_by();
        let long_ago = Instant::now().checked_sub(FRESH + Duration::from_secs(1)).unwrap();
        events.seen.lock().unwrap().at = long_ago;
        assert!(!events.was_kill(3), "it was another one's");
        write(8);
        assert!(events.was_kill(3) && !events.was_kill(3), "what was left from before is gone");
        fs::remove_file(&file).unwrap();
        assert!(!events.was_kill(3));
        assert!(!MemoryEvents::of(None).was_kill(0));
    }

    #[test]
    fn what_was_killed_before_a_run_began_is_none_of_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("memory.events");
        let write = |kills: u32| fs::write(&file, format!("oom_kill {kills}\n")).unwrap();
        let a_second_later = |events: &MemoryEvents| {
            let mut seen = events.lock();
            seen.looked = seen.looked.checked_sub(LOOK).unwrap();
        };
        write(0);
        let events = MemoryEvents::of(Some(file.clone()));
        let first = events.begin();
        // A process of a run that goes on, or that ends well: nobody asks.
        write(1);
        a_second_later(&events);
        let second = events.begin();
        assert_eq!((first, second), (0, 1));
        assert!(!events.was_kill(second), "it was killed by somebody else");
        assert!(events.was_kill(first) && !events.was_kill(first), "the older one may be");
        // Many that begin look once.
        write(5);
        assert_eq!(events.begin(), 1);
        assert!(events.was_kill(second));
    }
}
