use std::collections::BTreeSet;

use super::sys::{Ledger, Process, each_process, session_of};

/// All processes of the machine that may be of a run, but for the leaders of runs: those are known, and may be thousands.
///
/// No two of them are looked at at the same moment. Whose parent was lost sight of meanwhile is looked at once more: it has
/// come to another one, which is `me` where nobody nearer adopts.
pub(super) fn census(me: i32, own_session: i32, ledger: &Ledger) -> Vec<Process> {
    let mut census = vec![];
    each_process(|pid| {
        if pid == me || ledger.is_leader(pid) {
            return;
        }
        // Threads of the kernel have session 0, and so has whoever was put into this PID namespace from outside, us
        // included. Nobody comes back to our session who has left it.
        let is_of_use = |session: &i32| *session != 0 && *session != own_session;
        if session_of(pid).filter(is_of_use).is_some() {
            census.extend(Process::find(pid));
        }
    });
    settle(&mut census, |parent| parent == me || ledger.is_leader(parent), Process::find);
    census
}

/// Looks once more, with `find`, at all whose parent is neither alive in the census nor `is_known`.
fn settle(census: &mut [Process], is_known: impl Fn(i32) -> bool, find: impl Fn(i32) -> Option<Process>) {
    let alive: BTreeSet<i32> = census.iter().filter(|process| !process.is_dead).map(|process| process.pid).collect();
    for process in census.iter_mut().filter(|process| !process.is_dead) {
        if process.parent > 1 && !is_known(process.parent) && !alive.contains(&process.parent) {
            match find(process.pid) {
                Some(now) if now.start == process.start => *process = now,
                _ => process.is_dead = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lost_its_parent_meanwhile_is_looked_at_again() {
        const ME: i32 = 10;
        let of = |pid, parent, start, is_dead| Process { pid, parent, session: pid, start, is_dead };
        // 20 was alive when its children were looked at, and 30 was gone when it would have been its turn.
        let mut census = [
            of(11, 20, 1, false),
            of(12, 20, 1, false),
            of(13, 30, 1, false),
            of(14, 11, 1, false),
            of(15, 40, 1, false),
            of(20, ME, 1, true),
        ];
        settle(
            &mut census,
            |parent| parent == ME || parent == 40,
            |pid| match pid {
                11 | 13 => Some(of(pid, ME, 1, false)),
                12 => Some(of(pid, 1, 2, false)),
                _ => panic!("{pid} need not be looked at"),
            },
        );
        let settled: Vec<_> = census.iter().map(|process| (process.pid, process.parent, process.is_dead)).collect();
        let expected =
            [(11, ME, false), (12, 20, true), (13, ME, false), (14, 11, false), (15, 40, false), (20, ME, true)];
        assert_eq!(settled, expected);
    }
}
