use std::{
    collections::BTreeSet,
    fs,
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};

use hq_core::ResourceKind;

use crate::range_list::range_list;

/// Where cpus are looked for, and which are wanted.
#[derive(Clone, Debug)]
pub struct CpuSearch {
    /// The root of the file system: `/`.
    pub root: PathBuf,
    /// Of each physical core only the first of its hardware threads that this process may use.
    pub one_thread_per_core: bool,
}

/// The cpus that this process may use: a group per NUMA node, a list where there is but one. Where the system does not
/// say, they are numbered from 0.
pub fn find_cpus(search: &CpuSearch) -> ResourceKind {
    let mut groups = nodes(&search.root).unwrap_or_else(|| {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        tracing::debug!("cpus cannot be found in {:?}: there are {count}, numbered from 0", search.root);
        vec![(0..u32::try_from(count).unwrap_or(1)).collect()]
    });
    if search.one_thread_per_core {
        let usable: BTreeSet<u32> = groups.iter().flatten().copied().collect();
        groups.iter_mut().for_each(|cpus| cpus.retain(|cpu| is_first_thread(&search.root, *cpu, &usable)));
        groups.retain(|cpus| !cpus.is_empty());
    }
    let mut labels = groups.into_iter().map(|cpus| cpus.iter().map(u32::to_string).collect::<Vec<_>>());
    match (labels.next(), labels.next()) {
        (Some(only), None) => ResourceKind::List(only),
        (Some(first), Some(second)) => ResourceKind::Groups([first, second].into_iter().chain(labels).collect()),
        // Not reached: of each core one thread is left.
        (None, _) => ResourceKind::List(vec![]),
    }
}

/// The cpus of each NUMA node that this process may use; nodes without one are left out.
fn nodes(root: &Path) -> Option<Vec<BTreeSet<u32>>> {
    let dir = root.join("sys/devices/system/node");
    let numbers = read_list(&dir.join("possible"))?;
    let allowed = allowed(root);
    let mut groups = Vec::new();
    for number in numbers {
        // Nodes that are possible need not be there.
        let Some(cpus) = read_list(&dir.join(format!("node{number}/cpulist"))) else { continue };
        let (mine, others): (BTreeSet<u32>, BTreeSet<u32>) =
            cpus.into_iter().partition(|cpu| allowed.as_ref().is_none_or(|allowed| allowed.contains(cpu)));
        if !others.is_empty() {
            tracing::info!("{} cpus of NUMA node {number} are outside of this process's affinity", others.len());
        }
        groups.push(mine);
    }
    groups.retain(|cpus| !cpus.is_empty());
    (!groups.is_empty()).then_some(groups)
}

/// The cpus that this process may use.
fn allowed(root: &Path) -> Option<BTreeSet<u32>> {
    let status = fs::read_to_string(root.join("proc/self/status")).ok()?;
    range_list(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
}

/// Whether the cpu is the lowest usable one of its core; true where the system does not say.
fn is_first_thread(root: &Path, cpu: u32, usable: &BTreeSet<u32>) -> bool {
    let path = root.join(format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    let siblings = read_list(&path).unwrap_or_default();
    siblings.intersection(usable).next().is_none_or(|first| *first >= cpu)
}

fn read_list(path: &Path) -> Option<BTreeSet<u32>> {
    range_list(&fs::read_to_string(path).ok()?)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A root with these files.
    fn root(files: &[(&str, &str)]) -> TempDir {
        let root = TempDir::new().expect("a directory");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
        root
    }

    fn found(files: &[(&str, &str)], one_thread_per_core: bool) -> String {
        let root = root(files);
        let kind = find_cpus(&CpuSearch { root: root.path().to_owned(), one_thread_per_core });
        match kind {
            ResourceKind::List(labels) => format!("[{}]", labels.join(",")),
            ResourceKind::Groups(groups) => groups.iter().map(|group| format!("[{}]", group.join(","))).collect(),
            other => format!("{other:?}"),
        }
    }

    const NODE: &str = "sys/devices/system/node/possible";
    const NODE0: &str = "sys/devices/system/node/node0/cpulist";
    const NODE1: &str = "sys/devices/system/node/node1/cpulist";
    const STATUS: &str = "proc/self/status";

    #[test]
    fn nodes_are_groups() {
        for (files, expected) in [
            (&[(NODE, "0\n"), (NODE0, "0-3\n")][..], "[0,1,2,3]"),
            (&[(NODE, "0-1\n"), (NODE0, "0-1\n"), (NODE1, "2-3\n")], "[0,1][2,3]"),
            (&[(NODE, "0-7\n"), (NODE0, "0,8\n"), (NODE1, "40\n")], "[0,8][40]"),
            (&[(NODE, "0-1"), (NODE0, "0-1"), (NODE1, "2-3"), (STATUS, "Name: x\nCpus_allowed_list:\t1\n")], "[1]"),
            (&[(NODE, "0-1"), (NODE0, "0-1"), (NODE1, "2-3"), (STATUS, "Cpus_allowed_list:\t1-2\n")], "[1][2]"),
        ] {
            assert_eq!(found(files, false), expected, "{files:?}");
        }
    }

    #[test]
    fn one_thread_per_core() {
        let siblings = |cpu: u32| format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let paths = [0, 1, 8, 40].map(siblings);
        let files = [
            (NODE, "0"),
            (NODE0, "0-1,8,40"),
            (&paths[0], "0-1\n"),
            (&paths[1], "0-1\n"),
            (&paths[2], "8,40\n"),
            (&paths[3], "8,40\n"),
        ];
        assert_eq!(found(&files, true), "[0,8]", "by number, not by text");
        assert_eq!(found(&files, false), "[0,1,8,40]");
        assert_eq!(found(&files[..2], true), "[0,1,8,40]", "where nobody says, all stay");
        for (allowed, expected) in [("1", "[1]"), ("1,8,40", "[1,8]"), ("1,40", "[1,40]"), ("0-1,40", "[0,40]")] {
            let status = format!("Cpus_allowed_list:\t{allowed}\n");
            let files: Vec<_> = files.iter().copied().chain([(STATUS, status.as_str())]).collect();
            assert_eq!(found(&files, true), expected, "of each core one that may be used: {allowed}");
        }
    }

    #[test]
    fn without_a_word_of_the_system_they_are_counted() {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        assert_eq!(found(&[], false).matches(',').count() + 1, count);
        assert_eq!(found(&[(NODE, "what?")], false).matches(',').count() + 1, count);
    }
}
