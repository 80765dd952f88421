use rustix::process::{Pid, Signal, kill_process_group};

use super::sys;

/// Lets the group act on a wish to end.
pub(super) fn interrupt(group: i32) {
    signal(group, Signal::INT);
}

/// Kills the group, its leader with it.
pub(super) fn kill_group(group: i32) {
    signal(group, Signal::KILL);
}

/// Kills the group and whatever else is in its session.
///
/// Processes that have begun a session of their own (`setsid`, daemons) are not found: only a cgroup could hold them.
/// The leader must not have been reaped, so that its number is still its own.
pub(super) fn kill_session_of(group: i32) {
    signal(group, Signal::KILL);
    sys::kill_session(group, Signal::KILL.as_raw());
}

fn signal(group: i32, signal: Signal) {
    // An error means that nobody is left, or that what is left is not ours to signal (setuid).
    if let Some(pid) = Pid::from_raw(group).filter(|_| group > 1) {
        let _ = kill_process_group(pid, signal);
    }
}
