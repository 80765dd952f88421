//! Whether the system ended a run for want of memory: it says so in counters of cgroups.

use std::{
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// So long after it was counted, a kill may be that of a run whose end is learnt only then.
const FRESH: Duration = Duration::from_secs(2);

/// The kills for want of memory that the system has counted among what this worker runs.
///
/// Looked at only where a run ends in a way that may be one, so that runs that end well cost nothing. Each kill counts
/// for one run; what happened long before the end of a run is none of it.
#[derive(Debug)]
pub(super) struct MemoryEvents {
    /// None: the system counts nothing.
    file: Option<PathBuf>,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    count: u64,
    /// Kills that no run has been blamed on yet, and when they were noticed.
    open: u64,
    at: Instant,
}

impl MemoryEvents {
    /// Of the cgroup of this process, which its children are in as well; else of the whole machine.
    pub(super) fn of_this_process() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Self::of(candidates(&groups).into_iter().find(|file| count_in(file).is_some()))
    }

    fn of(file: Option<PathBuf>) -> Self {
        let count = file.as_ref().and_then(count_in).unwrap_or_default();
        Self { file, seen: Mutex::new(Seen { count, open: 0, at: Instant::now() }) }
    }

    /// Whether a run that has just ended by a signal that we did not send, or said so, was such a kill.
    pub(super) fn was_kill(&self) -> bool {
        let mut seen = self.look();
        if seen.open == 0 || seen.at.elapsed() > FRESH {
            return false;
        }
        seen.open -= 1;
        true
    }

    /// A run has ended badly in another way: if one of its processes was killed, that explains no later end.
    pub(super) fn pass_by(&self) {
        drop(self.look());
    }

    fn look(&self) -> std::sync::MutexGuard<'_, Seen> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let count = self.file.as_ref().and_then(count_in).unwrap_or(seen.count);
        if count != seen.count {
            let stale = seen.at.elapsed() > FRESH;
            let before = if stale { 0 } else { seen.open };
            *seen = Seen { count, open: before + count.saturating_sub(seen.count), at: Instant::now() };
        }
        seen
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
        assert!(!events.was_kill(), "those from before it began are not its own");
        write(4);
        assert!(events.was_kill());
        assert!(!events.was_kill());
        write(6);
        events.pass_by();
        assert!(events.was_kill() && events.was_kill() && !events.was_kill(), "two runs, whoever noticed it first");
        write(7);
        events.pass_by();
        let long_ago = Instant::now().checked_sub(FRESH + Duration::from_secs(1)).unwrap();
        events.seen.lock().unwrap().at = long_ago;
        assert!(!events.was_kill(), "it was another one's");
        write(8);
        assert!(events.was_kill() && !events.was_kill(), "what was left from before is gone");
        fs::remove_file(&file).unwrap();
        assert!(!events.was_kill());
        assert!(!MemoryEvents::of(None).was_kill());
    }
}
