use std::{
    fs,
    path::{Path, PathBuf},
};

use hq_core::{HardwareState, NetworkCounters, Share, WallTime};

use crate::memory::memory_info;

/// Looks at cpus, memory and network again and again.
#[derive(Debug)]
pub struct Sampler {
    root: PathBuf,
    before: Vec<CpuTimes>,
}

/// Time of a cpu since the machine was started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CpuTimes {
    busy: u64,
    total: u64,
}

impl Sampler {
    /// Has not looked yet. The root is `/`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), before: vec![] }
    }

    /// Looks; `now` is the moment by the wall clock. What cannot be found out is zero. GPUs are the caller's business.
    pub fn look(&mut self, now: WallTime) -> HardwareState {
        let times = cpu_times(&self.root);
        let share = |(i, now): (usize, &CpuTimes)| {
            let before = self.before.get(i).copied().unwrap_or_default();
            Share::of(now.busy.saturating_sub(before.busy), now.total.saturating_sub(before.total))
        };
        let cpus = times.iter().enumerate().map(share).collect();
        self.before = times;
        let (memory_total, memory_free) = memory_info(&self.root).unwrap_or_default();
        let network = network(&self.root);
        HardwareState { at: now, cpus, memory_total, memory_free, network, nvidia: None, amd: None }
    }
}

fn cpu_times(root: &Path) -> Vec<CpuTimes> {
    let text = fs::read_to_string(root.join("proc/stat")).unwrap_or_default();
    // `cpu3 user nice system idle iowait irq softirq steal …`; guests are counted in user already.
    let lines = text.lines().filter(|line| line.strip_prefix("cpu").is_some_and(|rest| !rest.starts_with(' ')));
    let times = lines.map(|line| {
        let fields: Vec<u64> = line.split_whitespace().skip(1).take(8).filter_map(|field| field.parse().ok()).collect();
        let total = fields.iter().fold(0, |sum: u64, field| sum.saturating_add(*field));
        let idle = fields.iter().skip(3).take(2).fold(0, |sum: u64, field| sum.saturating_add(*field));
        CpuTimes { busy: total.saturating_sub(idle), total }
    });
    times.collect()
}

/// All interfaces but the one to this machine itself.
fn network(root: &Path) -> NetworkCounters {
    let text = fs::read_to_string(root.join("proc/net/dev")).unwrap_or_default();
    let mut sum = NetworkCounters::default();
    for (name, numbers) in text.lines().filter_map(|line| line.split_once(':')) {
        if name.trim() == "lo" {
            continue;
        }
        let numbers: Vec<u64> = numbers.split_whitespace().map(|number| number.parse().unwrap_or(0)).collect();
        let at = |i: usize| numbers.get(i).copied().unwrap_or(0);
        let add = |to: &mut u64, i| *to = to.saturating_add(at(i));
        add(&mut sum.rx_bytes, 0);
        add(&mut sum.rx_packets, 1);
        add(&mut sum.rx_errors, 2);
        add(&mut sum.tx_bytes, 8);
        add(&mut sum.tx_packets, 9);
        add(&mut sum.tx_errors, 10);
    }
    sum
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn cpus_are_busy_since_the_look_before() {
        let root = TempDir::new().expect("a directory");
        fs::create_dir_all(root.path().join("proc/net")).expect("made");
        let write = |name: &str, text: &str| fs::write(root.path().join(name), text).expect("written");
        write("proc/stat", "cpu  1 2 3 4\ncpu0 50 0 0 50 0 0 0 0 9 9\ncpu1 0 0 0 90 10 0 0 0\nintr 5\n");
        write("proc/meminfo", "MemTotal: 2 kB\nMemAvailable: 1 kB\n");
        write(
            "proc/net/dev",
            "Inter-|   Receive\n face |bytes\n    lo: 9 9 9 0 0 0 0 0 9 9 9 0\n  eth0: 1 2 3 0 0 0 0 0 4 5 6 0\n eth1:10 0 0 0 0 0 0 0 0 0 0 0\n",
        );
        let mut sampler = Sampler::new(root.path());
        let first = sampler.look(WallTime(7));
        assert_eq!(first.cpus, [Share(5_000), Share(0)]);
        assert_eq!((first.at, first.memory_total, first.memory_free), (WallTime(7), 2048, 1024));
        let network =
            NetworkCounters { rx_bytes: 11, tx_bytes: 4, rx_packets: 2, tx_packets: 5, rx_errors: 3, tx_errors: 6 };
        assert_eq!(first.network, network);
        write("proc/stat", "cpu0 50 0 0 150 0 0 0 0\ncpu1 30 0 0 100 10 0 0 60\n");
        assert_eq!(sampler.look(WallTime(8)).cpus, [Share(0), Share(9_000)]);
    }

    #[test]
    fn this_machine_has_something() {
        let state = Sampler::new("/").look(WallTime(0));
        assert!(!state.cpus.is_empty() && state.memory_total > state.memory_free);
    }
}
