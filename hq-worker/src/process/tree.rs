use std::collections::{BTreeMap, BTreeSet};

use super::sys::Process;

/// Who of `census`, all processes of the machine that may matter, belongs to the trees of `targets`, runs by the
/// process ids of their leaders; for each, the leader.
///
/// Those are: the session of the leader, orphans that came to `me`, this process, with the key of the run in their
/// environment (`runs_of`), who was found to be one before (`known`), and the descendants of all these. The dead are
/// nobody's.
pub(super) fn trees(
    census: &[Process],
    targets: &BTreeMap<i32, u64>,
    me: i32,
    known: impl Fn(&Process) -> Option<u64>,
    mut runs_of: impl FnMut(i32) -> Vec<u64>,
) -> BTreeMap<i32, i32> {
    let leaders: BTreeMap<u64, i32> = targets.iter().map(|(leader, run)| (*run, *leader)).collect();
    let mut children = BTreeMap::<i32, Vec<i32>>::new();
    let mut waiting: Vec<(i32, i32)> = targets.keys().map(|leader| (*leader, *leader)).collect();
    let alive = census.iter().filter(|process| !process.is_dead);
    for process in alive.clone() {
        let Process { pid, parent, session, .. } = process;
        children.entry(*parent).or_default().push(*pid);
        if targets.contains_key(session) {
            waiting.push((*pid, *session));
        } else if let Some(leader) = known(process).and_then(|run| leaders.get(&run)) {
            waiting.push((*pid, *leader));
        } else if *parent == me
            && let Some(leader) = runs_of(*pid).iter().find_map(|run| leaders.get(run))
        {
            waiting.push((*pid, *leader));
        }
    }
    let alive: BTreeSet<i32> = alive.map(|process| process.pid).collect();
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    while let Some((pid, leader)) = waiting.pop() {
        if pid == me || !seen.insert(pid) {
            continue;
        }
        if alive.contains(&pid) {
            found.insert(pid, leader);
        }
        waiting.extend(children.get(&pid).into_iter().flatten().map(|child| (*child, leader)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: i32 = 10;

    /// A process with this parent in this session.
    fn alive(pid: i32, parent: i32, session: i32) -> Process {
        Process { pid, parent, session, start: 0, is_dead: false }
    }

    fn dead(pid: i32, parent: i32, session: i32) -> Process {
        Process { is_dead: true, ..alive(pid, parent, session) }
    }

    #[test]
    fn who_belongs_to_a_tree() {
        // Run 1 has leader 100, run 2 has leader 200; 10 is the worker, 1 is init.
        type Case<'a> = (&'a str, &'a [Process], &'a [(i32, i32)]);
        let table: [Case<'_>; 12] = [
            ("nobody", &[alive(1, 0, 1), alive(ME, 1, 9), alive(11, ME, 9)], &[]),
            ("a child", &[alive(101, 100, 100)], &[(101, 100)]),
            ("an orphan of the session", &[alive(101, ME, 100)], &[(101, 100)]),
            ("a session of its own", &[alive(101, 100, 101), alive(102, 101, 102)], &[(101, 100), (102, 100)]),
            ("an orphan of its own session", &[alive(111, ME, 111), alive(5, 111, 5)], &[(111, 100), (5, 100)]),
            ("an orphan of another run", &[alive(133, ME, 133)], &[]),
            ("the same elsewhere", &[alive(111, 1, 111)], &[]),
            (
                "killed before, with nothing to show it",
                &[alive(155, ME, 155), alive(5, 155, 5)],
                &[(155, 100), (5, 100)],
            ),
            ("killed before, and dead", &[dead(155, ME, 155)], &[]),
            ("two trees", &[alive(101, 100, 100), alive(201, 200, 201)], &[(101, 100), (201, 200)]),
            ("the dead", &[dead(101, 100, 100), dead(111, ME, 111)], &[]),
            ("the leader itself, when it is counted", &[alive(100, ME, 100)], &[(100, 100)]),
        ];
        let targets = BTreeMap::from([(100, 1), (200, 2)]);
        // The key is in the environments of 111 and 133; 155 was found to be one of run 1.
        let known = |process: &Process| (process.pid == 155).then_some(1);
        let runs_of = |pid| match pid {
            111 => vec![7, 1],
            133 => vec![3],
            _ => vec![],
        };
        for (what, census, expected) in table {
            assert_eq!(trees(census, &targets, ME, known, runs_of), expected.iter().copied().collect(), "{what}");
        }
    }
}
