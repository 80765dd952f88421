use rustix::process::{Pid, Signal, kill_process_group};

use super::sys::kill_session;

/// Lets the group act on a wish to end.
pub(super) fn interrupt(group: i32) {
    signal(group, Signal::INT);
}

/// Kills the group and whatever else is in its session.
///
/// Processes that have begun a session of their own (`setsid`, daemons) are not found: only a cgroup could hold them.
/// The leader must not have been reaped, so that its number is still its own.
pub(super) fn kill(group: i32) {
    signal(group, Signal::KILL);
    kill_session(group, Signal::KILL.as_raw());
}

fn signal(group: i32, signal: Signal) {
    // An error means that nobody is left, or that what is left is not ours to signal (setuid).
    if let Some(pid) = Pid::from_raw(group).filter(|_| group > 1) {
        let _ = kill_process_group(pid, signal);
    }
}
